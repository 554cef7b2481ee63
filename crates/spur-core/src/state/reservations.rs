//! Reservations: made, changed, taken away, and over.

use std::sync::Arc;

use crate::errors::SlurmError;
use crate::hostlist;
use crate::ids::NodeName;
use crate::job::{Hold, Job, JobSpec, Owner, Phase};
use crate::limit::Limit;
use crate::node::features;
use crate::partition::Partition;
use crate::reservation::{self, Flags, Reservation};
use crate::state::{Administer, Reply, State};
use crate::time::Timestamp;
use crate::update::reservation::{self as update, Draft};

/// A start that was "now" when it was said is not in the past.
const SLACK_SECS: i64 = 120;

pub(super) fn create(state: &mut State, change: &Administer) -> Result<Reply, SlurmError> {
    let mut draft = Draft::default();
    draft.made.name = change.name.clone();
    draft.made.number = state.last_reservation + 1;
    update::set(&mut draft, &change.assignments)?;
    if draft.made.name.is_empty() {
        draft.made.name = fresh_name(&draft.made);
    }
    if state.reservations.contains_key(&draft.made.name) {
        return Err(SlurmError::ReservationNameDup);
    }
    if draft.made.start < state.now.plus_secs(-SLACK_SECS) {
        return Err(SlurmError::InvalidTimeValue);
    }
    let somewhere = draft.nodes.is_some() || draft.count.is_some() || !draft.cores.is_empty();
    let anywhere = draft.made.flags.has(Flags::ANY_NODES) && !draft.made.licenses.is_empty();
    if !somewhere && !anywhere {
        return Err(SlurmError::InvalidNodeName);
    }
    put(state, draft)
}

pub(super) fn update(state: &mut State, change: &Administer) -> Result<Reply, SlurmError> {
    let present = state.reservations.get(&change.name).ok_or(SlurmError::ReservationInvalid)?;
    let floats = present.flags.has(Flags::TIME_FLOAT);
    let mut draft = Draft { made: present.at(state.now), ..Draft::default() };
    update::set(&mut draft, &change.assignments)?;
    if draft.made.name != change.name || draft.made.flags.has(Flags::TIME_FLOAT) != floats {
        return Err(SlurmError::NotSupported);
    }
    if draft.skip {
        let period = draft.made.period().ok_or(SlurmError::ReservationNoSkip)?;
        draft.made.start = draft.made.start.plus_secs(period);
        draft.made.end = draft.made.end.plus_secs(period);
    }
    put(state, draft)
}

pub(super) fn delete(state: &mut State, name: &str) -> Result<Reply, SlurmError> {
    if !state.reservations.contains_key(name) {
        return Err(SlurmError::ReservationInvalid);
    }
    if state.jobs.values().any(|job| !job.phase.is_over() && uses(&job.spec, name)) {
        return Err(SlurmError::ReservationBusy);
    }
    state.reservations.remove(name);
    Ok(Reply::Done)
}

/// `alice_3`: after whom it is for, and which of all reservations it is.
fn fresh_name(made: &Reservation) -> String {
    let whose = made.accounts.first().or(made.users.first()).map_or("resv", String::as_str);
    format!("{whose}_{}", made.number)
}

