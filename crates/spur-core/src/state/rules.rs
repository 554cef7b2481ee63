//! The rules of accounting in the replicated state: taken in, held against submissions, and usage charged when a
//! run is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::accounts::book::Book;
use crate::accounts::limits::{self, Asks, Needs, Purse, Submitted, Whole};
use crate::accounts::needs;
use crate::accounts::usage::{self, Fading, Usage};
use crate::config::sections;
use crate::config::words::Enforce;
use crate::errors::SlurmError;
use crate::ids::JobId;
use crate::job::{Allocation, Array, Beyond, Job, JobSpec, Owner, Phase, Reason, array};
use crate::limit::Limit;
use crate::partition::Partition;
use crate::state::{Reply, State};
use crate::time::Timestamp;
use crate::views::{AssociationView, QosView, RulesView};

/// Takes rules in place of those before.
pub(super) fn set(state: &mut State, rules: &RulesView) -> Result<Reply, SlurmError> {
    let book = Book::of(rules.clone(), &state.settings.cluster_name);
    for purse in emptied(&state.rules, &book).into_iter().chain(gone(&state.rules, &book)) {
        state.usage.remove(&purse);
    }
    state.rules = Arc::new(book);
    Ok(Reply::Done)
}

/// Whose usage has been set to nothing.
fn emptied(before: &Book, after: &Book) -> Vec<Purse> {
    let (had, has) = (before.rules(), after.rules());
    let known: BTreeMap<u32, u32> =
        had.associations.iter().map(|one| (one.id, one.usage_resets)).collect();
    let is_new = |id: &u32, resets: u32| known.get(id).is_some_and(|before| *before != resets);
    let associations = after.associations().filter(|one| is_new(&one.id, one.usage_resets));
    let known: BTreeMap<u32, u32> = had.qos.iter().map(|one| (one.id, one.usage_resets)).collect();
    let is_new = |id: &u32, resets: u32| known.get(id).is_some_and(|before| *before != resets);
    let qos = has.qos.iter().filter(|one| is_new(&one.id, one.usage_resets));
    let associations = associations.map(|one| Purse::Association(one.id));
    associations.chain(qos.map(|one| Purse::Qos(one.id))).collect()
}

/// Who is no longer there: one who comes back has used nothing. Where nobody is left, the rules are those of another
/// database, and nothing is forgotten for their sake.
fn gone(before: &Book, after: &Book) -> Vec<Purse> {
    let left: BTreeSet<u32> = after.associations().map(|one| one.id).collect();
    let qos: BTreeSet<u32> = after.rules().qos.iter().map(|one| one.id).collect();
    if left.is_empty() {
        return Vec::new();
    }
    let lost = before.associations().map(|one| one.id).filter(|id| !left.contains(id));
    let of_qos = before.rules().qos.iter().map(|one| one.id).filter(|id| !qos.contains(id));
    lost.map(Purse::Association).chain(of_qos.map(Purse::Qos)).collect()
}

/// What a submission is charged to, filled in and held against the rules.
pub(super) fn admit(
    state: &State,
    owner: &Owner,
    spec: &JobSpec,
    tasks: u64,
) -> Result<JobSpec, SlurmError> {
    let mut spec = filled(state, owner, spec)?;
    spec.time_limit = spec.time_limit.or_else(|| granted(state, owner, &spec));
    match barred(state, owner, &spec, tasks) {
        Some(_) => Err(SlurmError::AccountingPolicy),
        None => Ok(spec),
    }
}

/// The time of a job that asks for none where the partition has no usual one: what its QOS or its user may have, where
/// that is less than the partition's most.
fn granted(state: &State, owner: &Owner, spec: &JobSpec) -> Option<Limit> {
    let partition = state.partition_named(spec).filter(|it| it.default_time.is_none())?;
    if !state.enforces(Enforce::Limits) || !state.settings.accounting {
        return None;
    }
    let needs = Needs::new();
    let asks = asks(&owner.name, spec, Some(partition), &needs);
    let wall = limits::wall(&state.rules, &asks)?;
    asks.minutes.is_none_or(|most| wall < most).then_some(Limit::Is(wall))
}

impl State {
    /// What more there is to say about a refusal: the limit, or the accounts that the user has.
    pub fn remark(&self, owner: &Owner, spec: &JobSpec, error: SlurmError) -> Option<String> {
        match error {
            SlurmError::AccountingPolicy => {
                let spec = filled(self, owner, spec).ok()?;
                let most = self.settings.config.limits.max_array_size;
                let array = array::parse(&spec.array, most).ok().flatten();
                let tasks = array.map_or(1, |tasks| tasks.ids().count() as u64);
                barred(self, owner, &spec, tasks).map(|reason| reason.name().to_string())
            }
            SlurmError::InvalidAccount => {
                let own = self.rules.associations().filter(|one| one.user_name == owner.name);
                let mut accounts: Vec<&str> = own.map(|one| one.account.as_str()).collect();
                accounts.sort_unstable();
                accounts.dedup();
                let name = &owner.name;
                Some(match accounts.is_empty() {
                    true => format!("user {name} has no account"),
                    false => format!("user {name} has the accounts {}", accounts.join(", ")),
                })
            }
            _ => None,
        }
    }
}

