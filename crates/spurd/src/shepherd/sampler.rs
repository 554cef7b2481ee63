//! Looks at tasks now and then, for what the kernel does not tell at their end: how much all processes of a
//! task had at the same time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use spur_core::views::{GpuUsage, TaskUsage};
use spur_proto::internal::Launch;

use crate::gpu::usage;
use crate::machine::measure;
use crate::machine::processes::{self, Process};

/// When to look again, and what was seen.
pub struct Sampler {
    period: Option<Duration>,
    due: Instant,
    /// The most that the processes of a task had together.
    peaks: BTreeMap<i32, TaskUsage>,
    /// Of the run's GPUs: which tasks do what with them is not told, so all of it counts for the first task here.
    gauges: Vec<String>,
    gpus: Option<GpuSamples>,
}

/// What GPUs have told so far.
#[derive(Clone, Copy, Debug, Default)]
struct GpuSamples {
    first_task: i32,
    looks: u64,
    busy_percents: u64,
    memory_bytes: u64,
}

/// The first look comes early, so that a task of a few seconds is seen too.
const FIRST: Duration = Duration::from_secs(1);

impl Sampler {
    /// As often as the job or the site wants; never costs nothing.
    pub fn new(launch: &Launch) -> Sampler {
        let period = Some(launch.sample_secs).filter(|secs| *secs > 0);
        let period = period.map(|secs| Duration::from_secs(secs.into()));
        let first = period.map_or(FIRST, |period| period.min(FIRST));
        let due = Instant::now() + first;
        Sampler { period, due, peaks: BTreeMap::new(), gauges: Vec::new(), gpus: None }
    }

    /// Looks at GPUs too.
    pub fn with_gauges(self, gauges: Vec<String>) -> Sampler {
        Sampler { gauges, ..self }
    }

    /// Looks if it is time to; returns how long to wait for the next time. `tasks` lead the trees that are
    /// counted, `members` are all processes there are.
    pub fn look_when_due(
        &mut self,
        tasks: impl Iterator<Item = i32>,
        members: impl FnOnce() -> Vec<Process>,
    ) -> Option<Duration> {
        let period = self.period?;
        let now = Instant::now();
        if self.due <= now {
            let members = members();
            let mut tasks = tasks.peekable();
            if let Some((task, used)) = tasks.peek().zip(usage::read(&self.gauges)) {
                self.saw_gpus(*task, used);
            }
            for task in tasks {
                let tree = processes::family(&members, |process| process.pid == task);
                self.saw(task, &measure::together(&tree));
            }
            self.due = now + period;
        }
        Some(self.due.saturating_duration_since(now))
    }

    fn saw(&mut self, task: i32, now: &TaskUsage) {
        let peak = self.peaks.entry(task).or_default();
        peak.memory_bytes = peak.memory_bytes.max(now.memory_bytes);
        peak.virtual_bytes = peak.virtual_bytes.max(now.virtual_bytes);
    }

    fn saw_gpus(&mut self, first_task: i32, now: GpuUsage) {
        let seen = self.gpus.get_or_insert(GpuSamples { first_task, ..GpuSamples::default() });
        seen.looks += 1;
        seen.busy_percents += now.busy_percent;
        seen.memory_bytes = seen.memory_bytes.max(now.memory_bytes);
    }

    /// What the kernel told at a task's end, with what was seen before.
    pub fn complete(&self, task: i32, used: TaskUsage) -> TaskUsage {
        let peak = self.peaks.get(&task).copied().unwrap_or_default();
        let memory_bytes = used.memory_bytes.max(peak.memory_bytes);
        let gpu = self.gpus.filter(|seen| seen.first_task == task).map(|seen| GpuUsage {
            memory_bytes: seen.memory_bytes,
            busy_percent: seen.busy_percents / seen.looks.max(1),
        });
        TaskUsage {
            gpu,
            memory_bytes,
            virtual_bytes: peak.virtual_bytes.max(used.virtual_bytes).max(memory_bytes),
            ..used
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_kept_for_the_end() {
        let mut sampler = Sampler::new(&Launch { sample_secs: 30, ..Launch::default() });
        let seen = |memory_bytes, virtual_bytes| TaskUsage {
            memory_bytes,
            virtual_bytes,
            ..TaskUsage::default()
        };
        sampler.saw(7, &seen(10, 50));
        sampler.saw(7, &seen(30, 40));
        let told = TaskUsage { user_micros: 5, ..seen(20, 0) };
        assert_eq!(sampler.complete(7, told), TaskUsage { user_micros: 5, ..seen(30, 50) });
        assert_eq!(sampler.complete(8, told), TaskUsage { user_micros: 5, ..seen(20, 20) });
    }

    #[test]
    fn gpus_count_for_the_first_task_with_their_peak_and_their_mean() {
        let mut sampler = Sampler::new(&Launch::default());
        for (memory_bytes, busy_percent) in [(10, 100), (30, 0), (20, 50)] {
            sampler.saw_gpus(7, GpuUsage { memory_bytes, busy_percent });
        }
        let expected = Some(GpuUsage { memory_bytes: 30, busy_percent: 50 });
        assert_eq!(sampler.complete(7, TaskUsage::default()).gpu, expected);
        assert_eq!(sampler.complete(8, TaskUsage::default()).gpu, None);
    }

    #[test]
    fn nobody_looks_where_nobody_wants_to_know() {
        let mut sampler = Sampler::new(&Launch::default());
        let none = sampler.look_when_due(std::iter::once(1), || panic!("nobody looks"));
        assert_eq!(none, None);
    }
}
