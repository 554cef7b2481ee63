//! What is measured, by commands alone, so that both sides do the same.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::site::Site;

/// What a number counts.
#[derive(Clone, Copy)]
pub enum Unit {
    /// So many in a second.
    EachSecond,
    /// Half of them took at most so long.
    Milliseconds,
}

/// One row of the table.
pub struct Measure {
    /// What it is.
    pub name: String,
    /// What its number counts.
    pub unit: Unit,
    /// Takes it.
    pub take: Take,
}

/// Does the work at a site and tells the number.
type Take = Box<dyn Fn(&Site) -> Result<f64>>;

fn row(name: String, unit: Unit, take: impl Fn(&Site) -> Result<f64> + 'static) -> Measure {
    Measure { name, unit, take: Box::new(take) }
}

/// All rows; `jobs` is how many jobs are submitted where jobs are counted.
pub fn all(jobs: u32) -> Vec<Measure> {
    let (each, time) = (Unit::EachSecond, Unit::Milliseconds);
    vec![
        row(format!("sbatch, one after another ({jobs})"), each, move |site| {
            submits(site, jobs, 1)
        }),
        row(format!("sbatch, four at a time ({jobs})"), each, move |site| submits(site, jobs, 4)),
        row(format!("`true` jobs to their end, one node ({jobs})"), each, move |site| {
            to_their_end(site, jobs, &["-w", "n1"])
        }),
        row(format!("`true` jobs to their end, four nodes ({jobs})"), each, move |site| {
            to_their_end(site, jobs, &[])
        }),
        row(format!("array of `true` to its end ({} tasks)", jobs * 5), each, move |site| {
            array(site, jobs * 5)
        }),
        row("srun true".into(), time, |site| median(20, || site.run("srun", &["true"]))),
        row("sbatch --wait of `true`".into(), time, |site| {
            let words = ["--wait", "-o", "/dev/null", "--wrap", "true"];
            median(10, || site.run("sbatch", &words))
        }),
        row("squeue, 2 000 jobs".into(), time, |site| queue(site, 2_000, &[])),
        row("squeue -j, 2 000 jobs".into(), time, |site| queue(site, 2_000, &["-j"])),
    ]
}

/// Jobs that cannot start, so that only the submitting is measured.
fn submits(site: &Site, jobs: u32, at_once: u32) -> Result<f64> {
    let words = ["-H", "-o", "/dev/null", "--wrap", "true"];
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let one = || (0..jobs / at_once).try_for_each(|_| site.run("sbatch", &words).map(|_| ()));
        let running: Vec<_> = (0..at_once).map(|_| scope.spawn(one)).collect();
        running.into_iter().try_for_each(|one| one.join().expect("no panic"))
    })?;
    let rate = f64::from(jobs) / begun.elapsed().as_secs_f64();
    site.clear()?;
    Ok(rate)
}

/// Submitted while held, then let go together: what is measured is starting and ending them.
fn to_their_end(site: &Site, jobs: u32, where_to: &[&str]) -> Result<f64> {
    let mut words = vec!["-H", "-n1", "-t", "1", "--mem=1", "-o", "/dev/null", "--wrap", "true"];
    words.splice(0..0, where_to.iter().copied());
    let mut numbers = Vec::new();
    for _ in 0..jobs {
        let told = site.run("sbatch", &words)?;
        numbers.extend(told.split_whitespace().last().map(str::to_string));
    }
    let begun = Instant::now();
    site.run("scontrol", &["release", &numbers.join(",")])?;
    Ok(f64::from(jobs) / (site.drained()? - begun).as_secs_f64())
}

fn array(site: &Site, tasks: u32) -> Result<f64> {
    let range = format!("--array=1-{tasks}");
    let begun = Instant::now();
    let words = [&range, "-n1", "-t", "1", "--mem=1", "-o", "/dev/null", "--wrap", "true"];
    site.run("sbatch", &words)?;
    Ok(f64::from(tasks) / (site.drained()? - begun).as_secs_f64())
}

/// One job is asked for where `words` end in `-j`.
fn queue(site: &Site, jobs: u32, words: &[&str]) -> Result<f64> {
    let range = format!("--array=1-{jobs}");
    let told = site.run("sbatch", &["-H", &range, "-o", "/dev/null", "--wrap", "true"])?;
    let job = told.split_whitespace().last().unwrap_or_default().to_string();
    let mut words = words.to_vec();
    if !words.is_empty() {
        words.push(&job);
    }
    words.push("-r");
    let lines = site.run("squeue", &words)?.lines().count();
    ensure!(lines as u32 > jobs, "squeue shows {lines} lines");
    let taken = median(5, || site.run("squeue", &words))?;
    site.clear()?;
    Ok(taken)
}

/// Half of the calls took at most so many milliseconds.
fn median(calls: usize, call: impl Fn() -> Result<String>) -> Result<f64> {
    let mut taken = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begun = Instant::now();
        call()?;
        taken.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    taken.sort_by(f64::total_cmp);
    Ok(taken[calls / 2])
}
