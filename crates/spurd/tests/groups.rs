//! Runs in control groups: held to their limits, and gone with all they started.

mod common;

use std::fs;

use common::{launch, until};
use nix::sys::signal::Signal;
use spur_core::job::GresShare;
use spur_proto::internal::Confinement;
use spurd::confine::Confines;
use spurd::ending::Ending;

use common::Spool;

/// The places are removed when the test is over.
struct Places(Confines);

impl Drop for Places {
    fn drop(&mut self) {
        assert_eq!(self.0.host.groups(), [], "a group is left");
    }
}

fn spool() -> Option<(Spool, Places)> {
    Spool::with_groups().map(|(spool, confines)| (spool, Places(confines)))
}

#[test]
fn a_script_and_its_children_are_in_a_group_of_their_own() {
    let Some((spool, _places)) = spool() else { return };
    assert_eq!(
        spool.run(launch("#!/bin/sh\ncat /proc/self/cgroup\nexit 3\n")),
        Ending::Exited(3 << 8)
    );
    let groups = String::from_utf8(spool.output("slurm-1.out")).expect("is text");
    let is_own =
        |line: &str| line.ends_with("-job_1.1/step_batch") || line.ends_with("-job_1.1-step_batch");
    assert!(groups.lines().any(is_own), "{groups}");
}

#[test]
fn memory_over_the_limit_ends_out_of_memory_whatever_the_script_says() {
    let swap_bytes = Some(0);
    let of_job = Confinement { memory_bytes: Some(40 << 20), swap_bytes, ..Confinement::default() };
    // Of a job that may have more, the step may not.
    let of_step = Confinement {
        memory_bytes: Some(512 << 20),
        step_memory_bytes: Some(40 << 20),
        swap_bytes,
        ..Confinement::default()
    };
    for confinement in [of_job, of_step] {
        let Some((spool, places)) = spool() else { return };
        if places.0.host.lacks().contains(&"memory") {
            eprintln!("SKIPPED: no memory controller");
            return;
        }
        // At most 256 MB, should nobody stop it.
        let mut launch = launch("#!/bin/sh\nhead -c 268435456 /dev/zero | tail | wc -c\nexit 0\n");
        launch.confinement = Some(confinement);
        assert_eq!(spool.run(launch), Ending::OutOfMemory);
        let expected = "error: Detected 1 oom-kill event(s) in StepId=1.batch. Some of your \
                        processes may have been killed by the cgroup out-of-memory handler.\n";
        let output = String::from_utf8(spool.output("slurm-1.out")).expect("is text");
        assert!(output.ends_with(expected), "{output}");
    }
}

/// The shepherd is spared when the machine has no memory left; what it runs is not.
#[test]
fn a_run_is_not_spared_as_its_agent_is() {
    if !spurd::oom::spare() {
        eprintln!("SKIPPED: this user may spare nobody");
        return;
    }
    let spool = Spool::new();
    let script = "#!/bin/sh\ncat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj\n";
    assert_eq!(spool.run(launch(script)), Ending::Exited(0));
    assert_eq!(spool.output("slurm-1.out"), b"0\n-1000\n");
}

/// Who holds more processors has a larger part of those that are shared.
#[test]
fn a_run_weighs_as_much_as_its_processors() {
    let Some((spool, places)) = spool() else { return };
    if !places.0.has_weights() {
        eprintln!("SKIPPED: no cpu controller of version 2");
        return;
    }
    let script =
        "#!/bin/sh\ncat /sys/fs/cgroup/$(sed -n 's/^0:://p' /proc/self/cgroup)/../cpu.weight\n";
    let mut launch = launch(script);
    launch.shares[0].cpus = 3;
    assert_eq!(spool.run(launch), Ending::Exited(0));
    assert_eq!(spool.output("slurm-1.out"), b"300\n");
}

#[test]
fn nobody_escapes_a_group_however_it_was_begun() {
    let Some((spool, _places)) = spool() else { return };
    let script = "#!/bin/bash
        env -i setsid bash -c '(trap \"\" TERM HUP; sleep 1000 & echo $! >> pids; wait) &' &
        until [ -s pids ]; do sleep 0.01; done
        exit 0
    ";
    assert_eq!(spool.run(launch(script)), Ending::Exited(0));
    let pids = String::from_utf8(spool.output("pids")).expect("is text");
    assert!(pids.lines().all(|pid| !common::lives(pid)));
}

