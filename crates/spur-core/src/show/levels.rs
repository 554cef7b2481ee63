//! Words for how much a daemon logs: Slurm's levels, and its flags with the parts of ours they are about.

/// Slurm's levels, by number.
pub const LEVELS: &[&str] = &[
    "quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5",
];

/// A flag of `DebugFlags`.
pub struct Flag {
    /// As Slurm writes it.
    pub name: &'static str,
    /// Which parts of ours it makes tell more; none where nothing of ours is about it.
    pub parts: &'static [&'static str],
}

const fn flag_of(name: &'static str, parts: &'static [&'static str]) -> Flag {
    Flag { name, parts }
}

const SCHEDULER: &[&str] = &["spur_sched"];
const AGENTS: &[&str] = &["spurctld::controller::agents", "spurctld::api::agents"];
const STATE: &[&str] = &["spur_core::state", "spurctld::controller"];
const STEPS: &[&str] = &["spurctld::api::steps", "spurctld::api::attendance"];
const ACCOUNTING: &[&str] = &["spurctld::accounting"];
const NETWORK: &[&str] = &["spur_net", "spur_proto", "tonic", "h2"];

/// Every flag, by name.
#[rustfmt::skip]
pub const FLAGS: &[Flag] = &[
    flag_of("Accrue", ACCOUNTING),
    flag_of("Agent", AGENTS),
    flag_of("AuditRPCs", &["spurctld::audit", "spur_proto::door"]),
    flag_of("AuditTLS", NETWORK),
    flag_of("Backfill", SCHEDULER),
    flag_of("BackfillMap", SCHEDULER),
    flag_of("BurstBuffer", &[]),
    flag_of("Cgroup", &[]),
    flag_of("ConMgr", NETWORK),
    flag_of("CPU_Bind", &[]),
    flag_of("CpuFrequency", &[]),
    flag_of("Data", &["spurctld::store"]),
    flag_of("DBD_Agent", ACCOUNTING),
    flag_of("Dependency", STATE),
    flag_of("Elasticsearch", &[]),
    flag_of("Energy", &[]),
    flag_of("Federation", &[]),
    flag_of("FrontEnd", &[]),
    flag_of("Gang", SCHEDULER),
    flag_of("GLOB_SILENCE", &[]),
    flag_of("Gres", SCHEDULER),
    flag_of("Hetjob", SCHEDULER),
    flag_of("JAG", ACCOUNTING),
    flag_of("JobAccountGather", ACCOUNTING),
    flag_of("JobComp", ACCOUNTING),
    flag_of("JobContainer", &[]),
    flag_of("License", SCHEDULER),
    flag_of("Metrics", &["spurctld::metrics"]),
    flag_of("Network", NETWORK),
    flag_of("NetworkRaw", NETWORK),
    flag_of("NodeFeatures", STATE),
    flag_of("NO_CONF_HASH", &[]),
    flag_of("Power", STATE),
    flag_of("Priority", SCHEDULER),
    flag_of("Profile", &[]),
    flag_of("Protocol", NETWORK),
    flag_of("Reservation", STATE),
    flag_of("Route", NETWORK),
    flag_of("Sackd", &[]),
    flag_of("Script", &["spurctld::programs"]),
    flag_of("SelectType", SCHEDULER),
    flag_of("Steps", STEPS),
    flag_of("Switch", &[]),
    flag_of("TimeCray", &[]),
    flag_of("TLS", NETWORK),
    flag_of("TraceJobs", STATE),
    flag_of("Triggers", STATE),
];

/// The flag of a name, in any case.
pub fn flag(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name.eq_ignore_ascii_case(name))
}

/// The level of a word or a number.
pub fn level(word: &str) -> Option<&'static str> {
    let by_number = word.parse::<usize>().ok().and_then(|number| LEVELS.get(number));
    by_number.or_else(|| LEVELS.iter().find(|name| name.eq_ignore_ascii_case(word))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_by_word_and_number() {
        assert_eq!(
            (level("DEBUG2"), level("3"), level("12")),
            (Some("debug2"), Some("info"), None)
        );
        assert_eq!(flag("backfill").map(|flag| flag.name), Some("Backfill"));
        assert!(flag("bogus").is_none());
    }
}
