//! Rules that span several keys or several sections.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::Section;
use super::problems::{Problem, nearest, without_password};
use super::raw::RawSection;
use super::resolve::Config;
use super::sections::*;
use super::things::{NodeList, age_secs, gres_count};
use super::words::PreemptAction;
use crate::limit::Limit;

/// Appends everything that is wrong between the keys of a configuration.
pub(crate) fn all(
    config: &Config,
    raw: &[RawSection],
    names_in_doubt: bool,
    problems: &mut Vec<Problem>,
) {
    let known = if names_in_doubt { BTreeSet::new() } else { known_names(config) };
    let mut checker = Checker { raw, problems, known, names_in_doubt };
    checker.daemons(config);
    checker.jobs(config);
    checker.nodes(config);
    checker.node_groups(config);
    checker.partitions(config);
}

struct Checker<'a> {
    raw: &'a [RawSection],
    problems: &'a mut Vec<Problem>,
    /// Declared nodes; empty when any node may join.
    known: BTreeSet<String>,
    /// Whether something that was not understood may have been the name of something.
    names_in_doubt: bool,
}

fn known_names(config: &Config) -> BTreeSet<String> {
    config.node_names().map(|name| name.as_str().to_string()).collect()
}

impl Checker<'_> {
    /// Refuses the value of a key in the nth section of a kind, at its line or the section's.
    fn refuse<S: Section>(&mut self, nth: usize, key: &str, what: impl Into<String>) {
        let section = self.raw.iter().filter(|raw| raw.name == S::TABLE.name).nth(nth);
        let entry = section.and_then(|raw| raw.entries.iter().find(|entry| entry.key == key));
        let line = entry.map(|entry| entry.line).or(section.map(|raw| raw.line)).unwrap_or(0);
        let place = match S::TABLE.name {
            "" => String::new(),
            _ => format!(" in {}", S::TABLE.heading()),
        };
        let what = what.into();
        let message = match entry {
            Some(entry) => format!("{key} = {}{place}: {what}", without_password(&entry.source)),
            None => format!("{key}{place}: {what}"),
        };
        self.problems.push(Problem {
            line,
            section: S::TABLE.heading(),
            key: key.to_string(),
            value: entry.map(|entry| without_password(&entry.source)).unwrap_or_default(),
            message,
            nearest: None,
        });
    }

    fn daemons(&mut self, config: &Config) {
        if !is_name(&config.cluster.cluster_name) {
            self.refuse::<Cluster>(0, "cluster_name", "expected letters, digits, - and _");
        }
        let mut seen = BTreeSet::new();
        for host in &config.controller.hosts {
            if !seen.insert(&host.name) {
                self.refuse::<Controller>(0, "hosts", format!("{:?} is named twice", host.name));
            }
        }
        if let Some(url) = &config.accounting.database_url {
            let schemes = ["postgresql://", "postgres://", "sqlite:"];
            if !schemes.iter().any(|scheme| url.starts_with(scheme)) {
                let what = "expected postgresql://USER:PASSWORD@HOST/NAME or sqlite:PATH";
                self.refuse::<Accounting>(0, "database_url", what);
            }
        }
        let it = &config.accounting;
        for (key, age) in [
            ("purge_jobs_after", &it.purge_jobs_after),
            ("purge_steps_after", &it.purge_steps_after),
            ("purge_events_after", &it.purge_events_after),
            ("purge_transactions_after", &it.purge_transactions_after),
            ("purge_usage_after", &it.purge_usage_after),
        ] {
            if age.as_deref().is_some_and(|age| !age.is_empty() && age_secs(age).is_none()) {
                let what = "expected an age, as \"12months\", \"90days\" or \"36hours\"";
                self.refuse::<Accounting>(0, key, what);
            }
        }
        let rest = &config.rest;
        if rest.tls_cert.is_some() != rest.tls_key.is_some() {
            let key = if rest.tls_cert.is_some() { "tls_cert" } else { "tls_key" };
            self.refuse::<Rest>(0, key, "tls_cert and tls_key go together");
        } else if !rest.listen_addr.ip().is_loopback() && rest.tls_cert.is_none() {
            let what = "anything but this machine needs tls_cert and tls_key";
            self.refuse::<Rest>(0, "listen_addr", what);
        }
        let cgroup = &config.cgroup;
        for (key, percent) in [
            ("allowed_memory_percent", cgroup.allowed_memory_percent),
            ("allowed_swap_percent", cgroup.allowed_swap_percent),
            ("max_memory_percent", cgroup.max_memory_percent),
            ("max_swap_percent", cgroup.max_swap_percent),
        ] {
            if percent < 0.0 {
                self.refuse::<Cgroup>(0, key, "expected 0 or more");
            }
        }
    }

    fn jobs(&mut self, config: &Config) {
        if config.scheduler.interval_secs == 0 {
            self.refuse::<Scheduler>(0, "interval_secs", "expected 1 or more");
        }
        if config.scheduler.fairshare_halflife_days < 0.0 {
            self.refuse::<Scheduler>(0, "fairshare_halflife_days", "expected 0 or more");
        }
        let mode = config.preemption.mode;
        if mode.action == PreemptAction::Suspend && !mode.gang {
            let what = "suspended jobs are resumed by turns: write \"suspend,gang\"";
            self.refuse::<Preemption>(0, "mode", what);
        }
        let limits = &config.limits;
        if limits.first_job_id == 0 || limits.first_job_id > limits.max_job_id {
            let what = format!("expected 1 to max_job_id, {}", limits.max_job_id);
            self.refuse::<Limits>(0, "first_job_id", what);
        }
        if limits.max_job_id > crate::ids::JobId::MAX.0 {
            let what = format!("expected at most {}", crate::ids::JobId::MAX);
            self.refuse::<Limits>(0, "max_job_id", what);
        }
        // Slurm's own bound; task ids beyond it do not fit its clients.
        if limits.max_array_size > 4_000_001 {
            self.refuse::<Limits>(0, "max_array_size", "expected at most 4000001");
        }
        let jobs = &config.jobs;
        let defaults = [jobs.def_mem_per_cpu, jobs.def_mem_per_node, jobs.def_mem_per_gpu];
        if defaults.iter().flatten().count() > 1 {
            self.refuse::<Jobs>(0, "def_mem_per_cpu", ONE_DEFAULT);
        }
        if jobs.max_mem_per_cpu.is_some() && jobs.max_mem_per_node.is_some() {
            self.refuse::<Jobs>(0, "max_mem_per_cpu", ONE_MAXIMUM);
        }
        self.known_nodes::<Power>(0, "exclude_nodes", &config.power.exclude_nodes, &[]);
    }

    fn nodes(&mut self, config: &Config) {
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (nth, node) in config.nodes.iter().enumerate() {
            let names = node.names.names();
            if names.is_empty() {
                self.refuse::<Node>(nth, "names", "expected the nodes' names, as \"n[1-4]\"");
            }
            for name in names {
                if first.insert(name.as_str(), nth).is_some() {
                    self.refuse::<Node>(nth, "names", format!("node \"{name}\" is declared twice"));
                    break;
                }
            }
            if let Err(what) = node.shape() {
                let key = if node.cpus.is_some() { "cpus" } else { "sockets" };
                self.refuse::<Node>(nth, key, what);
            }
            if node.memory_mb.is_some_and(|memory| memory.0 == 0) {
                self.refuse::<Node>(nth, "memory_mb", "expected 1 or more");
            }
            for (key, list) in [
                ("address", &node.address),
                ("hostname", &node.hostname),
                ("bcast_address", &node.bcast_address),
            ] {
                let Some(list) = list else { continue };
                let count = crate::hostlist::expand(list).map_or(0, |list| list.len());
                if count != 1 && count != names.len() {
                    let what = format!("{count} for {} names", names.len());
                    self.refuse::<Node>(nth, key, what);
                }
            }
            if node.core_spec_count.is_some() && node.cpu_spec_list.is_some() {
                let what = "core_spec_count and cpu_spec_list say the same thing twice";
                self.refuse::<Node>(nth, "core_spec_count", what);
            }
        }
    }

    fn node_groups(&mut self, config: &Config) {
        let mut sets = BTreeSet::new();
        for (nth, set) in config.node_sets.iter().enumerate() {
            if !is_name(&set.name) || !sets.insert(&set.name) {
                self.refuse::<NodeSet>(nth, "name", "expected a name of its own");
            }
            if self.known.contains(&set.name) {
                self.refuse::<NodeSet>(nth, "name", "a node has that name");
            }
            self.known_nodes::<NodeSet>(nth, "nodes", &set.nodes, &[]);
        }
        for (nth, down) in config.down_nodes.iter().enumerate() {
            self.known_nodes::<DownNodes>(nth, "names", &down.names, &[]);
        }
        for (nth, gres) in config.gres.iter().enumerate() {
            if gres.name.is_empty() && gres.autodetect.is_none() {
                self.refuse::<Gres>(nth, "name", "expected a name, as \"gpu\"");
            }
            if gres.count.as_deref().is_some_and(|count| gres_count(count).is_none()) {
                self.refuse::<Gres>(nth, "count", "expected a number, as \"4\" or \"16G\"");
            }
            if gres.files.as_deref().is_some_and(|it| crate::hostlist::expand(it).is_err()) {
                self.refuse::<Gres>(nth, "files", "expected files, as \"/dev/nvidia[0-3]\"");
            }
            self.known_nodes::<Gres>(nth, "nodes", &gres.nodes, &[]);
        }
        let mut switches = BTreeSet::new();
        for (nth, switch) in config.switches.iter().enumerate() {
            if switch.name.is_empty() || !switches.insert(switch.name.as_str()) {
                self.refuse::<Switch>(nth, "name", "expected a name of its own");
            }
            self.known_nodes::<Switch>(nth, "nodes", &switch.nodes, &[]);
        }
        for (nth, switch) in config.switches.iter().enumerate() {
            let below = crate::hostlist::expand(switch.switches.as_deref().unwrap_or_default());
            for name in below.unwrap_or_default() {
                if !switches.contains(name.as_str()) && !self.names_in_doubt {
                    self.refuse::<Switch>(nth, "switches", format!("no switch {name:?}"));
                }
            }
        }
        for (nth, block) in config.blocks.iter().enumerate() {
            if block.name.is_empty() {
                self.refuse::<Block>(nth, "name", "expected a name of its own");
            }
            self.known_nodes::<Block>(nth, "nodes", &block.nodes, &[]);
        }
    }

    fn partitions(&mut self, config: &Config) {
        let sets: Vec<&str> = config.node_sets.iter().map(|set| set.name.as_str()).collect();
        let names: Vec<&str> = config.partitions.iter().map(|it| it.name.as_str()).collect();
        let mut defaults = 0;
        for (nth, partition) in config.partitions.iter().enumerate() {
            if !is_name(&partition.name) {
                self.refuse::<Partition>(nth, "name", "expected letters, digits, - _ and .");
            } else if names[..nth].contains(&partition.name.as_str()) {
                self.refuse::<Partition>(nth, "name", "another partition has that name");
            }
            self.known_nodes::<Partition>(nth, "nodes", &partition.nodes, &sets);
            defaults += usize::from(partition.default == Some(true));
            if partition.default == Some(true) && defaults > 1 {
                self.refuse::<Partition>(nth, "default", "another partition is the default");
            }
            if let Some(other) = &partition.alternate
                && !names.contains(&other.as_str())
                && !self.names_in_doubt
            {
                self.refuse::<Partition>(nth, "alternate", missing("partition", other, &names));
            }
            if let Limit::Is(most) = partition.max_nodes.0
                && most < u64::from(partition.min_nodes)
            {
                self.refuse::<Partition>(nth, "max_nodes", "less than min_nodes");
            }
            if partition.default_time.is_some_and(|time| time.0 > partition.max_time.0) {
                self.refuse::<Partition>(nth, "default_time", "more than max_time");
            }
            let memory =
                [partition.def_mem_per_cpu, partition.def_mem_per_node, partition.def_mem_per_gpu];
            if memory.iter().flatten().count() > 1 {
                self.refuse::<Partition>(nth, "def_mem_per_cpu", ONE_DEFAULT);
            }
            if partition.max_mem_per_cpu.is_some() && partition.max_mem_per_node.is_some() {
                self.refuse::<Partition>(nth, "max_mem_per_cpu", ONE_MAXIMUM);
            }
        }
    }

    /// With declared nodes, a list may name only those, or one of the other names.
    fn known_nodes<S: Section>(&mut self, nth: usize, key: &str, list: &NodeList, other: &[&str]) {
        if self.known.is_empty() {
            return;
        }
        let unknown: Vec<&str> = list
            .names()
            .iter()
            .map(|name| name.as_str())
            .filter(|name| !self.known.contains(*name) && !other.contains(name))
            .collect();
        let message = match unknown.as_slice() {
            [] => return,
            [name] => {
                let known: Vec<&str> =
                    self.known.iter().map(String::as_str).chain(other.iter().copied()).collect();
                missing("node", name, &known)
            }
            names => format!("nodes {} are not in [[nodes]]", crate::hostlist::compress(names)),
        };
        self.refuse::<S>(nth, key, message);
    }
}

const ONE_DEFAULT: &str = "only one of def_mem_per_cpu, def_mem_per_node and def_mem_per_gpu";
const ONE_MAXIMUM: &str = "only one of max_mem_per_cpu and max_mem_per_node";

fn missing(kind: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no {kind} {name:?}; did you mean {near:?}?"),
        None => format!("there is no {kind} {name:?}"),
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
    !name.is_empty() && name.len() <= 255 && name.chars().all(is_letter)
}
