//! Which program a node asks about its health, by the `[health_check]` section of the configuration.

use spur_core::config::sections::HealthCheck;
use spur_core::config::words::HealthStates;
use spur_proto::internal::HealthRules;

/// Nothing where nothing is configured, or the node is not in a state in which it is asked.
pub(super) fn rules(check: &HealthCheck, has_jobs: bool) -> Option<HealthRules> {
    let program = check.program.clone()?;
    let interval_secs = u32::try_from(check.interval.0).unwrap_or(u32::MAX);
    let fits = |state: &HealthStates| match state {
        HealthStates::Idle | HealthStates::NonDrained => !has_jobs,
        HealthStates::Alloc | HealthStates::Mixed => has_jobs,
        HealthStates::Any | HealthStates::Cycle | HealthStates::StartOnly => true,
    };
    let is_asked = interval_secs > 0 && check.node_state.iter().any(fits);
    is_asked.then_some(HealthRules { program, interval_secs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::config::Seconds;

    #[test]
    fn only_nodes_in_the_named_states_are_asked() {
        let mut check = HealthCheck::default();
        assert_eq!(rules(&check, false), None);
        check.program = Some("/check".to_string());
        assert_eq!(rules(&check, false), None, "never, as it says");
        check.interval = Seconds(60);
        assert_eq!(rules(&check, true).map(|it| it.interval_secs), Some(60));
        check.node_state = vec![HealthStates::Idle];
        assert!(rules(&check, false).is_some());
        assert_eq!(rules(&check, true), None);
    }
}
