//! Licences, and what reservations keep of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use spur_core::job::{JobSpec, Reason};
use spur_core::reservation::names;
use spur_core::state::State;

use super::Counter;
use crate::planner::Planner;

/// Licences that reservations keep.
pub(super) fn kept_licenses(state: &State) -> BTreeSet<String> {
    let all = state.reservations.values().flat_map(|it| &it.licenses);
    all.map(|(name, _)| name.clone()).collect()
}

/// Whether a job names a reservation that keeps a licence.
pub(super) fn is_kept_for(state: &State, license: &str, spec: &JobSpec) -> bool {
    let mut mine = names(&spec.placement().reservation).filter_map(|it| state.reservations.get(it));
    mine.any(|it| it.licenses.iter().any(|(name, _)| name == license))
}

/// Tells how many of each licence that reservations keep others may have at the moment.
pub(super) fn read_open_licenses(planner: &mut Planner, state: &State, kept: &BTreeSet<String>) {
    for name in kept {
        let all = state.settings.config.cluster.licenses.0.get(name).copied().unwrap_or(0);
        let max = u64::from(all).saturating_sub(state.licenses_kept(name, &JobSpec::default()));
        let counter = Counter { max, reason: Reason::Licenses };
        planner.put_counter(&open_license_name(name), Some(&counter));
    }
}

pub(super) fn open_license_name(name: &str) -> Arc<str> {
    format!("license/{name} outside reservations").into()
}

pub(super) fn license_name(name: &str) -> Arc<str> {
    format!("license/{name}").into()
}
