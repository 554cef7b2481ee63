//! What of a request has its effect in this release. The rest is refused by name rather than ignored: a
//! dependency that is not waited for is worse than none.

use crate::job::JobSpec;

/// What a request asks for that nobody would heed, by the option's name.
pub fn unsupported(spec: &JobSpec) -> Option<&'static str> {
    let (place, layout) = (spec.placement(), spec.layout());
    let asked: &[(bool, &str)] = &[
        (place.switches.is_some(), "--switches"),
        (place.segment.is_some(), "--segment"),
        (place.reboot, "--reboot"),
        (layout.sockets_per_node.is_some(), "--sockets-per-node"),
        (layout.cores_per_socket.is_some(), "--cores-per-socket"),
        (layout.ntasks_per_socket.is_some(), "--ntasks-per-socket"),
        (layout.ntasks_per_core.is_some(), "--ntasks-per-core"),
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
        let mut job = JobSpec::default();
        job.placement_mut().switches = Some(1);
        assert_eq!(unsupported(&job), Some("--switches"));
    }
}
