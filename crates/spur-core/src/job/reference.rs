//! How people name jobs: `12`, `12_4`, `12_[1-3,7]`, `12_*`, `27+1`, and steps: `7.0`, `7.batch`.

use super::array::{self, ArraySpec};
use crate::number;
use crate::views::JobView;

/// A job, some tasks of an array, a component, or a step of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReference {
    /// The number in front.
    pub job: u32,
    /// Which of them.
    pub part: Part,
    /// A step, by its number or name.
    pub step: Option<String>,
}

/// Which part of a job is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The job, with all tasks or components it has.
    Whole,
    /// One task of an array.
    Task(u32),
    /// Several tasks of an array.
    Tasks(ArraySpec),
    /// A component of a heterogeneous job.
    Component(u32),
}

/// Array tasks have numbers below this.
const MOST_TASKS: u32 = 4_000_001;

impl JobReference {
    /// Reads one name; nothing where it names no job.
    pub fn parse(word: &str) -> Option<JobReference> {
        let (job, rest) = number::leading(word)?;
        let job = u32::try_from(job).ok().filter(|job| *job > 0)?;
        let (part, rest) = part(rest)?;
        let step = match rest.strip_prefix('.') {
            Some(step) if is_step(step) => Some(step.to_ascii_lowercase()),
            None if rest.is_empty() => None,
            _ => return None,
        };
        Some(JobReference { job, part, step })
    }

    /// The number of the record meant: components of a job have numbers one after the other.
    pub fn number(&self) -> u32 {
        match self.part {
            Part::Component(offset) => self.job.saturating_add(offset),
            Part::Whole | Part::Task(_) | Part::Tasks(_) => self.job,
        }
    }

    /// Whether this job is meant, or a task of this pending array.
    pub fn names(&self, job: &JobView) -> bool {
        let of_array = job.array_job_id == self.job && job.array_job_id > 0;
        match &self.part {
            Part::Whole => {
                job.job_id == self.job || of_array || (job.het_job_id == self.job && self.job > 0)
            }
            Part::Task(task) => of_array && has_task(job, *task),
            Part::Tasks(tasks) => of_array && tasks.ids().any(|task| has_task(job, task)),
            Part::Component(offset) => job.het_job_id == self.job && job.het_job_offset == *offset,
        }
    }
}

/// Whether this is the task, or the array that still holds it.
fn has_task(job: &JobView, task: u32) -> bool {
    match job.array_task_id {
        Some(id) => id == task,
        None => tasks_of(job).is_some_and(|tasks| tasks.contains(task)),
    }
}

/// The tasks a pending array still has.
pub fn tasks_of(job: &JobView) -> Option<ArraySpec> {
    if job.array_task_id.is_some() || job.array_task_string.is_empty() {
        return None;
    }
    array::parse(&job.array_task_string, MOST_TASKS).ok()?
}

fn part(rest: &str) -> Option<(Part, &str)> {
    if let Some(offset) = rest.strip_prefix('+') {
        let (offset, rest) = number::leading(offset)?;
        return Some((Part::Component(u32::try_from(offset).ok()?), rest));
    }
    let Some(tasks) = rest.strip_prefix('_') else { return Some((Part::Whole, rest)) };
    if let Some(rest) = tasks.strip_prefix('*') {
        return Some((Part::Whole, rest));
    }
    if tasks.starts_with('[') {
        let end = tasks.find(']')?;
        let list = array::parse(&tasks[1..end], MOST_TASKS).ok()??;
        return Some((Part::Tasks(list), &tasks[end + 1..]));
    }
    let (task, rest) = number::leading(tasks)?;
    Some((Part::Task(u32::try_from(task).ok()?), rest))
}

fn is_step(step: &str) -> bool {
    let named = ["batch", "extern", "interactive"];
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    digits || named.iter().any(|name| name.eq_ignore_ascii_case(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part_of(word: &str) -> Option<(u32, Part, Option<String>)> {
        JobReference::parse(word).map(|found| (found.job, found.part, found.step))
    }

    #[test]
    fn names_of_jobs_tasks_components_and_steps() {
        assert_eq!(part_of("12"), Some((12, Part::Whole, None)));
        assert_eq!(part_of("12_4"), Some((12, Part::Task(4), None)));
        assert_eq!(part_of("27+1.0"), Some((27, Part::Component(1), Some("0".into()))));
        assert_eq!(part_of("7.batch"), Some((7, Part::Whole, Some("batch".into()))));
        assert_eq!(part_of("9_*"), Some((9, Part::Whole, None)));
        let Some((12, Part::Tasks(tasks), None)) = part_of("12_[1-3,7]") else { panic!() };
        assert_eq!(tasks.to_string(), "1-3,7");
    }

    #[test]
    fn what_names_no_job() {
        for word in ["", "abc", "12_", "12_[1", "12.", "12.x", "12x", "0", "99999999999", "-1"] {
            assert_eq!(JobReference::parse(word), None, "{word}");
        }
    }

    #[test]
    fn a_pending_array_holds_its_tasks() {
        let array = JobView {
            job_id: 9,
            array_job_id: 9,
            array_task_string: "3-6%2".into(),
            ..JobView::default()
        };
        let task =
            JobView { job_id: 10, array_job_id: 9, array_task_id: Some(1), ..JobView::default() };
        let names = |word: &str, job: &JobView| JobReference::parse(word).unwrap().names(job);
        assert!(names("9", &array) && names("9", &task) && names("9_1", &task));
        assert!(names("9_3", &array) && names("9_[5-9]", &array) && names("10", &task));
        assert!(!names("9_2", &array) && !names("9_2", &task) && !names("10", &array));
    }
}
