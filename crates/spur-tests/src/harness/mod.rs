//! Real clusters of real binaries, each in a directory of its own.

mod cluster;
mod guard;
mod other;
mod processes;
mod wait;

pub use cluster::{Cluster, Output, binary};
pub use other::attempts;
pub use processes::Processes;
pub use wait::until;
