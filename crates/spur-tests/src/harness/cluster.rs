//! A cluster that `spur up` started, and ended with the test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::time::Duration;

use spur_core::views::JobView;
use spur_proto::caller::Caller;
use spur_proto::client::Address;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{ListJobsRequest, PingRequest};
use tempfile::TempDir;

use super::guard::{self, Guard};
use super::processes::Processes;

/// A running cluster.
pub struct Cluster {
    dir: TempDir,
    _guard: Guard,
}

/// What a command said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its exit status.
    pub status: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Cluster {
    /// Starts one with these nodes of so many processors.
    pub fn up(nodes: &str, cpus: u32) -> Cluster {
        Cluster::up_with(nodes, cpus, &[])
    }

    /// The same, with more words for `spur up`.
    pub fn up_with(nodes: &str, cpus: u32, more: &[&str]) -> Cluster {
        let dir = tempfile::Builder::new().prefix("spur-test-").tempdir().expect("a directory");
        // Other users' jobs pass through it.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).expect("permissions");
        let cluster = Cluster { _guard: guard::watch(dir.path()), dir };
        std::fs::create_dir(cluster.work_dir()).expect("a work directory");
        cluster.start_with(nodes, cpus, more);
        cluster
    }

    /// Starts what is missing.
    pub fn start(&self, nodes: &str, cpus: u32) {
        self.start_with(nodes, cpus, &[]);
    }

    /// The same, with more words for `spur up`; what it says.
    pub fn start_with(&self, nodes: &str, cpus: u32, more: &[&str]) -> String {
        let cpus = cpus.to_string();
        let args = ["up", "--detach", "--nodes", nodes, "--cpus", &cpus, "--dir"];
        let mut up = Command::new(binary("spur"));
        let up = up.args(args).arg(self.dir()).args(more).output().expect("runs");
        let said = String::from_utf8_lossy(&up.stderr).into_owned();
        assert!(up.status.success(), "{said}");
        String::from_utf8_lossy(&up.stdout).into_owned() + &said
    }

    /// The cluster's directory.
    pub fn dir(&self) -> PathBuf {
        self.dir.path().join("cluster")
    }

    /// A command by its whole name, as scripts of jobs must call it: their `PATH` is that of the tests.
    pub fn tool(&self, name: &str) -> String {
        self.dir().join("bin").join(name).display().to_string()
    }

    /// Where commands are run and jobs write.
    pub fn work_dir(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// The cluster's processes.
    pub fn processes(&self) -> Processes {
        Processes::of(self.dir.path())
    }

    /// A command found through the cluster's `bin` directory, with nothing else said about where it is.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.dir().join("bin").join(name));
        command.env_remove("SPUR_CONTROLLER_ADDR").current_dir(self.work_dir());
        command
    }

    /// Runs a command line such as `sbatch -J a --wrap true`; words are split at blanks.
    pub fn run(&self, line: &str) -> Output {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a command");
        self.run_words(name, &words.collect::<Vec<_>>())
    }

    /// Runs a command with these words.
    pub fn run_words(&self, name: &str, words: &[&str]) -> Output {
        let done = self.command(name).args(words).output().expect("the command runs");
        Output {
            status: done.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
        }
    }

    /// A job's columns as squeue shows them, ended or not.
    pub fn squeue(&self, job: &str, format: &str) -> String {
        let shown = self.run_words("squeue", &["-h", "-t", "all", "-j", job, "-o", format]);
        assert_eq!(shown.status, 0, "{}", shown.stderr);
        shown.stdout.trim_end().to_string()
    }

    /// The process of the controller that leads, if one says so.
    pub fn leader(&self) -> Option<i32> {
        let leads = |name: &String| {
            let socket = self.dir().join(format!("run/{name}.sock"));
            let mut caller = Caller::new(Address::Unix(socket), Duration::from_millis(200));
            let ask =
                |mut client: ControllerClient<_>| async move { client.ping(PingRequest {}).await };
            runtime().block_on(caller.call(ask)).is_ok_and(|reply| reply.leads)
        };
        let name = self.controllers().into_iter().find(leads)?;
        let pid = std::fs::read_to_string(self.dir().join(format!("run/{name}.pid"))).ok()?;
        pid.split_whitespace().next()?.parse().ok()
    }

    /// Names of the controllers.
    pub fn controllers(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir().join("run")).expect("the cluster is up");
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names = names.filter(|name| name.starts_with("spurctld"));
        names.filter_map(|name| name.strip_suffix(".sock").map(str::to_string)).collect()
    }

    /// Every job the controller knows.
    pub fn jobs(&self) -> Vec<JobView> {
        let socket = |name: String| Address::Unix(self.dir().join(format!("run/{name}.sock")));
        let sockets: Vec<Address> = self.controllers().into_iter().map(socket).collect();
        let mut caller = Caller::new(sockets, Duration::from_secs(30));
        let ask = |mut client: ControllerClient<_>| async move {
            client.list_jobs(ListJobsRequest { ended: true, ..ListJobsRequest::default() }).await
        };
        let reply = runtime().block_on(caller.call(ask));
        reply.expect("the controller answers").jobs
    }

    /// Stops it and whatever still runs.
    pub fn down(&self) {
        let args = ["down", "--force", "--dir"];
        let down = Command::new(binary("spur")).args(args).arg(self.dir()).output().expect("runs");
        assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let args = ["down", "--force", "--dir"];
        let _ = Command::new(binary("spur")).args(args).arg(self.dir()).output();
        for (pid, _) in self.processes().list() {
            Processes::kill(pid);
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// A binary of this workspace, built from what is in the tree.
pub fn binary(name: &str) -> PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        // The whole workspace, as `./test` builds it: a part of it would be resolved anew and built again.
        let build = Command::new(env!("CARGO")).args(["build", "--quiet", "--workspace"]).status();
        assert!(build.is_ok_and(|status| status.success()), "the binaries build");
    });
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).unwrap_or(Path::new("."));
    profile.join(name)
}
