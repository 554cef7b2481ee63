//! Accounting: what is recorded of jobs and nodes, and the rules of who may use how much.

pub mod manage;
pub mod record;
pub mod rules;
pub mod settings;
