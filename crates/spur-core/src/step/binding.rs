//! Which processors, memory and GPUs each task of a step is bound to on a node: `--cpu-bind`, `--mem-bind`,
//! `--gpu-bind`, in Slurm's words.

use std::collections::BTreeSet;

/// The processors of a node, as far as binding goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The kernel's numbers: all threads of a core together, all cores of a socket together.
    pub order: Vec<u32>,
    /// Threads of a core.
    pub threads_per_core: u32,
    /// Cores of a socket.
    pub cores_per_socket: u32,
    /// The kernel's numbers of each memory domain's processors; none where it was not looked.
    pub domains: Vec<Vec<u32>>,
}

/// A step's part of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The kernel's numbers of the processors it has.
    pub cpus: Vec<u32>,
    /// Its tasks here.
    pub tasks: u32,
    /// Processors of each task.
    pub cpus_per_task: u32,
    /// `-m block:block`: cores of one socket after each other, not by turns.
    pub fills_sockets: bool,
}

impl Part {
    /// Whether tasks are bound though nobody asked: there is a processor or a core for each.
    pub fn is_bound_by_itself(&self, machine: &Machine) -> bool {
        let wanted = self.tasks * self.cpus_per_task.max(1);
        let threads = self.cpus.len() as u32;
        wanted > 0 && [threads, threads / machine.threads_per_core.max(1)].contains(&wanted)
    }
}

/// What becomes of `--cpu-bind`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Whether each task tells what it is bound to.
    pub verbose: bool,
    /// As `SLURM_CPU_BIND_TYPE` has it: `mask_cpu:`.
    pub kind: &'static str,
    /// As `SLURM_CPU_BIND_LIST` has it: `0x1,0x2`.
    pub list: String,
    /// What a verbose task calls it: `MASK`.
    label: &'static str,
    /// The processors of each task; none where tasks are not bound.
    pub masks: Vec<Vec<u32>>,
}

/// What Slurm says to a request that cannot be met: a line for people, and the refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String, pub &'static str);

/// What tasks are bound to is nobody's fault; this is what is told where the list is wrong.
const UNMET: &str = "Unable to satisfy cpu bind request";

/// Works out what was asked for. Nothing was: tasks are bound to processors of their own.
pub fn cpus(asked: &str, machine: &Machine, part: &Part) -> Result<Binding, Refused> {
    let (verbose, kind) = split(asked);
    let bound = |kind, label, list: &str, masks| Binding {
        verbose,
        kind,
        list: list.to_string(),
        label,
        masks,
    };
    let (name, list) = kind.split_once(':').unwrap_or((&kind, ""));
    match name {
        "none" | "no" => Ok(bound("none", "NONE", "", Vec::new())),
        "rank" | "rank_ldom" if part.cpus.len() < machine.order.len() => {
            let said = if verbose { "verbose," } else { "" };
            let line = format!("Entire node must be allocated for {said}{name},one_thread");
            Err(Refused(line, UNMET))
        }
        "rank" => {
            let masks = turns(&machine.order, part.tasks, |cpu| vec![*cpu]);
            Ok(bound("rank", "RANK", "", masks))
        }
        "rank_ldom" => {
            let masks = turns(&machine.domains, part.tasks, Vec::clone);
            Ok(bound("rank_ldom", "LDRANK", "", masks))
        }
        "map_cpu" => {
            let masks = turns(&repeated(list, number), part.tasks, |cpu| vec![*cpu]);
            Ok(bound("map_cpu:", "MAP ", list, inside(masks, part)?))
        }
        "mask_cpu" => {
            let masks = turns(&repeated(list, mask), part.tasks, Vec::clone);
            Ok(bound("mask_cpu:", "MASK", &bare(list), inside(masks, part)?))
        }
        "map_ldom" | "mask_ldom" => {
            let chosen: Vec<Vec<u32>> = match name {
                "map_ldom" => repeated(list, number).into_iter().map(|it| vec![it]).collect(),
                _ => repeated(list, mask),
            };
            let cpus = |domains: &Vec<u32>| -> Vec<u32> {
                let known = domains.iter().filter_map(|it| machine.domains.get(*it as usize));
                known.flatten().copied().collect()
            };
            let masks = inside(turns(&chosen, part.tasks, cpus), part)?;
            Ok(match name {
                "map_ldom" => bound("map_ldom:", "LDMAP ", list, masks),
                _ => bound("mask_ldom:", "LDMASK", &bare(list), masks),
            })
        }
        _ => {
            let masks = automatic(name, machine, part);
            let list = match masks.split_first() {
                Some((first, rest)) if rest.iter().all(|mask| mask == first) && crowded(part) => {
                    hexadecimal(first)
                }
                _ => masks.iter().map(|it| hexadecimal(it)).collect::<Vec<_>>().join(","),
            };
            Ok(bound("mask_cpu:", "MASK", &list, masks))
        }
    }
}

