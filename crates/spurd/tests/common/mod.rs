//! A temporary spool, and the shepherds on it.
#![allow(dead_code, reason = "each test program uses its part")]

pub mod agents;
pub mod controller;

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getgid, getuid};
use prost::Message;
use spur_core::ids::{Epoch, JobId};
use spur_core::job::JobSpec;
use spur_proto::internal::{Launch, NodeShare};
use spurd::confine::Confines;
use spurd::ending::{Ending, LastWord};
use spurd::run::RunId;

/// The first run of job 1 of whoever tests.
pub fn launch(script: &str) -> Launch {
    Launch {
        job: 1,
        epoch: 1,
        uid: getuid().as_raw(),
        gid: getgid().as_raw(),
        spec: Some(JobSpec { name: "test".to_string(), ..JobSpec::default() }),
        script: script.as_bytes().to_vec(),
        environment: b"PATH=/usr/bin:/bin\0".to_vec(),
        shares: vec![NodeShare { node: "n1".to_string(), cpus: 1, ..NodeShare::default() }],
        ..Launch::default()
    }
}

/// Waits for a condition; a minute is longer than anything takes on the slowest machine.
pub fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The letter of a process's state.
pub fn state(pid: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a process is there and not merely unburied.
pub fn lives(pid: &str) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// The command lines of all processes, one a line.
pub fn commands() -> String {
    let listed = Command::new("ps").args(["-eo", "args"]).output().expect("ps runs");
    String::from_utf8_lossy(&listed.stdout).into_owned()
}

/// A spool with a work directory beside it; both go with the value.
pub struct Spool {
    folder: tempfile::TempDir,
}

impl Spool {
    pub fn new() -> Spool {
        let folder = tempfile::tempdir().expect("a temporary directory");
        for name in ["spool/runs", "work"] {
            fs::create_dir_all(folder.path().join(name)).expect("makes folders");
        }
        let passable = fs::Permissions::from_mode(0o711);
        fs::set_permissions(folder.path(), passable).expect("opens up");
        Spool { folder }
    }

    /// One whose runs are put into control groups, if this machine lets us.
    pub fn with_groups() -> Option<(Spool, Confines)> {
        let spool = Spool::new();
        let id = format!("boot test-{}-{}", std::process::id(), spool.folder.path().display());
        let id = id.replace('/', "_");
        match Confines::settle(&spool.path(), &id, vec![0]) {
            Some(confines) => Some((spool, confines)),
            None => {
                eprintln!("SKIPPED: no control groups can be made");
                None
            }
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("spool")
    }

    pub fn work_dir(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where a controller listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("controller.sock")
    }

    /// A file that the script has written.
    pub fn output(&self, name: &str) -> Vec<u8> {
        fs::read(self.work_dir().join(name)).unwrap_or_default()
    }

    /// Runs a launch in the work directory to its end.
    pub fn run(&self, launch: Launch) -> Ending {
        assert_eq!(self.start(launch).wait(), Some(0));
        self.ending()
    }

    /// As [`Spool::run`], in the directory the launch says.
    pub fn run_as_is(&self, launch: Launch) -> Ending {
        self.write(&launch);
        assert_eq!(self.shepherd().wait(), Some(0));
        self.ending()
    }

    /// Runs a launch after the last one was forgotten.
    pub fn again(&self, launch: Launch) -> Ending {
        fs::remove_dir_all(self.path().join("runs")).expect("forgets");
        fs::create_dir(self.path().join("runs")).expect("makes runs");
        self.run(launch)
    }

    pub fn start(&self, mut launch: Launch) -> Shepherd {
        let spec = launch.spec.get_or_insert_default();
        spec.work_dir = self.work_dir().display().to_string();
        self.write(&launch);
        self.shepherd()
    }

    /// A shepherd for what is in the spool.
    pub fn shepherd(&self) -> Shepherd {
        let child = Command::new(env!("CARGO_BIN_EXE_spurd"))
            .args(["shepherd".as_ref(), self.path().as_os_str(), "1.1".as_ref()])
            .spawn();
        Shepherd(RefCell::new(child.expect("starts")))
    }

    pub fn ending(&self) -> Ending {
        self.last_word().ending
    }

    pub fn last_word(&self) -> LastWord {
        let last = LastWord::read(&self.path(), RunId::batch(JobId(1), Epoch(1)));
        last.expect("reads").expect("has ended")
    }

    fn write(&self, launch: &Launch) {
        fs::write(self.path().join("runs/1.1.launch"), launch.encode_to_vec()).expect("writes");
    }
}

pub struct Shepherd(RefCell<Child>);

impl Shepherd {
    /// Its exit code.
    pub fn wait(&self) -> Option<i32> {
        let ended = || self.0.borrow_mut().try_wait().expect("waits");
        until(|| ended().is_some());
        ended()?.code()
    }

    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.borrow().id() as i32), signal).expect("signals");
    }
}
