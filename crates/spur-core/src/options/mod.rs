//! The submission options: each is one row, shared by every reader.
//!
//! `sbatch`, `srun` and `salloc` command lines, `#SBATCH` and `#PBS` lines, the environment and JSON
//! all end in a list of [`Setting`]s, which [`resolve`] turns into a request.

pub mod argv;
mod binding;
mod conflicts;
mod container;
pub(crate) mod cpu_frequency;
pub mod defaults;
pub mod directive;
pub mod environment;
mod error;
mod files;
mod gpus;
pub mod help;
mod hint;
mod identity;
pub mod json;
mod launch;
mod lifecycle;
mod number;
mod placement;
pub mod report;
pub mod resolve;
mod resources;
mod row;
mod timing;
mod tool;
pub mod usage;

pub use defaults::{Surroundings, fill_defaults};
pub use error::{BAD_VALUE, Kind, OptionError, Refusal};
pub use resolve::{Request, resolve, resolve_components};
pub use row::{Arg, JobOption, Setter, Tool};
pub use tool::ToolSettings;

/// Every list of rows.
pub static LISTS: &[&[JobOption]] = &[
    identity::ROWS,
    resources::ROWS,
    placement::ROWS,
    timing::ROWS,
    files::ROWS,
    lifecycle::ROWS,
    launch::ROWS,
    container::ROWS,
    tool::ROWS,
];

/// Where a setting was said. Later ones win over earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A `#PBS` or `#SBATCH` line of the script.
    Directive,
    /// A variable such as `SBATCH_ACCOUNT`.
    Environment,
    /// The command line.
    CommandLine,
    /// A job description sent as JSON.
    Json,
}

/// An option with the value somebody gave it. A flag, or an optional value left out, is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub option: &'static JobOption,
    pub value: String,
    pub source: Source,
}

/// The rows of one tool.
pub fn options(tool: Tool) -> impl Iterator<Item = &'static JobOption> {
    LISTS.iter().flat_map(|rows| rows.iter()).filter(move |option| option.tools.contains(&tool))
}

/// The row that one tool knows by this long name, which may be an older one.
pub fn find(tool: Tool, long: &str) -> Option<&'static JobOption> {
    options(tool).find(|option| option.names().any(|name| name == long))
}

#[cfg(test)]
mod tests;
