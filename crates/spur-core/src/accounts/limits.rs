//! What the rules let a job do: amounts it shares with others, and what bars it by itself. For each limit the
//! first of QOS, association and accounts above that says something counts, as in Slurm; group limits of
//! accounts hold on every level.

mod bars;
mod reasons;

use std::collections::BTreeMap;

use crate::accounts::book::Book;
use crate::job::{Beyond, Reason};
use crate::limit::Limit;
use crate::tres::{self, Tres};
use crate::views::{AssociationView, QosView};
use reasons::{Kind, Level};

pub use bars::{Breach, Spending, denied, waits};

/// Amounts of resources.
pub type Needs = BTreeMap<Tres, u64>;

/// A job as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Asks<'a> {
    /// Whose it is.
    pub user: &'a str,
    /// What it is charged to.
    pub account: &'a str,
    /// Where it is to run.
    pub partition: &'a str,
    /// Its QOS.
    pub qos: &'a str,
    /// The partition's own QOS; empty without one.
    pub partition_qos: &'a str,
    /// What it needs, or holds.
    pub needs: &'a Needs,
    /// Nodes it is spread over, at least.
    pub nodes: u64,
    /// How long it may run; nothing is for ever.
    pub minutes: Option<u64>,
    /// What there is, for limits that are parts of it.
    pub whole: Option<&'a Whole>,
    /// What an operator has set of it.
    pub beyond: Beyond,
}

impl Asks<'_> {
    /// Whether limits on this resource are not for it.
    fn is_beyond(&self, tres: &Tres) -> bool {
        match tres {
            Tres::Cpu => self.beyond.cpus,
            Tres::Memory => self.beyond.memory,
            _ => false,
        }
    }
}

/// What a cluster has, which the limits of some QOS are percentages of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// All of it.
    pub cluster: Needs,
    /// What the partitions have whose own QOS is such a one.
    pub partitions: BTreeMap<String, Needs>,
}

/// An amount that jobs use up together, and what this one uses of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Names the amount; equal names are one.
    pub counter: String,
    /// How much there is.
    pub max: u64,
    /// How much of it this job takes, as far as can be told before it has its place.
    pub amount: u64,
    /// The resource that is counted; none where it is jobs.
    pub tres: Option<Tres>,
    /// How often one of it counts: minutes, or once.
    pub times: u64,
    /// Whether it is minutes, which some QOS count more or less of.
    pub of_minutes: bool,
    /// Why a job waits that finds too little.
    pub reason: Reason,
}

