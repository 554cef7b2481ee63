//! Groups on the hierarchies of this very machine, with processes in them.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::*;
use spur_core::ids::{Epoch, JobId};

/// The places, named after the test so that several can be run at once. They go with the value.
struct Here(Host);

impl Here {
    fn new(test: &str) -> Option<Here> {
        match Host::find(&format!("spur-test-{test}-{}", std::process::id())) {
            Ok(host) => Some(Here(host)),
            Err(why) => {
                eprintln!("SKIPPED: no groups can be made: {why}");
                None
            }
        }
    }

    fn group(&self) -> Group {
        self.0.group(JobId(1), Epoch(1), "batch")
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        for (job, epoch, step) in self.0.groups() {
            let group = self.0.group(job, epoch, &step);
            let _ = group.kill();
            let _ = group.remove();
        }
        self.0.remove_spare(KEEPER);
    }
}

/// Who keeps groups in tests: nobody has so high a number.
const KEEPER: i32 = i32::MAX;

/// A shell in the group, born outside of it and moved there.
fn shell(group: &Group, script: &str) -> Child {
    // Waits at a descriptor until it is in the group.
    let mut child = Command::new("/bin/sh")
        .args(["-c", &format!("read go; {script}")])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    group.move_in(child.id()).expect("moves");
    std::io::Write::write_all(child.stdin.as_mut().expect("is piped"), b"\n").expect("writes");
    child
}

fn until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn nothing_is_left_of_a_group_that_was_killed() {
    let Some(here) = Here::new("kill") else { return };
    let mut group = here.group();
    group.make(&Limits::default()).expect("makes");
    let mut child = shell(&group, "setsid sleep 1000 & setsid sleep 1001 & wait");
    until(|| group.parts.iter().all(|part| part.members().len() == 3));
    assert_eq!(here.0.groups(), [(JobId(1), Epoch(1), "batch".to_string())]);
    group.kill().expect("kills");
    child.wait().expect("waits");
    until(|| group.is_empty());
    group.remove().expect("removes");
    assert_eq!(here.0.groups(), []);
}

#[test]
fn a_frozen_group_stands_still_and_can_be_killed() {
    let Some(here) = Here::new("freeze") else { return };
    if !here.0.has(Controller::Freezer) {
        eprintln!("SKIPPED: no freezer");
        return;
    }
    let mut group = here.group();
    group.make(&Limits::default()).expect("makes");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("count");
    let script = format!("while :; do echo >> {}; done", file.display());
    let mut child = shell(&group, &script);
    let size = || std::fs::metadata(&file).map_or(0, |file| file.len());
    until(|| size() > 0);
    assert!(group.freeze(true).expect("freezes"));
    let mut before = size();
    // It may take a moment until the last of them stands still.
    until(|| {
        let now = size();
        std::mem::replace(&mut before, now) == now
    });
    assert_eq!(size(), before);
    group.freeze(false).expect("thaws");
    until(|| size() > before);
    group.freeze(true).expect("freezes");
    group.kill().expect("kills");
    child.wait().expect("waits");
}

#[test]
fn too_many_processes_are_refused() {
    let Some(here) = Here::new("pids") else { return };
    if !here.0.has(Controller::Pids) {
        eprintln!("SKIPPED: no pids controller");
        return;
    }
    let mut group = here.group();
    group.make(&Limits { processes: Some(10), ..Limits::default() }).expect("makes");
    let script = "i=0; while [ $i -lt 50 ]; do sleep 1000 & i=$((i+1)); done 2> /dev/null; wait";
    let mut child = shell(&group, script);
    until(|| group.parts.iter().any(|part| part.members().len() == 10) || child_ended(&child));
    assert!(group.parts.iter().all(|part| part.members().len() <= 10));
    group.kill().expect("kills");
    child.wait().expect("waits");
}

fn child_ended(child: &Child) -> bool {
    Process::look(child.id() as i32).is_none()
}

#[test]
fn memory_over_the_limit_is_counted() {
    let Some(here) = Here::new("memory") else { return };
    if !here.0.has(Controller::Memory) {
        eprintln!("SKIPPED: no memory controller");
        return;
    }
    let mut group = here.group();
    let limits = Limits { memory_bytes: Some(32 << 20), swap_bytes: Some(0), ..Limits::default() };
    group.make(&limits).expect("makes");
    // At most 256 MB, should nobody stop it.
    let mut child = shell(&group, "head -c 268435456 /dev/zero | tail | wc -c");
    child.wait().expect("waits");
    assert!(group.oom_kills() > 0);
}

