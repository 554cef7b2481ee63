//! Settings that are one word out of a few.

use super::values::{Setting, Value, expected, quote};

macro_rules! words {
    ($(
        $(#[doc = $help:literal])+
        $name:ident { $($(#[doc = $word_help:literal])* $variant:ident = $word:literal $(| $alias:literal)*,)+ }
    )+) => {$(
        $(#[doc = $help])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[doc = $word_help])* $variant,)+ }

        impl $name {
            /// The words, in the order of the enum.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word as written in the file.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }

        impl Setting for $name {
            fn kind() -> String {
        concat!("one of", $(" \"", $word, "\"",)+).to_string()
    }

            fn read(value: &Value) -> Result<$name, String> {
                match value {
                    Value::Text(text) => match text.as_str() {
                        $($word => Ok($name::$variant),)+
                        other => Err(no_such_word(other, $name::WORDS)),
                    },
                    _ => Err(expected::<$name>()),
                }
            }

            fn from_slurm(text: &str) -> Result<$name, String> {
                match slurm_word(text).as_str() {
                    $($word $(| $alias)* => Ok($name::$variant),)+
                    _ => Err(expected::<$name>()),
                }
            }

            fn toml(&self) -> String {
                quote(self.word())
            }
        }
    )+};
}

words! {
    /// How pending jobs are considered.
    Plugin {
        /// In order of priority, and lower ones where they delay nobody above.
        Backfill = "backfill",
        /// Strictly in order of priority.
        Builtin = "builtin",
    }

    /// What happens to the jobs of a node that went silent.
    Unreachable {
        /// No second run without proof that the first is gone.
        Wait = "wait",
        /// The agent ends the job after `fence_after` of silence, then it may run elsewhere.
        Fence = "fence",
    }

    /// How priority is computed.
    PriorityKind {
        /// A weighted sum of factors.
        Multifactor = "multifactor",
        /// First come, first served.
        Basic = "basic",
    }

    /// Which jobs may displace which.
    PreemptBy {
        /// None.
        None = "none",
        /// Those of a partition with a higher tier.
        PartitionTier = "partition_tier" | "partition_prio",
        /// Those of a QOS that lists the other in its `preempt`.
        Qos = "qos",
    }

    /// What becomes of a displaced job.
    PreemptAction {
        /// Nothing: it is left alone.
        Off = "off",
        /// It is cancelled.
        Cancel = "cancel",
        /// It goes back to the queue.
        Requeue = "requeue",
        /// It is stopped and continues later.
        Suspend = "suspend",
    }

    /// How usage is forgotten all at once.
    UsageReset {
        /// Never.
        None = "none",
        /// Now, once.
        Now = "now",
        Daily = "daily",
        Weekly = "weekly",
        Monthly = "monthly",
        Quarterly = "quarterly",
        Yearly = "yearly",
    }

    /// A way to compute the factors of priority.
    PriorityFlag {
        /// Age grows from submission, also while a job may not start.
        AccrueAlways = "accrue_always",
        /// Running jobs are computed anew too.
        CalculateRunning = "calculate_running",
        /// Fair-share by Slurm's older formula, whatever the depth of the tree.
        DepthOblivious = "depth_oblivious",
        /// Fair-share by Slurm's older formula.
        NoFairTree = "no_fair_tree",
        /// A priority never falls.
        IncreaseOnly = "increase_only" | "incr_only",
        /// Billing takes the largest resource of a node, not the sum.
        MaxTres = "max_tres",
        /// As `max_tres`, with all gres added.
        MaxTresGres = "max_tres_gres",
        /// Factors are shown as they are, not as a share.
        NoNormalAssociation = "no_normal_assoc",
        NoNormalPartition = "no_normal_part",
        NoNormalQos = "no_normal_qos",
        NoNormalTres = "no_normal_tres",
        NoNormalAll = "no_normal_all",
        /// The size factor is CPUs by time limit.
        SmallRelativeToTime = "small_relative_to_time",
    }

    /// Which limits of partitions are checked when a job is submitted.
    EnforceLimits {
        /// A job that breaks them stays pending.
        No = "no",
        /// A job must fit one of its partitions.
        Any = "any",
        /// A job must fit all of its partitions.
        All = "all" | "yes",
    }

    /// Rules of accounting that submission enforces.
    Enforce {
        /// A user needs an association.
        Associations = "associations" | "assoc" | "association",
        /// Limits of associations hold.
        Limits = "limits" | "limit",
        /// A job starts only if its limits let it finish.
        Safe = "safe",
        /// A job's QOS must be one the association has.
        Qos = "qos",
        /// A job's wckey must be one of the user's.
        Wckeys = "wckeys" | "wckey",
        /// Jobs leave no record.
        NoJobs = "no_jobs" | "nojobs",
        /// Steps leave no record.
        NoSteps = "no_steps" | "nosteps",
        /// All of the first five.
        All = "all",
    }

    /// What accounting keeps beside the numbers.
    Keep {
        Comment = "comment" | "job_comment",
        Environment = "environment" | "job_env",
        Script = "script" | "job_script",
        Extra = "extra" | "job_extra",
    }

    /// What other users are not shown.
    Private {
        Accounts = "accounts",
        Events = "events",
        Jobs = "jobs",
        Nodes = "nodes",
        Partitions = "partitions",
        Reservations = "reservations",
        Usage = "usage",
        Users = "users",
    }

    /// What a job is given and no other job may have meanwhile.
    Consume {
        /// Hardware threads, one by one.
        Cpu = "cpu" | "cr_cpu",
        CpuMemory = "cpu_memory" | "cr_cpu_memory",
        /// Whole cores.
        Core = "core" | "cr_core",
        CoreMemory = "core_memory" | "cr_core_memory",
        /// Whole sockets.
        Socket = "socket" | "cr_socket",
        SocketMemory = "socket_memory" | "cr_socket_memory",
        /// Memory alone.
        Memory = "memory" | "cr_memory",
        /// Whole nodes.
        Node = "node" | "linear",
    }

    /// Whether new jobs may enter a partition, and queued ones leave it.
    PartitionState {
        /// Enter and start.
        Up = "up",
        /// Enter, not start.
        Down = "down",
        /// Start, not enter.
        Drain = "drain",
        /// Neither.
        Inactive = "inactive",
    }

    /// The state a node has when it is first seen.
    NodeState {
        /// Whatever registration finds.
        Unknown = "unknown" | "idle",
        /// Not to be used.
        Down = "down",
        /// No new jobs.
        Drain = "drain",
        /// No new jobs, for failing hardware.
        Fail = "fail" | "failing",
        /// Will exist one day; not shown.
        Future = "future",
        /// Powered off until needed.
        Cloud = "cloud",
    }

    /// Where tasks are pinned when a step does not say.
    CpuBind {
        None = "none" | "no",
        Socket = "socket" | "sockets",
        /// NUMA node.
        Ldom = "ldom" | "ldoms",
        Core = "core" | "cores",
        Thread = "thread" | "threads",
    }

    /// When a DOWN node comes back by itself.
    ReturnToService {
        /// Never.
        Never = "never" | "0",
        /// When it was only silent.
        Silent = "silent" | "1",
        /// Whenever it registers with the hardware it should have.
        Always = "always" | "2",
    }

    /// When a prolog runs, and what comes with it.
    PrologFlag {
        /// With the allocation, not with its first step.
        Alloc = "alloc",
        /// A step of its own adopts what users start by ssh.
        Contain = "contain",
        /// The batch script waits for the prologs of all nodes.
        DeferBatch = "defer_batch" | "deferbatch",
        /// Prolog and epilog run inside the job's cgroup.
        RunInJob = "run_in_job" | "runinjob",
        /// `srun` does not wait for the prolog.
        NoHold = "no_hold" | "nohold",
        /// A job whose prolog fails goes back to the queue.
        ForceRequeueOnFail = "force_requeue_on_fail" | "forcerequeueonfail",
        /// Never two of one node at a time.
        Serial = "serial",
        /// X11 forwarding is set up.
        X11 = "x11",
    }

    /// On which nodes the health check runs.
    HealthStates {
        Any = "any",
        Idle = "idle",
        Alloc = "alloc",
        Mixed = "mixed",
        NonDrained = "nondrained_idle",
        /// Spread over the interval instead of everywhere at once.
        Cycle = "cycle",
        /// Once, when the agent starts.
        StartOnly = "start_only",
    }

    /// How the network between nodes is described.
    TopologyKind {
        /// Every node is as near as any other.
        Flat = "flat" | "none" | "default" | "3d_torus",
        /// Switches above nodes, `[[switches]]`.
        Tree = "tree",
        /// Blocks of nodes, `[[blocks]]`.
        Block = "block",
    }

    /// How GPUs are found.
    AutoDetect {
        /// By looking at what is there.
        Any = "any",
        Amd = "amd" | "rsmi",
        Nvidia = "nvidia" | "nvml",
        Intel = "intel" | "oneapi",
        /// Not at all: `[[gres]]` says it.
        Off = "off",
    }

    /// Which releases an update follows.
    Channel {
        Stable = "stable",
        Nightly = "nightly",
    }

    /// How much the daemons write to their logs.
    LogLevel {
        Error = "error" | "quiet" | "fatal" | "0" | "1" | "2",
        Warn = "warn",
        Info = "info" | "3",
        Debug = "debug" | "verbose" | "4" | "5",
        Trace = "trace" | "debug2" | "debug3" | "debug4" | "debug5" | "6" | "7" | "8" | "9",
    }
}

/// Slurm's spelling, lower case and without the plugin's kind: `sched/backfill` is `backfill`.
fn slurm_word(text: &str) -> String {
    let text = text.trim();
    text.rsplit('/').next().unwrap_or(text).to_ascii_lowercase()
}

fn no_such_word(word: &str, words: &[&'static str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let mut refusal = format!("expected one of {}", quoted.join(", "));
    let folded = word.to_ascii_lowercase();
    if let Some(nearest) = super::problems::nearest(&folded, words.iter().copied()) {
        refusal.push_str(&format!("; did you mean {}?", quote(nearest)));
    }
    refusal
}

impl CpuBind {
    const ALL: [(CpuBind, u32, &'static str); 5] = [
        (CpuBind::None, 0x20, "none"),
        (CpuBind::Socket, 0x8, "sockets"),
        (CpuBind::Ldom, 0x10, "ldoms"),
        (CpuBind::Core, 0x4, "cores"),
        (CpuBind::Thread, 0x2, "threads"),
    ];

    /// As `--cpu-bind` and `scontrol show` have it.
    pub fn kind(self) -> &'static str {
        CpuBind::ALL.iter().find(|it| it.0 == self).map_or("none", |it| it.2)
    }

    /// The bit Slurm uses.
    pub fn bit(self) -> u32 {
        CpuBind::ALL.iter().find(|it| it.0 == self).map_or(0, |it| it.1)
    }

    /// What a bit stands for.
    pub fn of_bit(bit: u32) -> Option<CpuBind> {
        CpuBind::ALL.iter().find(|it| it.1 == bit).map(|it| it.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurm_names_plugins_with_a_path() {
        assert_eq!(Plugin::from_slurm("sched/backfill"), Ok(Plugin::Backfill));
        assert_eq!(PreemptBy::from_slurm("preempt/partition_prio"), Ok(PreemptBy::PartitionTier));
        assert_eq!(ReturnToService::from_slurm("2"), Ok(ReturnToService::Always));
    }

    #[test]
    fn a_wrong_word_names_the_right_ones() {
        let refusal = Plugin::read(&Value::Text("backfil".into())).unwrap_err();
        assert_eq!(
            refusal,
            "expected one of \"backfill\", \"builtin\"; did you mean \"backfill\"?"
        );
        let refusal = Plugin::read(&Value::Text("wiki".into())).unwrap_err();
        assert_eq!(refusal, "expected one of \"backfill\", \"builtin\"");
    }
}
