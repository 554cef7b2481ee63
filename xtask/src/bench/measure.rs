//! What is measured: by commands alone where both sides have them, so that both do the same.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::site::Site;
use super::{api, failover};

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// So many in a second.
    EachSecond,
    /// So long.
    Milliseconds,
    /// So much memory.
    Bytes,
}

/// One number of a row: what it is called within the row, and how much.
pub struct Number {
    /// `p50`, or nothing where there is only one.
    pub name: &'static str,
    /// How much.
    pub amount: f64,
}

/// One measurement, which may give several numbers.
pub struct Measure {
    /// What it is.
    pub name: String,
    /// What its numbers count.
    pub unit: Unit,
    /// Takes it; nothing where this cannot be asked of the site.
    pub take: Take,
}

/// Does the work at a site and tells the numbers.
type Take = Box<dyn Fn(&Site) -> Result<Vec<Number>>>;

/// How much is to be done.
#[derive(Clone, Copy)]
pub struct Amount {
    /// Jobs that are submitted where jobs are counted.
    pub jobs: u32,
    /// Tasks of the array that is run to its end.
    pub tasks: u32,
    /// Pending jobs that lists are measured with at last.
    pub queue: u32,
}

fn row(name: String, unit: Unit, take: impl Fn(&Site) -> Result<Vec<Number>> + 'static) -> Measure {
    Measure { name, unit, take: Box::new(take) }
}

fn one(amount: f64) -> Vec<Number> {
    vec![Number { name: "", amount }]
}

/// All rows.
pub fn all(Amount { jobs, tasks, queue }: Amount) -> Vec<Measure> {
    let (each, time) = (Unit::EachSecond, Unit::Milliseconds);
    let wait = ["--wait", "-o", "/dev/null", "--wrap", "true"];
    vec![
        row(format!("sbatch, one after another ({jobs})"), each, move |site| {
            submits(site, jobs, 1).map(one)
        }),
        row(format!("sbatch, four at a time ({jobs})"), each, move |site| {
            submits(site, jobs, 4).map(one)
        }),
        row(format!("submits by the API ({})", jobs * 20), each, move |site| {
            own(site, || api::submits(site, jobs * 20, ""))
        }),
        row("array tasks submitted by the API (20 x 1000)".into(), each, |site| {
            own(site, || Ok(api::submits(site, 20, "1-1000")? * 1000.0))
        }),
        row(format!("`true` jobs to their end, one node ({jobs})"), each, move |site| {
            to_their_end(site, jobs, &["-w", "n1"]).map(one)
        }),
        row(format!("`true` jobs to their end, four nodes ({jobs})"), each, move |site| {
            to_their_end(site, jobs, &[]).map(one)
        }),
        row(format!("array of `true` to its end ({tasks} tasks)"), each, move |site| {
            array(site, tasks).map(one)
        }),
        row("srun true".into(), time, |site| {
            times(site.repetitions(100), || site.run("srun", &["true"]))
        }),
        row("sbatch --wait of `true`".into(), time, move |site| {
            times(site.repetitions(50), || site.run("sbatch", &wait))
        }),
        row("squeue, 10 000 jobs".into(), time, |site| lists(site, 10_000)),
        row(format!("squeue, {queue} jobs"), time, move |site| own_lists(site, queue)),
        row("memory of a pending job".into(), Unit::Bytes, move |site| memory(site, queue)),
        row("leader killed to next submit taken".into(), time, |site| {
            own(site, failover::after_a_kill)
        }),
    ]
}

/// Something that can be asked of Spur alone.
fn own(site: &Site, take: impl Fn() -> Result<f64>) -> Result<Vec<Number>> {
    if site.is_ours() { take().map(one) } else { Ok(Vec::new()) }
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

/// With so many tasks of one array, each shown on a line of its own.
fn lists(site: &Site, jobs: u32) -> Result<Vec<Number>> {
    let range = format!("--array=0-{}", jobs - 1);
    let told = site.run("sbatch", &["-H", &range, "-o", "/dev/null", "--wrap", "true"])?;
    let job = told.split_whitespace().last().unwrap_or_default().to_string();
    let numbers = timed_lists(site, jobs, &format!("{job}_7"))?;
    site.clear()?;
    Ok(numbers)
}

/// With so many jobs of their own, which only our API submits in a time worth waiting for. In a cluster of its
/// own, which goes with them.
fn own_lists(site: &Site, jobs: u32) -> Result<Vec<Number>> {
    if !site.is_ours() {
        return Ok(Vec::new());
    }
    let site = Site::spur(&["--nodes", "n1"])?;
    let last = api::fill(&site, jobs)?;
    timed_lists(&site, jobs, &last.to_string())
}

fn timed_lists(site: &Site, jobs: u32, job: &str) -> Result<Vec<Number>> {
    let lines = site.run("squeue", &["-r"])?.lines().count();
    ensure!(lines as u32 > jobs, "squeue shows {lines} lines");
    let asked: [(&'static str, &[&str]); 4] = [
        ("usual columns", &["-r"]),
        ("whole records", &["-r", "-h", "-o", "%i %j %u %a %T %Z %N %V %S %e %Q %C %m"]),
        ("-j", &["-r", "-j", job]),
        ("-u, of another user", &["-u", "nobody"]),
    ];
    let timed = asked.into_iter().map(|(name, words)| {
        let taken = durations(5, || site.run("squeue", words))?;
        Ok(Number { name, amount: millis(taken[taken.len() / 2]) })
    });
    timed.collect()
}

/// By how much the controller grows with the queue.
fn memory(site: &Site, jobs: u32) -> Result<Vec<Number>> {
    let grown = |site: &Site, jobs: u32, fill: &dyn Fn(&Site) -> Result<()>| {
        let before = site.controller_bytes()?;
        fill(site)?;
        let grown = site.controller_bytes()?.saturating_sub(before);
        Ok(one(grown as f64 / f64::from(jobs)))
    };
    if site.is_ours() {
        // A new one: memory that jobs of before have left would not be counted.
        let site = Site::spur(&["--nodes", "n1"])?;
        return grown(&site, jobs, &|site| api::fill(site, jobs).map(|_| ()));
    }
    let words = ["-H", "-o", "/dev/null", "--wrap", "true"];
    let fill = |site: &Site| (0..2_000).try_for_each(|_| site.run("sbatch", &words).map(|_| ()));
    let grown = grown(site, 2_000, &fill)?;
    site.clear()?;
    Ok(grown)
}

/// How long the half of the calls took at most, and how long all but one in a hundred.
fn times(calls: usize, call: impl Fn() -> Result<String>) -> Result<Vec<Number>> {
    let taken = durations(calls, call)?;
    let at = |part: usize| millis(taken[(taken.len() * part / 100).min(taken.len() - 1)]);
    Ok(vec![Number { name: "p50", amount: at(50) }, Number { name: "p99", amount: at(99) }])
}

/// How long each call took, the shortest first.
fn durations(calls: usize, call: impl Fn() -> Result<String>) -> Result<Vec<Duration>> {
    let mut taken = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begun = Instant::now();
        call()?;
        taken.push(begun.elapsed());
    }
    taken.sort();
    Ok(taken)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