fn put(state: &mut State, draft: Draft) -> Result<Reply, SlurmError> {
    let mut made = draft.made;
    let floats = made.flags.has(Flags::TIME_FLOAT);
    if floats && made.period().is_some() {
        return Err(SlurmError::NotSupported);
    }
    made.float_secs = floats.then(|| (made.start.0 - state.now.0).max(0));
    if made.users.is_empty() && made.accounts.is_empty() && made.groups.is_empty() {
        return Err(SlurmError::ReservationEmpty);
    }
    let is_known = |name: &String| state.rules.account(name.trim_start_matches('-')).is_some();
    if !state.rules.is_empty() && !made.accounts.iter().all(is_known) {
        return Err(SlurmError::InvalidAccount);
    }
    if made.end <= made.start {
        return Err(SlurmError::InvalidTimeValue);
    }
    // Where accounts are known they have names.
    if state.settings.accounting && !made.accounts.iter().all(is_known) {
        return Err(SlurmError::InvalidAccount);
    }
    if !made.partition.is_empty() && state.partition(&made.partition).is_none() {
        return Err(SlurmError::InvalidPartitionName);
    }
    match (&draft.nodes, draft.count) {
        (Some(text), _) => named(state, text, &mut made)?,
        (None, Some(count)) => counted(state, count, &mut made)?,
        (None, None) if !draft.cores.is_empty() => {
            with_cores(state, draft.cores.iter().sum(), &mut made)?;
        }
        (None, None) => {}
    }
    if (draft.nodes.is_some() || draft.count.is_some()) && !draft.cores.is_empty() {
        made.cores = cores_of_each(&draft.cores, made.nodes.len())?;
        if made.partition.is_empty() {
            let default = state.default_partition().ok_or(SlurmError::DefaultPartitionNotSet)?;
            made.partition = default.name.clone();
        }
    } else if draft.nodes.is_some() || draft.count.is_some() {
        made.cores.clear();
    }
    let mut each = made.nodes.iter().zip(&made.cores);
    if each.any(|(node, cores)| *cores > cores_there(state, node)) {
        return Err(SlurmError::NodesBusy);
    }
    check_licenses(state, &made)?;
    if overlaps(state, &made) {
        return Err(SlurmError::ReservationOverlap);
    }
    let is_new = !state.reservations.contains_key(&made.name);
    if !made.flags.has(Flags::IGNORE_JOBS)
        && (is_new || draft.nodes.is_some() || draft.count.is_some())
        && made.cores.is_empty()
        && made.nodes.iter().any(|node| busy_at(state, node, &made))
    {
        return Err(SlurmError::NodesBusy);
    }
    state.last_reservation = state.last_reservation.max(made.number);
    let name = made.name.clone();
    state.reservations.insert(name.clone(), Arc::new(made));
    Ok(Reply::Named(name))
}

/// `Nodes=n[1-4]`, `Nodes=ALL`.
fn named(state: &State, text: &str, made: &mut Reservation) -> Result<(), SlurmError> {
    let all = text.eq_ignore_ascii_case("all");
    let partition = state.partition(&made.partition);
    let mut names: Vec<NodeName> = match (all, partition) {
        (true, Some(partition)) => {
            state.nodes.keys().filter(|node| partition.nodes.contains(node)).cloned().collect()
        }
        (true, None) => state.nodes.keys().cloned().collect(),
        (false, _) => {
            let names = hostlist::expand(text).map_err(|_| SlurmError::InvalidNodeName)?;
            names.into_iter().map(NodeName::from).collect()
        }
    };
    if names.is_empty() || names.iter().any(|name| !state.nodes.contains_key(name)) {
        return Err(SlurmError::InvalidNodeName);
    }
    in_order(&mut names);
    made.nodes = names;
    made.flags = made.flags.with(Flags::SPEC_NODES);
    if all && partition.is_none() {
        made.flags = made.flags.with(Flags::ALL_NODES);
    }
    Ok(())
}

/// `NodeCnt=2`: nodes that nobody has at that time, those it has already first.
fn counted(state: &State, count: u32, made: &mut Reservation) -> Result<(), SlurmError> {
    if made.partition.is_empty() {
        let default = state.default_partition().ok_or(SlurmError::DefaultPartitionNotSet)?;
        made.partition = default.name.clone();
    }
    let partition = state.partition(&made.partition).ok_or(SlurmError::InvalidPartitionName)?;
    let wanted = features::parse(&made.features).map_err(|_| SlurmError::InvalidFeature)?;
    let will_do = |node: &NodeName| {
        let alone = Reservation { nodes: vec![node.clone()], ..made.clone() };
        let ignores = made.flags.has(Flags::IGNORE_JOBS);
        let node = &state.nodes[node];
        let has = |name: &str| node.active_features.iter().any(|it| it == name);
        partition.nodes.contains(&node.name)
            && wanted.as_ref().is_none_or(|features| features.admits(&has))
            && !overlaps(state, &alone)
            && (ignores || !busy_at(state, &node.name, made))
    };
    let mut names: Vec<NodeName> = state.nodes.keys().filter(|it| will_do(it)).cloned().collect();
    in_order(&mut names);
    names.sort_by_key(|name| (!made.nodes.contains(name), !state.nodes[name].takes_jobs()));
    if names.len() < count as usize || count == 0 {
        return Err(SlurmError::NodesBusy);
    }
    names.truncate(count as usize);
    in_order(&mut names);
    made.nodes = names;
    made.flags = made.flags.without(Flags::SPEC_NODES.with(Flags::ALL_NODES));
    Ok(())
}

