//! The order of `squeue`'s lines: `-S P,t,-p`.
//!
//! Each letter is one pass of a stable sort, the last letter first. Jobs come in the order of their
//! numbers, then those expected or started latest first.

use std::borrow::Cow;
use std::cmp::Ordering;

use spur_core::fields::job::{JOB_FIELDS, used};
use spur_core::fields::{self, RenderContext, step};
use spur_core::hostlist;
use spur_core::job::JobStatus;
use spur_core::limit::Limit;
use spur_core::views::{JobView, StepView};

/// Letters in the order they were said.
pub struct Order {
    keys: Vec<Key>,
    /// A letter nobody sorts by.
    pub unknown: Option<char>,
    /// Letters that are taken, with a word about them.
    pub ignored: Vec<char>,
}

#[derive(Clone, Copy)]
struct Key {
    letter: char,
    descending: bool,
}

/// What a letter sorts by.
enum By<T: 'static> {
    Text(fn(&T) -> Cow<'_, str>),
    Number(fn(&T, &RenderContext<'_>) -> i64),
    /// A moment; those without one come last, whichever way the others go.
    Moment(fn(&T) -> i64),
    /// The first node; those without one come last.
    Node(fn(&T) -> &str),
    /// Taken, and nothing is moved by it.
    Nothing,
}

#[rustfmt::skip]
const JOBS: &[(char, By<JobView>)] = &[
    ('B', By::Text(|j| if j.batch_host.is_empty() { "n/a".into() } else { (&j.batch_host).into() })),
    ('C', By::Number(|j, _| j.num_cpus.into())),
    ('D', By::Number(|j, _| j.num_nodes.into())),
    ('G', By::Number(|j, _| j.gid.into())),
    ('H', By::Number(|j, _| j.sockets_per_node.unwrap_or(0).into())),
    ('I', By::Number(|j, _| j.cores_per_socket.unwrap_or(0).into())),
    ('J', By::Number(|j, _| j.threads_per_core.unwrap_or(0).into())),
    ('L', By::Number(|j, context| minutes(j.time_limit) - used(j).secs(context))),
    ('M', By::Number(|j, context| used(j).secs(context))),
    ('N', By::Node(|j| &j.nodes)),
    ('O', By::Nothing),
    ('P', By::Text(|j| (&j.partition).into())),
    ('Q', By::Number(|j, _| j.priority.into())),
    ('S', By::Moment(|j| j.start_time)),
    ('T', By::Text(|j| JobStatus(j.state).name().into())),
    ('U', By::Number(|j, _| j.uid.into())),
    ('V', By::Number(|j, _| j.submit_time)),
    ('c', By::Nothing),
    ('d', By::Number(|j, _| j.min_tmp_disk_mb as i64)),
    ('e', By::Number(|j, _| j.end_time)),
    ('f', By::Nothing),
    ('g', By::Nothing),
    ('h', By::Nothing),
    ('i', By::Number(|j, _| id(j))),
    ('j', By::Text(|j| (&j.name).into())),
    ('l', By::Number(|j, _| minutes(j.time_limit))),
    ('m', By::Number(|j, _| j.memory_per_cpu_mb.or(j.memory_per_node_mb).unwrap_or(0) as i64)),
    ('n', By::Nothing),
    ('p', By::Number(|j, _| j.priority.into())),
    ('t', By::Text(|j| JobStatus(j.state).compact().into())),
    ('u', By::Text(|j| (&j.user_name).into())),
    ('v', By::Text(|j| (&j.reservation).into())),
    ('z', By::Nothing),
];

#[rustfmt::skip]
const STEPS: &[(char, By<StepView>)] = &[
    ('A', By::Number(|s, _| s.num_tasks.into())),
    ('M', By::Number(|s, context| step::used(s).secs(context))),
    ('N', By::Node(|s| &s.nodes)),
    ('P', By::Text(|s| (&s.partition).into())),
    ('S', By::Number(|s, _| s.start_time)),
    ('U', By::Number(|s, _| s.uid.into())),
    ('i', By::Number(|s, _| step_place(s))),
    ('j', By::Text(|s| (&s.name).into())),
    ('l', By::Number(|s, _| minutes(s.time_limit))),
    ('u', By::Text(|s| (&s.user_name).into())),
];

impl Order {
    /// Reads the letters after `-S`, for jobs or for steps.
    pub fn parse(text: &str, steps: bool) -> Order {
        let known = |letter: char| match steps {
            true => STEPS.iter().any(|(known, _)| *known == letter),
            false => JOBS.iter().any(|(known, _)| *known == letter),
        };
        let mut order = Order { keys: Vec::new(), unknown: None, ignored: Vec::new() };
        let mut descending = false;
        let cluster = text.trim_start_matches(['+', '-']) == "cluster";
        for letter in text.chars().filter(|_| !cluster) {
            match letter {
                '-' => descending = true,
                '+' => descending = false,
                ',' => {}
                'b' => order.ignored.push('b'),
                letter if known(letter) => {
                    order.keys.push(Key { letter, descending });
                    descending = false;
                }
                // Slurm reads from the end, so the last one is the one it names.
                letter => order.unknown = Some(letter),
            }
        }
        order
    }

    /// Whether the outline of a job is enough to order it by.
    pub fn by_outline(&self) -> bool {
        self.keys
            .iter()
            .all(|key| fields::by_letter(JOB_FIELDS, key.letter).is_some_and(|field| field.outline))
    }

    /// Jobs in order.
    pub fn jobs<'a>(&self, jobs: &'a [JobView], context: &RenderContext<'_>) -> Vec<&'a JobView> {
        let mut jobs: Vec<&JobView> = jobs.iter().collect();
        pass(&mut jobs, &By::Moment(|job| job.start_time), true, context);
        self.passes(JOBS, &mut jobs, context);
        jobs
    }

    /// Steps in order.
    pub fn steps<'a>(
        &self,
        steps: &'a [StepView],
        context: &RenderContext<'_>,
    ) -> Vec<&'a StepView> {
        let mut steps: Vec<&StepView> = steps.iter().collect();
        self.passes(STEPS, &mut steps, context);
        steps
    }

    fn passes<T>(&self, table: &[(char, By<T>)], rows: &mut Vec<&T>, context: &RenderContext<'_>) {
        for key in self.keys.iter().rev() {
            if let Some((_, by)) = table.iter().find(|(letter, _)| *letter == key.letter) {
                pass(rows, by, key.descending, context);
            }
        }
    }
}

