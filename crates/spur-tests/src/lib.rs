//! Proof: a simulator of the shipped loops, and a harness around the real binaries.

pub mod harness;
pub mod sim;