/// Amounts a job shares with others while it runs, in the order in which Slurm asks for them. Where jobs are to begin
/// only if they can end, `spent` tells what of the minutes of each purse is used up.
pub fn claims(
    book: &Book,
    asks: &Asks,
    spent: Option<&dyn Fn(Purse) -> Option<Spent>>,
) -> Vec<Claim> {
    let qos = qos_of(book, asks);
    let own = book.association(asks.account, asks.user, asks.partition);
    let line = own.map(|own| book.lineage(own)).unwrap_or_default();
    let mut said: Vec<(&'static str, Option<Tres>)> = Vec::new();
    let mut claims = Vec::new();
    for one in &qos {
        for (name, limit, by, reason) in [
            ("GrpJobs", one.grp_jobs, "", Reason::QOSGrpJobsLimit),
            ("MaxJobsPA", one.max_jobs_per_account, asks.account, Reason::MaxJobsPerAccount),
            ("MaxJobsPU", one.max_jobs_per_user, asks.user, Reason::QOSMaxJobsPerUserLimit),
        ] {
            let Some(max) = limit.and_then(Limit::number) else { continue };
            if first(&mut said, name, None) {
                claims.push(Claim::one(format!("qos/{}/{name}/{by}", one.id), max, reason));
            }
        }
    }
    let by_qos = |name: &str| said.iter().any(|(known, _)| *known == name);
    // Level by level on the way up: what limits one association alone is told before its accounts' groups.
    for (place, one) in line.iter().enumerate() {
        let group = one.grp_jobs.filter(|_| !by_qos("GrpJobs")).and_then(Limit::number);
        let counter = || format!("assoc/{}/GrpJobs", one.id);
        claims.extend(group.map(|max| Claim::one(counter(), max, Reason::AssocGrpJobsLimit)));
        let is_own = place == 0 && !by_qos("MaxJobsPU");
        let alone = book.inherited(one, |one| one.max_jobs).filter(|_| is_own);
        let counter = || format!("assoc/{}/MaxJobs", one.id);
        let alone = alone.and_then(Limit::number);
        claims.extend(alone.map(|max| Claim::one(counter(), max, Reason::AssocMaxJobsLimit)));
    }
    let minutes = asks.minutes.unwrap_or(YEAR_MINUTES);
    let left = |purse: Purse, tres: &Tres, max: u64| {
        let used = spent.and_then(|spent| spent(purse)).unwrap_or_default();
        max.saturating_sub(used.minutes.get(tres).copied().unwrap_or(0))
    };
    for one in &qos {
        for (name, limits, by, kind, times) in [
            ("GrpTRESMins", &one.grp_tres_mins, "", Kind::GrpMinutes, minutes),
            ("GrpTRES", &one.grp_tres, "", Kind::Grp, 1),
            ("GrpTRESRunMins", &one.grp_tres_run_mins, "", Kind::GrpRunMinutes, minutes),
            ("MaxTRESPA", &one.max_tres_per_account, asks.account, Kind::PerAccount, 1),
            ("MaxTRESPU", &one.max_tres_per_user, asks.user, Kind::PerUser, 1),
            (
                "MaxTRESRunMinsPA",
                &one.max_tres_run_mins_per_account,
                asks.account,
                Kind::RunMinutesPerAccount,
                minutes,
            ),
            (
                "MaxTRESRunMinsPU",
                &one.max_tres_run_mins_per_user,
                asks.user,
                Kind::RunMinutesPerUser,
                minutes,
            ),
        ] {
            if kind == Kind::GrpMinutes && spent.is_none() {
                continue;
            }
            // Minutes are no parts of anything.
            let limits = if times == 1 { parts(asks, one, limits) } else { amounts(limits) };
            for (tres, max) in limits {
                if first(&mut said, name, Some(tres.clone())) {
                    let max = match kind {
                        Kind::GrpMinutes => left(Purse::Qos(one.id), &tres, max),
                        _ => max,
                    };
                    let counter = format!("qos/{}/{name}/{by}/{tres}", one.id);
                    let reason = reasons::of(Level::Qos, kind, &tres);
                    claims.extend(claim(counter, asks, tres, (kind, times), max, reason));
                }
            }
        }
    }
    let by_qos = |name: &'static str, tres: &Tres| {
        said.iter().any(|(known, of)| *known == name && of.as_ref() == Some(tres))
    };
    for one in &line {
        for (name, limits, kind, times) in [
            ("GrpTRESMins", &one.grp_tres_mins, Kind::GrpMinutes, minutes),
            ("GrpTRES", &one.grp_tres, Kind::Grp, 1),
            ("GrpTRESRunMins", &one.grp_tres_run_mins, Kind::GrpRunMinutes, minutes),
        ] {
            if kind == Kind::GrpMinutes && spent.is_none() {
                continue;
            }
            for (tres, max) in amounts(limits).into_iter().filter(|(tres, _)| !by_qos(name, tres)) {
                let counter = format!("assoc/{}/{name}/{tres}", one.id);
                let (counter, max) = match kind {
                    Kind::Grp => (counter_of(book, asks, &counter), scaled(book, asks, max)),
                    Kind::GrpMinutes => (counter, left(Purse::Association(one.id), &tres, max)),
                    _ => (counter, max),
                };
                let reason = reasons::of(Level::Association, kind, &tres);
                claims.extend(claim(counter, asks, tres, (kind, times), max, reason));
            }
        }
    }
    claims
}

impl Claim {
    /// Of an amount of jobs.
    fn one(counter: String, max: u64, reason: Reason) -> Claim {
        Claim { counter, max, amount: 1, tres: None, times: 1, of_minutes: false, reason }
    }
}

fn claim(
    counter: String,
    asks: &Asks,
    tres: Tres,
    (kind, times): (Kind, u64),
    max: u64,
    reason: Reason,
) -> Option<Claim> {
    let amount = asks.needs.get(&tres).copied().unwrap_or(0).saturating_mul(times);
    let is_free = times == 1 && asks.is_beyond(&tres);
    (amount > 0 && !is_free).then_some(Claim {
        counter,
        max,
        amount,
        tres: Some(tres),
        times,
        of_minutes: kind.is_minutes(),
        reason,
    })
}

