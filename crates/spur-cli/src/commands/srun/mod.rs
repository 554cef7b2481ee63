//! `srun`: runs tasks, in an allocation that is there or in one of its own.

pub(super) mod ended;
mod exchange;
mod het;
mod multi_prog;
pub(super) mod nodes;
pub(super) mod output;
mod program;
mod run;
mod terminal;

use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use spur_core::errors::SlurmError;
use spur_core::jobenv;
use spur_core::options::{OptionError, Request, Source, Surroundings, Tool, fill_defaults};
use spur_core::step::refusal;
use spur_core::views::StepView;
use spur_proto::caller::Caller;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::create_step_reply::Reply as Told;
use spur_proto::slurm::{CreateStepRequest, JobAllocation, ListStepsRequest, StepAccess};
use tonic::Streaming;

use self::run::Part;
use super::allocation::{self, Voice};
use super::{salloc, submission};
use crate::output::{complain, note, reason};
use crate::{cluster, zone};

const TOOL: Tool = Tool::Srun;

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match het::read(args) {
        Ok(Some(asked)) => cluster::block_on(execute(asked)),
        Ok(None) => 0,
        Err(error) => submission::refused(TOOL, &error),
    }
}

/// What one component is asked to run.
struct Asked {
    request: Request,
    command: Vec<String>,
    /// In which component of the job, where it has several.
    group: Option<u32>,
}

/// Everything that was asked for, and the words of the command; nothing when only a question was asked.
fn fill(request: &mut Request, args: &[String], rest: &[String]) -> Result<bool, OptionError> {
    let cwd = submission::work_dir();
    request.job.submit_line = submission::submit_line(TOOL, args);
    request.job.umask = Some(submission::own_umask());
    request.step.srun_host = allocation::host_name();
    request.step.srun_pid = std::process::id();
    let arguments: Vec<String> = rest.iter().skip(1).cloned().collect();
    let first = rest.first().map_or("", String::as_str);
    // What is copied is looked for here.
    let found = request.step.bcast.as_ref().and_then(|_| find_program(first));
    let around = Surroundings {
        now: zone::now(),
        zone: &zone::Local,
        work_dir: &cwd,
        command: found.as_deref().unwrap_or(first),
        arguments: &arguments,
        inside_job: request.tool.job_id.is_some(),
        core_spec_allowed: submission::may_leave_cores(request),
    };
    // Who says so takes nothing of what the job has.
    if request.said("gres") && request.job.gres.is_empty() {
        request.step.gres = "none".to_string();
    }
    submission::tell_notes(TOOL, request);
    if request.step.mpi == "list" {
        let kinds: String = MPI.iter().map(|kind| format!("\t{kind}\n")).collect();
        crate::output::print(&format!("MPI plugin types are...\n{kinds}"));
        return Ok(false);
    }
    submission::read_files(request)?;
    let filled = fill_defaults(request, around);
    submission::tell_notes(TOOL, request);
    filled?;
    if request.said("mpi") && !is_mpi(&request.step.mpi) {
        let kind = &request.step.mpi;
        return Err(OptionError::error(
            format!(
                "Couldn't find the specified plugin name for mpi/{kind} looking at all files\n\
                 cannot find mpi plugin for mpi/{kind}\nMPI: Cannot create context for mpi/{kind}\n\
                 MPI: Unable to load any plugin\n\
                 Invalid MPI type '{kind}', --mpi=list for acceptable types"
            ),
            1,
        ));
    }
    let is_exclusive = request.said("exclusive");
    let on_the_line = |option: &str| request.set_by.get(option) == Some(&Source::CommandLine);
    if is_exclusive && on_the_line("overlap") {
        let both = "--exclusive and --overlap are mutually exclusive";
        return Err(OptionError::error(both.to_string(), 1));
    }
    if (is_exclusive || request.said("exact")) && request.step.whole {
        let both = "--exact and --whole are mutually exclusive.";
        return Err(OptionError::error(both.to_string(), 1));
    }
    if rest.is_empty() {
        return Err(OptionError::fatal("No command given to execute."));
    }
    submission::look_up(TOOL, request)?;
    Ok(true)
}

