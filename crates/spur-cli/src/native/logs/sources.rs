//! Which files a job, an array, a step or a task wrote.

use std::sync::Arc;

use spur_core::fields::job::shown_id;
use spur_core::filename::{self, Values};
use spur_core::hostlist;
use spur_core::job::reference::JobReference;
use spur_core::job::{JobState, JobStatus};
use spur_core::views::{AccountingView, JobDetail, JobView};
use spur_proto::caller::CallError;
use spur_proto::slurm::{JobSelector, ListJobHistoryRequest, ListJobsRequest};

use crate::accounting::{self, Trouble};
use crate::cluster::{self, Controller};

/// The most names that are tried for a step whose files are told apart by task and by node.
const MOST_NAMES: usize = 100_000;

/// What is asked for: `12`, `12_3`, `12.0`, `12.0:5`.
pub struct Wanted {
    /// The job, and the step if one is meant.
    pub reference: JobReference,
    /// Only this task of the step.
    pub rank: Option<u32>,
    /// The files of standard error.
    pub error: bool,
}

/// A file, and what its lines are told apart by among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// A task of an array, the rank in a step, or the node; empty for what stands alone.
    pub label: String,
    /// Where it is, on the node and perhaps here.
    pub path: String,
    /// The job that wrote it.
    pub job: Arc<JobView>,
}

impl Wanted {
    /// Reads the words of a user.
    pub fn parse(word: &str, error: bool) -> Option<Wanted> {
        let (job, rank) = match word.split_once(':') {
            Some((job, rank)) => (job, Some(rank.parse().ok()?)),
            None => (word, None),
        };
        let mut reference = JobReference::parse(job)?;
        if rank.is_some() && reference.step.is_none() {
            reference.step = Some("0".to_string());
        }
        Some(Wanted { reference, rank, error })
    }

    /// The files there are so far, those of running jobs first known by the controller, all others by accounting.
    pub fn sources(&self, controller: &mut Controller) -> Result<Vec<Source>, String> {
        let step = self.reference.step.as_deref().filter(|step| *step != "batch");
        if let Some(step) = step {
            return self.of_step(step);
        }
        let mut found = match jobs(controller, &self.reference) {
            Err(CallError::Refused(_)) => Vec::new(),
            found => found.map_err(|error| error.to_string())?,
        };
        if found.is_empty() {
            found = match remembered(&self.reference) {
                Err(Trouble::Disabled) => Vec::new(),
                rows => rows.map_err(|trouble| trouble.to_string())?.iter().map(as_job).collect(),
            };
        }
        // Of those that wait there is nothing to see, unless they are all there is.
        let begun = |job: &JobView| JobStatus(job.state).base() != JobState::Pending;
        match found.iter().any(begun) {
            true => found.retain(begun),
            false => found.truncate(1),
        }
        let alone = found.len() == 1;
        let source = |job: JobView| {
            let shown = if self.error { &job.standard_error } else { &job.standard_output };
            let label = if alone { String::new() } else { shown_id(&job) };
            Source { label, path: as_written(&job, shown), job: Arc::new(job) }
        };
        Ok(found.into_iter().map(source).collect())
    }

    fn of_step(&self, step: &str) -> Result<Vec<Source>, String> {
        let mut sources = Vec::new();
        for row in remembered(&self.reference).map_err(|trouble| trouble.to_string())? {
            let Some(row) = row.steps.iter().find(|row| row.step_id == step) else { continue };
            let pattern = match (self.error, row.standard_error.as_str()) {
                (true, error) if !error.is_empty() => error,
                _ => &row.standard_output,
            };
            let job = Arc::new(as_job(row));
            for (label, path) in files_of_step(row, pattern, self.rank) {
                sources.push(Source { label, path, job: job.clone() });
            }
        }
        Ok(sources)
    }
}

/// The jobs of this name that the controller knows.
pub fn jobs(
    controller: &mut Controller,
    reference: &JobReference,
) -> Result<Vec<JobView>, CallError> {
    let request =
        ListJobsRequest { job_ids: vec![reference.job], ended: true, ..Default::default() };
    let mut found = controller.jobs(&request)?;
    found.retain(|job| reference.names(job));
    found.sort_by_key(|job| (job.array_task_id, job.job_id));
    Ok(found)
}

/// The jobs of this name that accounting knows.
fn remembered(reference: &JobReference) -> Result<Vec<AccountingView>, Trouble> {
    let selector = JobSelector { job_id: reference.job, ..JobSelector::default() };
    let request = ListJobHistoryRequest { jobs: vec![selector], ..Default::default() };
    let mut rows = cluster::block_on(accounting::history(request))?;
    rows.retain(|row| reference.names(&as_job(row)));
    Ok(rows)
}

