//! More of what users and nodes may not get: each attempt beside those of `attacks.rs` and `intruders.rs` is refused by
//! name or comes to nothing, and nobody else notices.

mod site;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use hyper_util::rt::TokioIo;
use site::{Site, controllers, is_root};
use spur_core::node::{Gres, Inventory};
use spur_core::state::Assignment;
use spur_core::step::StepSpec;
use spur_net::Identity;
use spur_net::assertion::Assertion;
use spur_net::role::Role;
use spur_net::tls::{Dialler, binding};
use spur_proto::client::{self, Address};
use spur_proto::entrance::now;
use spur_proto::internal::agent_message::Message as Says;
use spur_proto::internal::{AgentMessage, Health, Hello};
use spur_proto::slurm::*;
use spur_proto::status::remark;
use spur_tests::harness::{Cluster, attempts, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_stream::StreamExt;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

const NOBODY: u32 = 65_534;
const DAEMON: u32 = 1;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Runs a command line as another user.
fn run_as(
    cluster: &Cluster,
    uid: u32,
    words: &[&str],
    variables: &[(&str, &str)],
) -> (i32, String) {
    let mut command = cluster.command(words[0]);
    command.args(&words[1..]).envs(variables.iter().copied()).uid(uid).gid(uid);
    let done = command.stdin(Stdio::null()).output().expect("runs");
    let text = [done.stdout, done.stderr].concat();
    (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).trim_end().to_string())
}

/// A folder where everybody may write, with programs in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("spur-test-").tempdir().expect("a folder");
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).expect("permissions");
    folder
}

fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writes");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("permissions");
    path
}

/// Not a test of its own: what others have somebody else try, by the wire.
#[test]
#[ignore = "started by the other tests, as another user"]
fn somebody_else() {
    let Ok(socket) = std::env::var("SPUR_SOCKET") else { return };
    let job: u32 = std::env::var("SPUR_JOB").expect("is said").parse().expect("a number");
    runtime().block_on(async {
        let mut client = client::controller(
            client::connect(&Address::Unix(socket.into())).await.expect("is there"),
        );
        let tell = |name: &str, answer: Result<(), Status>| {
            let said = match answer {
                Ok(()) => "done".to_string(),
                Err(status) => remark(&status).unwrap_or_else(|| status.message().to_string()),
            };
            println!("\n{name}\t{said}");
        };
        let many: Vec<u32> = (0..1_000_000).collect();
        let names: Vec<String> = many.iter().take(100_000).map(u32::to_string).collect();
        let ask = |change: fn(&mut ListJobsRequest, Vec<u32>, Vec<String>)| {
            let mut request = ListJobsRequest::default();
            change(&mut request, many.clone(), names.clone());
            request
        };
        for (name, request) in [
            ("jobs by number", ask(|it, many, _| it.job_ids = many)),
            ("jobs by user", ask(|it, many, _| it.uids = many)),
            ("jobs by name", ask(|it, _, names| it.names = names)),
            ("jobs by partition", ask(|it, _, names| it.partitions = names)),
        ] {
            tell(name, client.list_jobs(request).await.map(drop));
        }
        let steps = ListStepsRequest { uids: many.clone(), ..Default::default() };
        tell("steps by user", client.list_steps(steps).await.map(drop));
        let watch = WatchRequest { job_ids: many.clone(), ..Default::default() };
        tell("watch", client.watch(watch).await.map(drop));
        let spec = StepSpec { gres: "x".repeat(2 << 20), ..StepSpec::default() };
        let request_id = vec![7; 16];
        let step =
            CreateStepRequest { job_id: job, request_id, spec: Some(spec), ..Default::default() };
        tell("step", client.create_step(step).await.map(drop));
        for name in ["n1".to_string(), "x".repeat(8 << 20)] {
            let value = "y".repeat(100);
            let assignments = vec![Assignment { key: "Comment".into(), value }; 100];
            let what = if name.len() > 9 { "change of a long name" } else { "change" };
            let request = AdministerRequest { name, assignments, ..Default::default() };
            tell(what, client.administer(request).await.map(drop));
        }
        let trigger = Trigger {
            events: vec!["fini".to_string()],
            job_id: Some(job),
            program: "/bin/true".to_string(),
            ..Default::default()
        };
        let request = SetTriggerRequest { trigger: Some(trigger), ..Default::default() };
        tell("triggers", client.set_trigger(request).await.map(drop));
    });
}