fn run_minutes(asks: &Asks, tres: &Tres) -> u64 {
    let amount = asks.needs.get(tres).copied().unwrap_or(0);
    amount.saturating_mul(asks.minutes.unwrap_or(YEAR_MINUTES))
}

/// What a job without a limit is taken to run.
const YEAR_MINUTES: u64 = 365 * 1440;

/// What associations may use is more or less in some QOS.
fn scaled(book: &Book, asks: &Asks, max: u64) -> u64 {
    match book.qos(asks.qos).and_then(|qos| qos.limit_factor) {
        Some(factor) if factor >= 0.0 => (max as f64 * factor) as u64,
        _ => max,
    }
}

/// An amount that has another size in some QOS is another amount there.
fn counter_of(book: &Book, asks: &Asks, counter: &str) -> String {
    match book.qos(asks.qos).filter(|qos| qos.limit_factor.is_some()) {
        Some(qos) => format!("{counter}/qos/{}", qos.id),
        None => counter.to_string(),
    }
}

/// Whether a QOS has a flag.
pub fn has_flag(qos: &QosView, flag: &str) -> bool {
    qos.flags.iter().any(|it| it.eq_ignore_ascii_case(flag))
}

/// Whether a job of this priority holds no place in the future: those behind it may go before it for ever.
pub fn holds_no_place(book: &Book, asks: &Asks, priority: u32) -> bool {
    let qos = qos_of(book, asks);
    let least = qos.iter().find_map(|one| one.min_priority_threshold).or_else(|| {
        let own = book.association(asks.account, asks.user, asks.partition)?;
        book.inherited(own, |one| one.min_priority_threshold)
    });
    qos.iter().any(|one| has_flag(one, "NoReserve")) || least.is_some_and(|least| priority < least)
}

/// A QOS whose jobs wait while their association's share is used up too far.
pub fn threshold_bar(book: &Book, asks: &Asks, factor: impl Fn(u32) -> f64) -> Option<Reason> {
    let own = book.association(asks.account, asks.user, asks.partition)?;
    let held = |qos: &&QosView| {
        let least = qos.usage_threshold.filter(|_| has_flag(qos, "EnforceUsageThreshold"));
        least.is_some_and(|least| factor(own.id) < least)
    };
    qos_of(book, asks).iter().any(held).then_some(Reason::QOSUsageThreshold)
}

/// Whose usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purse {
    /// An association's, by its number.
    Association(u32),
    /// A QOS's.
    Qos(u32),
}

/// Usage so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Minutes of each resource.
    pub minutes: BTreeMap<Tres, u64>,
    /// Minutes of running.
    pub wall_minutes: u64,
}

/// The longest that a job may run, in minutes: the word of its QOS before that of its user and the accounts above.
pub fn wall(book: &Book, asks: &Asks) -> Option<u64> {
    let by_qos = qos_of(book, asks).into_iter().find_map(|qos| qos.max_wall?.number());
    by_qos.or_else(|| {
        let own = book.association(asks.account, asks.user, asks.partition)?;
        book.inherited(own, |it| it.max_wall)?.number()
    })
}

/// The QOS that say something about a job, the first word first.
fn qos_of<'a>(book: &'a Book, asks: &Asks) -> Vec<&'a QosView> {
    let job = book.qos(asks.qos);
    let partition = book.qos(asks.partition_qos);
    let over = job.is_some_and(|one| has_flag(one, "OverPartQOS"));
    let both = if over { [job, partition] } else { [partition, job] };
    both.into_iter().flatten().collect()
}

