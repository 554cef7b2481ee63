//! A PostgreSQL server of our own: Debian's programs, a new directory, a unix socket.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running server; it ends with the test.
pub struct Server {
    dir: TempDir,
    programs: PathBuf,
    process: Child,
}

impl Server {
    /// Starts one; nothing where the package is not installed, and says so.
    pub fn start() -> Option<Server> {
        let Some(programs) = programs() else {
            eprintln!("SKIPPED: PostgreSQL is not installed (package postgresql)");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("spur-pg-").tempdir().expect("a directory");
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("modes");
        let data = dir.path().join("data");
        let init = as_nobody(&programs.join("initdb"))
            .args(["-A", "trust", "-U", "spur", "-E", "UTF8", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .expect("initdb runs");
        assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
        let process = launch(&programs, dir.path());
        let server = Server { dir, programs, process };
        server.wait();
        Some(server)
    }

    /// Where it is.
    pub fn url(&self) -> String {
        let host = self.dir.path().display().to_string().replace('/', "%2F");
        format!("postgresql://spur@{host}/postgres")
    }

    /// Kills it in the middle of whatever it does, and starts it again.
    pub fn crash(&mut self) {
        self.end();
        self.process = launch(&self.programs, self.dir.path());
        self.wait();
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let ready = || {
            let mut ready = Command::new(self.programs.join("pg_isready"));
            let ready = ready.arg("-q").arg("-h").arg(self.dir.path()).status();
            ready.is_ok_and(|status| status.success())
        };
        while !ready() {
            assert!(Instant::now() < deadline, "PostgreSQL does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn launch(programs: &Path, dir: &Path) -> Child {
    as_nobody(&programs.join("postgres"))
        .arg("-D")
        .arg(dir.join("data"))
        .arg("-k")
        .arg(dir)
        .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("postgres runs")
}

/// The server refuses to run as root.
fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").env("LC_ALL", "C");
    if nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

const NOBODY: u32 = 65534;

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let programs = versions.flatten().map(|version| version.path().join("bin"));
    programs.filter(|bin| bin.join("initdb").exists()).max()
}
