//! From sections and entries to a [`Config`] with natural types.

use super::checks;
use super::keys::{Section, Table};
use super::problems::{Problem, Problems, nearest, without_password};
use super::raw::{self, Entry, RawSection};
use super::sections::{self, *};
use super::values::Value;

/// A configuration that was read and found consistent. The default is that of an empty file.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub cluster: Cluster,
    pub controller: Controller,
    pub agent: Agent,
    pub cgroup: Cgroup,
    pub accounting: Accounting,
    pub rest: Rest,
    pub update: Update,
    pub mesh: Mesh,
    pub scheduler: Scheduler,
    pub priority: Priority,
    pub preemption: Preemption,
    pub jobs: Jobs,
    pub limits: Limits,
    pub timeouts: Timeouts,
    pub hooks: Hooks,
    pub health_check: HealthCheck,
    pub power: Power,
    /// In the order of the file; never empty.
    pub partitions: Vec<Partition>,
    pub nodes: Vec<Node>,
    pub node_sets: Vec<NodeSet>,
    pub down_nodes: Vec<DownNodes>,
    pub gres: Vec<Gres>,
    pub switches: Vec<Switch>,
    pub blocks: Vec<Block>,
}

/// Reads a file. Either everything is right, or everything that is wrong is said at once.
///
/// ```
/// let refused = spur_core::config::read("[scheduler]\nplugin = \"magic\"\n").unwrap_err();
/// assert!(refused.to_string().starts_with("spur.conf:2: plugin = \"magic\" in [scheduler]: "));
/// ```
pub fn read(text: &str) -> Result<Config, Problems> {
    let (raw, problems) = raw::parse(text);
    let mut reader = Reader { raw: &raw, problems };
    reader.refuse_unknown_sections();
    let mut config = reader.config();
    let mut problems = reader.problems;
    let more = between_keys(&config, &raw, &problems);
    problems.extend(more);
    if !problems.is_empty() {
        if looks_like_slurms(text) {
            problems.push(Problem::general(0, String::new(), SLURMS.to_string()));
        }
        problems.sort_by_key(|problem| problem.line);
        return Err(Problems(problems));
    }
    config.add_default_partition();
    Ok(config)
}

/// Reads what a cluster wrote down itself: keys are read, but not held against each other, since an
/// administrator may have changed one after the other.
pub fn read_back(text: &str) -> Result<Config, Problems> {
    let (raw, problems) = raw::parse(text);
    let mut reader = Reader { raw: &raw, problems };
    let config = reader.config();
    match reader.problems.is_empty() {
        true => Ok(config),
        false => Err(Problems(reader.problems)),
    }
}

/// One value as TOML has it.
pub fn value_of(toml: &str) -> Option<Value> {
    let (raw, problems) = raw::parse(&format!("value = {toml}\n"));
    let mut entries = raw.into_iter().flat_map(|section| section.entries);
    entries.next().map(|entry| entry.value).filter(|_| problems.is_empty())
}

/// What is wrong between keys, beside what could not be read. A key that could not be read leaves its default, and
/// what would be said about that would mislead: nothing more is said about its section, and nothing about names that
/// are not there where one is in doubt.
fn between_keys(config: &Config, raw: &[RawSection], unread: &[Problem]) -> Vec<Problem> {
    let in_doubt = |it: &Problem| {
        let key = it.nearest.as_deref().unwrap_or(&it.key);
        key.is_empty()
            || ["name", "names", "nodes"].contains(&key)
            || raw.iter().any(|section| section.name == it.key)
    };
    let section_at = |line: usize| raw.iter().map(|it| it.line).filter(|it| *it <= line).max();
    let muddled: Vec<Option<usize>> = unread.iter().map(|it| section_at(it.line)).collect();
    let mut found = Vec::new();
    checks::all(config, raw, unread.iter().any(in_doubt), &mut found);
    found.retain(|it| !muddled.contains(&section_at(it.line)));
    found
}

const SLURMS: &str = "this looks like a slurm.conf; `spur config import` turns it into a spur.conf";

/// Slurm's values stand without quotes behind keys that no spur.conf has.
fn looks_like_slurms(text: &str) -> bool {
    let keys = ["ClusterName=", "SlurmctldHost=", "ControlMachine=", "NodeName=", "PartitionName="];
    text.lines().any(|line| keys.iter().any(|key| line.trim_start().starts_with(key)))
}

impl Default for Config {
    fn default() -> Config {
        let mut config = Reader { raw: &[], problems: Vec::new() }.config();
        config.add_default_partition();
        config
    }
}

impl Config {
    /// An empty file runs a cluster: without partitions there is one, with every node.
    fn add_default_partition(&mut self) {
        if self.partitions.is_empty() {
            let name = "default".to_string();
            self.partitions.push(Partition { name, ..Partition::default() });
        }
    }
}

