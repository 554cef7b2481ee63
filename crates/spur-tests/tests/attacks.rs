//! One test for each class of what was found wrong with Slurm over the years: each attempt is refused, changes
//! nothing, and is written down. Attempts of other users are made by this program, started as them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use spur_core::auth::{METHODS, principals};
use spur_core::errors::SlurmError;
use spur_core::state::Assignment;
use spur_proto::client::{self, Address};
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::*;
use spur_proto::status::from_status;
use spur_tests::harness::{Cluster, attempts, until};
use tonic::Status;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

/// Known everywhere, and nobody's friend.
const NOBODY: u32 = 65_534;
const DAEMON: u32 = 1;

fn is_root() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        eprintln!("SKIPPED: needs root");
    }
    is_root
}

/// A cluster with something to lose.
struct Victim {
    cluster: Cluster,
    held: String,
    running: String,
    secret: PathBuf,
}

impl Victim {
    fn new(more: &[&str]) -> Victim {
        let cluster = Cluster::up_with("n[1-2]", 4, more);
        let open = PermissionsExt::from_mode(0o1777);
        fs::set_permissions(cluster.work_dir(), open).expect("permissions");
        let secret = cluster.work_dir().join("secret");
        fs::write(&secret, "untouched\n").expect("writes");
        fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).expect("permissions");
        let submit = |words: &[&str]| {
            let said = cluster.run_words("sbatch", words);
            assert_eq!(said.status, 0, "{}", said.stderr);
            said.stdout.trim().to_string()
        };
        let held = submit(&["--parsable", "--hold", "-o", "/dev/null", "--wrap", "echo hidden"]);
        let running = submit(&["--parsable", "-o", "/dev/null", "--wrap", "sleep 1000"]);
        until("it runs", || (cluster.squeue(&running, "%T") == "RUNNING").then_some(()));
        Victim { cluster, held, running, secret }
    }

    fn socket(&self) -> PathBuf {
        self.cluster.dir().join("run/spurctld.sock")
    }

    /// All that an attack could have changed.
    fn state(&self) -> String {
        let show = |words: &[&str]| self.cluster.run_words(words[0], &words[1..]).stdout;
        [
            show(&["squeue", "-h", "-t", "all", "-o", "%i %T %r %Q %l %u %j %P %D %C %k %y"]),
            show(&["squeue", "-h", "-s", "-o", "%i %j %u"]),
            show(&["sinfo", "-h", "-N", "-o", "%N %T %E"]),
            show(&["scontrol", "-o", "show", "partition"]),
            show(&["scontrol", "-o", "show", "reservation"]),
            show(&["strigger", "--get", "-h"]),
            fs::read_to_string(&self.secret).expect("is there"),
        ]
        .join("--\n")
    }

    /// Everything that was written down, as `who what: outcome`.
    fn audit(&self) -> String {
        let state = self.cluster.dir().join("state/spurctld");
        let state = if state.is_dir() { state } else { self.state_dir() };
        let mut spur = Command::new(spur_tests::harness::binary("spur"));
        let said = spur.args(["audit", "--state-dir"]).arg(state).output().expect("runs");
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    fn state_dir(&self) -> PathBuf {
        let found = find(&self.cluster.dir(), &|path| path.ends_with("audit") && path.is_dir());
        let found = found.first().expect("there is an audit log");
        found.parent().expect("is below the state").to_path_buf()
    }

    /// Runs a command line as another user.
    fn run_as(&self, uid: u32, words: &[&str]) -> (i32, String, String) {
        let mut command = self.cluster.command(words[0]);
        command.args(&words[1..]).uid(uid).gid(uid).stdin(Stdio::null());
        let done = command.output().expect("runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
        (done.status.code().unwrap_or(-1), text(&done.stdout), text(&done.stderr))
    }

    /// Has this program try something as another user; what it tried, and what came of it.
    fn attempts(&self, uid: u32, what: &str) -> BTreeMap<String, String> {
        let jobs = format!("{},{}", self.held, self.running);
        let told = [("SPUR_ATTACK", what), ("SPUR_JOBS", jobs.as_str())];
        attempts(uid, &self.socket(), &told)
    }
}

fn find(dir: &Path, wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if wanted(&path) {
            found.push(path.clone());
        }
        if is_dir {
            found.extend(find(&path, wanted));
        }
    }
    found
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn outcome(answer: Result<(), Status>) -> String {
    match answer {
        Ok(()) => "done".to_string(),
        Err(status) if from_status(&status) == Some(SlurmError::AccessDenied) => "denied".into(),
        Err(status) => format!("{:?} {}", status.code(), status.message()),
    }
}

/// Not a test of its own: what the tests below have another user try.
#[test]
#[ignore = "started by the other tests, as another user"]
fn somebody_else() {
    let Ok(what) = std::env::var("SPUR_ATTACK") else { return };
    let socket = PathBuf::from(std::env::var_os("SPUR_SOCKET").expect("a socket"));
    let jobs = std::env::var("SPUR_JOBS").unwrap_or_default();
    let jobs: Vec<u32> = jobs.split(',').filter_map(|job| job.parse().ok()).collect();
    let told = runtime().block_on(async {
        let channel = client::connect(&Address::Unix(socket)).await.expect("connects");
        match what.as_str() {
            "jobs" => on_jobs(client::controller(channel), &jobs).await,
            "names" => under_other_names(client::controller(channel)).await,
            "methods" => by_method(channel).await,
            other => panic!("{other} is no attack"),
        }
    });
    // The first line of the test runner has no end.
    println!();
    for (name, said) in told {
        println!("{name}\t{said}");
    }
}

type Told = Vec<(String, String)>;

/// Everything that can be done to a job, to each of these.
async fn on_jobs(mut client: ControllerClient<Channel>, jobs: &[u32]) -> Told {
    let mut told = Vec::new();
    let say = |key: &str, value: &str| Assignment { key: key.into(), value: value.into() };
    for job_id in jobs.iter().copied() {
        macro_rules! attempt {
            ($name:expr, $method:ident, $request:expr) => {
                let answer = client.$method($request).await.map(drop);
                told.push((format!("{} {job_id}", $name), outcome(answer)));
            };
        }
        attempt!("cancel", cancel_job, CancelJobRequest { job_id, ..Default::default() });
        let scope = SignalScope::Full as i32;
        for (name, action) in [
            ("hold", Action::Hold(HoldJob { as_user: true })),
            ("release", Action::Release(ReleaseJob {})),
            ("requeue", Action::Requeue(RequeueJob::default())),
            ("suspend", Action::Suspend(SuspendJob {})),
            ("resume", Action::Resume(ResumeJob {})),
            ("signal", Action::Signal(SignalJob { signal: 9, scope })),
            ("rename", Action::Update(UpdateJob { assignments: vec![say("Name", "mine")] })),
            ("reroute", Action::Update(UpdateJob { assignments: vec![say("StdOut", "/tmp/x")] })),
        ] {
            let action = Some(action);
            let request = ControlJobRequest { job_id, action, ..Default::default() };
            attempt!(name, control_job, request);
        }
        attempt!("attend", attend, AttendRequest { job_id });
        let request_id = vec![7; 16];
        let request = CreateStepRequest { job_id, request_id, ..Default::default() };
        attempt!("step", create_step, request);
        for step_id in [0, 0xffff_fffb] {
            for measure in [false, true] {
                let request = StepAccessRequest { job_id, step_id, measure };
                attempt!(format!("access {step_id}"), access_step, request);
            }
            for signal in [0, 9, 15] {
                let request = SignalStepRequest { job_id, step_id, signal, ..Default::default() };
                attempt!(format!("signal {signal} to {step_id}"), signal_step, request);
            }
        }
        let request = EndAllocationRequest { job_id, ..Default::default() };
        attempt!("give back", end_allocation, request);
        attempt!("script", get_script, GetScriptRequest { job_id });
    }
    told
}

/// Every message that has a field for who somebody is, or what only few may ask for.
async fn under_other_names(mut client: ControllerClient<Channel>) -> Told {
    let mut told = Vec::new();
    macro_rules! attempt {
        ($name:expr, $method:ident, $request:expr) => {
            let answer = client.$method($request).await.map(drop);
            told.push(($name.to_string(), outcome(answer)));
        };
    }
    let root = || "root".to_string();
    attempt!("crontab of root", get_crontab, GetCrontabRequest { uid: Some(0) });
    let text = "* * * * * /bin/true\n".to_string();
    let table = SetCrontabRequest { uid: Some(0), text, ..Default::default() };
    attempt!("crontab for root", set_crontab, table);
    let user_name = root();
    attempt!("token", issue_token, IssueTokenRequest { user_name, ..Default::default() });
    attempt!(
        "revoke",
        revoke_tokens,
        RevokeTokensRequest { user_name: root(), ..Default::default() }
    );
    let say = |key: &str, value: &str| Assignment { key: key.into(), value: value.into() };
    for (noun, name, assignment) in [
        (Noun::Node, "n1", say("State", "DRAIN")),
        (Noun::Partition, "debug", say("State", "DOWN")),
        (Noun::Reservation, "", say("StartTime", "1")),
    ] {
        for verb in [Verb::Create, Verb::Update, Verb::Delete] {
            let request = AdministerRequest {
                noun: noun.into(),
                verb: verb.into(),
                name: name.to_string(),
                assignments: vec![assignment.clone(), say("Reason", "mine")],
                ..Default::default()
            };
            attempt!(format!("{verb:?} {noun:?}"), administer, request);
        }
    }
    let request = GetDiagnosticsRequest { reset: true };
    attempt!("reset of numbers", get_diagnostics, request);
    told
}

/// Every method there is, with nothing said.
async fn by_method(channel: Channel) -> Told {
    let mut told = Vec::new();
    let unknown = ["/slurm.Controller/Nothing", "/nothing", "/slurm.Controller/ping"];
    let (_, user) = &principals()[1];
    let known = METHODS.iter().map(|rule| (rule.method, rule.who.admits(user)));
    for (method, is_admitted) in known.chain(unknown.map(|method| (method, false))) {
        // Whoever is let in may wait for ever.
        let patience = Duration::from_millis(if is_admitted { 200 } else { 30_000 });
        let mut grpc = tonic::client::Grpc::new(channel.clone());
        grpc.ready().await.expect("is there");
        let path = PathAndQuery::from_static(method);
        let codec = ProstCodec::<(), ()>::default();
        let call = grpc.unary(tonic::Request::new(()), path, codec);
        let answer = match tokio::time::timeout(patience, call).await {
            Ok(answer) => outcome(answer.map(drop)),
            Err(_) => "let in".to_string(),
        };
        told.push((method.to_string(), answer));
    }
    told
}

#[test]
fn a_job_is_its_owner_s_to_touch() {
    if !is_root() {
        return;
    }
    let victim = Victim::new(&[]);
    let before = victim.state();
    let told = victim.attempts(NOBODY, "jobs");
    for (name, said) in &told {
        assert_eq!(said, "denied", "{name}");
    }
    assert_eq!(told.len(), 2 * 21);
    for words in [
        &["scancel", &victim.held][..],
        &["scancel", "-s", "KILL", &victim.running],
        &["scontrol", "requeue", &victim.running],
        &["scontrol", "write", "batch_script", &victim.held, "-"],
        &["sattach", &format!("{}.batch", victim.running)],
        &["srun", "--jobid", &victim.running, "--overlap", "id"],
        &["spur", "exec", &victim.running, "id"],
        &["spur", "logs", &victim.running],
        &["sbcast", "--jobid", &victim.running, "/etc/hostname", "/tmp/copied"],
    ] {
        let (status, out, _) = victim.run_as(NOBODY, words);
        // What is read as the user may be read; Slurm's own exit status for a script is 0.
        let tells_nothing = ["write", "logs"].iter().any(|word| words.contains(word));
        assert!(status != 0 || tells_nothing, "{words:?}: {out}");
        assert!(!out.contains("hidden") && !out.contains("uid="), "{words:?}: {out}");
    }
    assert_eq!(victim.state(), before);
    let written = until("all is written down", || {
        let written = victim.audit();
        written.contains("GetScript: refused").then_some(written)
    });
    let held = &victim.held;
    for line in [
        format!("cancel job {held}: refused"),
        format!("hold job {held}: refused"),
        format!("update Name of job {held}: refused"),
        "/slurm.Controller/Attend: refused".to_string(),
        "/slurm.Controller/CreateStep: refused".to_string(),
        "/slurm.Controller/AccessStep: refused".to_string(),
        "/slurm.Controller/SignalStep: refused".to_string(),
    ] {
        assert!(written.contains(&line), "{line} in {written}");
    }
}

#[test]
fn a_name_in_a_message_is_nobody() {
    if !is_root() {
        return;
    }
    let victim = Victim::new(&[]);
    let before = victim.state();
    for (name, said) in victim.attempts(NOBODY, "names") {
        assert_eq!(said, "denied", "{name}");
    }
    // Who hands a job in is who the kernel says, whatever else is said.
    let line = ["sbatch", "--parsable", "--hold", "-o", "/dev/null", "--wrap", "true"];
    let (_, job, error) = victim.run_as(NOBODY, &line);
    assert_eq!(victim.cluster.squeue(&job, "%U"), NOBODY.to_string(), "{error}");
    for word in ["--uid=0", "--uid=root", "--gid=0"] {
        let (status, _, error) = victim.run_as(NOBODY, &[&line[..1], &[word], &line[1..]].concat());
        assert_ne!(status, 0, "{word}: {error}");
    }
    // Nobody goes ahead of others by asking for it.
    let (status, _, error) = victim.run_as(NOBODY, &[&line[..], &["--nice=-5"]].concat());
    assert_ne!(status, 0);
    assert!(error.ends_with("Invalid --nice value"), "{error}");
    assert_eq!(victim.run_as(NOBODY, &["scancel", &job]).0, 0);
    until("it is gone", || (victim.cluster.squeue(&job, "%T") == "CANCELLED").then_some(()));
    let rest = victim.state();
    let own = |text: &str| -> String {
        text.lines().filter(|line| !line.starts_with(&format!("{job} "))).collect()
    };
    assert_eq!(own(&rest), own(&before));
}

#[test]
fn every_method_turns_away_whom_its_row_does_not_name() {
    if !is_root() {
        return;
    }
    let victim = Victim::new(&[]);
    let before = victim.state();
    let told = victim.attempts(NOBODY, "methods");
    let (_, user) = &principals()[1];
    for rule in METHODS.iter().filter(|rule| !rule.method.contains("Accounting")) {
        let said = told.get(rule.method).map(String::as_str);
        assert!(said == Some("denied") || rule.who.admits(user), "{} {said:?}", rule.method);
    }
    for unknown in ["/slurm.Controller/Nothing", "/nothing", "/slurm.Controller/ping"] {
        assert_eq!(told.get(unknown).map(String::as_str), Some("denied"), "{unknown}");
    }
    assert_eq!(victim.state(), before);
    let written = until("all is written down", || {
        let written = victim.audit();
        written.contains("/slurm.Controller/ping: refused").then_some(written)
    });
    for method in ["Shutdown", "CreateToken", "RemoveMachine", "RemoveController", "Reconfigure"] {
        assert!(written.contains(&format!("/slurm.Controller/{method}: refused")), "{method}");
    }
    assert!(written.contains("/spur.internal.Agents/Session: refused"));
}

#[test]
fn a_coordinator_raises_nobody_and_looks_after_its_own_account_alone() {
    if !is_root() {
        return;
    }
    let config = tempfile::NamedTempFile::new().expect("a file");
    let text =
        "private_data = [\"jobs\", \"nodes\", \"usage\"]\n[accounting]\nenforce = [\"limits\"]\n";
    fs::write(&config, text).expect("writes");
    let cluster = Cluster::up_with("n1", 4, &["--config", &config.path().display().to_string()]);
    let done = |line: &str| {
        let said = cluster.run(line);
        assert_eq!(said.status, 0, "{line}: {}{}", said.stdout, said.stderr);
        said.stdout.trim().to_string()
    };
    done("sacctmgr -i add account physics");
    done("sacctmgr -i add account biology");
    done("sacctmgr -i add user daemon account=physics MaxSubmitJobs=9");
    done("sacctmgr -i add user nobody account=physics,biology");
    done("sacctmgr -i add coordinator account=physics names=daemon");
    let run_as = |uid: u32, line: &str| {
        let mut words = line.split_whitespace();
        let mut command = cluster.command(words.next().expect("a command"));
        let said = command.args(words).uid(uid).gid(uid).output().expect("runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
        (said.status.code(), text(&said.stdout), text(&said.stderr))
    };
    let submit = |account: &str| {
        let line = format!("sbatch --parsable --hold -o /dev/null -A {account} --wrap true");
        let (status, job, error) = run_as(NOBODY, &line);
        assert_eq!(status, Some(0), "{error}");
        job
    };
    let (theirs, foreign) = until("the rules are known", || {
        let line = "sbatch --parsable --hold -o /dev/null -A physics --wrap true";
        run_as(NOBODY, line).0.filter(|status| *status == 0)?;
        Some((submit("physics"), submit("biology")))
    });
    // What a coordinator is for.
    let sees = |uid, job: &str| run_as(uid, &format!("squeue -h -j {job} -o %i"));
    until("the coordinator is known", || (sees(DAEMON, &theirs).1 == theirs).then_some(()));
    assert_eq!(run_as(DAEMON, &format!("scontrol update jobid={theirs} timelimit=5")).0, Some(0));
    // Jobs of other accounts are not even seen, and nodes by operators only.
    let (status, out, error) = sees(DAEMON, &foreign);
    assert_eq!((status, out.as_str()), (Some(1), ""), "{error}");
    assert!(error.ends_with("Invalid job id specified"), "{error}");
    let (status, _, error) = run_as(NOBODY, "sinfo");
    assert_ne!(status, Some(0));
    assert!(error.ends_with("Access/permission denied"), "{error}");
    let before = done("sacctmgr -n -P show assoc format=account,user,maxsubmit,qos");
    for line in [
        format!("scancel {foreign}"),
        format!("scontrol release {foreign}"),
        format!("scontrol update jobid={theirs} nice=-10"),
        format!("scontrol update jobid={theirs} account=biology"),
        format!("scontrol suspend {theirs}"),
        format!("srun --jobid={theirs} id"),
        "sacctmgr -i modify user daemon set adminlevel=admin".to_string(),
        "sacctmgr -i modify user nobody set adminlevel=operator".to_string(),
        "sacctmgr -i modify user daemon set maxsubmitjobs=1000".to_string(),
        "sacctmgr -i modify account physics set maxsubmitjobs=1000".to_string(),
        "sacctmgr -i modify user nobody where account=biology set maxsubmitjobs=1".to_string(),
        "sacctmgr -i add coordinator account=biology names=daemon".to_string(),
        "sacctmgr -i add qos mine priority=1000".to_string(),
    ] {
        let (status, out, _) = run_as(DAEMON, &line);
        assert_ne!(status, Some(0), "{line}: {out}");
    }
    let why = "sacctmgr: error: Your user doesn't have privilege to perform this action\n \
               Error with request: Access/permission denied";
    for line in [
        "sacctmgr modify user nobody set adminlevel=operator",
        "sacctmgr -i delete account biology",
    ] {
        assert_eq!(run_as(DAEMON, line), (Some(1), String::new(), why.to_string()), "{line}");
    }
    // Who may change nothing is not told what there is, and of oneself what one chooses.
    for line in [
        "sacctmgr -i modify qos nosuch set priority=3",
        "sacctmgr -i modify user nosuch set maxjobs=3",
        "sacctmgr -i delete account nosuch",
        "sacctmgr show wckey",
    ] {
        assert_eq!(run_as(NOBODY, line), (Some(1), String::new(), why.to_string()), "{line}");
    }
    assert_eq!(run_as(NOBODY, "sacctmgr show problem").0, Some(1));
    let (_, _, error) = run_as(NOBODY, "sacctmgr -i modify user nobody set adminlevel=admin");
    let only = "sacctmgr: error: You can only change your own default account, default wckey";
    assert!(error.starts_with(only), "{error}");
    let (status, out, error) = run_as(NOBODY, "sacctmgr -i modify user nobody set maxjobs=9");
    assert_eq!((status, out.as_str()), (Some(1), " Nothing modified"), "{error}");
    assert!(error.contains("Request didn't affect anything or your user doesn't"), "{error}");
    let default = done("sacctmgr -n -P show user nobody format=defaultaccount");
    let same = format!("sacctmgr -i modify user nobody set defaultaccount={default}");
    assert_eq!(run_as(NOBODY, &same).0, Some(0), "it is so already");
    let unknown = run_as(NOBODY, "sacctmgr -i modify user nobody set defaultwckey=nosuch");
    assert!(unknown.1.contains("aren't associated with new default wckey 'nosuch'"), "{unknown:?}");
    let added = run_as(DAEMON, "sacctmgr -i add qos mine").2;
    assert_eq!(added, " Problem adding QOS: Access/permission denied");
    assert_eq!(done("sacctmgr -n -P show assoc format=account,user,maxsubmit,qos"), before);
    assert_eq!(
        done("sacctmgr -n -P show user format=user,admin"),
        "daemon|None\nnobody|None\nroot|Administrator"
    );
    assert_eq!(cluster.squeue(&foreign, "%T %r"), "PENDING JobHeldUser");
    assert_eq!(cluster.squeue(&theirs, "%a"), "physics");
    let own = submit("physics");
    let moved = run_as(NOBODY, &format!("scontrol update jobid={own} account=biology"));
    assert_eq!(moved.0, Some(0), "its owner may: {}", moved.2);
    assert_eq!(run_as(DAEMON, &format!("scancel {theirs}")).0, Some(0));
    // What was text stays text, in every field there is.
    let nasty = "x'; DROP TABLE jobs; -- \\\" ${IFS} %s";
    let words = ["--parsable", "--hold", "-J", nasty, "--comment", nasty, "--wckey", nasty];
    let more = ["-o", "/dev/null", "--mail-user", nasty, "--wrap", nasty];
    let mut command = cluster.command("sbatch");
    let said = command.args(words).args(more).uid(NOBODY).gid(NOBODY).output().expect("runs");
    let job = String::from_utf8_lossy(&said.stdout).trim().to_string();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    done(&format!("scancel {job}"));
    until("it is in the history", || {
        let told = cluster.run_words("sacct", &["-X", "-n", "-P", "-o", "JobName%80", "-j", &job]);
        (told.stdout.trim_end() == nasty).then_some(())
    });
    for field in ["-u", "-A", "--name", "-r", "-N", "-q", "-W"] {
        let told = cluster.run_words("sacct", &["-X", "-n", "-P", "-o", "JobID", field, nasty]);
        assert!(told.stdout.lines().count() <= 1, "{field}: {}", told.stdout);
    }
    assert!(done("sacctmgr -n -P show assoc format=account").contains("biology"));
}

#[test]
fn root_opens_no_file_that_a_user_could_swap() {
    if !is_root() {
        return;
    }
    let victim = Victim::new(&[]);
    let dir = victim.cluster.work_dir().join("theirs");
    fs::create_dir(&dir).expect("a directory");
    std::os::unix::fs::chown(&dir, Some(NOBODY), Some(NOBODY)).expect("is theirs");
    let swapped = dir.join("out");
    symlink(&victim.secret, &swapped).expect("a link");
    let (out, err) = (format!("--output={}", swapped.display()), dir.join("err"));
    let error = format!("--error={}", err.display());
    let chdir = format!("--chdir={}", dir.display());
    for words in [
        vec!["sbatch", "-W", &chdir, &out, "--wrap", "echo swapped"],
        vec!["sbatch", "-W", &chdir, &error, "--output=out", "--open-mode=append", "--wrap", "id"],
        vec!["sbatch", "-W", &chdir, "-o/dev/null", "--input=out", "--wrap", "cat >err"],
        vec!["srun", &chdir, &out, "echo", "swapped"],
        vec!["srun", &chdir, "--input=out", "cat"],
    ] {
        let (_, out, _) = victim.run_as(NOBODY, &words);
        assert!(!out.contains("untouched"), "{words:?}: {out}");
    }
    let at = victim.cluster.dir();
    assert!(!fs::read_to_string(&err).unwrap_or_default().contains("untouched"));
    // A directory that leads elsewhere leads there as the user.
    let away = dir.join("away");
    symlink("/root", &away).expect("a link");
    let words = ["sbatch", "-W", "--chdir", &away.display().to_string(), "-omine", "--wrap", "id"];
    victim.run_as(NOBODY, &words);
    assert!(!Path::new("/root/mine").exists());
    assert_eq!(fs::read_to_string(&victim.secret).expect("is there"), "untouched\n");
    // What daemons keep is for their owner alone, and none of it can be swapped.
    for kept in find(&at, &|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.ends_with(".key") || name.starts_with("launch"))
    }) {
        let found = fs::metadata(&kept).expect("is there");
        assert_eq!(found.mode() & 0o077, 0, "{}", kept.display());
    }
    for dir in find(&at, &|path| path.is_dir()) {
        let found = fs::symlink_metadata(&dir).expect("is there");
        assert_eq!(found.mode() & 0o022, 0, "{} can be written by others", dir.display());
    }
}