impl Binding {
    /// What a task says of itself.
    pub fn report(&self, node: &str, rank: u32, local_rank: u32, pid: u32) -> String {
        let Binding { label, .. } = self;
        let (mask, set) = match self.masks.get(local_rank as usize) {
            Some(mask) => (hexadecimal(mask), " set"),
            None => ("0x0".to_string(), ""),
        };
        format!(
            "cpu-bind={label} - {node}, task {rank:2} {local_rank:2} [{pid}]: mask {mask}{set}\n"
        )
    }
}

/// The verbosity, and what is left.
fn split(asked: &str) -> (bool, String) {
    let lower = asked.to_ascii_lowercase();
    let mut verbose = false;
    let mut rest = lower.as_str();
    let mut kind = "";
    while !rest.is_empty() {
        // A list has commas of its own, and is the last.
        let (word, after) = match rest.split_once(',') {
            Some((word, _)) if word.contains(':') => (rest, ""),
            Some((word, after)) => (word, after),
            None => (rest, ""),
        };
        match word {
            "v" | "verbose" => verbose = true,
            "q" | "quiet" => verbose = false,
            word => kind = word,
        }
        rest = after;
    }
    // What is said behind a list.
    let (kind, last) = match kind.rsplit_once(',') {
        Some((list, last @ ("v" | "verbose" | "q" | "quiet"))) => (list, last),
        _ => (kind, ""),
    };
    (verbose || last.starts_with('v'), kind.to_string())
}

/// Whether `--cpu-bind` says more than how much is told of it.
pub fn names_kind(asked: &str) -> bool {
    !split(asked).1.is_empty()
}

fn crowded(part: &Part) -> bool {
    (part.tasks * part.cpus_per_task.max(1)) as usize > part.cpus.len()
}

/// Each task gets processors of its own, or all of them where there are not enough.
fn automatic(kind: &str, machine: &Machine, part: &Part) -> Vec<Vec<u32>> {
    let own: BTreeSet<u32> = part.cpus.iter().copied().collect();
    if crowded(part) {
        return vec![own.into_iter().collect(); part.tasks as usize];
    }
    let order = in_turn(machine, part, &own);
    let each = part.cpus_per_task.max(1) as usize;
    let whole = |mask: &[u32]| -> Vec<u32> {
        let group = |cpu: u32| -> Vec<u32> {
            match kind {
                "cores" | "core" | "" | "threads" | "thread" if machine.threads_per_core < 2 => {
                    vec![cpu]
                }
                "cores" | "core" => neighbours(machine, cpu, machine.threads_per_core),
                "sockets" | "socket" => {
                    neighbours(machine, cpu, machine.threads_per_core * machine.cores_per_socket)
                }
                "ldoms" | "ldom" => {
                    let domain = machine.domains.iter().find(|domain| domain.contains(&cpu));
                    domain.cloned().unwrap_or_else(|| vec![cpu])
                }
                _ => vec![cpu],
            }
        };
        let all: BTreeSet<u32> = mask.iter().flat_map(|cpu| group(*cpu)).collect();
        all.into_iter().filter(|cpu| own.contains(cpu)).collect()
    };
    order.chunks(each).take(part.tasks as usize).map(whole).collect()
}

/// The processors in the order tasks take them: sockets by turns, or one after the other.
fn in_turn(machine: &Machine, part: &Part, own: &BTreeSet<u32>) -> Vec<u32> {
    let socket = (machine.threads_per_core * machine.cores_per_socket).max(1) as usize;
    let core = machine.threads_per_core.max(1) as usize;
    let mut places: Vec<(usize, u32)> = machine
        .order
        .iter()
        .enumerate()
        .filter(|(_, cpu)| own.contains(cpu))
        .map(|(place, cpu)| match part.fills_sockets {
            true => (place, *cpu),
            // By the core's place in its socket first.
            false => {
                let (socket, inside) = (place / socket, place % socket);
                let core_in_socket = inside / core;
                ((core_in_socket << 32) + (socket << 16) + inside % core, *cpu)
            }
        })
        .collect();
    places.sort_unstable();
    places.into_iter().map(|(_, cpu)| cpu).collect()
}

