//! Schedules of faults, one a seed. A failing one prints the line that replays it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use spur_tests::sim::{self, Report};

/// Without a word, so many: a few seconds' worth.
const SCHEDULES: u64 = 1000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_schedule_holds() {
    let (first, count) = match number("SPUR_SIM_SEED") {
        Some(seed) => (seed, 1),
        None => (
            number("SPUR_SIM_FIRST").unwrap_or(0),
            number("SPUR_SIM_SCHEDULES").unwrap_or(SCHEDULES),
        ),
    };
    let next = AtomicU64::new(first);
    let (jobs, faults) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<Vec<(u64, Report)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count || !failed.lock().expect("no holder panics").is_empty() {
                return;
            }
            let report = sim::run(seed);
            jobs.fetch_add(report.jobs as u64, Ordering::Relaxed);
            faults.fetch_add(report.faults as u64, Ordering::Relaxed);
            if !report.complaints.is_empty() {
                failed.lock().expect("no holder panics").push((seed, report));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut failed = failed.into_inner().expect("no holder panics");
    failed.sort_by_key(|(seed, _)| *seed);
    if let Some((seed, report)) = failed.first() {
        panic!(
            "seed {seed} after {} steps:\n  {}\nreplay: SPUR_SIM_SEED={seed} cargo test -p spur-tests --test simulation",
            report.steps,
            report.complaints.join("\n  ")
        );
    }
    let (jobs, faults) = (jobs.into_inner(), faults.into_inner());
    // Of one alone, all that ran may be forgotten by its end.
    assert!(jobs > 0 || count == 1, "the schedules ran no job");
    println!("{count} schedules, {jobs} jobs, {faults} faults");
}