#[test]
fn secrets_are_in_no_argument_environment_log_or_answer() {
    if !is_root() {
        return;
    }
    let victim = Victim::new(&[]);
    let dir = victim.cluster.dir();
    let mut secrets: Vec<String> = Vec::new();
    for key in find(&dir, &|path| path.extension().is_some_and(|it| it == "key")) {
        let text = fs::read_to_string(&key).expect("is read");
        secrets.extend(text.lines().filter(|line| !line.starts_with('-')).map(str::to_string));
    }
    let token = victim.cluster.run("scontrol token lifespan=60").stdout;
    let token = token.trim().strip_prefix("SLURM_JWT=").expect("is printed").to_string();
    secrets.push(token.clone());
    assert!(secrets.len() > 1, "there are keys");
    let is_free = |place: &str, text: &str| {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "a secret is in {place}");
        }
    };
    for (pid, _) in victim.cluster.processes().list() {
        for file in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            is_free(file, &String::from_utf8_lossy(&text));
        }
    }
    for log in find(&dir, &|path| path.extension().is_some_and(|it| it == "log")) {
        is_free(&log.display().to_string(), &fs::read_to_string(&log).unwrap_or_default());
    }
    is_free("scontrol show config", &victim.cluster.run("scontrol show config").stdout);
    is_free("spur config", &victim.cluster.run("spur config show").stdout);
    // A user's token stays with the user: jobs run where root may be another.
    let mut sbatch = victim.cluster.command("sbatch");
    let out = victim.cluster.work_dir().join("env");
    let said = sbatch
        .env("SLURM_JWT", &token)
        .args(["-W", "--wrap", "env", "-o"])
        .arg(&out)
        .output()
        .expect("runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    is_free("a job's environment", &fs::read_to_string(&out).expect("is written"));
    let said = victim.cluster.command("srun").env("SLURM_JWT", &token).arg("env").output();
    is_free("a step's environment", &String::from_utf8_lossy(&said.expect("runs").stdout));
}

