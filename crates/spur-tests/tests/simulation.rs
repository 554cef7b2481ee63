//! Schedules of faults, one a seed. A failing one prints the line that replays it.

use spur_tests::sim;

#[test]
fn every_schedule_holds() {
    let (first, count) =
        match std::env::var("SPUR_SIM_SEED").ok().and_then(|seed| seed.parse().ok()) {
            Some(seed) => (seed, 1),
            None => {
                let count =
                    std::env::var("SPUR_SIM_SCHEDULES").ok().and_then(|count| count.parse().ok());
                (0u64, count.unwrap_or(1000))
            }
        };
    let mut jobs = 0;
    let mut faults = 0;
    for seed in first..first + count {
        let report = sim::run(seed);
        assert!(
            report.complaints.is_empty(),
            "seed {seed} after {} steps:\n  {}\nreplay: SPUR_SIM_SEED={seed} cargo test -p spur-tests --test simulation",
            report.steps,
            report.complaints.join("\n  ")
        );
        jobs += report.jobs;
        faults += report.faults;
    }
    assert!(jobs > 0, "the schedules ran no job");
    println!("{count} schedules, {jobs} jobs, {faults} faults");
}