fn filled(state: &State, owner: &Owner, spec: &JobSpec) -> Result<JobSpec, SlurmError> {
    let mut spec = spec.clone();
    let book = &state.rules;
    if !state.settings.accounting || book.is_empty() {
        // Without accounting nobody can tell one from another.
        if state.settings.accounting && !spec.qos.is_empty() {
            return Err(SlurmError::InvalidQos);
        }
        return match state.enforces(Enforce::Associations) {
            true => Err(SlurmError::InvalidAccount),
            false => Ok(spec),
        };
    }
    let partition = state.partition_named(&spec);
    let name = partition.map(|partition| partition.name.as_str()).unwrap_or_default();
    if spec.account.is_empty() {
        spec.account = book.default_account(&owner.name).unwrap_or_default().to_string();
    } else {
        spec.account = spec.account.to_lowercase();
    }
    let mut association = book.association(&spec.account, &owner.name, name);
    if association.is_none() {
        if state.enforces(Enforce::Associations) {
            return Err(SlurmError::InvalidAccount);
        }
        // Nobody is kept out, but who has accounts is charged to one of them.
        if let Some(own) = book.default_account(&owner.name) {
            spec.account = own.to_string();
            association = book.association(&spec.account, &owner.name, name);
        }
    }
    if state.settings.config.accounting.track_wckey && spec.rare().wckey.is_empty() {
        // The star says that the key is the user's default, and not what they asked for.
        let own = book.rules().user(&owner.name).map(|user| user.default_wckey.as_str());
        spec.rare_mut().wckey = format!("*{}", own.unwrap_or_default());
    }
    if spec.qos.is_empty() {
        spec.qos = book.default_qos(association).to_string();
    } else {
        spec.qos = spec.qos.to_lowercase();
        if book.qos(&spec.qos).is_none() {
            if state.enforces(Enforce::Associations) || state.enforces(Enforce::Qos) {
                return Err(SlurmError::InvalidQos);
            }
            spec.qos.clear();
        }
    }
    if let Some(association) = association.filter(|_| state.enforces(Enforce::Qos))
        && !book.qos_of(association).contains(&spec.qos)
    {
        return Err(SlurmError::InvalidQos);
    }
    let reserved = spec.placement.as_deref().is_some_and(|it| !it.reservation.is_empty());
    let wants_one = |qos: &QosView| qos.flags.iter().any(|flag| flag == "RequiresReservation");
    if state.enforces(Enforce::Qos) && !reserved && book.qos(&spec.qos).is_some_and(wants_one) {
        return Err(SlurmError::InvalidQos);
    }
    Ok(spec)
}

/// The limit that keeps a job out, if one does.
fn barred(state: &State, owner: &Owner, spec: &JobSpec, tasks: u64) -> Option<Reason> {
    let book = &state.rules;
    if !state.enforces(Enforce::Limits) || !state.settings.accounting || book.is_empty() {
        return None;
    }
    let partition = state.partition_named(spec);
    let needs = state.requested(spec, partition);
    let whole = state.whole();
    let asks = asks(&owner.name, spec, partition, &needs);
    let minutes = state.counted(asks.minutes, spec);
    let asks = Asks { whole: whole.as_ref(), minutes, ..asks };
    let there = |wanted: &dyn Fn(&Charged) -> bool| state.index.charged_to(wanted);
    let submitted = Submitted {
        user_in_qos: there(&|it| it.qos == spec.qos && it.user == owner.name),
        account_in_qos: there(&|it| it.qos == spec.qos && it.account == spec.account),
        in_qos: there(&|it| it.qos == spec.qos),
        association: there(&|it| it.user == owner.name && it.account == spec.account),
    };
    let below = |one: &AssociationView| {
        there(&|it| {
            let own = book.association(&it.account, &it.user, "");
            own.is_some_and(|own| book.lineage(own).iter().any(|above| above.id == one.id))
        })
    };
    limits::bars_submission(book, &asks, tasks, submitted, below)
        .or_else(|| limits::denies(book, &asks).then(|| limits::denied(book, &asks)).flatten())
}

/// Who and what a job counts against.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Charged {
    /// The account.
    pub account: String,
    /// The user.
    pub user: String,
    /// The QOS.
    pub qos: String,
}

