//! `cargo xtask conformance --golden DIR`: plays recorded command lines on Spur and compares the answers
//! with what Slurm answered.
//!
//! `DIR` holds `scenario.sh` (makes the jobs), `commands.txt` (what is asked afterwards) and `cmd/NNN_….txt`
//! (what Slurm answered, as far as it is told).

mod cluster;
mod explained;
mod mask;
mod record;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::cluster::Cluster;
use self::explained::Explained;
use self::record::{Answer, Record};

/// What is asked of the chore.
#[derive(Default)]
pub struct Request {
    golden: PathBuf,
    /// The configuration of a running Slurm to play the same on, instead of the recorded answers.
    live: Option<PathBuf>,
    /// Only command lines with this in them are compared.
    only: Option<String>,
    /// Show both answers where they differ.
    verbose: bool,
}

impl Request {
    /// Reads the words behind `conformance`.
    pub fn read(words: &[&str]) -> Result<Request> {
        let mut request = Request::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().copied().with_context(|| format!("{word} wants a value"));
            match *word {
                "--golden" => request.golden = value()?.into(),
                "--live" => request.live = Some(value()?.into()),
                "--only" => request.only = Some(value()?.into()),
                "--verbose" | "-v" => request.verbose = true,
                word => bail!("conformance does not know {word}"),
            }
        }
        if request.golden.as_os_str().is_empty() {
            bail!("say --golden DIR");
        }
        Ok(request)
    }
}

/// After it the clock shows another second.
const MOMENT: std::time::Duration = std::time::Duration::from_millis(1_100);

/// Plays and compares; the last line is `N of M match`.
pub fn run(request: &Request) -> Result<()> {
    let mut records = Record::read_all(&request.golden)?;
    if let Some(configuration) = &request.live {
        let slurm = Cluster::slurm(configuration)?;
        slurm.prepare(&request.golden)?;
        for record in &mut records {
            record.answer = Some(slurm.ask(&record.line)?);
        }
    }
    let spur = Cluster::spur()?;
    spur.prepare(&request.golden)?;
    let explained = Explained::read(&crate::root())?;
    let mut tally = Tally::default();
    for record in &records {
        let mut ours = spur.masked(&spur.ask(&record.line)?);
        let Some(theirs) = &record.answer else { continue };
        let wanted = request.only.as_ref().is_none_or(|only| record.line.contains(only.as_str()));
        if wanted && !record.is_old_json() {
            let theirs = spur.masked(&theirs.map(|text| explained.in_our_words(text)));
            // What is left of a limit may be whole minutes at that very moment, and look like one.
            if ours != theirs
                && explained.reason(&record.line).is_none()
                && record::tool(&record.line) == "squeue"
            {
                std::thread::sleep(MOMENT);
                ours = spur.masked(&spur.ask(&record.line)?);
            }
            tally.count(record, &ours, &theirs, &explained, request.verbose);
        }
    }
    tally.print();
    Ok(())
}

/// How many matched, tool by tool, and what did not.
#[derive(Default)]
struct Tally {
    tools: BTreeMap<String, Count>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    matched: usize,
    explained: usize,
    all: usize,
}

impl Tally {
    fn count(
        &mut self,
        record: &Record,
        ours: &Answer,
        theirs: &Answer,
        explained: &Explained,
        verbose: bool,
    ) {
        let count = self.tools.entry(record::tool(&record.line).to_string()).or_default();
        count.all += 1;
        if ours == theirs {
            count.matched += 1;
            return;
        }
        let reason = explained.reason(&record.line);
        count.explained += usize::from(reason.is_some());
        println!("differs: {}", record.line);
        if let Some(reason) = reason {
            println!("  explained: {reason}");
        }
        println!("{}", theirs.difference(ours, verbose));
    }

    fn print(&self) {
        println!("\n{:<12} {:>5} {:>9} {:>6}", "tool", "match", "explained", "differ");
        let mut sum = Count::default();
        for (tool, count) in &self.tools {
            println!("{tool:<12} {:>5} {:>9} {:>6}", count.matched, count.explained, count.open());
            sum.matched += count.matched;
            sum.explained += count.explained;
            sum.all += count.all;
        }
        let open = sum.open();
        println!("{} differ for a reason that is written down, {open} without one", sum.explained);
        println!("{} of {} match", sum.matched, sum.all);
    }
}

impl Count {
    fn open(self) -> usize {
        self.all - self.matched - self.explained
    }
}
