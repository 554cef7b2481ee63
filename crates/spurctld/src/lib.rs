//! The controller.

pub mod store;