async fn execute(mut asked: Vec<Asked>) -> u8 {
    let Some(Asked { request, .. }) = asked.first() else { return 1 };
    let voice = Voice::of(TOOL, request);
    // Whoever runs us in the background keeps the terminal: reading it then is an error, not a stop.
    ignore_background_reads();
    if request.tool.test_only {
        let requests: Vec<Request> = asked.into_iter().map(|it| it.request).collect();
        return submission::test_only(TOOL, &requests).await;
    }
    if request.tool.no_allocate {
        voice.say("do not allocate resources");
        // Nodes run only what the controller gives them: who may say so gets a job all the same.
        if !nix::unistd::geteuid().is_root() {
            let nodes = &request.job.placement().nodelist;
            let why = SlurmError::AccessDenied;
            complain(voice.name(), format!("Task launch failed on node {nodes}: {why}"));
            complain(voice.name(), format!("Application launch failed: {why}"));
            voice.say("Job step aborted");
            return 210;
        }
    }
    if let Some(job) = request.tool.job_id {
        let mut attended = allocation::attend(TOOL, job);
        let step = launch(&voice, &asked, job, true, &[], &mut attended).await;
        return step.map_or_else(|exit| exit, ended::exit_code);
    }
    let specs = asked.iter().map(|it| it.request.job.clone()).collect();
    let (mut attended, granted) = match allocation::allocate(&voice, specs, false).await {
        Ok(granted) => granted,
        Err(exit) => return exit,
    };
    let several = !granted.components.is_empty();
    for (group, it) in (0..).zip(&mut asked) {
        it.group = several.then_some(group);
    }
    let job = attended.job;
    let own = of_components(&granted);
    let step = launch(&voice, &asked, job, false, &own, &mut attended).await;
    let status = step.map_or(256, |status| status);
    allocation::end(job, status).await;
    step.map_or_else(|exit| exit, ended::exit_code)
}

/// What tasks read of the components of a job that was made for them, each variable ended by a NUL byte. Inside of
/// an allocation these variables are there already.
fn of_components(granted: &JobAllocation) -> Vec<u8> {
    const TOLD: [&str; 6] = ["ACCOUNT", "CPUS_PER_NODE", "ID", "NODELIST", "PARTITION", "QOS"];
    if granted.components.is_empty() {
        return Vec::new();
    }
    let is_told = |name: &str| match name.split_once("_PACK_GROUP_") {
        Some((name, _)) => TOLD.iter().any(|told| name.strip_prefix("SLURM_JOB_") == Some(told)),
        None => matches!(name, "SLURM_HET_SIZE" | "SLURM_PACK_SIZE"),
    };
    let all = jobenv::allocation(&salloc::facts(granted)).into_iter();
    let told = all.filter(|(name, _)| is_told(name));
    told.flat_map(|(name, value)| format!("{name}={value}\0").into_bytes()).collect()
}

/// Makes the step and runs it; the highest wait status of its tasks, or an exit status.
async fn launch(
    voice: &Voice,
    asked: &[Asked],
    job: u32,
    inside: bool,
    more: &[u8],
    attended: &mut allocation::Attended,
) -> Result<u32, u8> {
    let Some(Asked { request, .. }) = asked.first() else { return Err(1) };
    let mut parts: Vec<Part> = Vec::new();
    let mut first = None;
    for it in asked {
        let beside = parts.first().map(|part| part.access.step_id);
        let mine = job + it.group.unwrap_or(0);
        let access = match create(voice, &it.request, mine, inside, beside).await {
            Ok(access) => access,
            Err(exit) => {
                end_all(&parts).await;
                return Err(exit);
            }
        };
        if it.request.step.pty && !std::io::stdin().is_terminal() {
            complain(voice.name(), "ioctl(TIOCGWINSZ): Inappropriate ioctl for device");
            complain(voice.name(), "Not using a pseudo-terminal, disregarding --pty option");
        }
        let copied = copy_program(&it.request, &access, &it.command);
        let prepared =
            copied.and_then(|command| program::prepare(&it.request, &access, &command, inside));
        let program = prepared.map(|(program, prepared)| {
            first.get_or_insert(prepared);
            program
        });
        let failure = program.as_ref().err().cloned();
        let mut program = program.unwrap_or_default();
        program.environment.extend_from_slice(more);
        parts.push(Part { access, program });
        if let Some(message) = failure {
            message.lines().for_each(|line| complain(voice.name(), line));
            end_all(&parts).await;
            return Err(1);
        }
    }
    let Some(mut prepared) = first else { return Err(1) };
    if asked.iter().any(|it| it.group.is_some()) {
        het::join(job, request, &mut parts, &mut prepared);
    }
    let site = parts.first().map(|part| part.access.clone()).unwrap_or_default();
    let command = asked.first().map(|it| it.command.as_slice()).unwrap_or_default();
    let name = request.job.name.as_str();
    if let Some(code) = run_beside([&request.tool.prolog, &site.prolog], command, name) {
        complain(voice.name(), format!("srun prolog failed rc = {code}. Aborting step."));
        end_all(&parts).await;
        return Ok(0);
    }
    let status = run::run(voice, request, &parts, prepared, Some(attended)).await;
    if inside {
        until_over(&parts).await;
    }
    if let Some(code) = run_beside([&request.tool.epilog, &site.epilog], command, name) {
        complain(voice.name(), format!("srun epilog failed status={code}"));
    }
    Ok(status)
}