/// The group of so many that a processor is in.
fn neighbours(machine: &Machine, cpu: u32, size: u32) -> Vec<u32> {
    let place = machine.order.iter().position(|it| *it == cpu).unwrap_or(0);
    let size = size.max(1) as usize;
    machine.order.iter().skip(place / size * size).take(size).copied().collect()
}

fn inside(masks: Vec<Vec<u32>>, part: &Part) -> Result<Vec<Vec<u32>>, Refused> {
    let fits = |mask: &Vec<u32>| !mask.is_empty() && mask.iter().all(|it| part.cpus.contains(it));
    if masks.iter().all(fits) && masks.len() == part.tasks as usize {
        return Ok(masks);
    }
    let own = hexadecimal(&part.cpus);
    let line = format!("CPU binding outside of job step allocation, allocated CPUs are: {own}.");
    Err(Refused(line, UNMET))
}

/// One for each task, from the beginning again where there are more tasks.
fn turns<T>(list: &[T], tasks: u32, get: impl Fn(&T) -> Vec<u32>) -> Vec<Vec<u32>> {
    list.iter().cycle().take(if list.is_empty() { 0 } else { tasks as usize }).map(get).collect()
}

/// Reads `0,2*3`; what is nothing is left out.
fn repeated<T: Clone>(list: &str, read: fn(&str) -> Option<T>) -> Vec<T> {
    let parts = list.split(',').filter_map(|part| {
        let (value, times) = part.split_once('*').unwrap_or((part, "1"));
        Some(std::iter::repeat_n(read(value.trim())?, times.parse().ok()?))
    });
    parts.flatten().take(MOST).collect()
}

/// Entries of a list that are looked at.
const MOST: usize = 4096;

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The bits of a hexadecimal number of any length.
fn mask(text: &str) -> Option<Vec<u32>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let mut bits = Vec::new();
    for (place, digit) in digits.chars().rev().enumerate() {
        let digit = digit.to_digit(16)?;
        let here = (0..4).filter(|bit| digit & (1 << bit) != 0);
        bits.extend(here.map(|bit| place as u32 * 4 + bit));
    }
    (!digits.is_empty()).then_some(bits)
}

fn bare(list: &str) -> String {
    list.split(',').map(|it| it.strip_prefix("0x").unwrap_or(it)).collect::<Vec<_>>().join(",")
}

/// The highest bit of a mask that is told.
const HIGHEST: u32 = 65_535;

/// `0x5`, as long as it needs to be.
pub fn hexadecimal(bits: &[u32]) -> String {
    let digits = bits.iter().max().map_or(1, |most| (*most).min(HIGHEST) / 4 + 1);
    let digit = |place: u32| {
        let here =
            bits.iter().filter(|bit| *bit / 4 == place).fold(0, |sum, bit| sum | 1 << (bit % 4));
        char::from_digit(here, 16).unwrap_or('0')
    };
    format!("0x{}", (0..digits).rev().map(digit).collect::<String>())
}

/// The GPUs that one task sees of those its step has here, and what a verbose one says.
pub fn gpus(asked: &str, given: &[u32], local_rank: u32, tasks: u32) -> (Vec<u32>, Option<String>) {
    let lower = asked.to_ascii_lowercase();
    let (verbose, kind) = match lower.strip_prefix("verbose,") {
        Some(kind) => (true, kind),
        None => (false, lower.as_str()),
    };
    let (name, list) = kind.split_once(':').unwrap_or((kind, ""));
    let each = || list.parse::<usize>().unwrap_or(1).max(1);
    let at = local_rank as usize;
    let of_step = |places: &[u32]| -> Vec<u32> {
        places.iter().filter_map(|place| given.get(*place as usize)).copied().collect()
    };
    let seen: Vec<u32> = match name {
        // So many tasks share one.
        "single" => given.get(at / each() % given.len().max(1)).into_iter().copied().collect(),
        "per_task" => given.iter().copied().skip(at * each()).take(each()).collect(),
        "map_gpu" => {
            let places = repeated(list, number);
            let place = places.iter().cycle().nth(at).copied().filter(|_| !places.is_empty());
            of_step(&place.into_iter().collect::<Vec<_>>())
        }
        "mask_gpu" => {
            let masks = repeated(list, mask);
            of_step(
                &masks
                    .iter()
                    .cycle()
                    .nth(at)
                    .filter(|_| !masks.is_empty())
                    .cloned()
                    .unwrap_or_default(),
            )
        }
        _ => given.to_vec(),
    };
    // Who would see nothing sees what the step has.
    let seen = if seen.is_empty() && tasks > 0 { given.to_vec() } else { seen };
    let listed = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let said = verbose.then(|| {
        let mask = |ids: &[u32]| hexadecimal(ids).to_uppercase().replace('X', "x");
        let (usable, whole, list) = (mask(&seen), mask(given), listed(&seen));
        format!(
            "gpu-bind: usable_gres={usable}; bit_alloc={whole}; local_inx=0; global_list={list}; \
             local_list={list}\n"
        )
    });
    (seen, said)
}

