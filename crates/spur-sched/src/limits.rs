//! The rules of accounting as the planner needs them: what a job takes of amounts it shares with others, and what
//! bars it.

use std::sync::Arc;

use spur_core::accounts::limits::{self, Asks, Breach};
use spur_core::config::words::Enforce;
use spur_core::job::{Job, Phase, Reason};
use spur_core::limit::Limit;
use spur_core::state::State;
use spur_core::tres::Tres;

use crate::planner::Planner;
use crate::priority::Basis;
use crate::view::{Charge, Counter, Of, WHOLE};

fn hold(state: &State) -> bool {
    !state.rules.is_empty() && state.enforces(Enforce::Limits)
}

/// What a job takes; the planner is told how much there is of it.
pub(crate) fn charges(
    planner: &mut Planner,
    state: &State,
    job: &Job,
    basis: &Basis,
) -> Vec<Charge> {
    if !hold(state) {
        return Vec::new();
    }
    let needs = state.needs_of(job);
    let asks = Asks { whole: basis.whole.as_ref(), ..state.asks_of(job, &needs) };
    let asks = Asks { minutes: minutes_left(state, job, basis.told).or(asks.minutes), ..asks };
    let spent = |purse| basis.usage.get(&purse).map(|usage| usage.spent());
    let safe = state.enforces(Enforce::Safe);
    let claims = limits::claims(&state.rules, &asks, safe.then_some(&spent));
    let partition = state.partition_of(job);
    let billed_by_cpus = partition.is_none_or(|it| it.rules.tres_billing_weights.is_none());
    let qos = state.rules.qos(&job.spec.qos);
    // Some QOS have weighed them before.
    let weighed = job.phase == Phase::Pending
        && qos.is_some_and(|qos| limits::has_flag(qos, "UsageFactorSafe"));
    let factor = qos.filter(|_| !weighed).map_or(1.0, |qos| qos.usage_factor);
    let weight = (factor * WHOLE as f64) as u64;
    let charge = |claim: limits::Claim| {
        let counter: Arc<str> = claim.counter.into();
        planner.put_counter(&counter, Some(&Counter { max: claim.max, reason: claim.reason }));
        let of = match claim.tres {
            Some(Tres::Cpu) => Of::Cpus(claim.times),
            Some(Tres::Billing) if billed_by_cpus => Of::Cpus(claim.times),
            Some(Tres::Memory) => Of::Memory(claim.times),
            Some(Tres::Node) if claim.times == 1 => Of::Nodes,
            _ => Of::Said,
        };
        // Minutes weigh as much as the QOS says from the moment on that they run.
        let weight = if claim.of_minutes { weight } else { WHOLE };
        Charge { counter, amount: claim.amount, of, weight }
    };
    claims.into_iter().map(charge).collect()
}

/// Of a running job the minutes count that it still has, as in Slurm; they are told when priorities are.
fn minutes_left(state: &State, job: &Job, now: i64) -> Option<u64> {
    let Phase::Running { since, .. } = &job.phase else { return None };
    let limit = job.time_limit(state.partition_of(job));
    let Limit::Is(minutes) = limit else { return None };
    let over = now.saturating_sub(since.0).saturating_sub(job.pause.secs).max(0);
    Some(minutes.saturating_sub(over.unsigned_abs() / 60))
}

/// Why a job waits whoever else runs.
pub(crate) fn bar(state: &State, job: &Job, basis: &Basis) -> Option<Reason> {
    let needs = hold(state).then(|| state.needs_of(job))?;
    let asks = Asks { whole: basis.whole.as_ref(), ..state.asks_of(job, &needs) };
    broken(state, &asks, basis)
        .map(|breach| breach.reason)
        .or_else(|| limits::threshold_bar(&state.rules, &asks, |one| basis.tree.factor(one)))
}

/// The limit that a job is above by itself.
pub(crate) fn breach(state: &State, job: &Job, basis: &Basis) -> Option<Breach> {
    let needs = hold(state).then(|| state.needs_of(job))?;
    broken(state, &Asks { whole: basis.whole.as_ref(), ..state.asks_of(job, &needs) }, basis)
}

fn broken(state: &State, asks: &Asks, basis: &Basis) -> Option<Breach> {
    let spent = |purse| basis.usage.get(&purse).map(|usage| usage.spent());
    let safe = state.enforces(Enforce::Safe);
    limits::waits(&state.rules, asks, &limits::Spending { safe, of: &spent })
}

/// Whether the rules let a job hold no place in the future.
pub(crate) fn holds_no_place(state: &State, job: &Job, priority: u32) -> bool {
    if state.rules.is_empty() {
        return false;
    }
    let needs = limits::Needs::new();
    limits::holds_no_place(&state.rules, &state.asks_of(job, &needs), priority)
}
