//! Reads `--hint` and says what follows from it.

use super::Source;
use super::resolve::Request;
use super::row::Tool;
use crate::job::spec::LayoutSpec;
use crate::step::binding::names_kind;

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

/// What a step's tasks are bound to where `--cpu-bind` names no kind: what other options of srun are about. What the
/// job's variables say of tasks on cores and sockets binds nobody.
pub(super) fn bound_to(request: &Request) -> Option<&'static str> {
    if request.asked_by != Tool::Srun || names_kind(&request.step.cpu_bind) {
        return None;
    }
    let layout = request.job.layout();
    let called_with = |name: &str| request.set_by.get(name) == Some(&Source::CommandLine);
    match layout.hint.to_ascii_lowercase().rsplit(',').next() {
        Some("compute_bound" | "memory_bound") => return Some("cores"),
        Some("multithread" | "nomultithread") => return Some("threads"),
        _ => {}
    }
    if request.said("threads-per-core") {
        Some("threads")
    } else if request.said("extra-node-info") {
        Some(match (layout.cores_per_socket, layout.threads_per_core) {
            (_, Some(_)) => "threads",
            (Some(_), None) => "cores",
            (None, None) => "sockets",
        })
    } else if called_with("ntasks-per-core") {
        Some("cores")
    } else {
        called_with("ntasks-per-socket").then_some("sockets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Slurm 22.05 tells it in `SLURM_CPU_BIND_TYPE`.
    #[test]
    fn a_step_is_bound_to_what_its_options_are_about() {
        let cases: [(&str, &str, Source, Option<&str>); 9] = [
            ("hint", "nomultithread", Source::CommandLine, Some("threads")),
            ("hint", "memory_bound", Source::Environment, Some("cores")),
            ("threads-per-core", "1", Source::Environment, Some("threads")),
            ("extra-node-info", "1:1:1", Source::CommandLine, Some("threads")),
            ("extra-node-info", "1:2", Source::CommandLine, Some("cores")),
            ("extra-node-info", "2", Source::CommandLine, Some("sockets")),
            ("ntasks-per-core", "1", Source::CommandLine, Some("cores")),
            ("ntasks-per-core", "1", Source::Environment, None),
            ("ntasks-per-socket", "1", Source::CommandLine, Some("sockets")),
        ];
        for (name, value, source, kind) in cases {
            let setting = |long: &str, value: &str| super::super::Setting {
                option: super::super::find(Tool::Srun, long).unwrap(),
                value: value.to_string(),
                source,
            };
            let asked =
                super::super::resolve::resolve(Tool::Srun, vec![setting(name, value)]).unwrap();
            assert_eq!(bound_to(&asked), kind, "--{name}={value}");
            let mut told = asked.clone();
            told.step.cpu_bind = "verbose".into();
            assert_eq!(bound_to(&told), kind, "how much is told is no kind");
            told.step.cpu_bind = "none".into();
            assert_eq!(bound_to(&told), None, "who names a kind has it");
        }
    }
}
