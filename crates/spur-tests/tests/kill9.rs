//! Controller, agents and accounting are killed with -9 in the middle of a stream of jobs. Every acknowledged job
//! must end exactly once with its own exit code, its output to the byte, no id twice, nothing left over: I1, I2, I4,
//! I9, I10, I11, I12 and I13 of ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use spur_core::job::{ExitStatus, JobStatus};
use spur_tests::harness::{Cluster, Processes, until};

/// Submissions go on until the killing is over, but not for ever.
const MOST_JOBS: usize = 400;
const KILLS: usize = 24;
const LINES: usize = 40;

/// Writes who runs it where nobody else writes, then numbered lines, then ends with the code it was given.
const SCRIPT: &str = r#"#!/bin/bash
#SBATCH -J stream
echo "$SLURM_JOB_ID $SLURMD_NODENAME $$" >> "$WITNESS/$SLURM_JOB_ID"
for ((line = 1; line <= 40; line++)); do
    echo "$SLURM_JOB_ID line $line"
    sleep 0.01
done
exit "$1"
"#;

#[test]
fn nothing_is_lost_and_nothing_runs_twice() {
    let cluster = Arc::new(Cluster::up("n[1-2]", 4));
    let witness = cluster.work_dir().join("witness");
    std::fs::create_dir(&witness).expect("a directory");
    let script = cluster.work_dir().join("job.sh");
    std::fs::write(&script, SCRIPT).expect("a script");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("permissions");

    let killing = Arc::new(AtomicBool::new(true));
    let killer = spawn_killer(cluster.clone(), killing.clone());
    let codes = submit_all(&cluster, &witness, &killing);
    killer.join().expect("the killer ends");
    assert!(codes.len() >= KILLS, "only {} jobs between {KILLS} kills", codes.len());

    let jobs = until("all acknowledged jobs end", || {
        let jobs = cluster.jobs();
        jobs.iter().all(|job| JobStatus(job.state).base().is_ended()).then_some(jobs)
    });
    // The first job of the cluster is its own welcome.
    let recorded: BTreeMap<u32, ExitStatus> =
        jobs.iter().map(|job| (job.job_id, ExitStatus::from_wait(job.exit_status))).collect();
    for (id, code) in &codes {
        let exit =
            recorded.get(id).unwrap_or_else(|| panic!("job {id} was acknowledged and is lost"));
        assert_eq!(*exit, ExitStatus { code: *code, signal: 0 }, "job {id}");
        let ran = std::fs::read_to_string(witness.join(id.to_string())).unwrap_or_default();
        assert_eq!(ran.lines().count(), 1, "job {id} ran: {ran}");
        let output = std::fs::read_to_string(cluster.work_dir().join(format!("slurm-{id}.out")));
        let expected: String = (1..=LINES).map(|line| format!("{id} line {line}\n")).collect();
        assert_eq!(output.unwrap_or_default(), expected, "output of job {id}");
    }
    accounting_agrees(&cluster, &recorded);
    cluster.down();
    until("all processes end", || cluster.processes().list().is_empty().then_some(()));
}

/// Accounting has one row for each job, and says the same of it.
fn accounting_agrees(cluster: &Cluster, recorded: &BTreeMap<u32, ExitStatus>) {
    let words = ["-a", "-D", "-X", "-n", "-P", "-S", "now-1day", "-o", "JobIDRaw,State,ExitCode"];
    let expected: Vec<String> = recorded
        .iter()
        .map(|(id, exit)| {
            let state = if exit.is_success() { "COMPLETED" } else { "FAILED" };
            format!("{id}|{state}|{}:{}", exit.code, exit.signal)
        })
        .collect();
    // The database may have been killed last; it is told when it is back.
    until("accounting has everything", || {
        let rows = cluster.run_words("sacct", &words);
        let rows: Vec<String> = rows.stdout.lines().map(str::to_string).collect();
        (rows == expected).then_some(())
    });
}

/// Submits from two sides at once; the exit code each acknowledged job must end with.
fn submit_all(cluster: &Cluster, witness: &Path, killing: &AtomicBool) -> BTreeMap<u32, u8> {
    let codes = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for side in 0..2 {
            let codes = &codes;
            scope.spawn(move || {
                let numbers = (0..MOST_JOBS / 2).take_while(|_| killing.load(Ordering::Relaxed));
                for number in numbers {
                    let code = ((side * MOST_JOBS + number) % 256) as u8;
                    let id = submit(cluster, witness, code);
                    let before = codes.lock().expect("no panic").insert(id, code);
                    assert_eq!(before, None, "id {id} was handed out twice");
                }
            });
        }
    });
    codes.into_inner().expect("no panic")
}

fn submit(cluster: &Cluster, witness: &Path, code: u8) -> u32 {
    let done = cluster
        .command("sbatch")
        .env("WITNESS", witness)
        .args(["--parsable", "job.sh", &code.to_string()])
        .output()
        .expect("sbatch runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().parse().expect("an id")
}

/// Kills one after the other, each as soon as the last victim is back at work.
fn spawn_killer(cluster: Arc<Cluster>, killing: Arc<AtomicBool>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let victims = [
            ["spurctld", "-D"],
            [" -N n1 ", "spurd"],
            ["spurdbd", "-D"],
            ["spurctld", "-D"],
            ["spurdbd", "-D"],
            [" -N n2 ", "spurd"],
        ];
        for kill in 0..KILLS {
            let words = victims[kill % victims.len()];
            let pid =
                until("the victim is back", || cluster.processes().with(&words).into_iter().next());
            // Both ends are in touch again: the next blow hits a cluster at work.
            until("the nodes are back", || {
                let idle = cluster.run("sinfo -h -N -o %T");
                (idle.status == 0 && !idle.stdout.contains("down")).then_some(())
            });
            Processes::kill(pid);
        }
        killing.store(false, Ordering::Relaxed);
    })
}