/// A job of the past, as far as its files go.
fn as_job(row: &AccountingView) -> JobView {
    let values = Values {
        job: row.job_id,
        user: row.user_name.clone(),
        job_name: row.name.clone(),
        array_job: Some(row.array_job_id).filter(|id| *id > 0),
        array_task: row.array_task_id,
        ..Values::default()
    };
    let usual = filename::batch_output(row.array_task_id.is_some());
    let file = |pattern: &str| match pattern {
        "" => String::new(),
        pattern => below(&row.work_dir, &filename::shown(pattern, &values)),
    };
    let pattern = if row.standard_output.is_empty() { usual } else { &row.standard_output };
    let standard_output = file(pattern);
    let standard_error = match row.standard_error.is_empty() {
        true => standard_output.clone(),
        false => file(&row.standard_error),
    };
    JobView {
        job_id: row.job_id,
        array_job_id: row.array_job_id,
        array_task_id: row.array_task_id,
        het_job_id: row.het_job_id,
        het_job_offset: row.het_job_offset,
        state: row.state,
        detail: Some(Box::new(JobDetail {
            batch_host: hostlist::expand(&row.nodes)
                .ok()
                .and_then(|nodes| nodes.into_iter().next())
                .unwrap_or_default(),
            standard_output,
            standard_error,
            ..JobDetail::default()
        })),
        ..JobView::default()
    }
}

/// The name of a file as the node made it: the controller fills in only what it knows.
fn as_written(job: &JobView, shown: &str) -> String {
    let values = Values { job: job.job_id, node_name: job.batch_host.clone(), ..Values::default() };
    filename::expand(shown, &values)
}

/// What the tasks of a step wrote to, each name once, with what tells it apart.
fn files_of_step(row: &AccountingView, pattern: &str, rank: Option<u32>) -> Vec<(String, String)> {
    if pattern.is_empty() || pattern == "none" || pattern.parse::<u32>().is_ok() {
        return Vec::new();
    }
    let nodes = hostlist::expand(&row.nodes).unwrap_or_default();
    let named = |task: u32, node: usize| {
        let values = Values {
            job: row.job_id,
            array_job: Some(row.array_job_id).filter(|id| *id > 0),
            array_task: row.array_task_id,
            step: row.step_id.parse().ok(),
            task,
            node: node as u32,
            node_name: nodes.get(node).cloned().unwrap_or_default(),
            user: row.user_name.clone(),
            job_name: row.name.clone(),
        };
        below(&row.work_dir, &filename::expand(pattern, &values))
    };
    let by_task = named(0, 0) != named(1, 0);
    let by_node = nodes.len() > 1 && named(0, 0) != named(0, 1);
    let tasks = if by_task { row.tasks.max(1) } else { 1 };
    let spread = if by_node { nodes.len() } else { 1 };
    let all = (0..tasks).flat_map(|task| (0..spread).map(move |node| (task, node)));
    let all = all.filter(|(task, _)| !by_task || rank.is_none_or(|rank| rank == *task));
    let mut files: Vec<(String, String)> = all
        .take(MOST_NAMES)
        .map(|(task, node)| {
            let label = match (by_task, by_node) {
                (true, _) => task.to_string(),
                (false, true) => nodes[node].clone(),
                (false, false) => String::new(),
            };
            (label, named(task, node))
        })
        .collect();
    if by_task && by_node {
        // Which task was where is not kept: the names that are there tell.
        files.retain(|(_, path)| std::path::Path::new(path).exists());
    }
    files
}

fn below(dir: &str, name: &str) -> String {
    if name.starts_with('/') { name.to_string() } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(nodes: &str, tasks: u32) -> AccountingView {
        AccountingView {
            job_id: 7,
            step_id: "0".into(),
            nodes: nodes.into(),
            tasks,
            work_dir: "/w".into(),
            ..AccountingView::default()
        }
    }

    #[test]
    fn a_step_wrote_one_file_or_one_for_each_task_or_node() {
        let told = |pattern: &str, rank| files_of_step(&row("n[1-2]", 2), pattern, rank);
        let pair = |label: &str, path: &str| (label.to_string(), path.to_string());
        assert_eq!(told("out", None), [pair("", "/w/out")]);
        assert_eq!(told("/t/%j.%t", None), [pair("0", "/t/7.0"), pair("1", "/t/7.1")]);
        assert_eq!(told("/t/%j.%t", Some(1)), [pair("1", "/t/7.1")]);
        assert_eq!(told("%N", None), [pair("n1", "/w/n1"), pair("n2", "/w/n2")]);
        assert_eq!(told("", None), []);
    }

    #[test]
    fn a_rank_alone_is_one_of_the_first_step() {
        let wanted = Wanted::parse("12_3:5", false).expect("it is one");
        assert_eq!((wanted.reference.step.as_deref(), wanted.rank), (Some("0"), Some(5)));
        assert!(Wanted::parse("12:x", false).is_none());
    }
}
