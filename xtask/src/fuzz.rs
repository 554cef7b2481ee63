//! `cargo xtask fuzz`: every fuzz target for a while, led by the code it reaches. Needs a C++ compiler, for
//! libFuzzer, and no nightly toolchain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::root;

pub const USAGE: &str = "\
cargo xtask fuzz [--seconds N] [TARGET...]
                               try to bring decoders down, each for N seconds (60)
";

/// Has the compiler count which code is reached.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Ccodegen-units=1";

/// Slower than this, or larger, is a finding as well.
const LIMITS: &[&str] = &["-timeout=10", "-rss_limit_mb=2048", "-max_len=4096"];

/// Runs the chore.
pub fn run(words: &[&str]) -> Result<()> {
    let (seconds, chosen) = match words {
        ["--seconds", seconds, chosen @ ..] => (seconds.parse::<u32>().context(USAGE)?, chosen),
        chosen => (60, chosen),
    };
    let folder = root().join("fuzz");
    let all = targets()?;
    if let Some(unknown) = chosen.iter().find(|name| !all.iter().any(|it| it == *name)) {
        bail!("there is no target {unknown}; there are {}", all.join(", "));
    }
    let target_dir = root().join("target/fuzz");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--bins"]).current_dir(&folder);
    build.env("RUSTFLAGS", COVERAGE).env("CARGO_TARGET_DIR", &target_dir);
    if !build.status().context("could not run cargo")?.success() {
        bail!("the targets were not built");
    }
    let built = built(&target_dir)?;
    let mut findings = Vec::new();
    for name in all.iter().filter(|name| chosen.is_empty() || chosen.contains(&name.as_str())) {
        let (corpus, artifacts) = (folder.join("corpus").join(name), folder.join("artifacts"));
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&artifacts)?;
        let mut run = Command::new(built.join(name));
        run.arg(&corpus).args(LIMITS).arg(format!("-max_total_time={seconds}"));
        run.arg("-print_final_stats=1").arg("-verbosity=0").current_dir(&folder);
        run.arg(format!("-artifact_prefix={}/{name}-", artifacts.display()));
        println!("{name}");
        if !run.status().with_context(|| format!("could not run {name}"))?.success() {
            findings.push(name.as_str());
        }
    }
    match findings.is_empty() {
        true => Ok(()),
        false => bail!("brought down: {}; see fuzz/artifacts", findings.join(", ")),
    }
}

/// Where cargo has put them: below the name of the machine's kind, where a configuration names one.
fn built(target_dir: &Path) -> Result<PathBuf> {
    let folders = fs::read_dir(target_dir)?.flatten().map(|entry| entry.path());
    let mut places = folders.map(|folder| folder.join("release")).collect::<Vec<_>>();
    places.insert(0, target_dir.join("release"));
    places.retain(|place| place.join("hostlist").is_file());
    places.into_iter().next().context("the targets were built, and are not to be found")
}

/// The names of all targets, which are those of their files.
pub fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("fuzz/fuzz_targets"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_string));
    }
    names.sort();
    Ok(names)
}
