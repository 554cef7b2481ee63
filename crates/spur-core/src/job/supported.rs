//! What of a request has its effect in this release. The rest is refused by name rather than ignored: a
//! dependency that is not waited for is worse than none.

use crate::job::JobSpec;

/// What a request asks for that nobody would heed, by the option's name.
pub fn unsupported(spec: &JobSpec) -> Option<&'static str> {
    let asked: &[(bool, &str)] = &[
        (spec.hold, "--hold"),
        (!spec.dependency.is_empty(), "--dependency"),
        (!spec.array.is_empty(), "--array"),
        (spec.begin.is_some(), "--begin"),
        (!spec.qos.is_empty(), "--qos"),
        (!spec.gres.is_empty(), "--gres"),
        (spec.memory_per_node.is_some(), "--mem"),
        (spec.memory_per_cpu.is_some(), "--mem-per-cpu"),
        (spec.ntasks_per_node.is_some(), "--ntasks-per-node"),
        (spec.sharing.is_some(), "--exclusive"),
        (spec.priority.is_some(), "--priority"),
        (spec.nice.is_some(), "--nice"),
        (spec.gpu.is_some(), "GPU options"),
        (spec.placement.is_some(), "options of placement"),
        (spec.layout.is_some(), "options of layout"),
        (spec.lifecycle.is_some(), "options of signals, mail and deadlines"),
        (!spec.node_sizes.is_empty(), "several node counts"),
    ];
    asked.iter().find(|(said, _)| *said).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_is_named() {
        assert_eq!(unsupported(&JobSpec::default()), None);
        let held = JobSpec { hold: true, ..JobSpec::default() };
        assert_eq!(unsupported(&held), Some("--hold"));
    }
}
