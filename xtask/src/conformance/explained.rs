//! Differences that are meant: `docs/compat/differences.md` says which command lines, and why.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Beginnings of command lines, with why their answers differ.
pub struct Explained(Vec<(String, String)>);

impl Explained {
    /// Reads the rows of the document's tables: `` | `command` | reason | ``.
    pub fn read(root: &Path) -> Result<Explained> {
        let path = root.join("docs/compat/differences.md");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("could not read {}", path.display()))?;
        Ok(Explained(text.lines().filter_map(row).collect()))
    }

    /// Why this line's answer differs.
    pub fn reason(&self, line: &str) -> Option<&str> {
        let fits = |(start, _): &&(String, String)| {
            line.strip_prefix(start.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        self.0.iter().find(fits).map(|(_, reason)| reason.as_str())
    }
}

fn row(line: &str) -> Option<(String, String)> {
    let (command, reason) = line.strip_prefix("| `")?.split_once("` |")?;
    Some((command.to_string(), reason.trim().trim_end_matches('|').trim().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_explains_lines_that_begin_with_it() {
        let (command, reason) = row("| `scontrol version` | the version is ours |").expect("a row");
        let explained = Explained(vec![(command, reason)]);
        assert_eq!(explained.reason("scontrol version"), Some("the version is ours"));
        assert_eq!(explained.reason("scontrol versions"), None);
        assert_eq!(row("| command | why |"), None);
    }
}
