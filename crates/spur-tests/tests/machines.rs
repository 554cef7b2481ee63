//! Machines of their own, as far as one kernel can make them: each in a network namespace, with a host name and
//! directories of its own, joined from nothing with the commands of docs/admin/machines.md.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use spur_tests::harness::{binary, until};

/// What a machine has for itself.
const OWN: &[&str] =
    &["/run/spur", "/var/spool/spur", "/var/spool/spurd", "/var/spool/spurdbd", "/etc/spur"];

/// Machines on one network.
struct Lan {
    dir: tempfile::TempDir,
    prefix: String,
    machines: Vec<String>,
    daemons: Vec<Child>,
}

impl Lan {
    /// Nothing where this process may not make networks.
    fn of(names: &[&str]) -> Option<Lan> {
        let dir = tempfile::Builder::new().prefix("spur-lan-").tempdir().expect("a directory");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir.path(), open).expect("permissions");
        let prefix = format!("spt{}", std::process::id());
        let mut lan = Lan { dir, prefix, machines: Vec::new(), daemons: Vec::new() };
        let switch = lan.space("switch");
        if !nix::unistd::geteuid().is_root() || !ip(&["netns", "add", &switch]) {
            eprintln!("SKIPPED: no network namespaces here");
            return None;
        }
        lan.machines.push("switch".to_string());
        let inside = |words: &[&str]| ip(&[&["-n", &switch], words].concat());
        assert!(inside(&["link", "add", "br0", "type", "bridge"]), "needs bridges");
        assert!(inside(&["link", "set", "br0", "up"]));
        let mut hosts = "127.0.0.1 localhost\n".to_string();
        for (number, name) in (1..).zip(names) {
            let (space, port) = (lan.space(name), format!("p{number}"));
            assert!(ip(&["netns", "add", &space]));
            lan.machines.push(name.to_string());
            let far = ["peer", "name", "eth0", "netns", &space];
            assert!(inside(&[&["link", "add", &port, "type", "veth"], &far[..]].concat()));
            assert!(inside(&["link", "set", &port, "master", "br0", "up"]));
            let address = format!("10.77.0.{number}/24");
            for words in [
                &["addr", "add", &address, "dev", "eth0"][..],
                &["link", "set", "eth0", "up"],
                &["link", "set", "lo", "up"],
            ] {
                assert!(ip(&[&["-n", &space], words].concat()));
            }
            for own in OWN {
                fs::create_dir_all(lan.file(name, own)).expect("a directory");
            }
            hosts += &format!("10.77.0.{number} {name}\n");
        }
        fs::write(lan.dir.path().join("hosts"), hosts).expect("writes");
        OWN.iter().for_each(|own| fs::create_dir_all(own).expect("a directory"));
        Some(lan)
    }

    fn space(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    /// Where a file of a machine is really.
    fn file(&self, machine: &str, path: &str) -> PathBuf {
        self.dir.path().join(machine).join(path.trim_start_matches('/'))
    }

    /// A command on a machine.
    fn command(&self, machine: &str, words: &[&str]) -> Command {
        let own = OWN.iter().map(|own| {
            let real = self.file(machine, own);
            format!("mount --bind {} {own}", real.display())
        });
        let hosts = self.dir.path().join("hosts");
        let hosts = format!("mount --bind {} /etc/hosts", hosts.display());
        let enter: Vec<String> = own.chain([hosts, format!("hostname {machine}")]).collect();
        let script = format!("set -e\n{}\nexec \"$@\"", enter.join("\n"));
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(machine), "unshare", "-m", "-u", "sh", "-c"]);
        command.args([&script, "sh"]).arg(binary(words[0])).args(&words[1..]);
        for variable in ["SPUR_CONTROLLER_ADDR", "SPUR_AGENT_SOCKET", "SLURM_JWT"] {
            command.env_remove(variable);
        }
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    /// Runs `spur` on a machine.
    fn spur(&self, machine: &str, line: &str) -> Output {
        let words: Vec<&str> = std::iter::once("spur").chain(line.split_whitespace()).collect();
        self.command(machine, &words).output().expect("runs")
    }

    /// The same, which must work.
    fn said(&self, machine: &str, line: &str) -> String {
        let done = self.spur(machine, line);
        assert!(done.status.success(), "{machine}: {line}: {}", text(&done.stderr));
        text(&done.stdout)
    }

    fn start(&mut self, machine: &str, line: &str) -> usize {
        let words: Vec<&str> = line.split_whitespace().collect();
        let log = File::create(self.dir.path().join(format!("{}.log", self.daemons.len())));
        let daemon = self.command(machine, &words).stderr(log.expect("a log")).spawn();
        self.daemons.push(daemon.expect("starts"));
        self.daemons.len() - 1
    }

    fn log(&self, daemon: usize) -> String {
        fs::read_to_string(self.dir.path().join(format!("{daemon}.log"))).unwrap_or_default()
    }

    fn stop(&mut self, daemon: usize) {
        let _ = self.daemons[daemon].kill();
        let _ = self.daemons[daemon].wait();
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for daemon in 0..self.daemons.len() {
            self.stop(daemon);
        }
        for machine in &self.machines {
            let left = Command::new("ip").args(["netns", "pids", &self.space(machine)]).output();
            let left = left.map(|left| text(&left.stdout)).unwrap_or_default();
            for pid in left.lines().filter_map(|pid| pid.trim().parse().ok()) {
                let _ = nix::sys::signal::kill(
                    nix::unistd::Pid::from_raw(pid),
                    nix::sys::signal::Signal::SIGKILL,
                );
            }
            let _ = ip(&["netns", "del", &self.space(machine)]);
        }
    }
}