/// Never more than sixty at a time, whatever it tries.
#[test]
fn a_fork_bomb_is_held_to_its_limit_and_gone_with_the_run() {
    let Some((spool, places)) = spool() else { return };
    if places.0.host.lacks().contains(&"pids") {
        eprintln!("SKIPPED: no pids controller");
        return;
    }
    let script = "#!/bin/bash
        exec 2> /dev/null
        bomb() { echo >> born; bomb & bomb & }
        bomb &
        until mapfile -t born < born && [ ${#born[@]} -ge 50 ]; do :; done
        exit 0
    ";
    let mut launch = launch(script);
    launch.confinement = Some(Confinement { processes: Some(60), ..Confinement::default() });
    assert_eq!(spool.run(launch), Ending::Exited(0));
    let script = spool.path().display().to_string();
    assert!(!common::commands().contains(&script));
}

#[test]
fn a_killed_shepherds_group_is_swept() {
    let Some((spool, places)) = spool() else { return };
    let script = "#!/bin/bash\nenv -i setsid sleep 1000 & echo $! > pid\n: > ready\nwait\n";
    let shepherd = spool.start(launch(script));
    until(|| spool.work_dir().join("ready").exists());
    shepherd.signal(Signal::SIGKILL);
    shepherd.wait();
    let pid = String::from_utf8(spool.output("pid")).expect("is text");
    assert!(common::lives(pid.trim()), "nobody has ended it yet");
    fs::remove_file(spool.path().join("runs/1.1.launch")).expect("forgets");
    places.0.sweep(&spool.path());
    until(|| !common::lives(pid.trim()));
}

/// A device file that no driver serves: opening it fails one way where it is allowed, and another way where it is not.
fn device(spool: &Spool, number: u64) -> String {
    let file = spool.work_dir().join(format!("gpu{number}"));
    let device = nix::sys::stat::makedev(240, number);
    let mode = nix::sys::stat::Mode::from_bits_truncate(0o666);
    nix::sys::stat::mknod(&file, nix::sys::stat::SFlag::S_IFCHR, mode, device).expect("makes");
    file.display().to_string()
}

const DENIED: &str = "Operation not permitted\n";
const ALLOWED: &str = "No such device or address\n";

#[test]
fn what_the_site_has_closed_to_a_run_cannot_be_opened() {
    let Some((spool, places)) = spool() else { return };
    if places.0.host.lacks().contains(&"devices") {
        eprintln!("SKIPPED: devices cannot be denied");
        return;
    }
    let files: Vec<String> = (0..3).map(|number| device(&spool, number)).collect();
    let mut launch =
        launch("#!/bin/bash\nfor n in 0 1 2; do cat gpu$n; done 2>&1 | sed 's/.*: //'\n");
    // A file that is not there, or that everybody needs, harms nobody.
    let closed_files = [&files[0], &files[2], "/dev/nosuch", "/dev/null"].map(str::to_string);
    launch.confinement = Some(Confinement {
        devices: true,
        closed_files: closed_files.to_vec(),
        ..Confinement::default()
    });
    assert_eq!(spool.run(launch), Ending::Exited(0));
    let output = String::from_utf8(spool.output("slurm-1.out")).expect("is text");
    assert_eq!(output, [DENIED, ALLOWED, DENIED].concat());
}

#[test]
fn only_the_gpus_of_a_run_can_be_opened_and_they_are_counted_from_zero() {
    let Some((spool, places)) = spool() else { return };
    if places.0.host.lacks().contains(&"devices") {
        eprintln!("SKIPPED: devices cannot be denied");
        return;
    }
    let mut lines = String::new();
    for number in 0..4 {
        lines += &format!("amd {number}  {} \n", device(&spool, number));
    }
    fs::write(spool.path().join("gpus"), lines).expect("writes");
    let script = "#!/bin/bash\nfor n in 0 1 2 3; do cat gpu$n; done 2>&1 | sed 's/.*: //'\n\
                  env | grep -E 'VISIBLE|GPU|AFFINITY' | sort\n";
    let mut launch = launch(script);
    launch.confinement = Some(Confinement { devices: true, ..Confinement::default() });
    let gres = GresShare {
        name: "gpu".to_string(),
        kind: "mi300x".to_string(),
        count: 2,
        ids: [2, 3].into_iter().collect(),
    };
    launch.shares[0].gres = vec![gres];
    assert_eq!(spool.run(launch.clone()), Ending::Exited(0));
    let (denied, allowed) = (DENIED, ALLOWED);
    let output = || String::from_utf8(spool.output("slurm-1.out")).expect("is text");
    let told = "ROCR_VISIBLE_DEVICES=0,1\nSLURM_GPUS_ON_NODE=2\nSLURM_JOB_GPUS=2,3\n";
    assert_eq!(output(), [denied, denied, allowed, allowed, told].concat());
    // Without device control all can be opened, so the numbers are the node's.
    launch.confinement = None;
    assert_eq!(spool.again(launch.clone()), Ending::Exited(0));
    let told = told.replace("DEVICES=0,1", "DEVICES=2,3");
    assert_eq!(output(), [allowed, allowed, allowed, allowed, &told].concat());
    // Who was given none sees none.
    launch.confinement = Some(Confinement { devices: true, ..Confinement::default() });
    launch.shares[0].gres.clear();
    assert_eq!(spool.again(launch.clone()), Ending::Exited(0));
    assert_eq!(output(), denied.repeat(4));
    launch.confinement = None;
    assert_eq!(spool.again(launch), Ending::Exited(0));
    assert_eq!(output(), [&allowed.repeat(4), "ROCR_VISIBLE_DEVICES=NoDevFiles\n"].concat());
}
