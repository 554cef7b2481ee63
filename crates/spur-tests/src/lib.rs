//! Proof: a simulator of the shipped loops, and what end-to-end tests share.

pub mod sim;
