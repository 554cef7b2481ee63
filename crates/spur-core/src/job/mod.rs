//! Jobs: what was asked for, and where each stands.

pub mod array;
pub mod dependency;
pub mod distribution;
pub mod export;
pub mod mail;
pub mod nice;
pub mod sharing;
pub mod signal;
pub mod spec;

pub use spec::JobSpec;
