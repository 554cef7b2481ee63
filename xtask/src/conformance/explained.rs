//! Differences that are meant: `docs/compat/differences.md` says which command lines, and why.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Beginnings of command lines, with why their answers differ, and words that we say otherwise.
pub struct Explained {
    lines: Vec<(String, String)>,
    words: Vec<(String, String)>,
}

impl Explained {
    /// Reads the rows of the document's tables: `` | `command` | reason | `` and, for single words,
    /// `` | `theirs` | `ours` | reason | ``.
    pub fn read(root: &Path) -> Result<Explained> {
        let path = root.join("docs/compat/differences.md");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("could not read {}", path.display()))?;
        let words = text.lines().filter_map(word).collect();
        Ok(Explained { lines: text.lines().filter_map(row).collect(), words })
    }

    /// Why this line's answer differs.
    pub fn reason(&self, line: &str) -> Option<&str> {
        let fits = |(start, _): &&(String, String)| {
            line.strip_prefix(start.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        self.lines.iter().find(fits).map(|(_, reason)| reason.as_str())
    }

    /// Slurm's answer with our words in place of its own. Where columns are padded they stay in line.
    pub fn in_our_words(&self, text: &str) -> String {
        let mut told = text.to_string();
        for (theirs, ours) in &self.words {
            told = replaced(&told, theirs, ours);
        }
        told
    }
}

/// Replaces a whole word; blanks beside it make up for the difference in length where there are enough.
fn replaced(text: &str, theirs: &str, ours: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    let (mut told, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(theirs) {
        let (before, after) = (&rest[..at], &rest[at + theirs.len()..]);
        told.push_str(before);
        rest = after;
        if told.chars().next_back().is_some_and(is_part)
            || after.chars().next().is_some_and(is_part)
        {
            told.push_str(theirs);
            continue;
        }
        let longer = ours.len().saturating_sub(theirs.len());
        let blanks = " ".repeat(longer);
        match longer {
            0 => told.push_str(ours),
            // Columns stand at the left unless there is no room at the right.
            _ if after.starts_with(&format!("{blanks} ")) => {
                told.push_str(ours);
                rest = &after[longer..];
            }
            _ if told.ends_with(&format!(" {blanks}")) => {
                told.truncate(told.len() - longer);
                told.push_str(ours);
            }
            _ => told.push_str(ours),
        }
    }
    told + rest
}

fn word(line: &str) -> Option<(String, String)> {
    let (theirs, rest) = line.strip_prefix("| `")?.split_once("` | `")?;
    let (ours, _) = rest.split_once("` |")?;
    Some((theirs.to_string(), ours.to_string()))
}

fn row(line: &str) -> Option<(String, String)> {
    let (command, reason) = line.strip_prefix("| `")?.split_once("` |")?;
    if reason.starts_with(" `") {
        return None;
    }
    Some((command.to_string(), reason.trim().trim_end_matches('|').trim().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_explains_lines_that_begin_with_it() {
        let (command, reason) = row("| `scontrol version` | the version is ours |").expect("a row");
        let explained = Explained { lines: vec![(command, reason)], words: Vec::new() };
        assert_eq!(explained.reason("scontrol version"), Some("the version is ours"));
        assert_eq!(explained.reason("scontrol versions"), None);
        assert_eq!(row("| command | why |"), None);
    }

    #[test]
    fn a_word_of_ours_stands_for_theirs_and_columns_stay_in_line() {
        let row = "| `226` | `6893` | a share at once |";
        assert_eq!(super::row(row), None);
        let explained = Explained { lines: Vec::new(), words: vec![word(row).expect("a row")] };
        let same = |theirs: &str, ours: &str| assert_eq!(explained.in_our_words(theirs), ours);
        same("19 debug            226\n", "19 debug           6893\n");
        same("N/A 226                 limited\n", "N/A 6893                limited\n");
        same("Priority=226 Nice=0 10226 226.5\n", "Priority=6893 Nice=0 10226 226.5\n");
    }
}
