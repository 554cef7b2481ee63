//! The lint that keeps `spur-core` and `spur-sched` from doing anything but deciding.

use std::path::Path;

use anyhow::{Context, Result};

/// The crates that decide and do nothing else.
pub const PURE: &[&str] = &["spur-core", "spur-sched"];

/// What the lint must forbid: a subject, and paths of the standard library that stand for it.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("the clock", &["std::time::SystemTime::now", "std::time::Instant::now"]),
    ("the environment", &["std::env::var", "std::env::vars", "std::env::args"]),
    ("the file system", &["std::fs::File", "std::fs::read", "std::fs::write"]),
    ("the network", &["std::net::TcpStream", "std::net::UdpSocket"]),
    ("threads", &["std::thread::spawn", "std::thread::sleep"]),
    ("processes", &["std::process::Command"]),
    ("hash order", &["std::collections::HashMap", "std::collections::HashSet"]),
];

/// Everything that keeps the lint from being in force.
pub fn problems(root: &Path) -> Result<Vec<String>> {
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path)).with_context(|| format!("could not read {path}"))
    };
    let mut problems = Vec::new();
    let workspace = read("Cargo.toml")?;
    for lint in ["disallowed_methods", "disallowed_types"] {
        if !section(&workspace, "[workspace.lints.clippy]").contains(&format!("{lint} = \"deny\""))
        {
            problems.push(format!("Cargo.toml does not deny {lint}"));
        }
    }
    let first = read(&format!("crates/{}/clippy.toml", PURE[0]))?;
    for name in PURE {
        let path = format!("crates/{name}/clippy.toml");
        let rules = read(&path)?;
        if rules != first {
            problems.push(format!("{path} differs from that of {}", PURE[0]));
        }
        problems.extend(missing(&rules).map(|(what, call)| format!("{path} lets {what}: {call}")));
        let manifest = read(&format!("crates/{name}/Cargo.toml"))?;
        if !section(&manifest, "[lints]").contains("workspace = true") {
            problems.push(format!("crates/{name}/Cargo.toml does not take the workspace's lints"));
        }
        for (path, text) in sources(&root.join("crates").join(name).join("src"))? {
            if text.contains("allow(clippy::disallowed") {
                problems.push(format!("{path} switches the lint off"));
            }
        }
    }
    Ok(problems)
}

fn missing(rules: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let calls = FORBIDDEN.iter().flat_map(|(what, calls)| calls.iter().map(|call| (*what, *call)));
    calls.filter(|(_, call)| {
        let row = format!("{{ path = \"{call}\"");
        !rules.lines().any(|line| line.trim_start().starts_with(&row))
    })
}

/// The lines below a heading of TOML, up to the next one.
fn section<'a>(manifest: &'a str, heading: &str) -> &'a str {
    let Some((_, rest)) = manifest.split_once(&format!("{heading}\n")) else { return "" };
    rest.split("\n[").next().unwrap_or(rest)
}

fn sources(directory: &Path) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.display().to_string(), std::fs::read_to_string(&path)?));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_of_rules_forbids_nothing() {
        let calls: usize = FORBIDDEN.iter().map(|(_, calls)| calls.len()).sum();
        assert_eq!(missing("").count(), calls);
        assert_eq!(missing("# { path = \"std::env::var\" }\n").count(), calls);
        assert_eq!(missing("  { path = \"std::env::var\", reason = \"…\" },\n").count(), calls - 1);
    }

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let manifest =
            "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n\n[features]\nb = []\n";
        assert_eq!(section(manifest, "[lints]"), "workspace = true\n");
        assert_eq!(section(manifest, "[other]"), "");
    }
}
