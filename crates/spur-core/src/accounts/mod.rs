//! Accounting: what is recorded of jobs and nodes, and the rules of who may use how much.

pub mod allowed;
pub mod book;
pub mod classic;
pub mod events;
pub mod fairshare;
pub mod limits;
pub mod manage;
pub mod needs;
pub mod record;
pub mod rules;
pub mod settings;
pub mod tree;
pub mod usage;

pub use record::Used;
