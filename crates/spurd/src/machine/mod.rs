//! What only Linux can do, and the one place for `unsafe`: processes, their signals and their rights.
#![allow(unsafe_code)]

pub mod binding;
pub mod cgroup;
pub mod child;
pub mod clock;
pub mod connection;
pub mod handover;
pub mod hosts;
pub mod limits;
pub mod measure;
pub mod nursery;
pub mod nvml;
pub mod oom;
pub mod pidfd;
pub mod privilege;
pub mod processes;
pub mod seccomp;
