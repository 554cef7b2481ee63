//! Jobs: what was asked for, and where each stands.

pub mod spec;

pub use spec::JobSpec;
