//! Slurm's own files said as `spur.conf`, and a list of what could not be carried over.
//!
//! Most keys need no word here: the rows of the sections know Slurm's names. `special.rs` has those that
//! mean something else or go elsewhere, `left_out.rs` those that go nowhere, with the reason.

mod carry;
mod left_out;
mod lines;
mod special;
#[cfg(test)]
mod tests;
mod written;

use std::fmt;

use carry::Import;
use lines::Line;

/// What the import came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// A `spur.conf` that reads.
    pub toml: String,
    /// What is not in it as it was, in the order met.
    pub notes: Vec<Note>,
}

/// What became of something in Slurm's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Spur does it anyway, or has no use for it.
    NotNeeded,
    /// It is carried over, but means something slightly different.
    Changed,
    /// It is not carried over; someone should look.
    Lost,
}

impl Outcome {
    fn words(self) -> &'static str {
        match self {
            Outcome::NotNeeded => "not needed",
            Outcome::Changed => "changed",
            Outcome::Lost => "not carried over",
        }
    }
}

/// One thing that is not in the new file as it was in the old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub file: String,
    /// Counted from 1; 0 when the file as a whole is meant.
    pub line: usize,
    pub key: String,
    pub value: String,
    pub outcome: Outcome,
    pub reason: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Note { file, line, key, value, outcome, reason } = self;
        match line {
            0 => write!(f, "{file}: ")?,
            line => write!(f, "{file}:{line}: ")?,
        }
        match (key.as_str(), value.as_str()) {
            ("", "") => {}
            (key, "") => write!(f, "{key}: ")?,
            (key, value) => write!(f, "{key}={value}: ")?,
        }
        write!(f, "{}: {reason}", outcome.words())
    }
}

/// Turns Slurm's files, by name and text, into one `spur.conf`.
///
/// The name tells which file it is: `gres.conf`, `topology.conf`, `cgroup.conf` and `slurmdbd.conf`;
/// everything else is a `slurm.conf`, or a part of it when another file includes it.
pub fn slurm(files: &[(&str, &str)]) -> Imported {
    let (taken, document, notes) = Default::default();
    let mut import = Import { files, taken, document, notes };
    let (mut main, mut accounting) = (Vec::new(), Vec::new());
    for (name, text) in in_reading_order(&import, files) {
        if import.taken.contains(&name) {
            continue;
        }
        let records = import.records(name, text);
        match base(name) {
            "gres.conf" => import.gres(&records),
            "topology.conf" => import.topology(&records),
            "cgroup.conf" => import.each_pair(&records, left_out::CGROUP, &["cgroup"]),
            "slurmdbd.conf" => {
                import.each_pair(&records, left_out::ACCOUNTING, &["accounting"]);
                accounting.extend(records);
            }
            _ => main.extend(records),
        }
    }
    if !main.is_empty() {
        import.main(&main);
    }
    special::accounting_address(&mut import, &main, &accounting);
    import.finish()
}

/// Files that no other includes come first, so that the others are read where they are included.
fn in_reading_order<'a>(
    import: &Import<'a>,
    files: &'a [(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut included = Vec::new();
    for (name, text) in files {
        for line in lines::parse(name, text) {
            if let Line::Include { file, .. } = line {
                included.extend(import.find(&file).map(|(name, _)| name));
            }
        }
    }
    let mut files = files.to_vec();
    files.sort_by_key(|(name, _)| included.contains(name));
    files
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
