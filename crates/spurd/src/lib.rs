//! The node agent.

pub mod agent;
pub mod claim;
pub mod confine;
pub mod ending;
pub mod fence;
pub mod gpu;
mod health;
mod inventory;
mod joining;
mod load;
mod machine;
pub mod options;
mod processors;
mod recover;
pub mod run;
mod serve;
pub mod shepherd;

pub use machine::nursery::{self, NURSERY};
pub use machine::oom;
pub use serve::serve;
pub use shepherd::SHEPHERD;
