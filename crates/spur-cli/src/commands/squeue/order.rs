//! The order of `squeue`'s lines: `-S P,t,-p`.
//!
//! Each letter is one pass of a stable sort, the last letter first. Jobs come in the order of their
//! numbers, then those expected or started latest first.

use std::borrow::Cow;
use std::collections::BTreeMap;

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

    /// The members that jobs are ordered by.
    pub fn reads(&self) -> impl Iterator<Item = &'static str> {
        let fields = self.keys.iter().filter_map(|key| fields::by_letter(JOB_FIELDS, key.letter));
        fields.map(|field| field.reads).chain(["start_time"])
    }

    /// Puts jobs in order.
    pub fn jobs(&self) -> Sorter<JobView> {
        let mut sorter = self.sorter(JOBS);
        sorter.passes.insert(0, Pass::new(&LATEST_FIRST, true));
        sorter
    }

    /// Steps in order.
    pub fn steps<'a>(
        &self,
        steps: &'a [StepView],
        context: &RenderContext<'_>,
    ) -> Vec<&'a StepView> {
        let mut sorter = self.sorter(STEPS);
        steps.iter().for_each(|step| sorter.add(step, context));
        sorter.sorted(false).into_iter().map(|place| &steps[place]).collect()
    }

    fn sorter<T>(&self, table: &'static [(char, By<T>)]) -> Sorter<T> {
        let passes = self.keys.iter().rev().filter_map(|key| {
            let (_, by) = table.iter().find(|(letter, _)| *letter == key.letter)?;
            Some(Pass::new(by, key.descending))
        });
        Sorter { passes: passes.collect(), rows: 0 }
    }
}

static LATEST_FIRST: By<JobView> = By::Moment(|job| job.start_time);

/// Takes what rows are ordered by, one after another, then tells their order.
pub struct Sorter<T: 'static> {
    passes: Vec<Pass<T>>,
    rows: usize,
}

/// One letter: a number for each row, words by their place among those seen.
struct Pass<T: 'static> {
    by: &'static By<T>,
    descending: bool,
    numbers: Vec<i64>,
    words: Vec<String>,
    known: BTreeMap<String, i64>,
}

/// A row without a node.
const ABSENT: i64 = -1;

impl<T> Sorter<T> {
    /// One more row.
    pub fn add(&mut self, row: &T, context: &RenderContext<'_>) {
        self.rows += 1;
        for pass in &mut self.passes {
            let by: &'static By<T> = pass.by;
            let number = match by {
                By::Nothing => continue,
                By::Text(get) => pass.word(&get(row)),
                By::Number(get) => get(row, context),
                By::Moment(get) => get(row),
                By::Node(get) => match get(row) {
                    "" => ABSENT,
                    list => {
                        let hosts = hostlist::parse(list).ok();
                        let first = hosts.and_then(|hosts| hosts.names().next());
                        pass.word(&first.unwrap_or_default())
                    }
                },
            };
            pass.numbers.push(number);
        }
    }

    /// The places of the rows in order; where nothing tells two apart, as they came or the other way round.
    pub fn sorted(self, reversed: bool) -> Vec<usize> {
        let mut places: Vec<usize> = match reversed {
            true => (0..self.rows).rev().collect(),
            false => (0..self.rows).collect(),
        };
        for pass in self.passes {
            pass.order(&mut places);
        }
        places
    }
}

impl<T> Pass<T> {
    fn new(by: &'static By<T>, descending: bool) -> Pass<T> {
        let (numbers, words, known) = (Vec::new(), Vec::new(), BTreeMap::new());
        Pass { by, descending, numbers, words, known }
    }

    fn word(&mut self, word: &str) -> i64 {
        if let Some(last) = self.numbers.last()
            && self.words.get(*last as usize).is_some_and(|known| known == word)
        {
            return *last;
        }
        if let Some(place) = self.known.get(word) {
            return *place;
        }
        let place = self.words.len() as i64;
        self.words.push(word.to_string());
        self.known.insert(word.to_string(), place);
        place
    }

    fn order(mut self, places: &mut Vec<usize>) {
        match self.by {
            By::Nothing => {}
            By::Text(_) => {
                self.rank(str::cmp);
                self.sort(places);
            }
            By::Number(_) => self.sort(places),
            By::Moment(_) => {
                let (mut present, mut absent): (Vec<usize>, Vec<usize>) =
                    places.drain(..).partition(|place| self.numbers[*place] > 0);
                self.sort(&mut present);
                // Slurm turns the rest around at each pass.
                absent.reverse();
                places.extend(present.into_iter().chain(absent));
            }
            By::Node(_) => {
                self.rank(hostlist::natural);
                let (mut present, mut absent): (Vec<usize>, Vec<usize>) =
                    places.drain(..).partition(|place| self.numbers[*place] != ABSENT);
                self.sort(&mut present);
                if self.descending {
                    places.extend(absent.into_iter().chain(present));
                } else {
                    absent.reverse();
                    places.extend(present.into_iter().chain(absent));
                }
            }
        }
    }

    /// Puts the rank of a word where its place was.
    fn rank(&mut self, compare: fn(&str, &str) -> std::cmp::Ordering) {
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        order.sort_by(|a, b| compare(&self.words[*a], &self.words[*b]));
        let mut ranks = vec![0; order.len()];
        let mut rank = 0;
        for (at, place) in order.iter().enumerate() {
            if at > 0 && compare(&self.words[order[at - 1]], &self.words[*place]).is_ne() {
                rank += 1;
            }
            ranks[*place] = rank;
        }
        for number in self.numbers.iter_mut().filter(|number| **number != ABSENT) {
            *number = ranks[*number as usize];
        }
    }

    fn sort(&self, places: &mut [usize]) {
        match self.descending {
            true => places.sort_by_key(|place| std::cmp::Reverse(self.numbers[*place])),
            false => places.sort_by_key(|place| self.numbers[*place]),
        }
    }
}

/// Where a job stands by its number: tasks behind each other within their array, what is left of the
/// array behind them.
fn id(job: &JobView) -> i64 {
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
        let mut sorter = Order::parse(letters, false).jobs();
        jobs.iter().for_each(|job| sorter.add(job, &RenderContext::default()));
        let places = sorter.sorted(false).into_iter();
        places.map(|place| jobs[place].job_id.to_string()).collect::<Vec<_>>().join(" ")
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
