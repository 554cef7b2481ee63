//! Names of nodes that are all this machine: their jobs look them up in a table that `spur up` writes for each node.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use super::layout::Layout;

/// Where a machine keeps names of its own.
const OF_THE_MACHINE: &str = "/etc/hosts";

/// Writes the table for each of the nodes, or takes it away where the only one is the machine itself. An agent shows
/// it to its jobs, if it may.
pub fn write(layout: &Layout, nodes: &[String], are_named: bool) -> io::Result<()> {
    let machines = fs::read_to_string(OF_THE_MACHINE).unwrap_or_default();
    let table = table(&machines, nodes);
    for node in nodes {
        let spool = layout.spool(node);
        let file = spool.join("hosts");
        match are_named {
            true => {
                DirBuilder::new().recursive(true).mode(0o700).create(&spool)?;
                replace(&file, &table)?;
            }
            false if file.exists() => fs::remove_file(&file)?,
            false => {}
        }
    }
    Ok(())
}

/// In its place: what is shown to jobs that run is the file, not its name.
fn replace(file: &Path, table: &str) -> io::Result<()> {
    match fs::read_to_string(file) {
        Ok(text) if text == table => {}
        _ => fs::write(file, table)?,
    }
    // Every user's jobs read it.
    fs::set_permissions(file, Permissions::from_mode(0o644))
}

/// The machine's own names, then the nodes' that it does not know.
fn table(machines: &str, nodes: &[String]) -> String {
    let known = |node: &str| {
        let lines = machines.lines().map(|line| line.split('#').next().unwrap_or_default());
        lines.flat_map(|line| line.split_whitespace().skip(1)).any(|name| name == node)
    };
    let mut table = machines.to_string();
    if !table.is_empty() && !table.ends_with('\n') {
        table.push('\n');
    }
    for node in nodes.iter().filter(|node| !known(node)) {
        table.push_str(&format!("127.0.0.1\t{node}\n"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_machine_knows_stay_as_they_are() {
        let nodes = ["n1", "n2"].map(str::to_string);
        let told = table("127.0.0.1 localhost\n10.0.0.7 n1 # n2\n\n::1 ip6", &nodes);
        assert_eq!(told, "127.0.0.1 localhost\n10.0.0.7 n1 # n2\n\n::1 ip6\n127.0.0.1\tn2\n");
        assert_eq!(table("", &nodes), "127.0.0.1\tn1\n127.0.0.1\tn2\n");
    }
}
