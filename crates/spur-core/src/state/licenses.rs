//! Licences: the cluster has so many of each, running jobs hold some.

use std::collections::BTreeMap;

use crate::errors::SlurmError;
use crate::job::{Job, JobSpec};
use crate::license;
use crate::state::State;

/// Whether a request names licences that there are, and not more than there are.
pub(super) fn check(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    let all = &state.settings.config.cluster.licenses.0;
    let asked = license::parse(&spec.placement().licenses);
    let asked = asked.map_err(|_| SlurmError::InvalidLicenses)?;
    let is_there = |it: &license::Request| all.get(&it.name).is_some_and(|has| it.count <= *has);
    if asked.iter().all(is_there) { Ok(()) } else { Err(SlurmError::InvalidLicenses) }
}

/// Whether a job that runs may hold what it asks for now.
pub(super) fn check_change(state: &State, job: &Job, spec: &JobSpec) -> Result<(), SlurmError> {
    check(state, spec)?;
    let all = &state.settings.config.cluster.licenses.0;
    let holds = license::parse(&job.spec.placement().licenses).unwrap_or_default();
    let used = state.licenses_used();
    let fits = |it: &license::Request| {
        let own: u32 =
            holds.iter().filter(|held| held.name == it.name).map(|held| held.count).sum();
        let others = used.get(&it.name).copied().unwrap_or(0).saturating_sub(own.into());
        all.get(&it.name).is_some_and(|has| others + u64::from(it.count) <= u64::from(*has))
    };
    let asked = license::parse(&spec.placement().licenses).unwrap_or_default();
    if asked.iter().all(fits) { Ok(()) } else { Err(SlurmError::InvalidLicenses) }
}

/// Whether what a request asks for is free at present.
pub(super) fn are_free(state: &State, spec: &JobSpec) -> bool {
    let asked = license::parse(&spec.placement().licenses).unwrap_or_default();
    if asked.is_empty() {
        return true;
    }
    let used = state.licenses_used();
    let all = &state.settings.config.cluster.licenses.0;
    asked.iter().all(|it| {
        let used = used.get(&it.name).copied().unwrap_or(0);
        // What is kept for reservations is theirs, as far as their jobs do not have it already.
        let kept = state.licenses_kept(&it.name, spec);
        let theirs = if kept > 0 { state.licenses_of_reservations(&it.name) } else { 0 };
        let kept = kept.saturating_sub(theirs);
        all.get(&it.name).is_some_and(|has| used + kept + u64::from(it.count) <= u64::from(*has))
    })
}

impl State {
    /// How many of a licence jobs hold that run in a reservation which keeps some of it.
    fn licenses_of_reservations(&self, name: &str) -> u64 {
        let keeps = |reservation: &str| {
            let it = self.reservations.get(reservation);
            it.is_some_and(|it| it.licenses.iter().any(|(kept, _)| kept == name))
        };
        let active = self.index.active.iter().filter_map(|id| self.jobs.get(id));
        let theirs = active
            .filter(|job| crate::reservation::names(&job.spec.placement().reservation).any(keeps));
        let held = theirs
            .flat_map(|job| license::parse(&job.spec.placement().licenses).unwrap_or_default());
        held.filter(|it| it.name == name).map(|it| u64::from(it.count)).sum()
    }

    /// How many of each licence jobs hold.
    pub fn licenses_used(&self) -> BTreeMap<String, u64> {
        let mut used = BTreeMap::new();
        for job in self.index.active.iter().filter_map(|id| self.jobs.get(id)) {
            for it in license::parse(&job.spec.placement().licenses).unwrap_or_default() {
                *used.entry(it.name).or_default() += u64::from(it.count);
            }
        }
        used
    }
}
