//! What a step used over all its nodes, put together from what each node measured.

use crate::views::{Spread, TresUsage, Usage};

/// Everything a step used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Used {
    /// Processor time in user mode.
    pub user_micros: u64,
    /// Processor time in the kernel.
    pub system_micros: u64,
    /// Tasks that were measured.
    pub tasks: u32,
    /// What went in, by resource.
    pub taken_in: Vec<TresUsage>,
    /// What came out.
    pub put_out: Vec<TresUsage>,
}

/// What is taken in, under the names of accounting, in their order.
type Measure = (&'static str, fn(&Usage) -> Option<Spread>);
const TAKEN_IN: [Measure; 7] = [
    ("cpu", |usage| usage.cpu),
    ("fs/disk", |usage| usage.read),
    ("gres/gpumem", |usage| usage.gpu_memory),
    ("gres/gpuutil", |usage| usage.gpu_busy),
    ("mem", |usage| usage.memory),
    ("pages", |usage| usage.pages),
    ("vmem", |usage| usage.virtual_memory),
];
const PUT_OUT: [Measure; 1] = [("fs/disk", |usage| usage.written)];

impl Used {
    /// By what each node measured.
    pub fn of<'a>(nodes: impl Iterator<Item = (&'a str, &'a Usage)>) -> Used {
        let mut used = Used::default();
        for (node, usage) in nodes {
            used.user_micros += usage.user_micros;
            used.system_micros += usage.system_micros;
            used.tasks += usage.tasks;
            add(&mut used.taken_in, &TAKEN_IN, node, usage);
            add(&mut used.put_out, &PUT_OUT, node, usage);
        }
        for one in used.taken_in.iter_mut().chain(&mut used.put_out) {
            one.average = one.total / u64::from(used.tasks.max(1));
        }
        used
    }
}

fn add(sums: &mut Vec<TresUsage>, measures: &[Measure], node: &str, usage: &Usage) {
    for (name, get) in measures {
        let Some(spread) = get(usage) else { continue };
        let sum = match sums.iter().position(|sum| sum.name == *name) {
            Some(place) => &mut sums[place],
            None => {
                let first =
                    TresUsage { name: (*name).to_string(), min: u64::MAX, ..TresUsage::default() };
                sums.push(first);
                let last = sums.len() - 1;
                &mut sums[last]
            }
        };
        if sum.max_node.is_empty() || spread.max > sum.max {
            (sum.max, sum.max_task) = (spread.max, spread.max_task);
            sum.max_node = node.to_string();
        }
        if spread.min < sum.min || sum.min_node.is_empty() {
            (sum.min, sum.min_task) = (spread.min, spread.min_task);
            sum.min_node = node.to_string();
        }
        sum.total = sum.total.saturating_add(spread.total);
    }
}