struct Reader<'a> {
    raw: &'a [RawSection],
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn config(&mut self) -> Config {
        Config {
            cluster: self.once(),
            controller: self.once(),
            agent: self.once(),
            cgroup: self.once(),
            accounting: self.once(),
            rest: self.once(),
            update: self.once(),
            mesh: self.once(),
            scheduler: self.once(),
            priority: self.once(),
            preemption: self.once(),
            jobs: self.once(),
            limits: self.once(),
            timeouts: self.once(),
            hooks: self.once(),
            health_check: self.once(),
            power: self.once(),
            partitions: self.each(),
            nodes: self.each(),
            node_sets: self.each(),
            down_nodes: self.each(),
            gres: self.each(),
            switches: self.each(),
            blocks: self.each(),
        }
    }

    fn once<S: Section>(&mut self) -> S {
        self.each().pop().unwrap_or_default()
    }

    fn each<S: Section>(&mut self) -> Vec<S> {
        let table = S::TABLE;
        let (raw, problems) = (self.raw, &mut self.problems);
        raw.iter()
            .filter(|section| section.name == table.name)
            .map(|section| fill(&table, section, problems))
            .collect()
    }

    fn refuse_unknown_sections(&mut self) {
        for section in self.raw.iter().filter(|section| !section.name.is_empty()) {
            let written = heading(&section.name, section.repeated);
            let message = match sections::table(&section.name) {
                None => unknown_section(&section.name, &written),
                Some(table) if table.repeated != section.repeated => {
                    format!("{written} is written {}", table.heading())
                }
                Some(_) => continue,
            };
            let mut problem = Problem::general(section.line, written, message);
            problem.key = section.name.clone();
            problem.nearest = nearest_section(&section.name).map(str::to_string);
            self.problems.push(problem);
        }
    }
}

fn fill<S: Section>(table: &Table, section: &RawSection, problems: &mut Vec<Problem>) -> S {
    let mut filled = S::default();
    for entry in &section.entries {
        if table.key(&entry.key).is_none() {
            problems.push(problem(table, entry, unknown_key(table, entry)));
        } else if let Err(what) = filled.set(&entry.key, &entry.value) {
            let message = format!("{}: {what}", written(table, entry));
            let mut refused = problem(table, entry, (message, None));
            let name = what.split(':').next().unwrap_or_default();
            if let Some((_, line)) = entry.inner.iter().find(|(inner, _)| inner == name) {
                refused.line = *line;
            }
            problems.push(refused);
        }
    }
    filled
}

fn problem(table: &Table, entry: &Entry, (message, nearest): (String, Option<String>)) -> Problem {
    Problem {
        line: entry.line,
        section: table.heading(),
        key: entry.key.clone(),
        value: without_password(&entry.source),
        message,
        nearest,
    }
}

/// An entry and its place: `plugin = "x" in [scheduler]`, or `[licenses]`.
fn written(table: &Table, entry: &Entry) -> String {
    let source = shorten(&entry.source);
    match table.name {
        "" if source == format!("[{}]", entry.key) => source,
        "" => format!("{} = {source}", entry.key),
        _ => format!("{} = {source} in {}", entry.key, table.heading()),
    }
}

fn unknown_key(table: &Table, entry: &Entry) -> (String, Option<String>) {
    let place = match table.name {
        "" => "at the top of the file".to_string(),
        _ => format!("in {}", table.heading()),
    };
    let message = format!("unknown key {:?} {place}", entry.key);
    if let Some(section) = sections::table(&entry.key).filter(|_| table.name.is_empty()) {
        return (format!("{} is written {}", entry.key, section.heading()), None);
    }
    if let Some(key) = nearest_key(table, &entry.key) {
        return (format!("{message}; did you mean {key:?}?"), Some(key.to_string()));
    }
    // The right key in the wrong section is the next most likely slip.
    let elsewhere = sections::TABLES.iter().find(|other| other.key(&entry.key).is_some());
    if let Some(other) = elsewhere {
        return (format!("{message}; it belongs to {}", other.heading()), Some(entry.key.clone()));
    }
    let by_slurm = sections::TABLES
        .iter()
        .find_map(|other| by_slurm_name(other, &entry.key).map(|key| (other.heading(), key)));
    match by_slurm {
        Some((heading, key)) => {
            (format!("{message}; did you mean {key:?} in {heading}?"), Some(key.to_string()))
        }
        None => (message, None),
    }
}

/// By Slurm's own name first, since that is not a slip, then by letters.
fn nearest_key(table: &Table, written: &str) -> Option<&'static str> {
    let folded = written.to_ascii_lowercase();
    let names = || table.keys.iter().map(|key| key.name);
    // A unit too many or too few: memory for memory_mb, kill_wait_secs for kill_wait.
    let but_for_the_unit = |name: &&str| {
        name.strip_prefix(folded.as_str()).or(folded.strip_prefix(name)).is_some_and(is_unit)
    };
    by_slurm_name(table, written)
        .or_else(|| names().find(but_for_the_unit))
        .or_else(|| nearest(&folded, names()))
}

fn is_unit(rest: &str) -> bool {
    ["_mb", "_gb", "_secs", "_seconds", "_minutes", "_days", "_percent"].contains(&rest)
}

fn by_slurm_name(table: &Table, written: &str) -> Option<&'static str> {
    let folded = fold(written);
    let is_it = |name: &&str| fold(name) == folded;
    table
        .keys
        .iter()
        .find(|key| key.slurm.iter().any(is_it) || is_it(&key.name))
        .map(|key| key.name)
}

/// `MaxTime`, `max-time` and `max_time` are one word.
fn fold(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_ascii_lowercase()
}

fn unknown_section(name: &str, written: &str) -> String {
    match nearest_section(name).and_then(sections::table) {
        Some(table) => format!("unknown section {written}; did you mean {}?", table.heading()),
        None => format!("unknown section {written}"),
    }
}

fn nearest_section(name: &str) -> Option<&'static str> {
    nearest(&name.to_ascii_lowercase(), sections::TABLES.iter().map(|table| table.name))
}

fn heading(name: &str, repeated: bool) -> String {
    if repeated { format!("[[{name}]]") } else { format!("[{name}]") }
}

/// A value as part of a line of text.
fn shorten(source: &str) -> String {
    let line: String = without_password(source).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 60 {
        line
    } else {
        line.chars().take(57).chain("...".chars()).collect()
    }
}