#[test]
fn a_step_has_less_memory_than_its_job_where_it_asked_for_less() {
    let Some(here) = Here::new("part") else { return };
    if !here.0.has(Controller::Memory) {
        eprintln!("SKIPPED: no memory controller");
        return;
    }
    for (step, of_step, killed) in [("0", None, false), ("1", Some(32 << 20), true)] {
        let mut group = here.0.group(JobId(1), Epoch(1), step);
        let memory_bytes = Some(512 << 20);
        let limits = Limits { memory_bytes, step_memory_bytes: of_step, ..Limits::default() };
        group.make(&limits).expect("makes");
        let mut child = shell(&group, "head -c 134217728 /dev/zero | tail | wc -c");
        child.wait().expect("waits");
        assert_eq!(group.oom_kills() > 0, killed, "step {step}");
    }
}

#[test]
fn a_group_is_kept_for_the_next_run_unless_something_is_left_in_it() {
    let Some(here) = Here::new("spare") else { return };
    let make = |job: u32, memory_mb: Option<u64>| {
        let mut group = here.0.group(JobId(job), Epoch(1), "batch");
        group.use_spare(&here.0, KEEPER);
        let memory_bytes = memory_mb.map(|mb| mb << 20);
        group.make(&Limits { memory_bytes, ..Limits::default() }).expect("makes");
        group
    };
    make(1, Some(32)).put_away().expect("puts away");
    assert_eq!(here.0.groups(), []);
    if here.0.spares().is_empty() {
        eprintln!("SKIPPED: memory is not of version 1 here");
        return;
    }
    let crowd = "head -c 134217728 /dev/zero | tail | wc -c";
    // Its own limit is not that of the one before, who had the group; nor is what is counted.
    for (job, memory_mb, killed) in [(2, None, false), (3, Some(32), true), (4, None, false)] {
        let group = make(job, memory_mb);
        assert!(here.0.spares().is_empty(), "job {job} uses it");
        shell(&group, crowd).wait().expect("waits");
        assert_eq!(group.oom_kills() > 0, killed, "job {job}");
        group.put_away().expect("puts away");
        assert_eq!(here.0.groups(), []);
        assert!(!killed || here.0.spares().is_empty(), "somebody was killed in it");
    }
    make(5, Some(32)).put_away().expect("puts away");
    assert_eq!(here.0.spares(), [KEEPER]);
    here.0.remove_spares_of_the_dead();
    assert!(here.0.spares().is_empty());
    // A step that is still there keeps its job's group.
    let group = make(6, None);
    let mut step = here.0.group(JobId(6), Epoch(1), "0");
    step.make(&Limits::default()).expect("makes");
    group.put_away().expect("puts away");
    assert_eq!(here.0.groups(), [(JobId(6), Epoch(1), "0".to_string())]);
    assert!(here.0.spares().is_empty());
}

#[test]
fn a_group_runs_on_its_processors() {
    let Some(here) = Here::new("cpuset") else { return };
    if !here.0.has(Controller::Cpuset) {
        eprintln!("SKIPPED: no cpuset controller");
        return;
    }
    let mut group = here.group();
    group.make(&Limits { cpus: Some(vec![0]), ..Limits::default() }).expect("makes");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("cpus");
    let mut child =
        shell(&group, &format!("grep Cpus_allowed_list /proc/self/status > {}", file.display()));
    child.wait().expect("waits");
    let cpus = std::fs::read_to_string(file).expect("was written");
    assert_eq!(cpus.split_ascii_whitespace().last(), Some("0"));
}

#[test]
fn a_denied_device_cannot_be_opened() {
    let Some(here) = Here::new("devices") else { return };
    if !here.0.has(Controller::Devices) {
        eprintln!("SKIPPED: devices cannot be denied");
        return;
    }
    let mut group = here.group();
    let full = Device::of(std::path::Path::new("/dev/full")).expect("is there").expect("a device");
    group.make(&Limits { denied: vec![full], ..Limits::default() }).expect("makes");
    let script = "exec 2> /dev/null; true < /dev/zero && ! true < /dev/full";
    let mut child = shell(&group, script);
    assert!(child.wait().expect("waits").success());
}

#[test]
fn hierarchies_that_have_nothing_to_say_are_left_alone() {
    let Some(here) = Here::new("idle") else { return };
    let mut group = here.group();
    let all = group.parts.len();
    group.make(&Limits::default()).expect("makes");
    if group.parts.iter().any(|part| part.holds_members()) {
        let idle = group.parts.iter().filter(|part| !part.is_of_use(&Limits::default())).count();
        assert_eq!(idle, 0);
    } else {
        assert_eq!(group.parts.len(), all, "somebody must hold them");
    }
    let mut child = shell(&group, "exit 0");
    child.wait().expect("waits");
    until(|| group.is_empty());
    here.group().remove().expect("removes all there could be");
    assert_eq!(here.0.groups(), []);
}