/// `--bcast`: the program is copied to every node first, and run from there.
fn copy_program(
    request: &Request,
    access: &StepAccess,
    command: &[String],
) -> Result<Vec<String>, String> {
    let mut command = command.to_vec();
    let (Some(place), Some(name)) = (&request.step.bcast, command.first_mut()) else {
        return Ok(command);
    };
    let found = find_program(name).ok_or_else(|| format!("Unable to find {name}"))?;
    let base = found.rsplit('/').next().unwrap_or_default();
    let dir = &request.job.work_dir;
    let target = match place.as_str() {
        "" => format!("{dir}/slurm_bcast_{}.{}", access.job_id, access.step_id),
        dir if dir.ends_with('/') => format!("{dir}{base}"),
        file if file.starts_with('/') => file.to_string(),
        file => format!("{dir}/{file}"),
    };
    let done = cluster::same_program()
        .map_err(|error| reason(&error))?
        .args(["sbcast", "--force", &format!("--jobid={}", access.job_id), &found, &target])
        .status();
    match done {
        Ok(status) if status.success() => {
            *name = target;
            Ok(command)
        }
        _ => Err(format!("Failed to copy {found} to {target} on the nodes")),
    }
}

/// A program by its path, or on the path.
fn find_program(name: &str) -> Option<String> {
    if name.contains('/') {
        return Some(name.to_string());
    }
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|it| it.is_file())?;
    Some(found.display().to_string())
}

