//! Reads `--hint` and says what follows from it.

use super::error::Refusal;
use crate::job::spec::LayoutSpec;

/// Checks a list of hints.
pub(super) fn check(kinds: &str) -> Result<String, Refusal> {
    for kind in kinds.split(',') {
        match kind.to_ascii_lowercase().as_str() {
            "compute_bound" | "memory_bound" | "multithread" | "nomultithread" => {}
            // The list of hints goes to standard output and the tool ends.
            "help" => return Err(Refusal::Said(String::new(), 1)),
            _ => {
                let message = format!("unrecognized --hint argument \"{kind}\", see --hint=help");
                return Err(Refusal::Said(message, 1));
            }
        }
    }
    Ok(kinds.to_owned())
}

/// Writes what the hints mean for sockets, cores and threads.
pub(super) fn follow(layout: &mut LayoutSpec) {
    for kind in layout.hint.to_ascii_lowercase().split(',') {
        match kind {
            "compute_bound" => {
                layout.sockets_per_node = None;
                layout.cores_per_socket = None;
                layout.threads_per_core = Some(1);
            }
            "memory_bound" => {
                layout.sockets_per_node = None;
                layout.cores_per_socket = Some(1);
                layout.threads_per_core = Some(1);
            }
            "multithread" => layout.threads_per_core = None,
            "nomultithread" => layout.threads_per_core = Some(1),
            _ => {}
        }
    }
}
