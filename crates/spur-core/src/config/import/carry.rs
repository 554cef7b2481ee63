//! Carries Slurm's records over, by the rows that know Slurm's names.

use super::lines::{Line, Pair, Record};
use super::written::{Document, Origin, Part};
use super::{Imported, Note, Outcome, base, left_out, special};
use crate::config::keys::{Key, Table};
use crate::config::read;
use crate::config::sections::{self, TABLES};
use crate::config::values::split_list;

pub(super) struct Import<'a> {
    pub files: &'a [(&'a str, &'a str)],
    /// Files that were read.
    pub taken: Vec<&'a str>,
    pub document: Document,
    pub notes: Vec<Note>,
}

impl<'a> Import<'a> {
    pub fn find(&self, name: &str) -> Option<(&'a str, &'a str)> {
        self.files.iter().copied().find(|(known, _)| base(known) == base(name))
    }

    pub fn note(&mut self, origin: &Origin, outcome: Outcome, reason: impl Into<String>) {
        let Origin { file, line, key, mut value } = origin.clone();
        // Notes are read aloud and pasted into tickets.
        if key.to_ascii_lowercase().ends_with("pass") {
            value = "...".to_string();
        }
        let note = Note { file, line, key, value, outcome, reason: reason.into() };
        // A DEFAULT line counts for many nodes and is worth one note.
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The records of a file with those it includes in their place, each file once.
    pub fn records(&mut self, name: &'a str, text: &str) -> Vec<Record> {
        self.taken.push(name);
        let file = base(name);
        let mut records = Vec::new();
        for line in super::lines::parse(file, text) {
            let (line, key, value, reason) = match line {
                Line::Pairs(record) => {
                    records.push(record);
                    continue;
                }
                Line::Odd { line, text } => (line, text, String::new(), "no KEY=VALUE"),
                Line::Include { line, file } => match self.find(&file) {
                    Some((name, text)) if !self.taken.contains(&name) => {
                        records.extend(self.records(name, text));
                        continue;
                    }
                    Some(_) => (line, "Include".into(), file, "this file was read before"),
                    None => (line, "Include".into(), file, "give this file to the import as well"),
                },
            };
            let origin = Origin { file: file.to_string(), line, key, value };
            self.note(&origin, Outcome::Lost, reason);
        }
        records
    }

    pub fn main(&mut self, records: &[Record]) {
        let mut node_defaults = Vec::new();
        let mut partition_defaults = Vec::new();
        for record in records {
            if record.starts_with("NodeName") {
                self.line("nodes", record, &mut node_defaults);
            } else if record.starts_with("PartitionName") {
                self.line("partitions", record, &mut partition_defaults);
            } else if record.starts_with("NodeSet") {
                self.line("node_sets", record, &mut Vec::new());
            } else if record.starts_with("DownNodes") {
                self.line("down_nodes", record, &mut Vec::new());
            } else if record.starts_with("FrontendName") {
                let reason = "there are no front ends between controller and nodes";
                self.note(&origin(record, &record.pairs[0]), Outcome::NotNeeded, reason);
            } else {
                self.each_pair(std::slice::from_ref(record), left_out::SLURM, MAIN);
            }
        }
        special::controllers(self, records);
        special::defaults(self, records);
    }

    /// A line that describes one thing, over what `DEFAULT` lines before it said.
    fn line(&mut self, section: &str, record: &Record, defaults: &mut Vec<(Origin, Pair)>) {
        let own = record.pairs.iter().map(|pair| (origin(record, pair), pair.clone()));
        if record.pairs[0].value.eq_ignore_ascii_case("default") {
            defaults.extend(own.skip(1));
            return;
        }
        let mut part = Part::new(section);
        let pairs: Vec<(Origin, Pair)> = defaults.iter().cloned().chain(own).collect();
        for (place, (origin, pair)) in pairs.iter().enumerate() {
            let is_later = |(_, later): &(Origin, Pair)| later.key.eq_ignore_ascii_case(&pair.key);
            if !pairs[place + 1..].iter().any(is_later) {
                self.set(&mut part, origin, left_out::LINES);
            }
        }
        if section == "partitions" && !part.has("nodes") {
            let origin = origin(record, &record.pairs[0]);
            part.set("nodes", "\"\"".to_string(), &origin);
        }
        self.document.parts.push(part);
    }

    pub fn each_pair(&mut self, records: &[Record], left_out: LeftOut, sections: &[&'static str]) {
        for record in records {
            for pair in &record.pairs {
                let origin = origin(record, pair);
                if special::handle(self, &origin) {
                    continue;
                }
                let row = TABLES
                    .iter()
                    .filter(|table| sections.contains(&table.name))
                    .find_map(|table| Some((table, by_slurm_name(table, &origin.key)?)));
                match row {
                    Some((table, key)) => self.set_once(table.name, key, &origin),
                    None => self.leave_out(&origin, left_out),
                }
            }
        }
    }

    pub fn set_once(&mut self, section: &str, key: &'static Key, origin: &Origin) {
        if let Some(toml) = self.convert(key, origin) {
            self.document.once(section).set(key.name, toml, origin);
        }
    }

    pub fn set(&mut self, part: &mut Part, origin: &Origin, left_out: LeftOut) {
        match by_slurm_name(part.table, &origin.key) {
            Some(key) => {
                if let Some(toml) = self.convert(key, origin) {
                    part.set(key.name, toml, origin);
                }
            }
            None if special::on_a_line(self, part, origin) => {}
            None => self.leave_out(origin, left_out),
        }
    }

    /// Slurm's value as TOML. Of a list that is not all understood, the rest is kept.
    pub fn convert(&mut self, key: &Key, origin: &Origin) -> Option<String> {
        match (key.from_slurm)(&origin.value) {
            Ok(toml) => Some(toml),
            Err(_) if is_unset(&origin.value) => None,
            Err(what) if (key.kind)().starts_with("list") => {
                let parts = split_list(&origin.value);
                let kept: Vec<&str> =
                    parts.iter().copied().filter(|part| (key.from_slurm)(part).is_ok()).collect();
                let dropped: Vec<&str> =
                    parts.iter().copied().filter(|part| !kept.contains(part)).collect();
                self.note(origin, Outcome::Lost, format!("{}: {what}", dropped.join(", ")));
                if kept.is_empty() { None } else { (key.from_slurm)(&kept.join(",")).ok() }
            }
            Err(what) => {
                self.note(origin, Outcome::Lost, what);
                None
            }
        }
    }

    pub fn leave_out(&mut self, origin: &Origin, left_out: LeftOut) {
        // "No such plugin" is what happens anyway.
        if is_unset(origin.value.rsplit('/').next().unwrap_or_default()) {
            return;
        }
        match left_out.iter().find(|(key, ..)| key.eq_ignore_ascii_case(&origin.key)) {
            Some((_, outcome, reason)) => self.note(origin, *outcome, *reason),
            None => self.note(origin, Outcome::Lost, "the import does not know this key"),
        }
    }

    pub fn gres(&mut self, records: &[Record]) {
        for record in records {
            if let [pair] = record.pairs.as_slice()
                && pair.key.eq_ignore_ascii_case("AutoDetect")
            {
                let origin = origin(record, pair);
                let row = sections::table("gres").and_then(|table| table.key("autodetect"));
                if let Some(toml) = row.and_then(|key| self.convert(key, &origin)) {
                    self.document.once("agent").set("autodetect", toml, &origin);
                }
                continue;
            }
            self.line("gres", record, &mut Vec::new());
        }
    }

    pub fn topology(&mut self, records: &[Record]) {
        for record in records {
            let section = match record {
                switch if switch.starts_with("SwitchName") => "switches",
                block if block.starts_with("BlockName") => "blocks",
                other => {
                    self.each_pair(std::slice::from_ref(other), left_out::LINES, &[]);
                    continue;
                }
            };
            self.line(section, record, &mut Vec::new());
        }
    }

    /// Prints, and takes out what our own reader refuses until it refuses nothing.
    pub fn finish(mut self) -> Imported {
        loop {
            let (text, places) = self.document.print();
            let Err(problems) = read(&text) else {
                return Imported { toml: format!("{HEAD}{text}"), notes: self.notes };
            };
            let mut refused = Vec::new();
            for problem in &problems.0 {
                let place = problem.line.checked_sub(1).and_then(|line| places.get(line).copied());
                refused.extend(place.flatten().map(|place| (place, problem.message.clone())));
            }
            // From the end, so that the places before stay right.
            refused.sort();
            refused.dedup_by_key(|(place, _)| *place);
            let before = self.notes.len();
            for ((part, entry), message) in refused.into_iter().rev() {
                self.take_out(part, entry, message);
            }
            if self.notes.len() == before {
                self.document = Document::default();
            }
        }
    }

    fn take_out(&mut self, part: usize, entry: Option<usize>, message: String) {
        let entries = &mut self.document.parts[part].entries;
        let index = entry.unwrap_or(0);
        let Some(refused) = entries.get(index).cloned() else { return };
        match (entry, refused.key) {
            // Without a name there is no thing; without this line it would have every node.
            (None, _) | (_, "name" | "names") => entries.clear(),
            (_, "nodes") if refused.toml != "\"\"" => entries[index].toml = "\"\"".to_string(),
            _ => drop(entries.remove(index)),
        }
        self.note(&refused.origin, Outcome::Lost, message);
    }
}

/// Slurm's ways to say that there is nothing.
fn is_unset(text: &str) -> bool {
    ["(null)", "none", "n/a"].iter().any(|nothing| text.eq_ignore_ascii_case(nothing))
}

/// The sections whose keys stand alone in slurm.conf.
pub(super) const MAIN: &[&str] = &[
    "",
    "controller",
    "agent",
    "accounting",
    "scheduler",
    "priority",
    "preemption",
    "jobs",
    "limits",
    "timeouts",
    "hooks",
    "health_check",
    "power",
];

const HEAD: &str =
    "# Made from Slurm's files by `spur config import`; `spur config check` reads it.\n\n";

pub(super) type LeftOut = &'static [(&'static str, Outcome, &'static str)];

pub(super) fn by_slurm_name(table: &Table, name: &str) -> Option<&'static Key> {
    let is_it = |slurm: &&str| slurm.eq_ignore_ascii_case(name);
    table.keys.iter().find(|key| key.slurm.iter().any(is_it))
}

pub(super) fn origin(record: &Record, pair: &Pair) -> Origin {
    let Pair { key, value } = pair.clone();
    Origin { file: record.file.clone(), line: record.line, key, value }
}