fn tried(cluster: &Cluster, uid: u32, job: &str) -> BTreeMap<String, String> {
    attempts(uid, &cluster.dir().join("run/spurctld.sock"), &[("SPUR_JOB", job)])
}

#[test]
fn every_list_name_and_text_has_a_limit_that_is_named() {
    if !is_root() {
        return;
    }
    let cluster = Cluster::up("n1", 2);
    let words = ["sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 1000"];
    let (_, job) = run_as(&cluster, NOBODY, &words, &[]);
    until("it runs", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
    let told = tried(&cluster, NOBODY, &job);
    let wanted = [
        ("jobs by number", "the question has 1000000 jobs by number, the limit is 10000"),
        ("jobs by user", "the question has 1000000 names in a list, the limit is 10000"),
        ("jobs by name", "the question has 100000 names in a list, the limit is 10000"),
        ("jobs by partition", "the question has 100000 names in a list, the limit is 10000"),
        ("steps by user", "the question has 1000000 names in a list, the limit is 10000"),
        ("watch", "the question has 1000000 names in a list, the limit is 10000"),
        ("step", "the step description has"),
        ("change of a long name", "the change has"),
        ("change", "Access/permission denied"),
        ("triggers", "Access/permission denied"),
    ];
    for (name, words) in wanted {
        let said = told.get(name).map_or("", String::as_str);
        assert!(said.starts_with(words), "{name}: {said}");
    }
}

#[test]
fn a_mail_goes_to_an_address_and_its_subject_is_a_line() {
    if !is_root() {
        return;
    }
    let folder = folder();
    let sent = folder.path().join("sent");
    let mail = program(
        folder.path(),
        "mail",
        &format!("for word; do printf '%s|' \"$word\"; done >>{0}; echo >>{0}", sent.display()),
    );
    let set = format!("jobs.mail_program={}", mail.display());
    let cluster = Cluster::up_with("n1", 2, &["--set", &set]);
    let nasty = ["-oQ/tmp", "|id", "/etc/cron.d/x", "a,-Sx=y", "$(id)", "a\nBcc: b"];
    for to in nasty {
        let (to, name) = (format!("--mail-user={to}"), "-Jone\nX-Evil: two");
        let words =
            ["sbatch", "--wait", "--mail-type=END", &to, name, "-o/dev/null", "--wrap", "true"];
        assert_eq!(run_as(&cluster, NOBODY, &words, &[]).0, 0);
    }
    let lines = until("all is sent", || {
        let text = fs::read_to_string(&sent).unwrap_or_default();
        (text.lines().count() >= nasty.len()).then_some(text)
    });
    for line in lines.lines() {
        let words: Vec<&str> = line.split('|').collect();
        assert_eq!(words.len(), 4, "{line}");
        assert_eq!((words[0], words[2]), ("-s", "nobody"), "{line}");
        assert!(words[1].contains("Name=one X-Evil: two Ended"), "{line}");
    }
}

#[test]
fn nobody_but_root_has_anything_run_as_root() {
    if !is_root() {
        return;
    }
    let more = ["--set", "operators=[\"daemon\"]", "--set", "admins=[\"nobody\"]"];
    let cluster = Cluster::up_with("n1", 2, &more);
    let folder = folder();
    let table = folder.path().join("table");
    fs::write(&table, "* * * * * id\n").expect("writes");
    let table = table.display().to_string();
    let denied = |uid, words: &[&str]| {
        let (status, said) = run_as(&cluster, uid, words, &[]);
        assert!(status != 0 && said.contains("denied"), "{uid} {words:?}: {said}");
    };
    // An operator looks after jobs, and is nobody else for it.
    denied(DAEMON, &["scrontab", "-u", "root", &table]);
    denied(DAEMON, &["scrontab", "-u", "nobody", &table]);
    denied(DAEMON, &["scontrol", "token", "username=nobody"]);
    // An administrator may be other users, not root.
    denied(NOBODY, &["scrontab", "-u", "root", &table]);
    denied(NOBODY, &["scontrol", "token", "username=root"]);
    assert_eq!(run_as(&cluster, NOBODY, &["scrontab", "-u", "daemon", &table], &[]).0, 0);
    assert_eq!(run_as(&cluster, NOBODY, &["scontrol", "token", "username=daemon"], &[]).0, 0);
    let owners = cluster.run("squeue -h -o %u").stdout;
    assert!(!owners.contains("root"), "{owners}");
}

#[test]
fn what_a_user_brings_along_reaches_no_program_of_root_and_raises_no_limit() {
    if !is_root() {
        return;
    }
    let folder = folder();
    let at = folder.path().display().to_string();
    let hook = format!(
        "env >{at}/$1$SLURM_JOB_ID.part; mv {at}/$1$SLURM_JOB_ID.part {at}/$1$SLURM_JOB_ID"
    );
    for kind in ["prolog", "epilog"] {
        program(folder.path(), kind, &hook.replace("$1", kind));
    }
    let config = folder.path().join("spur.conf");
    let text = format!("[hooks]\nprolog = [\"{at}/prolog\"]\nepilog = [\"{at}/epilog\"]\n");
    fs::write(&config, text).expect("writes");
    let cluster = Cluster::up_with("n1", 2, &["--config", &config.display().to_string()]);
    let evil = format!("{at}/evil");
    let script = program(
        folder.path(),
        "job",
        &format!(
            "ulimit -Hl >{at}/limit; ulimit -Hn >>{at}/limit; (set | grep RLIMIT) >>{at}/limit"
        ),
    );
    let nasty = [
        ("LD_PRELOAD", evil.as_str()),
        ("LD_AUDIT", evil.as_str()),
        ("BASH_ENV", evil.as_str()),
        ("ENV", evil.as_str()),
        ("IFS", "/"),
        ("PATH", "/usr/bin:/bin:/tmp/evil"),
        ("BASH_FUNC_env%%", "() { touch /tmp/evil; }"),
        ("GCONV_PATH", evil.as_str()),
        ("SLURM_JOB_UID", "0"),
        ("SLURM_JOB_USER", "root"),
        ("SPANK_LD_PRELOAD", evil.as_str()),
        ("SLURM_RLIMIT_MEMLOCK", "U18446744073709551615"),
        ("SLURM_RLIMIT_NOFILE", "U18446744073709551615"),
    ];
    let script = script.display().to_string();
    let words = ["sbatch", "--parsable", "--export=ALL", "-o/dev/null", &script];
    // The dynamic loader says that its library is not there.
    let (_, said) = run_as(&cluster, NOBODY, &words, &nasty);
    let job = said.lines().find(|line| line.parse::<u32>().is_ok()).expect(&said).to_string();
    let read = |name: String| fs::read_to_string(folder.path().join(name)).ok();
    for kind in ["prolog", "epilog"] {
        let told = until("it has run", || read(format!("{kind}{job}")));
        for line in told.lines().filter(|line| !line.starts_with("SPANK_")) {
            assert!(!line.contains("evil"), "{kind}: {line}");
        }
        assert!(told.contains("SLURM_JOB_UID=65534"), "{kind}: {told}");
    }
    let limits = until("it has run", || read("limit".to_string()));
    let own =
        |resource| nix::sys::resource::getrlimit(resource).map(|(_, hard)| hard).expect("a limit");
    let (memory, files) = (
        own(nix::sys::resource::Resource::RLIMIT_MEMLOCK),
        own(nix::sys::resource::Resource::RLIMIT_NOFILE),
    );
    let mut lines = limits.lines();
    for (most, unit) in [(memory, 1024), (files, 1)] {
        let found = lines.next().expect("a limit");
        let found =
            if found == "unlimited" { u64::MAX } else { found.parse::<u64>().expect("a number") };
        assert!(found <= most / unit || most == u64::MAX, "{limits}");
    }
}

#[test]
fn a_trigger_is_for_the_controllers_user_and_has_nothing_of_the_controller() {
    if !is_root() {
        return;
    }
    let cluster = Cluster::up("n1", 2);
    let folder = folder();
    let at = folder.path().display().to_string();
    let look = program(
        folder.path(),
        "look",
        &format!(
            "(id; env; ls -l /proc/self/fd | sed 's/.*->/OPEN=/') >{at}/part 2>&1; mv {at}/part {at}/seen"
        ),
    );
    let words = ["sbatch", "--parsable", "--hold", "-o", "/dev/null", "--wrap", "true"];
    let (_, job) = run_as(&cluster, NOBODY, &words, &[]);
    let look = look.display().to_string();
    let words = ["strigger", "--set", "--fini", "--jobid", &job, "--program", &look];
    let refused = (1, "slurm_set_trigger: Access/permission denied".to_string());
    assert_eq!(run_as(&cluster, NOBODY, &words, &[]), refused);
    assert_eq!(run_as(&cluster, 0, &words, &[]).0, 0);
    let clear = ["strigger", "--clear", "--id=1"];
    let refused = (1, "slurm_clear_trigger: Access/permission denied".to_string());
    assert_eq!(run_as(&cluster, NOBODY, &clear, &[]), refused);
    let quiet = ["strigger", "-Q", "--clear", "--id=1"];
    assert_eq!(run_as(&cluster, NOBODY, &quiet, &[]), (0, String::new()));
    assert_eq!(run_as(&cluster, NOBODY, &["scancel", &job], &[]).0, 0);
    let seen = until("it has run", || fs::read_to_string(folder.path().join("seen")).ok());
    assert!(seen.starts_with("uid=0"), "{seen}");
    for line in seen.lines().skip(1) {
        let name = line.split_once('=').map_or("", |(name, _)| name);
        let known = [
            "PATH",
            "TZ",
            "LANG",
            "SPUR_CONF",
            "SPUR_CONTROLLER_ADDR",
            "USER",
            "PWD",
            "",
            "_",
            "OLDPWD",
            "SHLVL",
            "OPEN",
        ];
        assert!(known.contains(&name), "{line}");
    }
    let dir = cluster.dir().display().to_string();
    for open in seen.lines().filter(|line| line.starts_with("OPEN=")) {
        assert!(
            !open.contains("socket:") && !open.contains(&dir),
            "a file of the controller: {open}"
        );
    }
}

#[test]
fn what_administrators_do_beside_the_log_is_written_down_and_a_cut_end_is_told() {
    let site = Site::new();
    let state = site.path("state");
    let audit = |more: &[&str]| {
        site.spur_with(&[&["audit", "--state-dir", &state], more].concat(), &[], None)
    };
    for words in [
        &["scontrol", "setdebug", "info"][..],
        &["scontrol", "reconfigure"],
        &["scontrol", "token", "lifespan=60"],
        &["controllers", "remove", "nobody"],
    ] {
        site.spur(words);
    }
    let shown = until("all is written down", || {
        let shown = audit(&[]).out;
        shown.contains("remove controller nobody").then_some(shown)
    });
    for line in
        ["change what is logged: done", "read the configuration again:", "make a token of 60 s"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let file = site.path("state/audit/000001.log");
    let text = until("its end is noted", || {
        let count = fs::read_to_string(&file).ok()?.lines().count();
        let end = fs::read_to_string(site.path("state/audit/end")).ok()?;
        end.starts_with(&format!("{count} ")).then(|| fs::read_to_string(&file).ok()).flatten()
    });
    assert_eq!(audit(&["--verify"]).status, Some(0));
    let (kept, last) = text.trim_end().rsplit_once('\n').expect("several lines");
    for (left, words) in [
        (format!("{kept}\n"), "the end was cut off"),
        (format!("{kept}\n{}", &last[..20]), "the end was cut off"),
        (String::new(), "the end was cut off"),
        (text.replacen("done", "nothing", 1), "was changed"),
        (format!("{text}\u{fffd}nothing\n"), "is no record"),
    ] {
        fs::write(&file, &left).expect("is written");
        let told = audit(&["--verify"]);
        assert_eq!(told.status, Some(1), "{words}");
        assert!(told.err.contains(words), "{words}: {}", told.err);
    }
}

/// gRPC over a connection that is made already.
async fn speak(line: TlsStream<TcpStream>) -> Channel {
    let mut line = Some(TokioIo::new(line));
    let once = tower::service_fn(move |_| {
        let line = line.take();
        async move { line.ok_or(std::io::Error::from(std::io::ErrorKind::NotConnected)) }
    });
    let end = Endpoint::from_static("http://controller");
    end.connect_with_connector(once).await.expect("speaks")
}

async fn dial(dialler: &Dialler, at: &str) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(at).await.expect("listens");
    dialler.dial(stream, &Role::Controller).await.expect("shakes hands")
}

/// A call as a user, by the word of a machine.
async fn vouched(own: &Identity, at: &str, uid: u32) -> Option<Channel> {
    let authority = CertificateDer::from(own.authority.to_vec());
    let visitor = Dialler::visitor(&authority).expect("is usable").introducing();
    let mut line = dial(&visitor, at).await;
    let binding = binding(line.get_ref().1).expect("is bound");
    let word = Assertion {
        machine: own.role.certificate_name(),
        uid,
        gid: uid,
        expires: now() + 60,
        binding,
    };
    let word = word.sign(&own.key);
    line.write_u16(word.len() as u16).await.ok()?;
    line.write_all(&word).await.ok()?;
    Some(speak(line).await)
}

#[test]
fn root_of_a_node_is_held_to_what_nodes_are() {
    if !is_root() {
        return;
    }
    let mut site = Site::new();
    let token = site.token(&["--uses", "2"]);
    let at = controllers(&token);
    for name in ["n1", "n2"] {
        assert_eq!(site.join(&token, name).status, Some(0));
    }
    site.agent("n2", &at);
    until("n2 is there", || site.is_idle("n2"));
    let socket = site.socket();
    let variables = [("SPUR_CONTROLLER_ADDR", socket.as_str())];
    let line = ["sbatch", "--parsable", "-w", "n2", "-o", "/dev/null", "--wrap", "sleep 1000"];
    let job = site.spur_with(&line, &variables, Some(NOBODY)).out;
    let shows =
        |format: &str| site.spur(&["squeue", "-h", "-t", "all", "-j", &job, "-o", format]).out;
    until("it runs", || (shows("%T") == "RUNNING").then_some(()));
    let identity = |name: &str| {
        let own = Identity::load(&Path::new(&site.path(name)).join("identity"));
        own.expect("is read").expect("is there")
    };
    let (first, second) = (identity("n1"), identity("n2"));
    runtime().block_on(async {
        let member = Dialler::member(&first).expect("is usable");
        let channel = speak(dial(&member, &at).await).await;
        // It says that it is larger than all, or longer than anybody wants to hear.
        let huge = |change: fn(&mut Inventory)| {
            let mut inventory = Inventory { cpus: 1, memory_mb: 1, ..Inventory::default() };
            change(&mut inventory);
            let (node, inventory) = ("n1".to_string(), Some(Box::new(inventory)));
            AgentMessage {
                message: Some(Says::Hello(Hello { node, inventory, ..Hello::default() })),
            }
        };
        for first in [
            huge(|it| it.cpus = u32::MAX),
            huge(|it| it.memory_mb = u64::MAX),
            huge(|it| it.features = vec!["x".repeat(8 << 20)]),
            huge(|it| {
                it.gres = vec![Gres { name: "gpu".into(), count: u64::MAX, ..Gres::default() }];
            }),
        ] {
            let mut agents = client::agents(channel.clone());
            let answers = agents.session(tokio_stream::iter([first])).await.expect("is a node");
            let mut answers = answers.into_inner();
            let answer = tokio::time::timeout(Duration::from_secs(10), answers.next()).await;
            assert!(matches!(answer, Ok(None | Some(Err(_)))), "it was greeted");
        }
        // What it says of its health is shown on terminals.
        let (sender, messages) = tokio::sync::mpsc::channel(8);
        sender.send(huge(|_| ())).await.expect("is taken");
        let problems = vec!["\u{1b}]0;owned\u{7}\u{1b}[2Jfan\nn2 up".to_string()];
        let health = AgentMessage { message: Some(Says::Health(Health { problems })) };
        sender.send(health).await.expect("is taken");
        let messages = tokio_stream::wrappers::ReceiverStream::new(messages);
        let answers = client::agents(channel.clone()).session(messages).await.expect("is n1");
        let mut answers = answers.into_inner();
        let _ = tokio::time::timeout(Duration::from_secs(5), answers.next()).await;
        for _ in 0..50 {
            let reason = site.spur(&["sinfo", "-h", "-R", "-o", "%E"]).out;
            assert!(!reason.contains('\u{1b}') && !reason.contains('\u{7}'), "{reason:?}");
            if reason.contains("fan") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // n2 runs a job of nobody's, and may ask as nobody what they may ask. It gets no token of theirs, touches no
        // job of others, and as others it is nobody.
        let channel = vouched(&second, &at, NOBODY).await.expect("is heard");
        let mut client = client::controller(channel);
        assert!(client.list_jobs(ListJobsRequest::default()).await.is_ok());
        let token = IssueTokenRequest { lifetime_secs: 3600, ..Default::default() };
        assert!(client.issue_token(token).await.is_err(), "a token outlives the job");
        for uid in [0, DAEMON] {
            if let Some(channel) = vouched(&second, &at, uid).await {
                let mut client = client::controller(channel);
                assert!(client.list_jobs(ListJobsRequest::default()).await.is_err(), "as {uid}");
            }
        }
    });
    // With the job goes the right to speak.
    site.spur(&["scancel", &job]);
    until("it is over", || (shows("%T") == "CANCELLED").then_some(()));
    runtime().block_on(async {
        if let Some(channel) = vouched(&second, &at, NOBODY).await {
            let mut client = client::controller(channel);
            assert!(client.list_jobs(ListJobsRequest::default()).await.is_err(), "without a job");
        }
    });
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

#[test]
fn floods_of_frames_from_next_door_delay_nobody() {
    let site = Site::new();
    let at = controllers(&site.token(&[]));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flood = |bytes: Vec<u8>| {
            let (at, stop) = (&at, &stop);
            scope.spawn(move || {
                runtime().block_on(async {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        let stranger = Dialler::newcomer(None).expect("is usable");
                        let Ok(stream) = TcpStream::connect(at).await else { continue };
                        let Ok(mut line) = stranger.dial(stream, &Role::Controller).await else {
                            continue;
                        };
                        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
                        let begin = [&preface[..], &frame(4, 0, 0, &[])].concat();
                        if line.write_all(&begin).await.is_err() {
                            continue;
                        }
                        for _ in 0..200 {
                            if line.write_all(&bytes).await.is_err() {
                                break;
                            }
                        }
                        let _ =
                            tokio::time::timeout(Duration::from_millis(50), line.read_u8()).await;
                    }
                });
            });
        };
        // Streams that are opened and taken back at once: :method POST, :scheme https, :path of a method.
        let path = b"/slurm.Controller/Ping";
        let header = [&[0x83, 0x87, 0x04, path.len() as u8][..], path, &[0x41, 1, b'x']].concat();
        let resets = (0..100).flat_map(|number| {
            let stream = 2 * number + 1;
            [frame(1, 4, stream, &header), frame(3, 0, stream, &[0, 0, 0, 8])].concat()
        });
        flood(resets.collect());
        // Headers that never end.
        let endless = (0..100).flat_map(|_| frame(9, 0, 1, &[0; 1000]));
        flood([frame(1, 0, 1, &header), endless.collect()].concat());
        // Questions that want answers, and settings that want to be heard.
        flood((0..1000).flat_map(|_| frame(6, 0, 0, &[0; 8])).collect());
        flood((0..1000).flat_map(|_| frame(4, 0, 0, &[])).collect());
        let begun = Instant::now();
        for _ in 0..20 {
            let asked = Instant::now();
            assert_eq!(site.spur(&["sbatch", "--hold", "--wrap", "true"]).status, Some(0));
            assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        }
        assert!(begun.elapsed() < Duration::from_secs(60));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
