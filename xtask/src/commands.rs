//! The names the `spur` binary answers to.
//!
//! The dispatcher is in a binary crate and cannot be asked, so the names stand here a second time; a test
//! compares the two.

/// Slurm's names: as a link to the binary, or as its first word.
pub const SLURM: &[(&str, &str)] = &[
    ("sbatch", "hand in a script"),
    ("scancel", "end jobs"),
    ("sinfo", "show nodes and partitions"),
    ("squeue", "show jobs"),
];

/// Our own verbs.
pub const NATIVE: &[(&str, &str)] = &[
    ("up", "start a cluster on this machine"),
    ("down", "stop the cluster of this machine"),
    ("env", "print the shell variables that lead to the cluster"),
    ("config", "check a configuration, or turn slurm.conf into one"),
    ("version", "print the version"),
    ("help", "show the commands"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in a table of the dispatcher: what is quoted right after a row's parenthesis.
    fn names<'a>(source: &'a str, table: &str) -> Vec<&'a str> {
        let (_, rest) = source.split_once(table).expect("the table is there");
        let rows = rest.split("];").next().unwrap_or(rest).split('(').skip(1);
        rows.filter_map(|row| row.trim_start().strip_prefix('"')?.split('"').next()).collect()
    }

    #[test]
    fn the_dispatcher_knows_the_same_names() {
        let path = crate::root().join("crates/spur-cli/src/dispatch.rs");
        let source = std::fs::read_to_string(path).unwrap();
        let ours = |list: &[(&'static str, &str)]| -> Vec<&str> {
            list.iter().map(|(name, _)| *name).filter(|name| *name != "help").collect()
        };
        let mend = "write them into xtask/src/commands.rs and run: cargo xtask docs";
        assert_eq!(names(&source, "const SLURM"), ours(SLURM), "{mend}");
        assert_eq!(names(&source, "const NATIVE"), ours(NATIVE), "{mend}");
    }
}
