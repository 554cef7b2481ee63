//! Who runs next.

use crate::config::amounts::{Minutes, Seconds};
use crate::config::by_name::Weights;
use crate::config::keys::section;
use crate::config::sharing::PreemptMode;
use crate::config::words::{
    Consume, EnforceLimits, Plugin, PreemptAction, PreemptBy, PriorityFlag, PriorityKind,
    TopologyKind, UsageReset,
};
use crate::limit::Limit;

section! {
    /// Who runs next, and where.
    Scheduler = "scheduler", repeated false;
    /// `backfill`, or `builtin`: strictly by priority.
    plugin: Plugin = Plugin::Backfill, Now, ["SchedulerType"];
    /// The longest time between two full passes; events come first.
    interval_secs: u32 = 1, Now, [];
    /// How fast past usage is forgotten: after this many days half of it counts. 0: never.
    fairshare_halflife_days: f64 = 7.0, Now, [];
    /// How many pending jobs hold a place in the future that no lower one may delay. None: what replays
    /// of real workloads found best.
    reservation_depth: Option<u32> = None, Now, [];
    /// Behind the jobs that hold a place, those that take least time start first, whatever their priority.
    backfill_shortest_first: bool = false, Now, [];
    /// Backfill expects jobs to take as long as their users' last two did, while that is nearer than limits; what ends jobs is their limit.
    predict_run_times: bool = false, Now, [];
    /// Expectations are not believed while the first job waits for so long beyond the moment that limits say.
    predict_patience: Minutes = Minutes(Limit::Is(240)), Now, [];
    /// Nor while more than this part of all processors stands idle because of them, week by week.
    predict_margin_percent: u32 = 10, Now, [];
    /// What a job is given and no other job may have meanwhile.
    consume: Consume = Consume::CoreMemory, Now, [];
    /// Choose the node with most idle CPUs instead of the fullest that fits.
    least_loaded: bool = false, Now, [];
    /// Put as many tasks as possible on each node of a job.
    pack_nodes: bool = false, Now, [];
    /// How the network between nodes is described.
    topology: TopologyKind = TopologyKind::Flat, Now, ["TopologyPlugin"];
    /// Which limits of partitions are checked at submission.
    enforce_partition_limits: EnforceLimits = EnforceLimits::No, Now, ["EnforcePartLimits"];
    /// How long a turn is when jobs share resources by turns.
    time_slice: Seconds = Seconds(30), Now, ["SchedulerTimeSlice"];
}

section! {
    /// What priority is made of: each factor is between 0 and 1, times its weight.
    Priority = "priority", repeated false;
    /// `multifactor`, or `basic`: first come, first served.
    plugin: PriorityKind = PriorityKind::Multifactor, Now, ["PriorityType"];
    /// How long the job waits.
    weight_age: u32 = 0, Now, ["PriorityWeightAge"];
    /// Shares given against usage.
    weight_fairshare: u32 = 0, Now, ["PriorityWeightFairshare"];
    /// How large the job is.
    weight_job_size: u32 = 0, Now, ["PriorityWeightJobSize"];
    /// The partition's `priority_job_factor`.
    weight_partition: u32 = 0, Now, ["PriorityWeightPartition"];
    /// The QOS's priority.
    weight_qos: u32 = 0, Now, ["PriorityWeightQOS"];
    /// The association's priority.
    weight_association: u32 = 0, Now, ["PriorityWeightAssoc"];
    /// How much of each resource the job asks for.
    weight_tres: Weights = Weights::default(), Now, ["PriorityWeightTRES"];
    /// The wait after which the age factor is 1.
    max_age: Minutes = Minutes(Limit::Is(7 * 1_440)), Now, ["PriorityMaxAge"];
    /// Small jobs get the size factor of large ones.
    favor_small: bool = false, Now, ["PriorityFavorSmall"];
    /// How often usage decays and priorities are computed anew.
    calc_period: Minutes = Minutes(Limit::Is(5)), Now, ["PriorityCalcPeriod"];
    /// When usage is forgotten all at once: as a day, a week or so begins in UTC. `now`: once, when that is said.
    usage_reset: UsageReset = UsageReset::None, Now, ["PriorityUsageResetPeriod"];
    /// Ways to compute the factors.
    flags: Vec<PriorityFlag> = vec![], Now, ["PriorityFlags"];
}

section! {
    /// Jobs that displace others.
    Preemption = "preemption", repeated false;
    /// Which jobs may displace which.
    by: PreemptBy = PreemptBy::None, Now, ["PreemptType"];
    /// What becomes of a displaced job; partitions and QOS can say otherwise.
    mode: PreemptMode = PreemptMode { action: PreemptAction::Off, gang: false, within: false }, Now,
        ["PreemptMode"];
    /// A job is safe for this long after its start.
    exempt_time: Minutes = Minutes(Limit::Is(0)), Now, ["PreemptExemptTime"];
}
