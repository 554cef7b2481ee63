//! One seed, one schedule: the shipped controller, agents, log store and records of accounting on simulated
//! clocks, disks and streams, with crashes, reboots, cut lines, late ghosts, leaders that sleep, torn writes, full
//! disks and long outages between any two steps. What must hold is asked at every step; at the end, after the last
//! fault, everything must have come to rest.

mod books;
mod chance;
mod client;
mod consensus;
mod lines;
mod machines;
mod node;
mod stale;
mod trouble;
mod witness;
mod world;

pub use world::{Report, run};