/// What a step had is there for the next one of the script once the controller knows that it is over, a moment
/// after its tasks are. A controller that is away is not waited for.
async fn until_over(parts: &[Part]) {
    const PATIENCE: Duration = Duration::from_secs(2);
    let job_ids = parts.iter().map(|part| part.access.job_id).collect();
    let is_ours = |step: &StepView| {
        let mut ours = parts.iter().map(|part| &part.access);
        ours.any(|it| it.job_id == step.job_id && it.step_id.to_string() == step.step_id)
    };
    let request = ListStepsRequest { job_ids, ..ListStepsRequest::default() };
    let ask = |mut client: ControllerClient<_>| {
        let request = request.clone();
        async move { client.list_steps(request).await }
    };
    let mut pause = Duration::from_millis(1);
    let all_are_over = async {
        while let Ok(reply) = allocation::caller().call(ask).await {
            if !reply.steps.iter().any(is_ours) {
                return;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    };
    let _ = tokio::time::timeout(PATIENCE, all_are_over).await;
}

async fn end_all(parts: &[Part]) {
    for part in parts {
        end_step(&part.access).await;
    }
}

/// Asks for the step until it is there; says once that it has to wait.
async fn create(
    voice: &Voice,
    request: &Request,
    job: u32,
    inside: bool,
    beside: Option<u32>,
) -> Result<StepAccess, u8> {
    let mut message = CreateStepRequest {
        request_id: cluster::request_id(),
        job_id: job,
        spec: Some(request.step.clone()),
        immediate: request.said("immediate"),
        beside,
    };
    if inside && beside.is_none() {
        let nodes = std::env::var("SLURM_JOB_NODELIST").unwrap_or_default();
        let reasons = refusal::of_nodes(&request.step, &nodes);
        reasons.iter().for_each(|reason| complain(voice.name(), reason));
        if !reasons.is_empty() {
            return Err(1);
        }
    }
    let refuse = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        // Whoever is told in which job to run looks at it first.
        let is = |known: SlurmError| inside && text == known.text();
        let lost = is(SlurmError::InvalidJobId) || is(SlurmError::JobPending);
        if lost || is(SlurmError::AlreadyDone) {
            complain(
                voice.name(),
                match lost {
                    true => format!("Unable to confirm allocation for job {job}: {text}"),
                    false => format!("Slurm job {job} has expired"),
                },
            );
            voice.say(format!(
                "Check SLURM_JOB_ID environment variable. Expired or invalid job {job}"
            ));
            return 1;
        }
        if text == SlurmError::InvalidGres.text() {
            complain(voice.name(), "Step requested GRES but job doesn't have GRES");
        }
        complain(voice.name(), format!("Unable to create step for job {job}: {text}"));
        submission::error_status()
    };
    let mut waited = false;
    loop {
        let ask = |mut client: ControllerClient<_>| {
            let message = message.clone();
            async move { client.create_step(message).await }
        };
        let mut replies: Streaming<_> =
            match Caller::new(cluster::addresses(), STEP_PATIENCE).call(ask).await {
                Ok(replies) => replies,
                Err(error) => return Err(refuse(&error)),
            };
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        loop {
            let told = tokio::select! {
                told = replies.message() => told,
                _ = &mut interrupted => {
                    voice.say(format!("Cancelled pending step for job {job}"));
                    return Err(1);
                }
            };
            match told {
                Ok(Some(reply)) => match reply.reply {
                    Some(Told::Created(access)) => {
                        if waited {
                            voice.say(format!("Step created for job {job}"));
                        }
                        return Ok(access);
                    }
                    Some(Told::Waiting(number)) if !waited => {
                        waited = true;
                        let why = SlurmError::from_number(number)
                            .map_or("Unspecified error", |error| error.text());
                        voice.say(format!(
                            "Job {job} step creation temporarily disabled, retrying ({why})"
                        ));
                    }
                    _ => {}
                },
                Err(status) => match spur_proto::status::from_status(&status) {
                    Some(SlurmError::InStandbyMode) => break,
                    // Another step has come between: this one gets a number of its own.
                    Some(SlurmError::InvalidJobId) if message.beside.is_some() => {
                        message.beside = None;
                        break;
                    }
                    Some(error) => return Err(refuse(&error.text())),
                    None if is_transport(&status) => break,
                    None => return Err(refuse(&status.message())),
                },
                Ok(None) => break,
            }
        }
        // The controller went away meanwhile; the same request again is the same step.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

/// How long a step waits for a controller that is away or busy: its job is there already, and what has been asked for
/// may be made yet.
const STEP_PATIENCE: Duration = Duration::from_secs(60);

fn is_transport(status: &tonic::Status) -> bool {
    use tonic::Code::{Cancelled, Internal, Unavailable, Unknown};
    matches!(status.code(), Unavailable | Unknown | Cancelled | Internal)
}

async fn end_step(access: &StepAccess) {
    let message = spur_proto::slurm::SignalStepRequest {
        job_id: access.job_id,
        step_id: access.step_id,
        signal: 0,
        request_id: cluster::request_id(),
    };
    let ask = |mut client: ControllerClient<_>| {
        let message = message.clone();
        async move { client.signal_step(message).await }
    };
    let _ = allocation::caller().call(ask).await;
}

/// `--prolog` and `--epilog`, or the site's, are run by srun itself, where it was called.
/// They are told the command. What they failed with, if they did; one that cannot be run has not.
fn run_beside(programs: [&String; 2], command: &[String], name: &str) -> Option<i32> {
    let program = programs.into_iter().find(|program| !program.is_empty());
    let program = program.filter(|program| *program != "none")?;
    let mut run = std::process::Command::new(program);
    match run.args(command).env("SLURM_JOB_NAME", name).status() {
        Ok(status) => status.code().or(status.signal()).filter(|code| *code != 0),
        Err(error) => {
            note(format!("srun: Access denied for {program}: {}", reason(&error)));
            None
        }
    }
}

/// The ways to start MPI programs: one that is not here is refused, as by a Slurm that lacks the plugin.
const MPI: &[&str] = &["none", "pmi2"];

/// Whether programs of this kind can be started.
fn is_mpi(kind: &str) -> bool {
    // Open MPI's own start needs nothing of ours, so Slurm has taken the word for `none` for long.
    MPI.contains(&kind) || kind == "openmpi"
}

#[allow(unsafe_code)]
fn ignore_background_reads() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe {
        libc::signal(libc::SIGTTIN, libc::SIG_IGN);
        libc::signal(libc::SIGTTOU, libc::SIG_IGN);
    }
}
