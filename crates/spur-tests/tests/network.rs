//! Machines that join by TLS: a controller and agents in directories of their own, over loopback.

mod site;

use std::path::{Path, PathBuf};
use std::process::Command;

use site::{Site, controllers, is_root};
use spur_tests::harness::{binary, until};

#[test]
fn two_machines_join_by_a_token_and_run_a_step_together() {
    let mut site = Site::new();
    let token = site.token(&["--uses", "2", "--ttl", "10m"]);
    for name in ["n1", "n2"] {
        let joined = site.join(&token, name);
        assert_eq!(joined.status, Some(0), "{}", joined.err);
        assert!(joined.out.contains(&format!("joined as compute {name}")), "{}", joined.out);
        site.agent(name, &controllers(&token));
    }
    let third = site.join(&token, "n3");
    assert_eq!(third.status, Some(1));
    assert!(third.err.contains("spur token create"), "{}", third.err);
    until("both are there", || site.is_idle("n1,n2"));
    // A first step was once told "Node failure on n2"; why is not known yet, and is no matter of joining.
    let ran = until("a step runs on both", || {
        let ran = site.spur(&["srun", "-N2", "printenv", "SLURMD_NODENAME"]);
        (ran.status == Some(0)).then_some(ran)
    });
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["n1", "n2"]);
    // A certificate that is renewed is shown at once, and nobody notices.
    let own = site.path("n1/identity/machine.pem");
    let before = std::fs::read(&own).expect("has one");
    // One of the same second is the same.
    until("it has another one", || {
        site.daemons[1].signal(nix::sys::signal::Signal::SIGHUP);
        std::fs::read(&own).ok().filter(|now| *now != before)
    });
    let ran = site.spur(&["srun", "-w", "n1", "true"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    // One that is thrown out is gone, and stays out with what it has.
    let removed = site.spur(&["nodes", "remove", "n2"]);
    assert_eq!(removed.status, Some(0), "{}", removed.err);
    until("its stream is cut", || {
        let log = site.log("spurd", 2);
        log.contains("no stream to the controller").then_some(())
    });
    let machines = site.spur(&["nodes", "machines"]);
    assert!(machines.out.contains("n1") && !machines.out.contains("n2"), "{}", machines.out);
}

#[test]
fn certificates_are_renewed_again_and_again_and_nobody_notices() {
    let mut site = Site::empty();
    let file = site.path("spur.conf");
    std::fs::write(&file, "[controller]\ncertificate_lifetime = 9\n").expect("writes");
    let (state, listen) = (site.path("state"), format!("{},127.0.0.1:0", site.socket()));
    let args = ["--config", &file, "--state-dir", &state, "--listen", &listen];
    site.start("spurctld", &args);
    site.is_led(&site.socket());
    let token = site.token(&[]);
    assert_eq!(site.join(&token, "n1").status, Some(0));
    let agent = site.agent("n1", &controllers(&token));
    until("it is there", || site.is_idle("n1"));
    // A step that speaks over one connection for as long as three certificates.
    let begun = std::time::Instant::now();
    let own = site.path("n1/identity/machine.pem");
    let shown = |own: &str| std::fs::read(own).expect("has one");
    let step = Command::new(binary("spur"))
        .args(["srun", "sh", "-c", "read line; echo heard $line"])
        .env("SPUR_CONTROLLER_ADDR", site.socket())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut step = step.expect("starts");
    for _ in 0..3 {
        let before = shown(&own);
        until("it has another one", || (shown(&own) != before).then_some(()));
    }
    assert!(begun.elapsed().as_secs() >= 6, "they are renewed in good time, not all the time");
    std::io::Write::write_all(step.stdin.as_mut().expect("a pipe"), b"all\n").expect("is heard");
    let said = step.wait_with_output().expect("ends");
    assert_eq!(said.stdout, b"heard all\n");
    let ran = site.spur(&["srun", "true"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(!site.log("spurd", agent).contains("no stream to the controller"));
}

#[test]
fn a_machine_without_a_token_says_what_to_run_and_waits_to_be_approved() {
    let mut site = Site::new();
    let at = controllers(&site.token(&[]));
    let agent = site.agent("n1", &at);
    until("it says so", || {
        site.log("spurd", agent).contains("spur nodes approve n1").then_some(())
    });
    let shown = until("it waits", || {
        let shown = site.spur(&["nodes", "waiting"]).out;
        shown.contains("n1").then_some(shown)
    });
    let fingerprint = shown.split_whitespace().last().expect("a key").to_string();
    assert!(site.log("spurd", agent).contains(&fingerprint), "both sides show {fingerprint}");
    if is_root() {
        let refused = site.spur_with(
            &["nodes", "approve", "n1"],
            &[("SPUR_CONTROLLER_ADDR", &site.socket())],
            Some(65534),
        );
        assert_eq!(refused.status, Some(1), "only administrators let machines in");
    }
    let wrong = site.spur(&["nodes", "approve", "n1", "--fingerprint", "0000"]);
    assert_eq!(wrong.status, Some(1));
    let approved = site.spur(&["nodes", "approve", "n1", "--fingerprint", &fingerprint]);
    assert_eq!(approved.status, Some(0), "{}", approved.err);
    until("it is there", || site.is_idle("n1"));
}

#[test]
fn users_of_a_login_machine_are_who_their_kernel_says() {
    let mut site = Site::new();
    let token = site.token(&["--role", "login"]);
    assert_eq!(site.join(&token, "login1").status, Some(0));
    site.agent("login1", &controllers(&token));
    let agent = format!("{}/spurd.sock", site.path("login1"));
    until("its agent is there", || Path::new(&agent).exists().then_some(()));
    let at = controllers(&token);
    let remote = [("SPUR_CONTROLLER_ADDR", at.as_str()), ("SPUR_AGENT_SOCKET", agent.as_str())];
    let line = ["sbatch", "--hold", "--wrap", "true", "--output=/dev/null"];
    let owner = |job: &str| site.spur(&["squeue", "-h", "-j", job, "-o", "%U"]).out;
    let handed = site.spur_with(&line, &remote, is_root().then_some(65534));
    assert_eq!(handed.status, Some(0), "{}", handed.err);
    let job = handed.out.split_whitespace().last().expect("a number").to_string();
    let own = nix::unistd::geteuid().as_raw();
    assert_eq!(owner(&job), if is_root() { "65534".to_string() } else { own.to_string() });
    // Nobody is let in without somebody's word.
    let nobody = [("SPUR_CONTROLLER_ADDR", at.as_str()), ("SPUR_AGENT_SOCKET", "/nowhere")];
    assert_eq!(site.spur_with(&["squeue"], &nobody, None).status, Some(1));
}

#[test]
fn a_compute_machine_speaks_for_nobody_who_has_no_job_there() {
    let mut site = Site::new();
    let token = site.token(&[]);
    assert_eq!(site.join(&token, "n1").status, Some(0));
    let at = controllers(&token);
    site.agent("n1", &at);
    until("it is there", || site.is_idle("n1"));
    let agent = format!("{}/spurd.sock", site.path("n1"));
    let remote = [("SPUR_CONTROLLER_ADDR", at.as_str()), ("SPUR_AGENT_SOCKET", agent.as_str())];
    // Root of a compute machine is nobody to the controller.
    for line in [&["scancel", "1"][..], &["sbatch", "--wrap", "true"], &["nodes", "remove", "n1"]] {
        let refused = site.spur_with(line, &remote, None);
        assert_ne!(refused.status, Some(0), "{line:?} {}", refused.out);
    }
}

#[test]
fn a_token_of_scontrol_names_its_user_until_it_is_revoked() {
    let site = Site::new();
    let at = controllers(&site.token(&[]));
    let said = site.spur(&["scontrol", "token", "lifespan=60"]);
    let token = said.out.strip_prefix("SLURM_JWT=").expect("is printed").to_string();
    let authority: PathBuf = site.dir.path().join("state/authority/ca.pem");
    let authority = authority.display().to_string();
    let remote = [
        ("SPUR_CONTROLLER_ADDR", at.as_str()),
        ("SPUR_CA_FILE", authority.as_str()),
        ("SLURM_JWT", token.as_str()),
    ];
    let handed = site.spur_with(&["sbatch", "--hold", "--wrap", "true"], &remote, None);
    assert_eq!(handed.status, Some(0), "{}", handed.err);
    let forged = format!("{}x", &token[..token.len() - 1]);
    let bad = [remote[0], remote[1], ("SLURM_JWT", forged.as_str())];
    assert_ne!(site.spur_with(&["squeue"], &bad, None).status, Some(0));
    assert_eq!(site.spur(&["scontrol", "token", "revoke"]).status, Some(0));
    assert_ne!(site.spur_with(&["squeue"], &remote, None).status, Some(0));
}

#[test]
fn controllers_of_three_machines_join_by_token_and_one_may_be_lost() {
    let mut site = Site::empty();
    let ports: Vec<String> = {
        let free = || std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let held: Vec<std::net::TcpListener> = (0..3).map(|_| free()).collect();
        held.iter().map(|port| port.local_addr().expect("an address").to_string()).collect()
    };
    let all = ports.join(",");
    let sockets: Vec<String> =
        (1..=3).map(|number| format!("unix:{}", site.path(&format!("ctl{number}.sock")))).collect();
    let args = |site: &Site, number: usize| {
        let listen = format!("{},{}", sockets[number - 1], ports[number - 1]);
        let state = site.path(&format!("state{number}"));
        let words = ["--state-dir", &state, "--listen", &listen, "--controllers", &all];
        words.map(str::to_string).to_vec()
    };
    let start = |site: &mut Site, number: usize| {
        let args = args(site, number);
        site.start("spurctld", &args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    start(&mut site, 1);
    site.is_led(&sockets[0]);
    let stranger = Command::new(binary("spurctld")).args(args(&site, 2)).output().expect("runs");
    let said = String::from_utf8_lossy(&stranger.stderr).into_owned();
    assert!(!stranger.status.success() && said.contains("spur join TOKEN"), "{said}");
    let made = site.at(&sockets[0], &["token", "create", "--role", "controller", "--uses", "2"]);
    for number in [2, 3] {
        let state = site.path(&format!("state{number}"));
        let joined = site.spur_with(&["join", &made.out, "--state-dir", &state], &[], None);
        assert_eq!(joined.status, Some(0), "{}", joined.err);
        start(&mut site, number);
    }
    until("all three vote", || {
        let shown = site.at(&sockets[0], &["controllers", "list"]).out;
        (shown.matches("follower").count() == 2).then_some(())
    });
    // Asked at a machine that does not lead, the caller is known by that machine's word to the one that does.
    let handed = site.at(&sockets[1], &["sbatch", "--hold", "--wrap", "true"]);
    assert_eq!(handed.status, Some(0), "{}", handed.err);
    drop(site.daemons.remove(0));
    until("another leads", || {
        let shown =
            site.at(&format!("{},{}", sockets[1], sockets[2]), &["squeue", "-h", "-o", "%i"]);
        (shown.out == "1").then_some(())
    });
}

#[test]
fn what_was_done_and_refused_is_written_down_and_a_change_to_it_is_noticed() {
    let site = Site::new();
    let state = site.path("state");
    let audit = |more: &[&str]| {
        site.spur_with(&[&["audit", "--state-dir", &state], more].concat(), &[], None)
    };
    assert_eq!(site.spur(&["sbatch", "--hold", "--wrap", "true"]).status, Some(0));
    if is_root() {
        let socket = site.socket();
        let other = [("SPUR_CONTROLLER_ADDR", socket.as_str())];
        assert_ne!(site.spur_with(&["scancel", "1"], &other, Some(65534)).status, Some(0));
        assert_ne!(site.spur_with(&["token", "create"], &other, Some(65534)).status, Some(0));
        let shown = until("all is written", || {
            let shown = audit(&[]).out;
            shown.contains("CreateToken: refused").then_some(shown)
        });
        assert!(shown.contains("uid 65534    cancel job 1: refused"), "{shown}");
    }
    until("the job is written down", || audit(&[]).out.contains("submit: job 1").then_some(()));
    let whole = audit(&["--verify"]);
    assert_eq!(whole.status, Some(0), "{}", whole.err);
    let last = whole.out.split_whitespace().last().expect("a hash").to_string();
    assert_eq!(audit(&["--verify", "--contains", &last]).status, Some(0));
    let file = site.path("state/audit/000001.log");
    let text = std::fs::read_to_string(&file).expect("is there");
    std::fs::write(&file, text.replacen("submit", "nothing", 1)).expect("is written");
    let broken = audit(&["--verify"]);
    assert_eq!(broken.status, Some(1));
    assert!(broken.err.contains("record 1 was changed"), "{}", broken.err);
}

#[test]
fn the_file_says_where_controllers_are_who_may_do_more_and_what_jobs_may_not() {
    if !is_root() {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let mut site = Site::empty();
    let (state, run) = (site.path("state"), site.path("run"));
    std::fs::create_dir(&run).expect("a directory");
    let text = format!(
        "admins = [\"daemon\"]\noperators = [\"bin\"]\n\
         [controller]\nstate_dir = \"{state}\"\nsocket_dir = \"{run}\"\nlisten_addr = \"127.0.0.1:0\"\n\
         [[partitions]]\nname = \"all\"\nnodes = \"ALL\"\ndefault = true\nharden = true\n"
    );
    let file = site.path("spur.conf");
    std::fs::write(&file, text).expect("writes");
    site.start("spurctld", &["--config", &file]);
    let address = format!("unix:{run}/spurctld.sock");
    site.is_led(&address);
    assert!(Path::new(&state).is_dir());
    site.agent("n1", &address);
    let says = |args: &[&str]| site.at(&address, args);
    until("it is there", || says(&["sinfo", "-h", "-o", "%t"]).out.eq("idle").then_some(()));
    let drain = ["scontrol", "update", "nodename=n1", "state=drain", "reason=look"];
    let by = |uid| site.spur_with(&drain, &[("SPUR_CONTROLLER_ADDR", &address)], Some(uid));
    let (bin, daemon) = (2, 1);
    let refused = by(bin);
    assert!(refused.err.contains("Access/permission denied"), "{}", refused.err);
    assert_eq!(by(daemon).err, "");
    assert_eq!(says(&["scontrol", "update", "nodename=n1", "state=resume"]).err, "");
    let ran = says(&["srun", "grep", "-E", "NoNewPrivs|CapBnd|Seccomp:", "/proc/self/status"]);
    assert_eq!(ran.out, "CapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2", "{}", ran.err);
}
