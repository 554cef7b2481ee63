//! `salloc`: gets an allocation, runs a command in it, gives it back.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Child, Command};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User};
use spur_core::hostlist;
use spur_core::job::{JobState, JobStatus};
use spur_core::jobenv::{self, JobFacts};
use spur_core::options::{
    OptionError, Request, Surroundings, Tool, environment, fill_defaults, resolve_components,
};
use spur_proto::slurm::JobAllocation;
use tokio::signal::unix::{SignalKind, signal};

use super::allocation::{self, Attended, Voice};
use super::submission;
use crate::output::{complain, draw, reason};
use crate::{cluster, zone};

const TOOL: Tool = Tool::Salloc;

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match read(args) {
        Ok(Some((requests, command))) => cluster::block_on(execute(requests, command)),
        Ok(None) => 0,
        Err(error) => submission::refused(TOOL, &error),
    }
}

/// What was asked for, by component, and the command.
type Asked = (Vec<Request>, Vec<String>);

fn read(args: &[String]) -> Result<Option<Asked>, OptionError> {
    let Some(line) = submission::read(TOOL, args)? else { return Ok(None) };
    let environment = environment::read(TOOL, |name| std::env::var(name).ok());
    let rest = line.last().map(|part| part.rest.clone()).unwrap_or_default();
    let settings: Vec<_> = line.into_iter().map(|part| part.settings).collect();
    let mut requests = resolve_components(TOOL, &[], &environment, &settings)?;
    let cwd = submission::work_dir();
    for request in &mut requests {
        let around = Surroundings {
            now: zone::now(),
            zone: &zone::Local,
            work_dir: &cwd,
            core_spec_allowed: submission::may_leave_cores(request),
            ..Surroundings::default()
        };
        submission::tell_notes(TOOL, request);
        go_there(request, &cwd)?;
        submission::read_files(request)?;
        let filled = fill_defaults(request, around);
        submission::tell_notes(TOOL, request);
        filled?;
        if request.tool.no_shell && !request.said("job-name") {
            request.job.name = "no-shell".to_string();
        }
        request.job.submit_line = submission::submit_line(TOOL, args);
        submission::look_up(TOOL, request)?;
    }
    Ok(Some((requests, rest)))
}

/// With `--chdir` the command runs there, and where it cannot, nothing is asked for. The job's own directory is the one
/// that `salloc` was called in.
fn go_there(request: &mut Request, called_in: &str) -> Result<(), OptionError> {
    if !request.said("chdir") {
        return Ok(());
    }
    let dir = std::path::Path::new(called_in).join(&request.job.work_dir);
    request.job.work_dir = called_in.to_string();
    std::env::set_current_dir(&dir).map_err(|error| {
        OptionError::error(format!("chdir({}): {}", dir.display(), reason(&error)), 1)
    })
}

async fn execute(requests: Vec<Request>, command: Vec<String>) -> u8 {
    let Some(request) = requests.first() else { return 1 };
    let voice = Voice::of(TOOL, request);
    let unattended = request.tool.no_shell;
    let specs = requests.iter().map(|request| request.job.clone()).collect();
    let (mut attended, granted) = match allocation::allocate(&voice, specs, unattended).await {
        Ok(granted) => granted,
        Err(exit) => return exit,
    };
    let job = attended.job;
    if request.tool.bell == Some(true) && std::io::stdout().is_terminal() {
        draw("\x07");
    }
    voice.say(format!("Granted job allocation {job}"));
    if unattended {
        return 0;
    }
    let status = run_command(&voice, request, &command, &granted, &mut attended).await;
    if attended.job != 0 {
        voice.say(format!("Relinquishing job allocation {job}"));
        allocation::end(job, status).await;
    }
    // A command that somebody ended on purpose is no failure of ours; any other signal is.
    match Signal::try_from((status & 0x7f) as i32) {
        Err(_) => (status >> 8) as u8,
        Ok(Signal::SIGHUP | Signal::SIGINT | Signal::SIGQUIT | Signal::SIGKILL) => 0,
        Ok(_) => 1,
    }
}