/// Where a task's memory comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBinding {
    /// Domains; none for the one a task runs in.
    pub domains: Vec<u32>,
    /// Others are used where these are full.
    pub preferred: bool,
    /// What a verbose task says, but for who it is.
    pub report: Option<(&'static str, String)>,
}

/// Works out `--mem-bind` for a task; nothing where memory is not bound.
pub fn memory(asked: &str, local_rank: u32, here: &[u32]) -> Option<MemoryBinding> {
    let lower = asked.to_ascii_lowercase();
    let preferred = lower.split(',').any(|word| matches!(word, "p" | "prefer"));
    let rest: Vec<&str> = lower
        .split(',')
        .filter(|word| !matches!(*word, "p" | "prefer" | "sort" | "nosort"))
        .collect();
    let (verbose, kind) = split(&rest.join(","));
    let (name, list) = kind.split_once(':').unwrap_or((&kind, ""));
    let at = local_rank as usize;
    let (label, domains) = match name {
        "local" => ("LOC", Vec::new()),
        "rank" => ("RANK", vec![local_rank]),
        "map_mem" => ("MAP ", vec![*repeated(list, number).iter().cycle().nth(at)?]),
        "mask_mem" => ("MASK", repeated(list, mask).iter().cycle().nth(at)?.clone()),
        _ => return None,
    };
    let shown = if domains.is_empty() { hexadecimal(here) } else { hexadecimal(&domains) };
    Some(MemoryBinding { domains, preferred, report: verbose.then_some((label, shown)) })
}

/// `--cpu-bind` as its variables tell it where tasks cannot be bound, in Slurm's words: whether tasks were to tell what
/// they are bound to, the kind and the list; nothing where nothing was asked for. A kind that was `implied` at the end is
/// not in the list.
pub fn words(asked: &str, implied: bool) -> Option<(bool, String, String)> {
    let lower = asked.to_ascii_lowercase();
    let said = if implied {
        lower.rsplit_once(',').map_or("", |(said, _)| said.trim_start_matches("quiet"))
    } else {
        lower.as_str()
    };
    let (verbose, kind) = split(&lower);
    let (name, list) = kind.split_once(':').unwrap_or((&kind, ""));
    match name {
        "" if !verbose => None,
        "none" | "rank" | "rank_ldom" => Some((verbose, name.to_string(), String::new())),
        "threads" | "cores" | "sockets" | "ldoms" => {
            Some((verbose, name.to_string(), said.to_string()))
        }
        "map_cpu" | "map_ldom" => Some((verbose, format!("{name}:"), list.to_string())),
        "mask_cpu" | "mask_ldom" => Some((verbose, format!("{name}:"), list.replace("0x", ""))),
        _ => Some((verbose, String::new(), lower)),
    }
}

/// `--mem-bind` as its variables tell it: whether tasks tell what they are bound to, the kind and the list; nothing
/// where memory is not bound.
pub fn memory_words(asked: &str) -> Option<(bool, String, String)> {
    let lower = asked.to_ascii_lowercase();
    let words =
        lower.split(',').filter(|word| !matches!(*word, "p" | "prefer" | "sort" | "nosort"));
    let (verbose, kind) = split(&words.collect::<Vec<_>>().join(","));
    let (name, list) = kind.split_once(':').unwrap_or((&kind, ""));
    match name {
        "local" | "rank" => Some((verbose, name.to_string(), String::new())),
        "map_mem" => Some((verbose, format!("{name}:"), list.to_string())),
        "mask_mem" => Some((verbose, format!("{name}:"), list.replace("0x", ""))),
        _ => None,
    }
}

impl MemoryBinding {
    /// What a task says of itself, if it is to.
    pub fn told(&self, node: &str, rank: u32, local_rank: u32, pid: u32) -> Option<String> {
        let (label, mask) = self.report.as_ref()?;
        Some(format!(
            "mem-bind={label} - {node}, task {rank:2} {local_rank:2} [{pid}]: mask {mask} set\n"
        ))
    }
}

#[cfg(test)]
mod tests;
