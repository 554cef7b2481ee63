//! Which jobs and steps a query means.

use spur_core::hostlist;
use spur_core::job::JobStatus;
use spur_core::job::reference::{JobReference, Part, tasks_of};
use spur_core::job::state::StateFilter;
use spur_core::license;
use spur_core::views::{JobView, StepView};

use super::query::Query;

/// Whether a job is meant; an array is asked about as a whole.
pub fn is_meant(query: &Query, states: &StateFilter, job: &JobView) -> bool {
    states.lets_through(JobStatus(job.state)) && fits(query, job)
}

/// The members that tell whether a job is meant, and which lines it has.
pub fn reads(query: &Query) -> impl Iterator<Item = &'static str> {
    let asked = [
        (true, "job_id state array_job_id array_task_id array_task_string"),
        (true, "het_job_id het_job_offset"),
        // Tasks of an array that wait are told together where these are the same.
        (!query.each_task, "name partition"),
        (query.uids.is_some() || query.not_uid.is_some(), "uid"),
        (!query.partitions.is_empty(), "partition"),
        (!query.names.is_empty(), "name"),
        (!query.accounts.is_empty(), "account"),
        (!query.qos.is_empty(), "qos"),
        (!query.licenses.is_empty(), "licenses"),
        (query.reservation.is_some(), "reservation"),
        (query.nodes.is_some(), "nodes"),
    ];
    asked.into_iter().filter(|(is, _)| *is).map(|(_, members)| members)
}

/// The steps that are meant.
pub fn steps(query: &Query, steps: Vec<StepView>) -> Vec<StepView> {
    let wanted = query.steps.as_deref().unwrap_or_default();
    let of_job = |reference: &JobReference, step: &StepView| {
        let job = JobView {
            job_id: step.job_id,
            array_job_id: step.array_job_id,
            array_task_id: step.array_task_id,
            het_job_id: step.het_job_id,
            het_job_offset: step.het_job_offset,
            ..JobView::default()
        };
        reference.names(&job)
    };
    let named = |step: &StepView| {
        wanted.is_empty()
            || wanted.iter().any(|reference| {
                reference.step.as_deref() == Some(&step.step_id) && of_job(reference, step)
            })
    };
    let fits = |step: &StepView| {
        named(step)
            && (query.jobs.is_empty() || query.jobs.iter().any(|job| of_job(job, step)))
            && query.uids.as_ref().is_none_or(|uids| uids.contains(&step.uid))
            && (query.partitions.is_empty() || query.partitions.contains(&step.partition))
            && query.nodes.as_ref().is_none_or(|nodes| overlap(&step.nodes, nodes))
    };
    steps.into_iter().filter(fits).collect()
}

fn fits(query: &Query, job: &JobView) -> bool {
    let among = |wanted: &[String], word: &str| {
        wanted.is_empty() || wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(word))
    };
    let asks_for = |job: &JobView| {
        let asked = license::parse(&job.licenses).unwrap_or_default();
        asked.iter().any(|asked| query.licenses.contains(&asked.name))
    };
    (query.jobs.is_empty() || query.jobs.iter().any(|reference| reference.names(job)))
        && query.uids.as_ref().is_none_or(|uids| uids.contains(&job.uid))
        && query.not_uid != Some(job.uid)
        && (query.partitions.is_empty()
            || job.partition.split(',').any(|name| query.partitions.iter().any(|p| p == name)))
        && among(&query.names, &job.name)
        && among(&query.accounts, &job.account)
        && among(&query.qos, &job.qos)
        && (query.licenses.is_empty() || asks_for(job))
        // Nobody is in one without a name.
        && query
            .reservation
            .as_ref()
            .is_none_or(|name| !name.is_empty() && *name == job.reservation)
        && query.nodes.as_ref().is_none_or(|nodes| overlap(&job.nodes, nodes))
}

fn overlap(list: &str, nodes: &[String]) -> bool {
    !list.is_empty()
        && hostlist::parse(list).is_ok_and(|hosts| hosts.names().any(|name| nodes.contains(&name)))
}

/// The tasks of a pending array that have a line of their own, because they are told apart or named; nothing where
/// the job has one. Order is among jobs: tasks that wait together stay together.
pub fn tasks_meant(query: &Query, job: &JobView) -> Option<Vec<u32>> {
    let tasks = tasks_of(job)?;
    let named: Vec<u32> = query
        .jobs
        .iter()
        .filter(|reference| reference.job == job.array_job_id)
        .flat_map(|reference| match &reference.part {
            Part::Task(task) => vec![*task],
            Part::Tasks(tasks) => tasks.ids().collect(),
            Part::Whole | Part::Component(_) => Vec::new(),
        })
        .collect();
    if !query.each_task && named.is_empty() {
        return None;
    }
    let wanted = |task: &u32| named.is_empty() || named.contains(task);
    Some(tasks.ids().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::fields::job::shown_id;
    use spur_core::views::JobDetail;

    fn array() -> JobView {
        JobView {
            job_id: 29,
            array_job_id: 29,
            array_task_string: "0,3,6,9".into(),
            name: "harr".into(),
            account: "physics".into(),
            detail: Some(Box::new(JobDetail {
                licenses: "matlab:2".into(),
                ..JobDetail::default()
            })),
            ..JobView::default()
        }
    }

    fn shown(query: &Query) -> Vec<String> {
        let job = array();
        if !is_meant(query, &query.states(), &job) {
            return Vec::new();
        }
        let Some(tasks) = tasks_meant(query, &job) else { return vec![shown_id(&job)] };
        let line = |task| shown_id(&JobView { array_task_id: Some(task), ..job.clone() });
        tasks.into_iter().map(line).collect()
    }

    fn asking(words: &str) -> Query {
        let args: Vec<String> = words.split_whitespace().map(str::to_string).collect();
        Query::read(&args).unwrap_or_else(|_| panic!("{words}"))
    }

    #[test]
    fn an_array_has_one_line_unless_its_tasks_are_meant() {
        assert_eq!(shown(&asking("")), ["29_[0,3,6,9]"]);
        assert_eq!(shown(&asking("-r")), ["29_0", "29_3", "29_6", "29_9"]);
        assert_eq!(shown(&asking("-j 29_3")), ["29_3"]);
        assert_eq!(shown(&asking("-j 29_[6-9]")), ["29_6", "29_9"]);
        assert!(shown(&asking("-j 29_4")).is_empty());
    }

    #[test]
    fn filters_ask_every_attribute() {
        let pass = ["-n HARR,x", "-A Physics", "-L matlab", "-t PD", "-t all", "-j 29,7"];
        assert!(pass.iter().all(|words| shown(&asking(words)).len() == 1));
        let fail =
            ["-n arr", "-A root", "-L matlab2", "-t R", "-j 7", "-w n1", "-R maint", "-q high"];
        assert!(fail.iter().all(|words| shown(&asking(words)).is_empty()));
    }
}
