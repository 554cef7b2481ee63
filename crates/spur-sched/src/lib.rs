//! Who runs next. Given a cluster and a moment: what should start, what should wait, and why.
//!
//! No IO, no clock, no chance: the same state gives the same plan.

mod place;
mod plan;

pub use plan::{Plan, Planner};
