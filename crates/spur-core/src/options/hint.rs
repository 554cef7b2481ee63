//! Reads `--hint` and says what follows from it.

use crate::job::spec::LayoutSpec;

/// The answer to `--hint=help`.
pub(super) const HELP: &str = "\
Application hint options:
    --hint=             Bind tasks according to application hints
        compute_bound   every core of each socket
        memory_bound    one core of each socket
        [no]multithread more than one thread of a core, or not
        help            this list
";

/// What Slurm says about a list of hints that it does not take.
pub(super) fn problem(kinds: &str) -> Option<String> {
    kinds.split(',').find_map(|kind| match kind.to_ascii_lowercase().as_str() {
        "compute_bound" | "memory_bound" | "multithread" | "nomultithread" => None,
        // The answer goes to standard output, and the tool ends.
        "help" => Some(String::new()),
        _ => Some(format!("unrecognized --hint argument \"{kinds}\", see --hint=help")),
    })
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
