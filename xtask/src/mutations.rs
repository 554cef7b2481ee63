//! `cargo xtask mutations`: puts known bugs into a copy of the shipped files, one at a time, and expects the tests to
//! notice. Takes minutes for each, so it is no part of `./test`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::root;

pub const USAGE: &str = "\
cargo xtask mutations [--only TEXT] [--schedules N]
                               put known bugs into a copy of the code and see that the tests notice each
";

/// Schedules of the simulator that each is given; most are noticed within the first hundred.
const SCHEDULES: &str = "1500";

/// A bug.
struct Mutation {
    name: &'static str,
    file: &'static str,
    /// Occurs once in the file.
    from: &'static str,
    to: &'static str,
    /// What `cargo test` is told; nothing for the simulator.
    tests: &'static [&'static str],
}

const SIMULATOR: &[&str] = &["-p", "spur-tests", "--test", "simulation"];

static MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "launch before commit",
        file: "crates/spurctld/src/controller/mod.rs",
        from: "            out.push(Output::Propose(batch));\n",
        to: "            let mut early = self.state.clone();\n\
             let applied = batch.iter().map(|it| spur_core::state::apply(&mut early, it));\n\
             let effects: Vec<Effect> = applied.flat_map(|it| it.effects).collect();\n\
             let state = std::mem::replace(&mut self.state, early);\n\
             let _ = self.run_errands(effects, &mut out);\n\
             self.state = state;\n\
             out.push(Output::Propose(batch));\n",
        tests: SIMULATOR,
    },
    Mutation {
        name: "no fsync",
        file: "crates/spurctld/src/store/log.rs",
        from: ".and_then(|()| self.disk.sync(&name));",
        to: ";",
        tests: SIMULATOR,
    },
    Mutation {
        name: "launch outside a lease",
        file: "crates/spurd/src/agent/mod.rs",
        from: ".is_some_and(|session| session.id == launches.session && now < session.lease);",
        to: ".is_some_and(|session| now < Millis(u64::MAX) || session.id == launches.session);",
        // The simulator does not see this one alone: a run that begins too late is ended by its fence.
        tests: &["-p", "spurd", "--lib", "agent::"],
    },
    Mutation {
        name: "epoch not checked",
        file: "crates/spurd/src/agent/mod.rs",
        from: "if self.has_seen(run) || self.of_job(run.job).any(|known| of_another_run(&known)) {",
        to: "let _ = of_another_run; if self.runs.contains_key(&run) {",
        tests: SIMULATOR,
    },
    Mutation {
        name: "clock in apply",
        file: "crates/spur-core/src/state/mod.rs",
        from: "    state.now = state.now.max(entry.at);\n",
        to: "    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);\n\
             let wall = wall.map_or(0, |it| it.subsec_nanos());\n\
             state.now = state.now.max(entry.at.plus_secs(i64::from(wall % 3)));\n",
        tests: SIMULATOR,
    },
    Mutation {
        name: "acknowledged before commit",
        file: "crates/spurctld/src/controller/agents.rs",
        from: "            AgentSays::Reports(reports) => self.reported(connection, node, &reports.reports),\n",
        to: "            AgentSays::Reports(reports) => {\n\
             let sequences = reports.reports.iter().map(|it| it.sequence);\n\
             let sequences = sequences.filter(|it| *it != 0).collect();\n\
             out.extend(self.agents.acknowledge(connection, sequences));\n\
             self.reported(connection, node, &reports.reports)\n\
             }\n",
        tests: SIMULATOR,
    },
    Mutation {
        name: "limit counted once in a pass",
        file: "crates/spur-sched/src/start.rs",
        from: "                tally.add(charge, &nodes);\n                pass.charged.push((charge.clone(), nodes.clone()));\n",
        to: "                let _ = tally;\n",
        tests: &["-p", "spur-sched"],
    },
    Mutation {
        name: "allocation leaked by a failed launch",
        file: "crates/spur-core/src/state/jobs.rs",
        from: "        if job.epoch != finish.epoch {\n",
        to: "        if job.epoch != finish.epoch || finish.outcome == Outcome::Lost {\n",
        tests: SIMULATOR,
    },
    Mutation {
        name: "stale completion applied to a new epoch",
        file: "crates/spur-core/src/state/jobs.rs",
        from: "        if job.epoch != finish.epoch {\n",
        to: "        if job.epoch < finish.epoch {\n",
        tests: SIMULATOR,
    },
    Mutation {
        name: "log cut behind a snapshot that is not on the disk",
        file: "crates/spurctld/src/store/snapshot.rs",
        from: "        Ok(disk.replace(FILE, &self.bytes)?)\n",
        to: "        Ok(disk.put(FILE, &self.bytes)?)\n",
        tests: SIMULATOR,
    },
    Mutation {
        name: "run given up before its node has ended it",
        file: "crates/spurctld/src/controller/agents/sessions.rs",
        from: "            let patience_ms = lives_ms + (lives_ms / 4).max(ECHO_MS);\n",
        to: "            let patience_ms = lives_ms / 2 + 0 * ECHO_MS;\n",
        tests: SIMULATOR,
    },
];

