//! `spur.conf`: text in, a checked [`Config`] or all [`Problems`] at once out.
//!
//! Every key is a row in [`sections`], and the rest follows from the rows: reading, refusing unknown keys,
//! the defaults, the import of Slurm's files, the list of changes and the printed document.

mod amounts;
mod answers;
mod by_name;
pub mod changes;
mod checks;
mod document;
pub mod import;
mod keys;
mod problems;
mod raw;
mod resolve;
pub mod said;
pub mod sections;
mod sharing;
mod show;
#[cfg(test)]
mod tests;
mod things;
mod values;
pub mod words;
mod write;

pub use amounts::{Count, Megabytes, Minutes, Seconds, SecondsOrNever};
pub use answers::{Members, Shape, UnknownNode};
pub use by_name::{Counts, Weight, Weights, job_defaults};
pub use document::document;
pub use keys::{Key, Reload, Section, Table};
pub use problems::{Problem, Problems, nearest};
pub use resolve::{Config, read, read_back, value_of};
pub use sharing::{DefaultMemory, OverSubscribe, PreemptMode};
pub use show::Shown;
pub use things::{Allowed, ControllerHost, NodeGres, NodeList, age_secs, gres_count};
pub use values::{Setting, Value};
