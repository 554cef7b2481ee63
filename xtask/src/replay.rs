//! `cargo xtask replay`: real workloads through the very planner the controller uses.

mod measure;
mod openb;
mod plot;
mod simulate;
mod trace;

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

pub use measure::{Outcome, Summary};
pub use simulate::{Way, simulate};
pub use trace::{Job, Machine, Trace};

/// What may be said on the command line.
pub const USAGE: &str = "\
cargo xtask replay FILE [--policy fcfs|easy|bestfit|spur|shortest|predict] [--nodes N] [--plot FILE.svg] [--first N]
                               run a trace (SWF, muri CSV, openb pods) through the planner; without a
                               policy all of them side by side
";

const ABOVE_ZERO: &str = "--nodes and --first are numbers above zero";

#[derive(Debug, Default)]
struct Options {
    file: PathBuf,
    /// None said: all.
    policies: Vec<Way>,
    nodes: Option<u32>,
    plot: Option<PathBuf>,
    first: Option<usize>,
}

/// Replays a trace and prints a table.
pub fn run(words: &[&str]) -> Result<()> {
    let options = read(words)?;
    let name = options.file.display().to_string();
    let text = trace::read(&options.file)?;
    // What a file is it says in its first line, whatever its name.
    let first = text.lines().next().unwrap_or_default();
    if first.contains("gpu_milli") {
        return openb::run(&text, &options);
    }
    let mut trace = match first.contains("num_gpu") {
        true => trace::gangs(&text, options.nodes.unwrap_or(20))?,
        false => trace::swf(&text, options.nodes),
    };
    if trace.jobs.is_empty() {
        bail!("{name} has no jobs: neither SWF, nor gangs, nor pods");
    }
    if let Some(first) = options.first {
        trace.jobs.truncate(first);
    }
    println!("{name}: {} jobs on {}", trace.jobs.len(), trace.machine);
    if trace.left_out > 0 {
        println!("{} lines tell of no job that could run", trace.left_out);
    }
    println!("{}", Summary::HEADING);
    let mut drawn = Vec::new();
    let all = if options.policies.is_empty() { &Way::ALL[..] } else { &options.policies };
    for way in all {
        let outcome = simulate(&trace, *way);
        println!("{}", outcome.summary(&trace).row(way.name()));
        drawn.push((way.name(), outcome));
    }
    if let Some(path) = &options.plot {
        plot::write(path, &plot::waited(&drawn, &trace))?;
    }
    Ok(())
}

fn read(words: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match *word {
            "--policy" => {
                let name = value()?;
                options.policies.push(Way::named(name).with_context(|| {
                    let all: Vec<&str> = Way::ALL.iter().map(|way| way.name()).collect();
                    format!("there is no policy {name}: {}", all.join(", "))
                })?);
            }
            "--nodes" => {
                let nodes: NonZeroU32 = value()?.parse().context(ABOVE_ZERO)?;
                options.nodes = Some(nodes.get());
            }
            "--first" => {
                let first: NonZeroU32 = value()?.parse().context(ABOVE_ZERO)?;
                options.first = Some(first.get() as usize);
            }
            "--plot" => options.plot = Some(value()?.into()),
            file if !file.starts_with("--") => options.file = file.into(),
            other => bail!("there is no option {other}\n\n{USAGE}"),
        }
    }
    if options.file.as_os_str().is_empty() {
        bail!("which file?\n\n{USAGE}");
    }
    Ok(options)
}