/// Runs the chore.
pub fn run(words: &[&str]) -> Result<()> {
    let (mut only, mut schedules) = ("", SCHEDULES);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (*word, words.next()) {
            ("--only", Some(text)) => only = text,
            ("--schedules", Some(count)) => schedules = count,
            _ => bail!("{USAGE}"),
        }
    }
    let copy = Copy::make(&root())?;
    let mut missed = Vec::new();
    for mutation in MUTATIONS.iter().filter(|it| it.name.contains(only)) {
        let begun = Instant::now();
        let noticed = copy.is_noticed(mutation, schedules)?;
        let (word, secs) = (if noticed { "noticed" } else { "MISSED" }, begun.elapsed().as_secs());
        println!("{word:8} {} ({secs} s)", mutation.name);
        if !noticed {
            missed.push(mutation.name);
        }
    }
    ensure!(missed.is_empty(), "the tests do not notice: {}", missed.join(", "));
    Ok(())
}

/// The files under version control, somewhere else.
struct Copy {
    tree: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn make(root: &Path) -> Result<Copy> {
        let below = root.join("target/mutations");
        let copy = Copy { tree: below.join("tree"), target: below.join("target") };
        let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output()?;
        ensure!(listed.status.success(), "git does not list the files");
        copy.take_what_is_built(&root.join("target/debug"))?;
        for name in String::from_utf8(listed.stdout)?.split('\0').filter(|name| !name.is_empty()) {
            let (from, to) = (root.join(name), copy.tree.join(name));
            let Ok(text) = fs::read(&from) else { continue };
            // What is there already is left alone, and need not be built again.
            if fs::read(&to).is_ok_and(|before| before == text) {
                continue;
            }
            fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
            fs::write(&to, text)?;
            // As old as the original, so what was built of that counts for this one too.
            File::options()
                .write(true)
                .open(&to)?
                .set_modified(fs::metadata(&from)?.modified()?)?;
        }
        Ok(copy)
    }

    /// Begins with what has been built of the originals: most of it is the same with any of the bugs.
    fn take_what_is_built(&self, built: &Path) -> Result<()> {
        let own = self.target.join("debug");
        if own.exists() || !built.exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.target)?;
        let copied =
            Command::new("cp").args(["-a", "--reflink=auto"]).arg(built).arg(&own).status()?;
        ensure!(copied.success(), "could not copy {}", built.display());
        Ok(())
    }

    /// Whether the tests fail with the bug. It must build: what the compiler notices says nothing about tests.
    fn is_noticed(&self, mutation: &Mutation, schedules: &str) -> Result<bool> {
        let path = self.tree.join(mutation.file);
        let text = fs::read_to_string(&path)?;
        let found = text.matches(mutation.from).count();
        ensure!(found == 1, "{}: its line is {found} times in {}", mutation.name, mutation.file);
        fs::write(&path, text.replace(mutation.from, mutation.to))?;
        let ran = self.test(mutation, schedules);
        fs::write(&path, text)?;
        ran
    }

    fn test(&self, mutation: &Mutation, schedules: &str) -> Result<bool> {
        let cargo = |more: &[&str]| {
            let mut cargo = Command::new("cargo");
            cargo.arg("test").args(mutation.tests).args(more).current_dir(&self.tree);
            cargo.env("CARGO_TARGET_DIR", &self.target).env("SPUR_SIM_SCHEDULES", schedules);
            cargo.output()
        };
        let built = cargo(&["--no-run", "--quiet"])?;
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        ensure!(built.status.success(), "{} does not build:\n{said}", mutation.name);
        Ok(!cargo(&["--quiet"])?.status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_its_place() {
        for mutation in MUTATIONS {
            let text = fs::read_to_string(root().join(mutation.file)).expect("is there");
            assert_eq!(text.matches(mutation.from).count(), 1, "{}", mutation.name);
            assert_ne!(mutation.from, mutation.to, "{}", mutation.name);
        }
    }
}
