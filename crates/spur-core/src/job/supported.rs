//! What of a request has its effect in this release. The rest is refused by name rather than ignored: a
//! dependency that is not waited for is worse than none.

use crate::job::JobSpec;

/// What a request asks for that nobody would heed, by the option's name.
pub fn unsupported(spec: &JobSpec) -> Option<&'static str> {
    let asked: &[(bool, &str)] = &[
        (!spec.qos.is_empty(), "--qos"),
        (!spec.gres.is_empty(), "--gres"),
        (spec.memory_per_node.is_some(), "--mem"),
        (spec.memory_per_cpu.is_some(), "--mem-per-cpu"),
        (spec.ntasks_per_node.is_some(), "--ntasks-per-node"),
        (spec.sharing.is_some(), "--exclusive"),
        (spec.gpu.is_some(), "GPU options"),
        (spec.placement.is_some(), "options of placement"),
        (spec.layout.is_some(), "options of layout"),
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
        let shared = JobSpec { sharing: Some(0), ..JobSpec::default() };
        assert_eq!(unsupported(&shared), Some("--exclusive"));
    }
}