/// `CoreCnt=4` without nodes: cores of as few nodes as will do.
fn with_cores(state: &State, count: u32, made: &mut Reservation) -> Result<(), SlurmError> {
    if made.partition.is_empty() {
        let default = state.default_partition().ok_or(SlurmError::DefaultPartitionNotSet)?;
        made.partition = default.name.clone();
    }
    let partition = state.partition(&made.partition).ok_or(SlurmError::InvalidPartitionName)?;
    let mut names: Vec<NodeName> =
        state.nodes.keys().filter(|node| partition.nodes.contains(node)).cloned().collect();
    in_order(&mut names);
    let (mut nodes, mut cores, mut missing) = (Vec::new(), Vec::new(), count);
    for name in names {
        let node = &state.nodes[&name];
        let alone = Reservation { nodes: vec![name.clone()], cores: Vec::new(), ..made.clone() };
        if missing == 0 || !node.takes_jobs() || overlaps(state, &alone) {
            continue;
        }
        let threads = node.inventory.threads_per_core.max(1);
        let used = match made.flags.has(Flags::IGNORE_JOBS) {
            true => 0,
            false => state.used_on(&name).cpus,
        };
        let free = node.inventory.cpus.saturating_sub(used) / threads;
        let taken = free.min(missing);
        if taken > 0 {
            missing -= taken;
            nodes.push(name);
            cores.push(taken);
        }
    }
    if missing > 0 || nodes.is_empty() {
        return Err(SlurmError::NodesBusy);
    }
    (made.nodes, made.cores) = (nodes, cores);
    made.flags = made.flags.without(Flags::SPEC_NODES.with(Flags::ALL_NODES));
    Ok(())
}

fn cores_there(state: &State, node: &NodeName) -> u32 {
    let inventory = state.nodes.get(node).map(|node| &node.inventory);
    inventory.map_or(0, |it| it.cpus / it.threads_per_core.max(1))
}

/// Cores of each of some nodes: as listed, or a total that comes out even.
fn cores_of_each(said: &[u32], nodes: usize) -> Result<Vec<u32>, SlurmError> {
    match said {
        _ if said.len() == nodes => Ok(said.to_vec()),
        [total] if nodes > 0 => Ok(vec![total.div_ceil(nodes as u32); nodes]),
        _ => Err(SlurmError::InvalidCpuCount),
    }
}

/// Licences can be kept once.
fn check_licenses(state: &State, made: &Reservation) -> Result<(), SlurmError> {
    let all = &state.settings.config.cluster.licenses.0;
    let others = || state.reservations.values().filter(|it| it.name != made.name);
    let meet = |it: &&std::sync::Arc<Reservation>| it.start < made.end && made.start < it.end;
    for (name, count) in &made.licenses {
        let kept = others().filter(meet).flat_map(|it| &it.licenses);
        let kept: u32 = kept.filter(|(other, _)| other == name).map(|(_, count)| count).sum();
        if all.get(name).is_none_or(|has| kept.saturating_add(*count) > *has) {
            return Err(SlurmError::InvalidLicenses);
        }
    }
    Ok(())
}

/// Nodes that are out of service, or taken where idle ones are wanted, and what to have in their place.
fn replaced(state: &State, it: &Reservation) -> Option<Reservation> {
    let (any, down) = (it.flags.has(Flags::REPLACE), it.flags.has(Flags::REPLACE_DOWN));
    if !any && !down || it.flags.has(Flags::SPEC_NODES) || !it.cores.is_empty() {
        return None;
    }
    let serves = |name: &NodeName| state.nodes.get(name).is_some_and(|node| node.takes_jobs());
    let is_idle =
        |name: &NodeName| state.index.on_node.get(name).is_none_or(|jobs| jobs.is_empty());
    let stays = |name: &&NodeName| serves(name) && (!any || is_idle(name));
    let mut nodes: Vec<NodeName> = it.nodes.iter().filter(stays).cloned().collect();
    let missing = it.nodes.len() - nodes.len();
    let partition = state.partition(&it.partition)?;
    let will_do = |name: &&NodeName| {
        let alone = Reservation { nodes: vec![(*name).clone()], ..it.clone() };
        partition.nodes.contains(name)
            && !it.nodes.contains(name)
            && serves(name)
            && is_idle(name)
            && !overlaps(state, &alone)
    };
    let mut spare: Vec<NodeName> = state.nodes.keys().filter(will_do).cloned().collect();
    in_order(&mut spare);
    let new = spare.len().min(missing);
    if new == 0 {
        return None;
    }
    nodes.extend(spare.into_iter().take(new));
    // Those for which there is nobody else stay.
    let rest = it.nodes.iter().filter(|name| !nodes.contains(name)).cloned();
    let rest: Vec<NodeName> = rest.take(missing - new).collect();
    nodes.extend(rest);
    in_order(&mut nodes);
    Some(Reservation { nodes, ..it.clone() })
}

