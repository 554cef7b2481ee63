//! Tasks of an array that wait have one line together, as in Slurm, also where some have records of their own.

use std::collections::{BTreeMap, BTreeSet};

use spur_core::idset::IdSet;
use spur_core::job::reference::{Part, tasks_of};
use spur_core::job::{JobState, Reason};
use spur_core::views::{JobView, Rows};

use super::query::Query;

/// Where records of arrays stand in Slurm's list of jobs: whenever a task gets a record of its own, that one takes
/// the place, and the record of the rest goes to the end.
#[derive(Default)]
pub struct Standing {
    /// Each record with its job's number and its array's.
    records: Vec<(usize, u32, u32)>,
    /// The numbers that tasks of an array were given, by the array's.
    own: BTreeMap<u32, BTreeSet<u32>>,
}

impl Standing {
    /// Looks at a record.
    pub fn look(&mut self, place: usize, job: &JobView) {
        self.records.push((place, job.job_id, job.array_job_id));
        if job.array_job_id != 0 && job.job_id != job.array_job_id {
            self.own.entry(job.array_job_id).or_default().insert(job.job_id);
        }
    }

    /// The places of the records in that order; nothing where it is the order of their numbers.
    pub fn order(mut self) -> Option<Vec<usize>> {
        if self.own.is_empty() {
            return None;
        }
        self.records.sort_by_key(|(_, id, array)| match self.own.get(array) {
            None => *id,
            Some(own) if id == array => *own.last().unwrap_or(id),
            Some(own) => *own.range(..id).next_back().unwrap_or(array),
        });
        Some(self.records.into_iter().map(|(place, ..)| place).collect())
    }
}

/// The lines that tell more or less than their own record.
#[derive(Default)]
pub struct Arrays {
    /// The records of tasks that wait together, by the number of their array.
    rests: BTreeMap<u32, usize>,
    /// Those of tasks that wait by themselves, with the number of the array.
    loose: Vec<(u32, usize)>,
    lines: BTreeMap<usize, Line>,
    elsewhere: BTreeSet<usize>,
}

/// A line for several tasks.
struct Line {
    tasks: Vec<u32>,
    reasons: Vec<u32>,
    /// Tasks of another name or partition have lines of their own.
    kin: (String, String),
    /// Its own record tells something else.
    differs: bool,
}

impl Arrays {
    /// Looks at a row that is meant.
    pub fn look(&mut self, place: usize, job: &JobView) {
        if job.array_job_id == 0 || job.state != JobState::Pending.number() {
            return;
        }
        match job.array_task_id {
            Some(_) => self.loose.push((job.array_job_id, place)),
            None => drop(self.rests.insert(job.array_job_id, place)),
        }
    }

    /// Puts together what was looked at.
    pub fn join(&mut self, query: &Query, jobs: &Rows<JobView>) {
        let split: BTreeSet<u32> = self.loose.iter().map(|(array, _)| *array).collect();
        let kin = |job: &JobView| (job.name.clone(), job.partition.clone());
        let mut cursor = jobs.cursor();
        for (array, place) in &self.rests {
            let named = named(query, *array);
            if named.is_empty() && !split.contains(array) {
                continue;
            }
            cursor.go(*place);
            let Some(tasks) = tasks_of(&cursor.row) else { continue };
            let is_meant = |task: &u32| named.is_empty() || named.contains(task);
            let tasks = tasks.ids().filter(is_meant).collect();
            let line = Line {
                tasks,
                reasons: vec![cursor.row.reason],
                kin: kin(&cursor.row),
                differs: !named.is_empty(),
            };
            self.lines.insert(*place, line);
        }
        for (array, place) in &self.loose {
            let Some(rest) = self.rests.get(array) else { continue };
            let Some(line) = self.lines.get_mut(rest) else { continue };
            cursor.go(*place);
            let job = &cursor.row;
            if line.kin == kin(job) {
                line.differs = true;
                line.tasks.extend(job.array_task_id);
                if !line.reasons.contains(&job.reason) {
                    line.reasons.push(job.reason);
                }
                self.elsewhere.insert(*place);
            }
        }
        self.lines.retain(|_, line| line.differs);
    }

    /// Whether some tasks are told in the line of another record.
    pub fn any_elsewhere(&self) -> bool {
        !self.elsewhere.is_empty()
    }

    /// Whether a record has the line of several.
    pub fn has(&self, place: usize) -> bool {
        self.lines.contains_key(&place)
    }

    /// Whether a task is told in the line of another record.
    pub fn is_elsewhere(&self, place: usize) -> bool {
        self.elsewhere.contains(&place)
    }

    /// Makes a record's row the line of all that it is told with.
    pub fn tell(&self, place: usize, job: &mut JobView) {
        let Some(line) = self.lines.get(&place) else { return };
        match line.tasks[..] {
            [task] => job.array_task_id = Some(task),
            _ => job.array_task_string = IdSet::from_iter(line.tasks.iter().copied()).to_string(),
        }
        if line.reasons.len() > 1 {
            let words: Vec<String> = line.reasons.iter().map(|it| Reason::word(*it)).collect();
            job.state_description = words.join(",");
        }
    }
}

/// Which tasks of an array are asked for by their numbers.
fn named(query: &Query, array: u32) -> Vec<u32> {
    let references = query.jobs.iter().filter(|it| it.job == array);
    if references.clone().any(|it| it.part == Part::Whole) {
        return Vec::new();
    }
    let tasks = references.flat_map(|it| match &it.part {
        Part::Task(task) => vec![*task],
        Part::Tasks(tasks) => tasks.ids().collect(),
        Part::Whole | Part::Component(_) => Vec::new(),
    });
    tasks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_an_array_stands_behind_its_latest_task() {
        let mut standing = Standing::default();
        let records = [(25, 0), (27, 27), (28, 28), (29, 0), (30, 27), (31, 28), (32, 28)];
        for (place, (job_id, array_job_id)) in records.into_iter().enumerate() {
            standing.look(place, &JobView { job_id, array_job_id, ..JobView::default() });
        }
        let order = standing.order().expect("there are tasks with records of their own");
        let ids: Vec<u32> = order.into_iter().map(|place| records[place].0).collect();
        assert_eq!(ids, [25, 30, 31, 29, 27, 32, 28]);
        let mut plain = Standing::default();
        plain.look(0, &JobView { job_id: 3, array_job_id: 3, ..JobView::default() });
        assert_eq!(plain.order(), None);
    }
}