impl Charged {
    /// Of a job that counts; ended ones do not, nor those nobody is charged for.
    pub(super) fn of(job: &Job) -> Option<Charged> {
        let nobody = job.spec.account.is_empty() && job.spec.qos.is_empty();
        let counts = !job.phase.is_over() && !nobody;
        counts.then(|| Charged {
            account: job.spec.account.clone(),
            user: job.owner.name.clone(),
            qos: job.spec.qos.clone(),
        })
    }

    /// How many a record stands for.
    pub(super) fn tasks(job: &Job) -> u64 {
        match job.array.as_deref() {
            Some(Array::Waiting(tasks)) => tasks.ids().count() as u64,
            _ => 1,
        }
    }
}

fn asks<'a>(
    user: &'a str,
    spec: &'a JobSpec,
    partition: Option<&'a Partition>,
    needs: &'a Needs,
) -> Asks<'a> {
    let default = |it: &Partition| it.default_time.unwrap_or(it.max_time);
    let limit = spec.time_limit.or_else(|| partition.map(default));
    Asks {
        user,
        account: &spec.account,
        partition: partition.map(|it| it.name.as_str()).unwrap_or_default(),
        qos: &spec.qos,
        partition_qos: partition.and_then(|it| it.rules.qos.as_deref()).unwrap_or_default(),
        needs,
        nodes: needs.get(&crate::tres::Tres::Node).copied().unwrap_or(1),
        minutes: limit.and_then(|limit| limit.number()),
        whole: None,
        beyond: Beyond::default(),
    }
}

impl State {
    /// Whether a rule of accounting holds; stronger ones imply weaker ones.
    pub fn enforces(&self, what: Enforce) -> bool {
        let said = &self.settings.config.accounting.enforce;
        let has = |word| said.contains(&word);
        match what {
            Enforce::Associations => {
                let any = [
                    Enforce::Associations,
                    Enforce::Limits,
                    Enforce::Safe,
                    Enforce::Qos,
                    Enforce::Wckeys,
                ];
                any.into_iter().any(has)
            }
            Enforce::Limits => has(Enforce::Limits) || has(Enforce::Safe),
            other => has(other),
        }
    }

    fn partition_named(&self, spec: &JobSpec) -> Option<&Partition> {
        match spec.partition.split(',').find(|name| !name.is_empty()) {
            Some(name) => self.partition(name),
            None => self.default_partition(),
        }
    }

    pub(crate) fn requested(&self, spec: &JobSpec, partition: Option<&Partition>) -> Needs {
        let none = sections::Partition::default();
        let rules = partition.map_or(&none, |it| &it.rules);
        let mut needs = needs::requested(spec, rules, &self.settings.config.jobs);
        needs::bill(&mut needs, Some(rules), &self.settings.config.priority);
        needs
    }

    /// What there is, if the limits of a QOS are parts of it.
    pub fn whole(&self) -> Option<Whole> {
        let relative = |name: &str| {
            self.rules.qos(name).is_some_and(|qos| limits::has_flag(qos, limits::RELATIVE))
        };
        self.rules.rules().qos.iter().find(|qos| limits::has_flag(qos, limits::RELATIVE))?;
        let all = self.nodes.values().map(|node| &**node);
        let own = self.partitions.iter().filter(|it| it.rules.qos.as_deref().is_some_and(relative));
        let of = |it: &Partition| {
            let nodes = self.nodes.values().filter(|node| it.nodes.contains(&node.name));
            (it.name.clone(), needs::of_nodes(nodes.map(|node| &**node)))
        };
        Some(Whole { cluster: needs::of_nodes(all), partitions: own.map(of).collect() })
    }

    /// What a job asks for, or holds, as it is counted and billed.
    pub fn needs_of(&self, job: &Job) -> Needs {
        let partition = self.partition_of(job);
        match job.phase.holds() {
            Some(held) => self.held(job, held),
            None => self.requested(&job.spec, partition),
        }
    }

    pub(crate) fn held(&self, job: &Job, held: &Allocation) -> Needs {
        let mut needs = needs::held(held, &job.spec);
        let rules = self.partition_of(job).map(|it| &*it.rules);
        needs::bill(&mut needs, rules, &self.settings.config.priority);
        needs
    }

