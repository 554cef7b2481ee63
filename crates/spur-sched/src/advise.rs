//! Which single change would start a job now. Every piece of advice has been followed on a copy of the state,
//! and the planner did start the job.

use spur_core::auth::{Actor, Level};
use spur_core::ids::JobId;
use spur_core::job::{Array, Hold, Job, Reason};
use spur_core::limit::Limit;
use spur_core::state::{Assignment, Command, Control, Entry, JobAction, Origin, State, apply};

use crate::explain::{Explanation, LimitUse, Test};
use crate::plan::Planner;

/// Something that would start a job now.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What to do to it.
    pub action: JobAction,
}

/// In minutes.
const YEAR: u64 = 365 * 24 * 60;

/// Pieces of advice that are given.
const MOST: usize = 3;

impl Planner {
    /// What would start a job now, the least painful first.
    pub fn advise(&mut self, state: &State, job: JobId, told: &Explanation) -> Vec<Advice> {
        let Some(record) = state.jobs.get(&job) else { return Vec::new() };
        let mut found = Vec::new();
        let mut tried: Vec<JobAction> = Vec::new();
        let within = self.within_limits(state, record, told);
        for action in within.into_iter().chain(candidates(state, record, told)) {
            let action = match self.sharpen(state, job, action) {
                Some(action) if !tried.contains(&action) => action,
                _ => continue,
            };
            tried.push(action.clone());
            if found.len() < MOST && self.starts_after(state, job, &action).is_some() {
                found.push(Advice { action });
            }
        }
        found
    }

    /// As much time, and as many tasks, as the rules of accounting leave.
    fn within_limits(&mut self, state: &State, job: &Job, told: &Explanation) -> Vec<JobAction> {
        let reason = told.wait.map_or(Reason::None, |wait| wait.reason).name();
        if !(reason.starts_with("Assoc") || reason.starts_with("QOS")) {
            return Vec::new();
        }
        let mut all = Vec::new();
        let minutes = match job.time_limit(state.partition_of(job)) {
            Limit::Is(minutes) => minutes,
            Limit::Unlimited => YEAR,
        };
        if reason.contains("Wall") || reason.contains("Minutes") {
            all.extend(self.largest(state, job.id, "TimeLimit", minutes));
        }
        let tasks = u64::from(job.spec.ntasks.unwrap_or(1));
        let of_tasks = ["Cpu", "CPU", "Mem", "Billing"];
        if job.spec.ntasks_per_node.is_none() && of_tasks.iter().any(|word| reason.contains(word)) {
            all.extend(self.largest(state, job.id, "NumTasks", tasks));
        }
        all
    }