#[test]
fn what_is_no_message_harms_nobody() {
    if !is_root() {
        return;
    }
    let victim = Victim::new(&[]);
    let before = victim.state();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let frame = |kind: u8, flags: u8, stream: u32, body: &[u8]| -> Vec<u8> {
        let length = body.len() as u32;
        let mut bytes = length.to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(body);
        bytes
    };
    let opened = [&preface[..], &settings].concat();
    let noise: Vec<u8> =
        (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let attempts: Vec<Vec<u8>> = vec![
        noise.clone(),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        [&opened[..], &noise].concat(),
        // Heads that do not end, that are no heads, that are far too long.
        [&opened[..], &frame(1, 0, 1, &[0x82])].concat(),
        [&opened[..], &frame(1, 4, 1, &noise)].concat(),
        std::iter::once(opened.clone())
            .chain((0..200).map(|at| frame(if at == 0 { 1 } else { 9 }, 0, 1, &[0x40; 16_000])))
            .flatten()
            .collect(),
        // Streams that are reset as soon as they are opened.
        std::iter::once(opened.clone())
            .chain((0..5_000).flat_map(|at| {
                let stream = at * 2 + 1;
                [frame(1, 4, stream, &[0x82, 0x86, 0x84]), frame(3, 0, stream, &[0, 0, 0, 8])]
            }))
            .flatten()
            .collect(),
        // Frames of more than is allowed, windows that overflow, pings without end.
        [&opened[..], &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]].concat(),
        [&opened[..], &frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff])].concat(),
        [&opened[..], &frame(6, 0, 0, &[1; 8]).repeat(20_000)].concat(),
    ];
    for attempt in &attempts {
        let mut stream = UnixStream::connect(victim.socket()).expect("connects");
        let wait = Some(Duration::from_millis(200));
        stream.set_write_timeout(wait).expect("a socket");
        stream.set_read_timeout(wait).expect("a socket");
        let _ = stream.write_all(attempt);
        let _ = stream.read(&mut [0; 1024]);
    }
    // Agents hear no more sense, and go on too.
    for agent in find(&victim.cluster.dir(), &|path| path.ends_with("spurd.sock")) {
        for attempt in &attempts {
            let mut stream = UnixStream::connect(&agent).expect("connects");
            let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
            let _ = stream.write_all(attempt);
        }
    }
    assert_eq!(victim.state(), before);
    let ran = victim.cluster.run("srun -N2 true");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn a_crowd_of_one_user_keeps_nobody_else_out() {
    if !is_root() {
        return;
    }
    let victim = Victim::new(&[]);
    // As many as one user may have, and more; all of them silent. The kernel counts them for that user.
    let crowd = Command::new("python3")
        .args(["-c", CROWD])
        .arg(victim.socket())
        .uid(NOBODY)
        .gid(NOBODY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut crowd) = crowd else {
        eprintln!("SKIPPED: needs python3");
        return;
    };
    let mut line = [0; 16];
    let read = crowd.stdout.as_mut().expect("is piped").read(&mut line).expect("says something");
    let open: usize = String::from_utf8_lossy(&line[..read]).trim().parse().expect("a number");
    assert!(open >= 1_000, "{open} connections");
    assert_eq!(victim.cluster.run("squeue").status, 0, "root is let in");
    assert_eq!(victim.run_as(DAEMON, &["squeue"]).0, 0, "others are let in");
    assert_eq!(victim.cluster.run("srun true").status, 0, "agents are heard");
    drop(crowd.stdin.take());
    let _ = crowd.wait();
    until("its places are free again", || {
        (victim.run_as(NOBODY, &["squeue"]).0 == 0).then_some(())
    });
}

/// Opens as many connections as it can, says how many, and keeps them until its input ends.
const CROWD: &str = "
import resource, socket, sys
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
kept = []
for _ in range(min(4000, hard - 50)):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(2)
    try:
        s.connect(sys.argv[1])
    except OSError:
        break
    kept.append(s)
print(len(kept), flush=True)
sys.stdin.read()
";
