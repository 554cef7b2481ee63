//! One seed, one schedule: the shipped controller, agents and log store on simulated clocks, disks and
//! streams, with crashes, reboots, cut lines, late ghosts, torn writes and full disks between any two
//! steps. What must hold is asked at every step; at the end, after the last fault, everything must have
//! come to rest.

mod chance;
mod client;
mod consensus;
mod node;
mod witness;
mod world;

pub use world::{Report, run};