fn first(
    said: &mut Vec<(&'static str, Option<Tres>)>,
    name: &'static str,
    tres: Option<Tres>,
) -> bool {
    let entry = (name, tres);
    let is_first = !said.contains(&entry);
    if is_first {
        said.push(entry);
    }
    is_first
}

/// The amounts of a QOS; of some they are percentages of what the cluster has, or the partition that the QOS is of.
fn parts(asks: &Asks, qos: &QosView, limits: &str) -> Vec<(Tres, u64)> {
    let said = amounts(limits);
    if said.is_empty() || !has_flag(qos, RELATIVE) {
        return said;
    }
    let of = |whole: &Whole, tres: &Tres| {
        let own = Some(&whole.partitions).filter(|_| qos.name == asks.partition_qos);
        let there = own.and_then(|all| all.get(asks.partition)).unwrap_or(&whole.cluster);
        there.get(tres).copied()
    };
    let part = |(tres, percent): (Tres, u64)| {
        let there = asks.whole.and_then(|whole| of(whole, &tres))?;
        Some((tres, (u128::from(there) * u128::from(percent) / 100) as u64))
    };
    said.into_iter().filter_map(part).collect()
}

/// The flag of QOS whose limits are percentages.
pub const RELATIVE: &str = "Relative";

fn amounts(limits: &str) -> Vec<(Tres, u64)> {
    if limits.is_empty() {
        return Vec::new();
    }
    tres::read(limits).into_iter().filter_map(|(tres, amount)| Some((tres, amount?))).collect()
}

/// How many jobs of some kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Submitted {
    /// By this user in this QOS.
    pub user_in_qos: u64,
    /// By this account in this QOS.
    pub account_in_qos: u64,
    /// In this QOS.
    pub in_qos: u64,
    /// Of the association itself.
    pub association: u64,
}

/// The limit that one more submission, of so many tasks, would be above. `below` counts the jobs of an association
/// and everything below it.
pub fn bars_submission(
    book: &Book,
    asks: &Asks,
    tasks: u64,
    there: Submitted,
    below: impl Fn(&AssociationView) -> u64,
) -> Option<Reason> {
    let above = |limit: Option<Limit>, there: u64| {
        limit.and_then(Limit::number).is_some_and(|max| there + tasks > max)
    };
    let qos = qos_of(book, asks);
    for one in &qos {
        for (limit, there, reason) in [
            (one.grp_submit, there.in_qos, Reason::QOSGrpSubmitJobsLimit),
            (one.max_submit_per_account, there.account_in_qos, Reason::MaxSubmitJobsPerAccount),
            (one.max_submit_per_user, there.user_in_qos, Reason::QOSMaxSubmitJobPerUserLimit),
        ] {
            if above(limit, there) {
                return Some(reason);
            }
        }
    }
    let own = book.association(asks.account, asks.user, asks.partition)?;
    let by_qos = qos.iter().any(|one| one.max_submit_per_user.is_some());
    let max_submit = book.inherited(own, |one| one.max_submit).filter(|_| !by_qos);
    if book.lineage(own).iter().any(|one| above(one.grp_submit, below(one))) {
        return Some(Reason::AssocGrpSubmitJobsLimit);
    }
    above(max_submit, there.association).then_some(Reason::AssocMaxSubmitJobLimit)
}

/// How many waiting jobs may grow older together with one, and under which name they are counted.
pub fn accrual(book: &Book, asks: &Asks) -> Vec<(String, u64)> {
    let mut counters = Vec::new();
    let mut said = Vec::new();
    let number = |limit: Option<Limit>| limit.and_then(Limit::number);
    for one in qos_of(book, asks) {
        for (name, limit, by) in [
            ("GrpJobsAccrue", one.grp_jobs_accrue, ""),
            ("MaxJobsAccruePU", one.max_jobs_accrue_per_user, asks.user),
            ("MaxJobsAccruePA", one.max_jobs_accrue_per_account, asks.account),
        ] {
            if let Some(max) = number(limit)
                && first(&mut said, name, None)
            {
                counters.push((format!("qos/{}/{name}/{by}", one.id), max));
            }
        }
    }
    let Some(own) = book.association(asks.account, asks.user, asks.partition) else {
        return counters;
    };
    let by_qos = |name: &str| said.iter().any(|(known, _)| *known == name);
    let max = number(book.inherited(own, |one| one.max_jobs_accrue));
    if let Some(max) = max.filter(|_| !by_qos("MaxJobsAccruePU")) {
        counters.push((format!("assoc/{}/MaxJobsAccrue", own.id), max));
    }
    for one in book.lineage(own) {
        if let Some(max) = number(one.grp_jobs_accrue).filter(|_| !by_qos("GrpJobsAccrue")) {
            counters.push((format!("assoc/{}/GrpJobsAccrue", one.id), max));
        }
    }
    counters
}

/// Whether a job that the rules bar is refused at once instead of waiting.
pub fn denies(book: &Book, asks: &Asks) -> bool {
    qos_of(book, asks).iter().any(|one| has_flag(one, "DenyOnLimit"))
}

#[cfg(test)]
mod tests;
