//! `scontrol update StepId=…`: for how long steps may run.

use spur_core::ids::StepId;
use spur_core::job::reference::{JobReference, Part};
use spur_core::limit::Limit;
use spur_core::state::Assignment;
use spur_core::time::duration;
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::{LimitSteps, ListStepsRequest};

use super::Session;
use super::update::unsupported;
use crate::output::complain;

/// `StepId=7.0 TimeLimit=5`, also `StepId=7` for all steps of a job. Of several, Slurm takes the first.
pub fn update(session: &mut Session, name: &str, assignments: &[Assignment]) -> u8 {
    let first = name.split(',').next().unwrap_or(name);
    let (job, step) = first.split_once('.').map_or((first, None), |(job, id)| (job, Some(id)));
    let number = job.parse().ok();
    let (job, step) = match (number, step.map(StepId::parse)) {
        _ if first.is_empty() => {
            return session.refuse("slurm_update error: Invalid job id specified");
        }
        (Some(job), None) => (job, None),
        (Some(job), Some(Some(step))) => (job, Some(step)),
        _ => {
            session.refuse(format!("Invalid StepID parameter: stepid={name}"));
            return session.refuse("Request aborted");
        }
    };
    let job = JobReference { job, part: Part::Whole, step: None };
    let mut said = None;
    for assignment in assignments {
        let key = assignment.key.trim_end_matches(['+', '-']).to_ascii_lowercase();
        if key.is_empty() || !"timelimit".starts_with(&key) {
            return unsupported(session, assignment);
        }
        said = Some(assignment.value.as_str());
    }
    let Some(said) = said else { return session.refuse("No changes specified") };
    let sign = said.chars().next().filter(|sign| "+-".contains(*sign));
    let Ok(limit) = duration::parse_limit(said.trim_start_matches(['+', '-'])) else {
        complain("scontrol", "Invalid TimeLimit value");
        return 1;
    };
    let limit = match (sign, limit) {
        (Some(sign), Limit::Is(by)) => match now(session, job.job, step) {
            Some(now) if sign == '+' => Limit::Is(now.saturating_add(by)),
            Some(now) if by > now => {
                let why = "TimeLimit decrement larger than current time limit";
                complain("scontrol", format!("{why} ({by} > {now})"));
                return 1;
            }
            Some(now) => Limit::Is(now - by),
            None => return 0,
        },
        // Nothing changes.
        (_, Limit::Unlimited) if said.trim_matches('0').is_empty() => return 0,
        (_, limit) => limit,
    };
    let change = LimitSteps { step_id: step.map(|step| step.0), minutes: limit.number() };
    match session.controller().control(&job, Action::LimitSteps(change)) {
        Ok(()) => 0,
        Err(error) => session.refuse(format!("slurm_update error: {error}")),
    }
}

/// The limit that a step has, where it has one.
fn now(session: &mut Session, job: u32, step: Option<StepId>) -> Option<u64> {
    let request = ListStepsRequest { job_ids: vec![job], ..ListStepsRequest::default() };
    let steps = session.controller().steps(&request).ok()?;
    let is_meant = |id: &str| step.is_none_or(|step| step.to_string() == id);
    steps.iter().find(|it| is_meant(&it.step_id))?.time_limit?.number()
}
