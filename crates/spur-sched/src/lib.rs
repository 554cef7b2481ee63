//! Who runs next. Given a cluster and a moment: what should start, what should wait, and why.
//!
//! No IO, no clock, no chance: the same view gives the same plan.

mod advise;
mod begin;
mod bits;
mod decision;
mod explain;
mod fit;
mod forecast;
mod gains;
mod inside;
mod limits;
mod nap;
mod nodes;
mod now;
mod pass;
mod place;
mod plan;
pub mod planner;
mod possible;
pub mod predict;
mod preempt;
pub mod priority;
mod promise;
mod queue;
mod reasons;
mod recall;
mod refuse;
pub mod shape;
mod short;
mod start;
mod timeline;
mod together;
mod turns;
pub mod view;
mod waits;
mod wake;
mod walk;

#[cfg(test)]
mod tests;

pub use advise::Advice;
pub use decision::{Decisions, Preempt, Start};
pub use explain::{Explanation, LimitUse, Need, Test};
pub use place::Choice;
pub use plan::{Plan, Planner};
pub use refuse::{Gauge, Lack};
pub use view::switches_until;
pub use waits::{Promised, Wait, Waits};
