//! Whether nodes are shared with other jobs: `--exclusive[=user|mcs|topo]`, `--oversubscribe`.

use std::fmt;

use super::JobSpec;
use super::spec;
use crate::config::words::{Consume, PreemptAction, PreemptBy};
use crate::config::{Config, OverSubscribe, PreemptMode, sections};

/// With whom a job shares its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// `--exclusive`: with nobody.
    Exclusive,
    /// `--exclusive=user`: with jobs of the same user.
    User,
    /// `--exclusive=mcs`: with jobs of the same security label.
    Mcs,
    /// `--exclusive=topo`: with nobody, in the whole segment of the network.
    Topology,
    /// `--oversubscribe`: with anybody, down to the cores.
    Oversubscribe,
}

/// An unknown word. Slurm's tools say `Invalid --exclusive specification`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of exclusive use `{0}'")]
pub struct Error(pub String);

/// Reads the value of `--exclusive`.
pub fn parse_exclusive(value: &str) -> Result<Sharing, Error> {
    match value.to_ascii_lowercase().as_str() {
        "" | "exclusive" => Ok(Sharing::Exclusive),
        "user" => Ok(Sharing::User),
        "mcs" => Ok(Sharing::Mcs),
        "topo" => Ok(Sharing::Topology),
        _ => Err(Error(value.to_owned())),
    }
}

/// How many jobs may have a processor at a time, by what a partition and a job say.
pub fn layers(job: &JobSpec, rules: &sections::Partition, config: &Config) -> u32 {
    let asks = job.sharing == Some(spec::Sharing::Oversubscribe as i32);
    let alone = job.sharing == Some(spec::Sharing::Exclusive as i32);
    match rules.over_subscribe {
        // Where memory alone is given out, everybody has all processors.
        OverSubscribe::No | OverSubscribe::Yes(_) | OverSubscribe::Force(_)
            if !alone && rules.consume.unwrap_or(config.scheduler.consume) == Consume::Memory =>
        {
            u32::from(u16::MAX)
        }
        OverSubscribe::Force(_) if is_left_alone(rules, config) => 1,
        OverSubscribe::Force(most) => most.max(1),
        OverSubscribe::Yes(most) if asks => most.max(1),
        OverSubscribe::Yes(_) | OverSubscribe::No | OverSubscribe::Exclusive => 1,
    }
}

/// Where partitions displace each other's jobs but not those of this one, nobody is made to share there either.
fn is_left_alone(rules: &sections::Partition, config: &Config) -> bool {
    let off = |mode: PreemptMode| mode.action == PreemptAction::Off && !mode.gang;
    config.preemption.by == PreemptBy::PartitionTier && rules.preempt_mode.is_some_and(off)
}

/// As `scontrol show job` writes it behind `OverSubscribe=`, where a job that said nothing is `OK`.
impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sharing::Exclusive => "NO",
            Sharing::User => "USER",
            Sharing::Mcs => "MCS",
            Sharing::Topology => "TOPO",
            Sharing::Oversubscribe => "YES",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_shared_where_both_say_so() {
        let asks =
            JobSpec { sharing: Some(spec::Sharing::Oversubscribe as i32), ..JobSpec::default() };
        let silent = JobSpec::default();
        for (partition, asked, unasked) in [
            (OverSubscribe::No, 1, 1),
            (OverSubscribe::Yes(3), 3, 1),
            (OverSubscribe::Force(2), 2, 2),
            (OverSubscribe::Exclusive, 1, 1),
        ] {
            let rules =
                sections::Partition { over_subscribe: partition, ..sections::Partition::default() };
            let layers = |spec| layers(spec, &rules, &Config::default());
            assert_eq!((layers(&asks), layers(&silent)), (asked, unasked));
        }
    }

    #[test]
    fn nobody_is_made_to_share_where_nobody_is_displaced() {
        for (by, mode, expected) in [
            ("partition_tier", "preempt_mode = \"off\"\n", 1),
            ("partition_tier", "preempt_mode = \"requeue\"\n", 2),
            ("partition_tier", "", 2),
            ("none", "preempt_mode = \"off\"\n", 2),
        ] {
            let text = format!(
                "[preemption]\nby = \"{by}\"\nmode = \"suspend,gang\"\n\
                 [[partitions]]\nname = \"all\"\nnodes = \"ALL\"\nover_subscribe = \"force:2\"\n{mode}"
            );
            let config = crate::config::read(&text).expect("is in order");
            let layers = layers(&JobSpec::default(), &config.partitions[0], &config);
            assert_eq!(layers, expected, "{by} {mode}");
        }
    }

    #[test]
    fn processors_are_everybodys_where_memory_alone_is_given_out() {
        let rules = sections::Partition {
            consume: Some(Consume::Memory),
            ..sections::Partition::default()
        };
        let layers = |spec: &JobSpec| layers(spec, &rules, &Config::default());
        assert!(layers(&JobSpec::default()) > 1000);
        let alone = Some(spec::Sharing::Exclusive as i32);
        assert_eq!(layers(&JobSpec { sharing: alone, ..JobSpec::default() }), 1);
    }

    #[test]
    fn values_are_read_as_slurm_reads_them() {
        for (value, shown) in
            [("", "NO"), ("exclusive", "NO"), ("user", "USER"), ("USER", "USER"), ("mcs", "MCS")]
        {
            assert_eq!(parse_exclusive(value).unwrap().to_string(), shown, "{value:?}");
        }
        for value in ["bogus", "us", "no"] {
            assert_eq!(parse_exclusive(value), Err(Error(value.to_owned())));
        }
    }
}