fn ip(words: &[&str]) -> bool {
    Command::new("ip").args(words).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_string()
}

#[test]
fn three_controllers_three_nodes_and_a_login_machine_from_nothing() {
    let names = ["ctl1", "ctl2", "ctl3", "n1", "n2", "n3", "login1", "db1", "stranger"];
    let Some(mut lan) = Lan::of(&names) else { return };
    let controller = "spurctld -D --state-dir /var/spool/spur --listen [::]:6817 \
                      --controllers ctl1:6817,ctl2:6817,ctl3:6817 --accounting db1:6819";
    let agent = |name: &str| {
        format!("spurd -D -N {name} --cpus 2 --controller ctl1:6817,ctl2:6817,ctl3:6817")
    };
    // The controllers.
    let first = lan.start("ctl1", controller);
    until("ctl1 leads", || lan.spur("ctl1", "sinfo -h").status.success().then_some(()));
    let refused = lan.command("ctl2", &controller.split_whitespace().collect::<Vec<_>>()).output();
    let refused = text(&refused.expect("runs").stderr);
    assert!(refused.contains("spur join TOKEN --state-dir /var/spool/spur"), "{refused}");
    let token = lan.said("ctl1", "token create --role controller --uses 2");
    for name in ["ctl2", "ctl3"] {
        lan.said(name, &format!("join {token} --state-dir /var/spool/spur"));
        lan.start(name, controller);
    }
    until("all three vote", || {
        let shown = text(&lan.spur("ctl1", "controllers list").stdout);
        (shown.matches("follower").count() == 2).then_some(())
    });
    // Accounting, on a machine of its own.
    let keep = "spurdbd -D --state-dir /var/spool/spurdbd --database-url sqlite:/var/spool/spurdbd/a.db \
                --listen unix:/run/spur/spurdbd.sock,[::]:6819";
    let refused = lan.command("db1", &keep.split_whitespace().collect::<Vec<_>>()).output();
    let refused = text(&refused.expect("runs").stderr);
    assert!(refused.contains("spur token create --role dbd"), "{refused}");
    let token = lan.said("ctl3", "token create --role dbd");
    lan.said("db1", &format!("join {token} --state-dir /var/spool/spurdbd"));
    lan.start("db1", keep);
    // The nodes: two with a token, one that is approved.
    let token = lan.said("ctl2", "token create --role compute --ttl 1h --uses 2");
    let mut agents = Vec::new();
    for name in ["n1", "n2"] {
        lan.said(name, &format!("join {token}"));
        agents.push(lan.start(name, &agent(name)));
    }
    let waits = lan.start("n3", &agent("n3"));
    until("n3 says what to do", || {
        let log = lan.log(waits);
        (log.contains("spur nodes approve n3") && log.contains("spur join TOKEN")).then_some(())
    });
    until("n3 waits", || {
        text(&lan.spur("ctl3", "nodes waiting").stdout).contains("n3").then_some(())
    });
    lan.said("ctl3", "nodes approve n3");
    let idle = |lan: &Lan, at: &str| text(&lan.spur(at, "sinfo -h -t idle -o %D").stdout);
    until("three nodes are there", || (idle(&lan, "ctl1") == "3").then_some(()));
    // A login machine.
    let token = lan.said("ctl1", "token create --role login");
    lan.said("login1", &format!("join {token}"));
    lan.start("login1", &agent("login1"));
    let ran = until("a step runs on all three", || {
        let ran = lan.spur("login1", "srun -N3 hostname");
        ran.status.success().then(|| text(&ran.stdout))
    });
    let mut hosts: Vec<&str> = ran.lines().collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["n1", "n2", "n3"]);
    // The history, asked for from anywhere.
    for at in ["login1", "ctl1", "ctl2"] {
        until("the step is in the history", || {
            let told = text(&lan.spur(at, "sacct -n -X -P -o state,nnodes").stdout);
            told.contains("COMPLETED|3").then_some(())
        });
    }
    // From inside a job, the node speaks for its user.
    let words =
        ["spur", "sbatch", "--parsable", "-w", "n2", "-o", "/dev/null", "--wrap", "sleep 99"];
    let handed = lan.command("login1", &words).output().expect("runs");
    assert!(handed.status.success(), "{}", text(&handed.stderr));
    let job = text(&handed.stdout);
    assert_ne!(lan.spur("n2", "squeue").status.code(), Some(0), "root of a node is nobody");
    // The machine next door has nothing to show, and gets nothing.
    let (address, nowhere) = ("ctl1:6817", "/nowhere");
    for line in ["squeue", "sinfo", "sbatch --wrap true", "nodes machines"] {
        let words: Vec<&str> = std::iter::once("spur").chain(line.split(' ')).collect();
        let mut command = lan.command("stranger", &words);
        command.env("SPUR_CONTROLLER_ADDR", address).env("SPUR_AGENT_SOCKET", nowhere);
        assert!(!command.output().expect("runs").status.success(), "{line}");
    }
    let used = lan.spur("stranger", &format!("join {token}"));
    assert!(text(&used.stderr).contains("the token is used up"), "{}", text(&used.stderr));
    assert!(!Path::new(&lan.file("stranger", "/var/spool/spurd/identity/machine.pem")).exists());
    // Out is out, at once.
    lan.said("ctl2", "nodes remove n1");
    until("n1 is not heard", || {
        let shown = text(&lan.spur("ctl2", "nodes machines").stdout);
        let cut = lan.log(agents[0]).contains("no stream to the controller");
        let is_there = shown.lines().any(|line| line.split_whitespace().next() == Some("n1"));
        (!is_there && cut).then_some(())
    });
    // One controller is lost: the job runs on, and the rest goes on.
    lan.stop(first);
    until("another leads", || {
        let shown = text(&lan.spur("login1", &format!("squeue -h -j {job} -o %T")).stdout);
        (shown == "RUNNING").then_some(())
    });
    lan.said("login1", &format!("scancel {job}"));
}
