//! How people name jobs: `12`, `12_4`, `12_[1-3,7]`, `12_*`, `27+1`, and steps: `7.0`, `7.batch`.

use super::array::{self, ArraySpec};
use crate::ids::JobId;
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

    /// Reads a name as `squeue` does, of which what follows the number may be anything: `7x` is job 7, `7_x` its first
    /// task. What [`JobReference::parse`] reads means the same here.
    pub fn parse_loosely(word: &str) -> Option<JobReference> {
        let loosely = || {
            let (job, rest) = number::leading(word)?;
            let job = u32::try_from(job).ok().filter(|job| *job > 0)?;
            let part = match rest.strip_prefix('_').map(first_number) {
                None => Part::Whole,
                Some(task) => Part::Task(u32::try_from(task).ok()?),
            };
            Some(JobReference { job, part, step: None })
        };
        JobReference::parse(word).or_else(loosely).filter(|found| found.job <= JobId::MAX.0)
    }

    /// Reads a step in the same way; where there is none, the words it was looked for in, as `squeue` tells them.
    pub fn parse_step_loosely(word: &str) -> Result<JobReference, String> {
        if let Some(found) = JobReference::parse(word).filter(|found| found.step.is_some()) {
            return Ok(found);
        }
        let mut words = word.split('.').filter(|word| !word.is_empty());
        let job = words.next().unwrap_or_default();
        let Some(step) = words.next() else { return Err(format!("{job}.??")) };
        let number = u32::try_from(first_number(step)).ok();
        match (JobReference::parse_loosely(job), number) {
            (Some(found), Some(number)) => {
                Ok(JobReference { step: Some(number.to_string()), ..found })
            }
            _ => Err(format!("{job}.{step}")),
        }
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

/// The number in front, where there is none 0.
fn first_number(text: &str) -> i64 {
    number::leading(text).map_or(0, |(number, _)| number)
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
    fn squeue_reads_the_numbers_in_front() {
        let read = |word: &str| JobReference::parse_loosely(word).map(|it| (it.job, it.part));
        for word in ["2", "2x", " 2", "2 ", "+2", "2.x", "2-3", "2+x"] {
            assert_eq!(read(word), Some((2, Part::Whole)), "{word}");
        }
        for (word, task) in [("2_1_1", 1), ("2_1x", 1), ("2_x", 0), ("2_", 0), ("2_[1", 0)] {
            assert_eq!(read(word), Some((2, Part::Task(task))), "{word}");
        }
        for word in ["", "x", "0", "0x10", "-2", "4294967295"] {
            assert_eq!(read(word), None, "{word}");
        }
        let step = |word: &str| {
            JobReference::parse_step_loosely(word).map(|it| (it.job, it.part, it.step.unwrap()))
        };
        for word in ["2.0", "2x.0", "2.x", "2.0x", "2.0.0", "2-3.0"] {
            assert_eq!(step(word), Ok((2, Part::Whole, "0".to_string())), "{word}");
        }
        assert_eq!(step("2_1_2.7"), Ok((2, Part::Task(1), "7".to_string())));
        assert_eq!(step("2_x.0"), Ok((2, Part::Task(0), "0".to_string())));
        assert_eq!(step("2.batch"), Ok((2, Part::Whole, "batch".to_string())));
        for (word, told) in [
            ("2", "2.??"),
            ("2_1", "2_1.??"),
            ("2.", "2.??"),
            (".0", "0.??"),
            ("x.0", "x.0"),
            ("0.0", "0.0"),
            ("2.-1", "2.-1"),
        ] {
            assert_eq!(step(word), Err(told.to_string()), "{word}");
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
