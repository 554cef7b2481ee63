//! Chores of the workspace: what is printed from its tables, and what is checked about its shape.

pub mod bench;
pub mod completions;
pub mod conformance;
pub mod docs;
pub mod fuzz;
pub mod layers;
pub mod man;
pub mod mutations;
pub mod purity;
pub mod replay;
pub mod vm;

use std::path::PathBuf;

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}
