//! What reservations kept from others and nobody used: it counts as used by those it was kept for, in equal parts.

use std::collections::BTreeSet;

use spur_core::views::{AssociationView, EventView, RulesView, TresSeconds, UsageView};

use super::report::{amount_of, overlap, used};

/// Reservations keep processors; what else their nodes have is not charged.
const KEPT: &str = "cpu";

/// What becomes of the time that nobody used, for the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// As used, by those the nodes were kept for.
    Allocated,
    /// As planned to be down: for maintenance.
    PlannedDown,
    /// Not at all: others may have used it meanwhile.
    Not,
}

/// Seconds of processors that a reservation kept within a time and no job of its own used.
pub fn unused(it: &EventView, usage: &[UsageView], (start, end): (i64, i64)) -> u64 {
    let kept = amount_of(&it.tres, KEPT) * overlap(it, (start, end));
    kept.saturating_sub(usage.iter().map(|row| used(row, KEPT)).sum())
}

pub fn counts(it: &EventView) -> Counts {
    let has = |word: &str| it.state.split(',').any(|flag| flag == word);
    match () {
        () if has("MAINT") => Counts::PlannedDown,
        () if has("IGNORE_JOBS") => Counts::Not,
        () => Counts::Allocated,
    }
}

/// The unused time of reservations, as usage of the associations that could have used it.
pub fn charged(
    reservations: &[(EventView, Vec<UsageView>)],
    rules: &RulesView,
    window: (i64, i64),
) -> Vec<UsageView> {
    let mut rows = Vec::new();
    for (it, usage) in reservations {
        let of: BTreeSet<(&str, &str)> = rules
            .associations
            .iter()
            .filter(|one| one.cluster == it.cluster && is_for(it, one))
            .map(|one| (one.account.as_str(), one.user_name.as_str()))
            .collect();
        let seconds = unused(it, usage, window) / of.len().max(1) as u64;
        rows.extend(of.into_iter().filter(|_| seconds > 0).map(|(account, user)| UsageView {
            cluster: it.cluster.clone(),
            account: account.to_string(),
            user_name: user.to_string(),
            seconds: vec![TresSeconds { name: KEPT.to_string(), seconds }],
            ..UsageView::default()
        }));
    }
    rows
}

/// Users stand for their associations, accounts for their own; with both it is the users' there.
fn is_for(it: &EventView, one: &AssociationView) -> bool {
    let is_there = it.accounts.is_empty() || it.accounts.contains(&one.account);
    match it.users.is_empty() {
        true => !it.accounts.is_empty() && is_there && one.user_name.is_empty(),
        false => is_there && it.users.contains(&one.user_name),
    }
}