/// Whether nobody has used one for as long as it said.
fn is_idle_for_long(state: &State, it: &Reservation, now: Timestamp) -> bool {
    let Some(secs) = it.purge_secs else { return false };
    let since = it.idle_since.unwrap_or(it.start).max(it.start);
    now.0 - since.0 >= i64::from(secs)
        && !state.jobs.values().any(|job| !job.phase.is_over() && uses(&job.spec, &it.name))
}

/// A job that is over leaves the reservations it used.
pub(super) fn left(state: &mut State, job: &Job) {
    let named: Vec<String> =
        reservation::names(&job.spec.placement().reservation).map(str::to_string).collect();
    for name in named {
        let Some(it) = state.reservations.get(&name).filter(|it| it.purge_secs.is_some()) else {
            continue;
        };
        if it.idle_since != Some(state.now) {
            let next = Reservation { idle_since: Some(state.now), ..(**it).clone() };
            state.reservations.insert(name, Arc::new(next));
        }
    }
}

fn in_order(names: &mut Vec<NodeName>) {
    names.sort_by(|a, b| hostlist::natural(a.as_str(), b.as_str()));
    names.dedup();
}

/// Whether another one has a node at the same time. Maintenance goes over everything.
fn overlaps(state: &State, made: &Reservation) -> bool {
    let lenient = |it: &Reservation| it.flags.has(Flags::MAINT) || it.flags.has(Flags::OVERLAP);
    let others = state.reservations.values().filter(|it| it.name != made.name);
    !lenient(made) && others.filter(|it| !lenient(it)).any(|it| it.meets(made))
}

/// Whether a job that is not the reservation's own runs on a node beyond its start.
fn busy_at(state: &State, node: &NodeName, made: &Reservation) -> bool {
    let jobs = state.index.on_node.get(node).into_iter().flat_map(|jobs| jobs.keys());
    jobs.filter_map(|id| state.jobs.get(id)).any(|job| {
        let Phase::Running { since, .. } = &job.phase else { return false };
        let limit = job.time_limit(state.partition_of(job));
        let end = match limit {
            Limit::Is(minutes) => since.plus_secs((minutes as i64).saturating_mul(60)),
            Limit::Unlimited => Timestamp(i64::MAX),
        };
        !uses(&job.spec, &made.name) && end > made.start
    })
}

fn uses(spec: &JobSpec, name: &str) -> bool {
    reservation::names(&spec.placement().reservation).any(|it| it == name)
}

/// Whether a request may use what it names: each is there, one lets it in, and its nodes would do.
pub(super) fn check(state: &State, spec: &JobSpec, owner: &Owner) -> Result<(), SlurmError> {
    let place = spec.placement();
    let mut open: Vec<&Reservation> = Vec::new();
    for name in reservation::names(&place.reservation) {
        let it = state.reservations.get(name).ok_or(SlurmError::ReservationInvalid)?;
        if it.admits(owner, &spec.account) {
            open.push(it);
        }
    }
    if place.reservation.is_empty() {
        return Ok(());
    }
    if open.is_empty() {
        return Err(SlurmError::ReservationAccess);
    }
    let flexible = |it: &&Reservation| it.flags.has(Flags::FLEX);
    // Those of its nodes count that are in a partition the job may be in.
    let named = spec.partition.split(',').filter_map(|name| state.partition(name));
    let mut named: Vec<&Partition> = named.collect();
    named.extend(state.default_partition().filter(|_| spec.partition.is_empty()));
    let is_there = |node: &&NodeName| {
        named.is_empty() || named.iter().any(|partition| partition.nodes.contains(node))
    };
    let enough = |it: &&Reservation| {
        it.flags.has(Flags::ANY_NODES)
            || it.nodes.iter().filter(is_there).count() >= spec.nodes_min.unwrap_or(1) as usize
    };
    let wanted = hostlist::expand(&place.nodelist).unwrap_or_default();
    let has_all = |it: &&Reservation| {
        it.flags.has(Flags::ANY_NODES)
            || wanted.iter().all(|name| it.nodes.iter().any(|node| node.as_str() == name))
    };
    if !open.iter().any(|it| flexible(it) || enough(it) && has_all(it)) {
        return Err(SlurmError::RequestedNodeConfigUnavailable);
    }
    Ok(())
}