    /// The largest number below one with which a job starts.
    fn largest(&mut self, state: &State, job: JobId, key: &str, below: u64) -> Option<JobAction> {
        let (mut low, mut high) = (1, below);
        let mut starts = |number| self.starts_after(state, job, &set(key, number)).is_some();
        if high <= low || !starts(low) {
            return None;
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            match starts(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        Some(set(key, low))
    }

    /// A shorter time limit is asked for as the longest one that fits.
    fn sharpen(&mut self, state: &State, job: JobId, action: JobAction) -> Option<JobAction> {
        let is_time = matches!(&action, JobAction::Update(all) if all[0].key == "TimeMin");
        if !is_time {
            return Some(action);
        }
        let minutes = self.starts_after(state, job, &action)??;
        // It takes a moment to follow advice.
        Some(set("TimeLimit", minutes.saturating_sub(1).max(1)))
    }

    /// Whether a job starts once something is done to it; with how many minutes, where that is less than
    /// it asks for.
    fn starts_after(
        &mut self,
        state: &State,
        job: JobId,
        action: &JobAction,
    ) -> Option<Option<u64>> {
        let mut copy = state.clone();
        let known = state.jobs.get(&job)?;
        // Limits do not hold for what administrators set; its owner is to have advice that does.
        let by = match known.hold {
            Hold::Admin => Actor::Controller,
            _ => Actor::user(known.owner.uid, known.owner.gid, Level::None),
        };
        let control = Control { job, tasks: None, action: action.clone(), by, request: None };
        let command = Command::Control(Box::new(control));
        let entry = Entry { at: state.now, origin: Origin::default(), command };
        apply(&mut copy, &entry).reply.ok()?;
        self.would_start(&copy, job)
    }
}

fn set(key: &str, value: impl ToString) -> JobAction {
    JobAction::Update(vec![Assignment { key: key.to_string(), value: value.to_string() }])
}

/// What might help, judged by the reason and the numbers.
fn candidates(state: &State, job: &Job, told: &Explanation) -> Vec<JobAction> {
    let (spec, place) = (&job.spec, job.spec.placement());
    let Some(wait) = told.wait else { return Vec::new() };
    let partition = state.partition_of(job);
    let mut all = Vec::new();
    match wait.reason {
        Reason::JobHeldUser | Reason::JobHeldAdmin => all.push(JobAction::Release),
        Reason::BeginTime => all.push(set("StartTime", state.now.0)),
        Reason::Dependency | Reason::DependencyNeverSatisfied if job.hold == Hold::None => {
            all.push(set("Dependency", ""));
        }
        Reason::PartitionTimeLimit => {
            let max = partition.and_then(|it| it.max_time.number());
            all.extend(max.map(|minutes| set("TimeLimit", minutes)));
        }
        Reason::Licenses => all.push(set("Licenses", "")),
        Reason::PartitionNodeLimit => {
            let rules = partition.map(|it| &it.rules);
            let most = rules.and_then(|rules| rules.max_nodes.0.number());
            all.extend(most.map(|nodes| set("NumNodes", nodes)));
            let least = rules.map(|rules| rules.min_nodes).filter(|nodes| *nodes > 0);
            all.extend(least.map(|nodes| set("NumNodes", nodes)));
        }
        Reason::MaxMemPerLimit => {
            let own = partition.and_then(|it| it.rules.max_mem_per_node);
            let most = own.or(state.settings.config.jobs.max_mem_per_node);
            all.extend(most.map(|size| set("MinMemoryNode", size.0)));
        }
        Reason::AccountNotAllowed => {
            let name = &job.owner.name;
            let own = state.rules.associations().filter(|one| one.user_name == *name);
            let mut accounts: Vec<&str> = own.map(|one| one.account.as_str()).collect();
            accounts.sort_unstable();
            accounts.dedup();
            all.extend(accounts.into_iter().map(|account| set("Account", account)));
        }
        Reason::JobArrayTaskLimit => {
            let throttle = match job.array.as_deref() {
                Some(Array::Waiting(tasks)) => tasks.throttle,
                Some(Array::Task { throttle, .. }) => *throttle,
                None => 0,
            };
            all.push(set("ArrayTaskThrottle", throttle.saturating_add(1)));
        }
        Reason::Reservation | Reason::ReservationDeleted => {
            all.push(set("ReservationName", ""));
        }
        _ => {}
    }
    let is_over = |limit: &&LimitUse| limit.used + limit.needed > limit.max;
    for limit in told.limits.iter().filter(is_over).filter(|it| it.name.ends_with("/cpu")) {
        // As many tasks as are left.
        let each = u64::from(spec.cpus_per_task.unwrap_or(1).max(1));
        let tasks = limit.max.saturating_sub(limit.used) / each;
        all.extend((tasks > 0).then(|| set("NumTasks", tasks)));
    }
    if wait.reason == Reason::QOSNotAllowed || told.limits.iter().any(|limit| is_over(&limit)) {
        let own = state.association_of(job);
        let others = own.map(|one| state.rules.qos_of(one)).unwrap_or_default();
        let others = others.iter().filter(|name| **name != spec.qos);
        all.extend(others.map(|name| set("QOS", name)));
    }
    if !matches!(spec.time_limit, Some(Limit::Is(0 | 1))) {
        all.push(set("TimeMin", 1));
    }
    let free = told.fitting.len() as u32;
    if free > 0 && free < told.nodes_wanted.0 && spec.nodes_min.is_some() {
        all.push(set("NumNodes", free));
    }
    let has = |test: Test| told.rejected.contains_key(&test);
    let most = |name: &str| {
        let need = told.needs.iter().find(|need| need.name == name)?;
        Some(need.most_on_a_node).filter(|most| *most > 0)
    };
    if (has(Test::BusyMemory) || has(Test::TooLittleMemory))
        && (spec.memory_per_node.is_some() || spec.memory_per_cpu.is_some())
    {
        all.extend(most("mem").map(|mb| set("MinMemoryNode", mb)));
    }
    if has(Test::BusyDevices) || has(Test::TooFewDevices) {
        all.extend(fewer_devices(job, told));
    }
    if spec.ntasks.is_some_and(|tasks| tasks > 1) && spec.ntasks_per_node.is_none() {
        let each = u64::from(spec.cpus_per_task.unwrap_or(1).max(1));
        let cpus = told.needs.iter().find(|need| need.name == "cpu").map_or(0, |need| need.free);
        all.extend(Some(cpus / each).filter(|tasks| *tasks > 0).map(|it| set("NumTasks", it)));
    }
    if !place.constraint.is_empty() && has(Test::Features) {
        all.push(set("Features", ""));
    }
    if !place.nodelist.is_empty() {
        all.push(set("ReqNodeList", ""));
    }
    if !place.exclude.is_empty() && has(Test::Excluded) {
        all.push(set("ExcNodeList", ""));
    }
    if has(Test::NotShared) && spec.sharing.is_some() {
        all.push(set("OverSubscribe", "yes"));
    }
    let others = state.partitions.iter().filter(|it| *it.name != *told.partition);
    all.extend(others.map(|it| set("Partition", &it.name)));
    all
}

/// As many devices as one node has left.
fn fewer_devices(job: &Job, told: &Explanation) -> Option<JobAction> {
    let need = told.needs.iter().find(|need| need.name.starts_with("gres/"))?;
    let name = need.name.strip_prefix("gres/")?;
    let (most, gpu) = (need.most_on_a_node, job.spec.gpu());
    if most == 0 || most >= need.needed {
        return None;
    }
    match (job.spec.gres.is_empty(), gpu.gpus_per_node.is_empty(), gpu.gpus.is_empty()) {
        (false, true, true) => Some(set("Gres", format!("{name}:{most}"))),
        (true, true, false) => Some(set("TresPerJob", format!("gres/{name}:{most}"))),
        _ => None,
    }
}