    /// A job as the rules see it.
    pub fn asks_of<'a>(&'a self, job: &'a Job, needs: &'a Needs) -> Asks<'a> {
        let partition = self.partition_of(job);
        let minutes = job.time_limit(partition).number();
        // What has begun counts like everything else.
        let beyond = if job.phase == Phase::Pending { job.beyond } else { Beyond::default() };
        let minutes = match job.phase {
            Phase::Pending => self.counted(minutes, &job.spec),
            _ => minutes,
        };
        Asks { minutes, beyond, ..asks(&job.owner.name, &job.spec, partition, needs) }
    }

    /// The minutes that limits see of a job that is to run: some QOS count them as they will be charged.
    fn counted(&self, minutes: Option<u64>, spec: &JobSpec) -> Option<u64> {
        let qos = self.rules.qos(&spec.qos).filter(|qos| limits::has_flag(qos, "UsageFactorSafe"));
        minutes.map(|minutes| match qos {
            Some(qos) => (minutes as f64 * qos.usage_factor) as u64,
            None => minutes,
        })
    }

    /// The association a job is charged to.
    pub fn association_of(&self, job: &Job) -> Option<&AssociationView> {
        let partition = self.partition_of(job).map(|it| it.name.as_str()).unwrap_or_default();
        self.rules.association(&job.spec.account, &job.owner.name, partition)
    }

    fn fading(&self, now: Timestamp) -> Fading {
        let config = &self.settings.config;
        let reset = usage::last_reset(config.priority.usage_reset, now);
        Fading { reset, ..Fading::of_days(config.scheduler.fairshare_halflife_days) }
    }

    /// What some QOS have used does not fade.
    fn fading_of(&self, purse: Purse, fading: Fading) -> Fading {
        let Purse::Qos(id) = purse else { return fading };
        let keeps = |qos: &QosView| qos.id == id && limits::has_flag(qos, "NoDecay");
        match self.rules.rules().qos.iter().any(keeps) {
            true => Fading { half_life: 0.0, reset: None },
            false => fading,
        }
    }

    /// Charges a run that gives its resources back with this change.
    pub(super) fn charge(&mut self, former: Option<&Job>, job: &Job) {
        let Some(former) = former.filter(|former| former.phase.holds().is_some()) else { return };
        if !self.settings.accounting || self.rules.is_empty() {
            return;
        }
        let goes_on = job.phase.holds().is_some() && job.epoch == former.epoch;
        if goes_on {
            return;
        }
        let Some((purses, needs, secs, factor)) = self.run_until(former, self.now) else { return };
        let (now, fading) = (self.now, self.fading(self.now));
        for purse in purses {
            let fading = self.fading_of(purse, fading);
            let before = self.usage.get(&purse).cloned().unwrap_or_default();
            let mut usage = before.at(now, fading);
            usage.add(&needs, fading.counted(secs, now), factor, fading);
            self.usage.insert(purse, Arc::new(usage));
        }
    }

    /// Who pays for a run, and what it has used until a moment.
    fn run_until(&self, job: &Job, now: Timestamp) -> Option<(Vec<Purse>, Needs, i64, f64)> {
        let since = match &job.phase {
            Phase::Running { since, .. } | Phase::Completing { started: since, .. } => *since,
            Phase::Pending | Phase::Ended { .. } => return None,
        };
        let paused = job.pause.secs + job.pause.since.map_or(0, |stopped| now.0 - stopped.0);
        let qos = self.rules.qos(&job.spec.qos);
        // The partition's own QOS pays along, once.
        let of_partition = self.partition_of(job).and_then(|it| it.rules.qos.as_deref());
        let of_partition = of_partition.and_then(|name| self.rules.qos(name));
        let of_partition = of_partition.filter(|one| qos.is_none_or(|qos| qos.id != one.id));
        let association = self.association_of(job).map(|one| Purse::Association(one.id));
        let both = qos.into_iter().chain(of_partition).map(|one| Purse::Qos(one.id));
        let purses = association.into_iter().chain(both).collect();
        let factor = qos.map_or(1.0, |qos| qos.usage_factor);
        Some((purses, self.needs_of(job), (now.0 - since.0 - paused).max(0), factor))
    }

    /// What everybody has used up to a moment, running jobs included. Accounts have what is below them.
    pub fn usage_at(&self, now: Timestamp) -> BTreeMap<Purse, Usage> {
        let fading = self.fading(now);
        let mut all: BTreeMap<Purse, Usage> = self
            .usage
            .iter()
            .map(|(purse, usage)| (*purse, usage.at(now, self.fading_of(*purse, fading))))
            .collect();
        for job in self.index.active.iter().filter_map(|id: &JobId| self.jobs.get(id)) {
            let Some((purses, needs, secs, factor)) = self.run_until(job, now) else { continue };
            for purse in purses {
                let fading = self.fading_of(purse, fading);
                let usage =
                    all.entry(purse).or_insert_with(|| Usage { at: now, ..Usage::default() });
                usage.add(&needs, fading.counted(secs, now), factor, fading);
            }
        }
        let mut sums = all.clone();
        for one in self.rules.associations() {
            let Some(own) = all.get(&Purse::Association(one.id)) else { continue };
            for above in self.rules.lineage(one).into_iter().skip(1) {
                sums.entry(Purse::Association(above.id)).or_default().join(own);
            }
        }
        sums
    }
}