/// Draws the conclusions from the time: those that come again move on, the others go, and jobs that waited
/// for them are let loose, held unless the reservation said otherwise.
pub(super) fn passed(state: &mut State) -> Result<Reply, SlurmError> {
    for it in state.reservations.clone().values() {
        let mut next = (**it).clone();
        if is_idle_for_long(state, it, state.now) {
            state.reservations.remove(&it.name);
            continue;
        }
        if let Some(other) = replaced(state, it).filter(|_| it.end > state.now) {
            state.reservations.insert(other.name.clone(), Arc::new(other));
            continue;
        }
        if next.advance(state.now) {
            if next.start != it.start {
                state.reservations.insert(next.name.clone(), Arc::new(next));
            }
            continue;
        }
        let users: Vec<Arc<Job>> = (state.jobs.values())
            .filter(|job| !job.phase.is_over() && uses(&job.spec, &it.name))
            .cloned()
            .collect();
        // Those that run end first.
        if users.iter().any(|job| job.phase != Phase::Pending) {
            continue;
        }
        for job in users {
            let mut spec = (*job.spec).clone();
            let left: Vec<&str> = reservation::names(&job.spec.placement().reservation)
                .filter(|name| *name != it.name)
                .collect();
            spec.placement_mut().reservation = left.join(",");
            let released = it.flags.has(Flags::NO_HOLD_JOBS_AFTER) || !left.is_empty();
            let hold = if released { job.hold } else { job.hold.max(Hold::User) };
            state.put_job(Job { spec: Arc::new(spec), hold, ..(*job).clone() });
        }
        state.reservations.remove(&it.name);
    }
    Ok(Reply::Done)
}

impl State {
    /// Whether some reservation's time is over, or its nodes are to be replaced.
    pub fn reservation_is_due(&self, now: Timestamp) -> bool {
        self.reservations.values().any(|it| {
            it.times(now).1 <= now
                || is_idle_for_long(self, it, now)
                || replaced(self, it).is_some()
        })
    }

    /// The reservation that draws in a job which names none, if it was put on its nodes.
    pub(super) fn drawn_into(&self, job: &Job, nodes: &[&NodeName]) -> Option<&Arc<Reservation>> {
        let free = job.spec.placement().reservation.is_empty();
        self.reservations.values().filter(|_| free).find(|it| {
            it.attracts(&job.owner, &job.spec.account, self.now)
                && nodes.iter().all(|node| it.nodes.contains(node))
        })
    }

    /// How many of a licence are kept for jobs of reservations, those that a request names not counted.
    pub fn licenses_kept(&self, license: &str, spec: &JobSpec) -> u64 {
        let others = self.reservations.values().filter(|it| it.is_active(self.now));
        let others = others.filter(|it| !uses(spec, &it.name)).flat_map(|it| &it.licenses);
        others.filter(|(name, _)| name == license).map(|(_, count)| u64::from(*count)).sum()
    }

    /// When the reservation a job runs in ends it, if it does.
    pub fn reservation_end(&self, job: &Job) -> Option<Timestamp> {
        let over = self.settings.config.timeouts.reservation_over_run.0.number()?;
        let all = reservation::names(&job.spec.placement().reservation);
        let mine = all.filter_map(|name| self.reservations.get(name));
        let holds = job.phase.holds()?;
        let inside = |it: &&Arc<Reservation>| {
            !it.flags.has(Flags::FLEX)
                && holds.shares.iter().all(|share| it.nodes.contains(&share.node))
        };
        let end = mine.filter(inside).map(|it| it.times(self.now).1).max()?;
        Some(end.plus_secs((over as i64).saturating_mul(60)))
    }
}