/// Runs the command to its end; its wait status.
async fn run_command(
    voice: &Voice,
    request: &Request,
    command: &[String],
    granted: &JobAllocation,
    attended: &mut Attended,
) -> u32 {
    let shell = [default_shell()];
    let words = if command.is_empty() { &shell[..] } else { command };
    let variables = jobenv::allocation(&facts(granted));
    // Listened to first: a signal that comes early is not lost on us. The command starts with defaults.
    let Ok(mut signals) = Relayed::listen() else { return 256 };
    let mut ready = Command::new(&words[0]);
    ready.args(&words[1..]).envs(variables);
    let child = match start(&mut ready, words) {
        Ok(child) => child,
        Err(complaint) => {
            complain(voice.name(), format!("_fork_command: {complaint}"));
            return 256;
        }
    };
    let pid = Pid::from_raw(child.id() as i32);
    let mut ended = tokio::task::spawn_blocking(move || {
        let mut child = child;
        child.wait()
    });
    loop {
        tokio::select! {
            ended = &mut ended => {
                use std::os::unix::process::ExitStatusExt;
                return match ended {
                    Ok(Ok(status)) => status.into_raw() as u32,
                    _ => 256,
                };
            }
            signal = signals.next() => {
                let _ = kill(pid, signal);
                // Nobody is there any more to wait for the command.
                if signal == Signal::SIGHUP {
                    return 256;
                }
            }
            news = attended.news.recv(), if attended.job != 0 => {
                let state = news.as_ref().and_then(|news| news.view.as_ref()).map(|it| it.state);
                let lives = |state: u32| {
                    matches!(JobStatus(state).base(), JobState::Running | JobState::Pending)
                };
                if state.is_some_and(lives) {
                    continue;
                }
                voice.say(format!("Job allocation {} has been revoked.", attended.job));
                attended.job = 0;
                let interactive = command.is_empty() && std::io::stdin().is_terminal();
                let how = request.tool.kill_command.and_then(|it| Signal::try_from(i32::from(it)).ok());
                if let Some(how) = how.or(interactive.then_some(Signal::SIGHUP)) {
                    let _ = kill(pid, how);
                }
            }
        }
    }
}

/// Starts the command; what names no interpreter is for the shell, as with `execvp`.
fn start(ready: &mut Command, words: &[String]) -> Result<Child, String> {
    let name = &words[0];
    let error = match ready.spawn() {
        Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg(name).args(&words[1..]);
            shell.envs(ready.get_envs().filter_map(|(name, value)| Some((name, value?))));
            ready.get_current_dir().map(|dir| shell.current_dir(dir));
            shell.spawn()
        }
        started => started,
    };
    error.map_err(|error| match found_on_path(name) {
        Some(found) if error.kind() != std::io::ErrorKind::NotFound => {
            format!("Unable to exec command \"{}\": {}", found.display(), reason(&error))
        }
        _ => format!("Unable to find command \"{name}\""),
    })
}

/// Where a command without a directory is, whether or not it may be run.
fn found_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").filter(|_| !name.contains('/'))?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// What is told of the job in variables.
pub(super) fn facts(granted: &JobAllocation) -> JobFacts {
    let view = granted.view.clone().unwrap_or_default();
    let spec = granted.spec.clone().unwrap_or_default();
    let cpus: Vec<u32> = granted.nodes.iter().map(|node| node.cpus).collect();
    let dir = std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default();
    let of_spec = JobFacts::of_spec(&spec, &cpus);
    // With a number for each node, salloc tells their sum, whatever was said of all.
    let tasks = match spec.ntasks_per_node {
        Some(_) => Some(of_spec.tasks_per_node.iter().sum()),
        None => of_spec.tasks,
    };
    JobFacts {
        tasks,
        job_id: view.job_id,
        account: view.account.clone(),
        partition: view.partition.clone(),
        qos: view.qos.clone(),
        user_name: view.user_name.clone(),
        uid: view.uid,
        gid: view.gid,
        cluster: granted.cluster_name.clone(),
        nodes: hostlist::compress(granted.nodes.iter().map(|node| &node.name)),
        submit_dir: dir,
        submit_host: allocation::host_name(),
        components: granted.components.iter().map(facts).collect(),
        ..of_spec
    }
}

/// `SHELL`, or what the user database says.
fn default_shell() -> String {
    let said = std::env::var("SHELL").ok().filter(|shell| !shell.is_empty());
    let known = || User::from_uid(nix::unistd::geteuid()).ok().flatten();
    said.or_else(|| known().map(|user| user.shell.display().to_string()))
        .filter(|shell| !shell.is_empty())
        .unwrap_or_else(|| "/bin/sh".to_string())
}

/// Signals that are passed on to the command.
struct Relayed(Vec<(Signal, tokio::signal::unix::Signal)>);

impl Relayed {
    fn listen() -> std::io::Result<Relayed> {
        let kinds = [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGQUIT,
            Signal::SIGUSR1,
            Signal::SIGUSR2,
        ];
        let listen = |kind: Signal| Ok((kind, signal(SignalKind::from_raw(kind as i32))?));
        kinds.into_iter().map(listen).collect::<std::io::Result<Vec<_>>>().map(Relayed)
    }

    /// What a terminal sends reaches the command by itself.
    async fn next(&mut self) -> Signal {
        let at_terminal = std::io::stdin().is_terminal();
        loop {
            let heard = std::future::poll_fn(|context| {
                for (kind, signal) in &mut self.0 {
                    if signal.poll_recv(context).is_ready() {
                        return std::task::Poll::Ready(*kind);
                    }
                }
                std::task::Poll::Pending
            })
            .await;
            if !at_terminal || !matches!(heard, Signal::SIGINT | Signal::SIGQUIT) {
                return heard;
            }
        }
    }
}
