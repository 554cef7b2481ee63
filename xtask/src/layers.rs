//! Which crate may know which: the levels, the check, and the table in ARCHITECTURE.md.

mod workspace;

use std::path::Path;

use anyhow::{Context, Result, bail};

pub use workspace::{Dependency, Kind, Workspace, purity_of};

/// Crates that know only crates of lower levels.
pub struct Level {
    /// Higher numbers are nearer to the user.
    pub number: u8,
    /// Its crates, also those that are still to come, and what each is for.
    pub crates: &'static [(&'static str, &'static str)],
}

/// The highest level comes first, as in the printed picture.
pub const LEVELS: &[Level] = &[
    Level {
        number: FREE,
        crates: &[("spur-tests", "may know anything"), ("xtask", "may know anything")],
    },
    Level {
        number: 4,
        crates: &[
            ("spurctld", "the edges"),
            ("spurd", "the edges"),
            ("spurdbd", "the edges"),
            ("spurrestd", "the edges"),
            ("spur-cli", "the edges"),
            ("spur-ffi", "the edges"),
            ("spur-k8s", "the edges"),
        ],
    },
    Level { number: 3, crates: &[("spur-proto", "the wire, and its conversions")] },
    Level {
        number: 2,
        crates: &[
            ("spur-sched", "who runs next"),
            ("spur-net", "who a machine is to others"),
            ("spur-spank", "C plugins"),
        ],
    },
    Level {
        number: 1,
        crates: &[
            ("spur-core", "words and rules"),
            ("spur-disk", "files that survive crashes; both know nobody"),
        ],
    },
];

/// The level of tests and chores, which look at everything and which nothing is built on.
const FREE: u8 = 5;

/// The document that shows the table, and the lines around it.
pub const DOCUMENT: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- layers -->\n";
const END: &str = "<!-- /layers -->";

impl Level {
    fn has(&self, name: &str) -> bool {
        self.crates.iter().any(|(known, _)| *known == name)
    }

    /// Those of its crates that exist, and what they are for, each word once.
    fn present(&self, workspace: &Workspace) -> (Vec<&'static str>, Vec<&'static str>) {
        let exists = |name: &str| workspace.crates.contains_key(name);
        let crates = self.crates.iter().filter(|(name, _)| exists(name)).copied();
        let (names, mut meanings): (Vec<_>, Vec<_>) = crates.unzip();
        meanings.dedup();
        (names, meanings)
    }
}

/// The level of a crate, if it has one.
pub fn level(name: &str) -> Option<u8> {
    LEVELS.iter().find(|level| level.has(name)).map(|level| level.number)
}

/// Everything that is wrong with who knows whom.
pub fn problems(workspace: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for name in workspace.crates.keys() {
        if level(name).is_none() {
            problems.push(format!("{name} has no level: give it one in xtask/src/layers.rs"));
        }
    }
    for (name, dependencies) in &workspace.crates {
        for dependency in dependencies {
            let (Some(own), Some(other)) = (level(name), level(&dependency.name)) else { continue };
            if own != FREE && other >= own {
                problems.push(format!(
                    "{name} (level {own}) knows {} (level {other}) {}",
                    dependency.name,
                    dependency.kind.told()
                ));
            }
        }
    }
    problems.extend(workspace.cycle().map(|cycle| format!("a cycle: {}", cycle.join(" → "))));
    problems
}

/// The picture of the levels and the table of what each crate knows.
pub fn table(workspace: &Workspace) -> String {
    let mut text = String::from("```text\n");
    let lines = LEVELS.iter().map(|level| {
        let (names, meanings) = level.present(workspace);
        (level.number, names.join("  "), meanings.join("; "))
    });
    let lines: Vec<_> = lines.filter(|(_, names, _)| !names.is_empty()).collect();
    let width = lines.iter().map(|(_, names, _)| names.len()).max().unwrap_or(0);
    for (number, names, meanings) in lines {
        text.push_str(&format!("  {number}   {names:<width$}   {meanings}\n"));
    }
    text.push_str("```\n\n| Crate | knows |\n|---|---|\n");
    for (name, _) in LEVELS.iter().flat_map(|level| level.crates) {
        let Some(dependencies) = workspace.crates.get(*name) else { continue };
        text.push_str(&format!("| `{name}` | {} |\n", known(name, dependencies)));
    }
    text
}

fn known(name: &str, dependencies: &[Dependency]) -> String {
    if level(name) == Some(FREE) {
        return "anything".into();
    }
    let mut dependencies: Vec<&Dependency> = dependencies.iter().collect();
    // The nearest level first; a crate needed twice is told once, by its stronger kind.
    dependencies.sort_by_key(|d| (std::cmp::Reverse(level(&d.name)), &d.name, d.kind));
    dependencies.dedup_by_key(|dependency| &dependency.name);
    let words = dependencies.iter().map(|dependency| match dependency.kind {
        Kind::Normal => format!("`{}`", dependency.name),
        kind => format!("`{}` ({})", dependency.name, kind.told()),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "nobody".into() } else { words.join(", ") }
}

/// What a document shows between its marks.
pub fn shown(document: &str) -> Result<&str> {
    let begin = document.find(BEGIN).context("the line `<!-- layers -->` is missing")?;
    let rest = &document[begin + BEGIN.len()..];
    let end = rest.find(END).context("the line `<!-- /layers -->` is missing")?;
    Ok(&rest[..end])
}

/// Puts the table into the document.
pub fn write(root: &Path) -> Result<()> {
    let workspace = Workspace::read(root)?;
    let path = root.join(DOCUMENT);
    let document = std::fs::read_to_string(&path).unwrap_or_default();
    let table = table(&workspace);
    let updated = match shown(&document) {
        Ok(former) => {
            document.replacen(&format!("{BEGIN}{former}{END}"), &format!("{BEGIN}{table}{END}"), 1)
        }
        // Half a pair of marks is a slip of the pen that only its author can mend.
        Err(error) if document.contains(BEGIN) || document.contains(END) => bail!(error),
        Err(_) => format!("{document}\n## Who may know whom\n\n{BEGIN}{table}{END}\n"),
    };
    std::fs::write(&path, updated).with_context(|| format!("could not write {DOCUMENT}"))
}

/// Whether the document shows the table as it is.
pub fn check(root: &Path) -> Result<()> {
    let workspace = Workspace::read(root)?;
    let document = std::fs::read_to_string(root.join(DOCUMENT)).unwrap_or_default();
    let mend = "run: cargo xtask layers --write";
    let shown = shown(&document).with_context(|| format!("{DOCUMENT}; {mend}"))?;
    let table = table(&workspace);
    if shown != table {
        bail!("{DOCUMENT} does not show the crates as they are; {mend}\n\n{table}");
    }
    Ok(())
}
