//! The rules of accounting as the planner needs them: what a job takes of amounts it shares with others, and what
//! bars it.

use std::sync::Arc;

use spur_core::accounts::limits::{self, Asks};
use spur_core::config::words::Enforce;
use spur_core::job::{Job, Reason};
use spur_core::state::State;

use crate::planner::Planner;
use crate::priority::Basis;
use crate::view::{Charge, Counter};

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
    let claims = limits::claims(&state.rules, &asks);
    let charge = |claim: limits::Claim| {
        let counter: Arc<str> = claim.counter.into();
        planner.put_counter(&counter, Some(&Counter { max: claim.max, reason: claim.reason }));
        Charge { counter, amount: claim.amount }
    };
    claims.into_iter().map(charge).collect()
}

/// Why a job waits whoever else runs.
pub(crate) fn bar(state: &State, job: &Job, basis: &Basis) -> Option<Reason> {
    if !hold(state) {
        return None;
    }
    let needs = state.needs_of(job);
    let asks = Asks { whole: basis.whole.as_ref(), ..state.asks_of(job, &needs) };
    let spent = |purse| basis.usage.get(&purse).map(|usage| usage.spent());
    let safe = state.enforces(Enforce::Safe);
    let book = &state.rules;
    limits::bars(book, &asks)
        .or_else(|| limits::spent_bar(book, &asks, safe, spent))
        .or_else(|| limits::threshold_bar(book, &asks, |one| basis.tree.factor(one)))
}

/// Whether the rules let a job hold no place in the future.
pub(crate) fn holds_no_place(state: &State, job: &Job, priority: u32) -> bool {
    if state.rules.is_empty() {
        return false;
    }
    let needs = limits::Needs::new();
    limits::holds_no_place(&state.rules, &state.asks_of(job, &needs), priority)
}