fn pass<T>(rows: &mut Vec<&T>, by: &By<T>, descending: bool, context: &RenderContext<'_>) {
    let turned = |order: Ordering| if descending { order.reverse() } else { order };
    match by {
        By::Nothing => {}
        By::Text(get) => {
            let mut keyed: Vec<(Cow<'_, str>, &T)> =
                rows.drain(..).map(|row| (get(row), row)).collect();
            keyed.sort_by(|a, b| turned(a.0.cmp(&b.0)));
            rows.extend(keyed.into_iter().map(|(_, row)| row));
        }
        By::Number(get) => {
            rows.sort_by(|a, b| turned(get(a, context).cmp(&get(b, context))));
        }
        By::Moment(get) => {
            let (mut present, mut absent): (Vec<&T>, Vec<&T>) =
                rows.drain(..).partition(|row| get(row) > 0);
            present.sort_by(|a, b| turned(get(a).cmp(&get(b))));
            // Slurm turns the rest around at each pass.
            absent.reverse();
            rows.extend(present.into_iter().chain(absent));
        }
        By::Node(get) => {
            let (mut present, mut absent): (Vec<&T>, Vec<&T>) =
                rows.drain(..).partition(|row| !get(row).is_empty());
            let first = |row: &T| {
                let hosts = hostlist::parse(get(row)).ok();
                hosts.and_then(|hosts| hosts.names().next()).unwrap_or_default()
            };
            present.sort_by(|a, b| turned(hostlist::natural(&first(a), &first(b))));
            if descending {
                rows.extend(absent.into_iter().chain(present));
            } else {
                absent.reverse();
                rows.extend(present.into_iter().chain(absent));
            }
        }
    }
}

/// Where a job stands by its number: tasks behind each other within their array, what is left of the
/// array behind them.
pub fn id(job: &JobView) -> i64 {
    let (first, second) = match job {
        JobView { array_job_id: 1.., .. } => {
            (job.array_job_id, job.array_task_id.map_or(i64::from(u32::MAX), i64::from))
        }
        JobView { het_job_id: 1.., .. } => (job.het_job_id, job.het_job_offset.into()),
        _ => (job.job_id, 0),
    };
    (i64::from(first) << 32) + second
}

/// Steps behind each other within their job, those with names last.
fn step_place(step: &StepView) -> i64 {
    let place = match step.step_id.as_str() {
        "extern" => i64::from(u32::MAX) - 2,
        "batch" => i64::from(u32::MAX) - 1,
        number => number.parse().unwrap_or(i64::from(u32::MAX)),
    };
    (i64::from(step.job_id) << 32) + place
}

fn minutes(limit: Option<Limit>) -> i64 {
    match limit {
        Some(Limit::Is(minutes)) => i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60),
        _ => i64::from(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs as on a cluster where Slurm printed the orders below.
    fn queue() -> Vec<JobView> {
        let job = |id, state, start, priority, nodes: &str| JobView {
            job_id: id,
            state,
            start_time: start,
            priority,
            nodes: nodes.into(),
            partition: if id == 17 { "cpu".into() } else { "debug".into() },
            ..JobView::default()
        };
        vec![
            job(1, 3, 100, 10_226, "n1"),
            job(2, 5, 100, 10_226, "n1"),
            job(5, 3, 100, 10_357, "n[1-2]"),
            job(6, 4, 100, 10_226, "n1"),
            job(7, 1, 100, 10_365, "n[1-2]"),
            job(13, 0, 0, 10_226, ""),
            job(14, 0, 0, 10_226, ""),
            job(16, 0, 900, 10_226, ""),
            job(17, 0, 0, 10_226, ""),
            job(18, 1, 130, 226, "n3"),
            job(22, 1, 130, 10_226, "n2"),
            job(24, 0, 0, 10_226, ""),
            job(25, 0, 500, 12_480, ""),
        ]
    }

    fn sorted(letters: &str) -> String {
        let jobs = queue();
        let jobs = Order::parse(letters, false).jobs(&jobs, &RenderContext::default());
        jobs.iter().map(|job| job.job_id.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn orders_as_squeue_prints_them() {
        assert_eq!(sorted(""), "16 25 18 22 1 2 5 6 7 24 17 14 13");
        assert_eq!(sorted("P,t,-p"), "17 6 5 1 2 25 16 24 14 13 7 22 18");
        assert_eq!(sorted("S"), "1 2 5 6 7 18 22 25 16 13 14 17 24");
        assert_eq!(sorted("-S"), "16 25 18 22 1 2 5 6 7 13 14 17 24");
        assert_eq!(sorted("N"), "1 2 5 6 7 22 18 13 14 17 24 25 16");
        assert_eq!(sorted("-N"), "16 25 24 17 14 13 18 22 1 2 5 6 7");
        assert_eq!(sorted("-i"), "25 24 22 18 17 16 14 13 7 6 5 2 1");
    }

    #[test]
    fn a_letter_nobody_sorts_by_is_told() {
        assert_eq!(Order::parse("bogus", false).unknown, Some('s'));
        assert_eq!(Order::parse("z,-p", false).unknown, None);
        assert_eq!(Order::parse("P t", false).unknown, Some(' '));
        assert_eq!(Order::parse("-cluster", false).unknown, None);
        assert_eq!(Order::parse("A", false).unknown, Some('A'));
        assert_eq!(Order::parse("A", true).unknown, None);
    }
}
