//! Real agents, and what they are given to run.

use std::process::{Child, Command};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spur_proto::internal::Launch;

use super::{Spool, launch};

/// An agent, killed without warning when dropped.
pub struct Agent(Child);

impl Agent {
    pub fn start(spool: &Spool) -> Agent {
        let child = Command::new(env!("CARGO_BIN_EXE_spurd"))
            .args(["-D", "-N", "n1", "--cpus", "4", "--memory", "100", "--controller"])
            .arg(format!("unix:{}", spool.socket().display()))
            .arg("--state-dir")
            .arg(spool.path())
            .spawn();
        Agent(child.expect("starts"))
    }

    pub fn ask_to_leave(mut self) -> Option<i32> {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM).expect("signals");
        self.0.wait().expect("waits").code()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Job `job` in the spool's work directory, with files named after it.
pub fn job(spool: &Spool, job: u32, script: &str) -> Launch {
    let mut launch = Launch { job, ..launch(&format!("#!/bin/bash\n{script}\n")) };
    launch.spec.get_or_insert_default().work_dir = spool.work_dir().display().to_string();
    launch
}
