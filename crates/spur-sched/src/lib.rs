//! Who runs next. Given a cluster and a moment: what should start, what should wait, and why.
//!
//! No IO, no clock, no chance: the same view gives the same plan.

mod bits;
mod decision;
mod fit;
mod nodes;
mod pass;
mod place;
mod plan;
pub mod planner;
mod possible;
mod preempt;
pub mod priority;
mod queue;
pub mod shape;
mod timeline;
pub mod view;
mod waits;

#[cfg(test)]
mod tests;

pub use decision::{Decisions, Preempt, Start};
pub use place::Choice;
pub use plan::{Plan, Planner};
pub use waits::{Wait, Waits};
