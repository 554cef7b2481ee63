//! The file being written: sections with their entries, and the place each entry came from.

use crate::config::keys::Table;
use crate::config::sections;
use crate::config::values::bare_key;

/// Where something stood in Slurm's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    pub file: String,
    pub line: usize,
    pub key: String,
    pub value: String,
}

/// One `key = value` to be written.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub key: &'static str,
    pub toml: String,
    pub origin: Origin,
}

/// One section to be written.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub table: &'static Table,
    pub entries: Vec<Written>,
}

impl Part {
    /// A section without entries.
    pub fn new(section: &str) -> Part {
        let table = sections::table(section).expect("the import names sections of the table");
        Part { table, entries: Vec::new() }
    }

    /// Sets a key; the last word wins, as in Slurm.
    pub fn set(&mut self, key: &'static str, toml: String, origin: &Origin) {
        let written = Written { key, toml, origin: origin.clone() };
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => *entry = written,
            None => self.entries.push(written),
        }
    }

    /// Whether a key is there.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }
}

/// A part by number, and one of its entries, or none for its heading.
pub(super) type Place = (usize, Option<usize>);

/// All sections, in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub parts: Vec<Part>,
}

impl Document {
    /// The section of this name that is written once.
    pub fn once(&mut self, section: &str) -> &mut Part {
        let place = self.parts.iter().position(|part| part.table.name == section);
        let place = place.unwrap_or_else(|| {
            self.parts.push(Part::new(section));
            self.parts.len() - 1
        });
        &mut self.parts[place]
    }

    /// The text, and for each of its lines the part and entry that stand there.
    pub fn print(&self) -> (String, Vec<Option<Place>>) {
        let (mut text, mut places) = (String::new(), Vec::new());
        for table in sections::TABLES {
            let parts = self.parts.iter().enumerate();
            for (nth, part) in parts.filter(|(_, part)| part.table.name == table.name) {
                if part.entries.is_empty() {
                    continue;
                }
                if !text.is_empty() {
                    text.push('\n');
                    places.push(None);
                }
                if !table.name.is_empty() {
                    text.push_str(&format!("{}\n", table.heading()));
                    places.push(Some((nth, None)));
                }
                for (index, entry) in in_order(part) {
                    text.push_str(&format!("{} = {}\n", bare_key(entry.key), entry.toml));
                    places.push(Some((nth, Some(index))));
                }
            }
        }
        (text, places)
    }
}

/// In the order of the table, so that names come first.
fn in_order(part: &Part) -> Vec<(usize, &Written)> {
    let mut entries: Vec<(usize, &Written)> = part.entries.iter().enumerate().collect();
    entries.sort_by_key(|(_, entry)| part.table.keys.iter().position(|key| key.name == entry.key));
    entries
}
