//! `sbatch`: hands in a script.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use spur_core::job::export::{self, Export};
use spur_core::options::{
    OptionError, Request, Setting, Surroundings, Tool, directive, environment, fill_defaults,
    resolve_components,
};
use spur_core::script::header;
use spur_proto::caller::{CallError, Caller};
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{SubmitJobRequest, WaitJobRequest};

use super::{allocation, submission};
use crate::output::{advise, complain, print, reason};
use crate::{cluster, zone};

const TOOL: Tool = Tool::Sbatch;

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match submit(args) {
        Ok(status) => status,
        Err(error) => submission::refused(TOOL, &error),
    }
}

fn submit(args: &[String]) -> Result<u8, OptionError> {
    let Some((mut requests, script)) = read(args)? else { return Ok(0) };
    let Some(request) = requests.first_mut() else { return Ok(0) };
    if request.tool.test_only {
        return Ok(cluster::block_on(submission::test_only(TOOL, &requests)));
    }
    let environment = job_environment(request)?;
    // Steps of the job take along what the file has given it.
    if !request.tool.export_file.is_empty() {
        request.job.export.clear();
    }
    Ok(cluster::block_on(send(requests, script, environment)))
}

/// What a line of `sbatch` asks for; nothing when only a question was asked. `Err` is the exit status.
pub fn request(args: &[String]) -> Result<Option<Request>, u8> {
    let asked = read(args).map_err(|error| submission::refused(TOOL, &error))?;
    Ok(asked.and_then(|(requests, _)| requests.into_iter().next()))
}

/// Everything that was asked for, by component, and the script.
type Asked = (Vec<Request>, Vec<u8>);

fn read(args: &[String]) -> Result<Option<Asked>, OptionError> {
    let Some(line) = submission::read(TOOL, args)? else { return Ok(None) };
    let rest = line.last().map(|part| part.rest.clone()).unwrap_or_default();
    let said = || line.iter().flat_map(|part| &part.settings);
    let wrap = said().rfind(|setting| setting.option.long == "wrap");
    let (script, path) = script(wrap, &rest)?;
    let name = if path.is_empty() { "stdin".to_string() } else { rest[0].clone() };
    header::check(&script)?;
    let text = String::from_utf8_lossy(&script);
    let environment = environment::read(TOOL, |name| std::env::var(name).ok());
    let ignore_pbs = said().chain(&environment).any(|setting| setting.option.long == "ignore-pbs");
    if let Some(remark) = directive::remark(&text) {
        eprintln!("sbatch: {remark}");
    }
    let directives = directive::read_script(&text, &name, ignore_pbs)?;
    let wrapped = wrap.is_some();
    let arguments: Vec<String> = rest.iter().skip(1).cloned().collect();
    let mut settings: Vec<Vec<Setting>> = line.iter().map(|part| part.settings.clone()).collect();
    // Whichever component it is said with, it is the whole job's script.
    for part in &mut settings {
        part.retain(|setting| setting.option.long != "wrap");
        part.extend(wrap.cloned());
    }
    let mut requests = resolve_components(TOOL, &directives, &environment, &settings)?;
    let cwd = submission::work_dir();
    let (submit_line, umask) = (submission::submit_line(TOOL, args), submission::own_umask());
    for request in &mut requests {
        let around = Surroundings {
            now: zone::now(),
            zone: &zone::Local,
            work_dir: &cwd,
            // With --wrap there is no script: whatever stands in its place is one word too many.
            command: if wrapped { rest.first().map_or("", String::as_str) } else { &path },
            arguments: &arguments,
            core_spec_allowed: submission::may_leave_cores(request),
            ..Surroundings::default()
        };
        submission::tell_notes(TOOL, request);
        submission::read_files(request)?;
        let filled = fill_defaults(request, around);
        if request.said("chdir") && !path.is_empty() {
            request.job.command = seen_from(&request.job.work_dir, &rest[0]);
        }
        request.job.submit_line.clone_from(&submit_line);
        request.job.umask = Some(umask);
        request.job.submit_host = allocation::host_name();
        request.job.submit_session = allocation::session();
        submission::tell_notes(TOOL, request);
        filled?;
        submission::look_up(TOOL, request)?;
    }
    Ok(Some((requests, script)))
}

/// The script's bytes and its path, from a file; or without one, from `--wrap` or standard input.
fn script(wrap: Option<&Setting>, rest: &[String]) -> Result<(Vec<u8>, String), OptionError> {
    if let Some(wrap) = wrap {
        return Ok((header::wrap(&wrap.value).into_bytes(), String::new()));
    }
    match rest.first() {
        Some(name) => match find_script(name) {
            Ok(found) => Ok(found),
            Err(error) => {
                let reason = reason(&error);
                let mut refusal = OptionError::error(format!("Unable to open file {name}"), 1);
                if error.kind() != std::io::ErrorKind::NotFound {
                    refusal.message = format!("Unable to open file {name}: {reason}");
                }
                Err(refusal)
            }
        },
        None => {
            let mut script = Vec::new();
            let read = std::io::stdin().lock().take(MAX_READ).read_to_end(&mut script);
            match read {
                Ok(_) => Ok((script, String::new())),
                Err(error) => {
                    Err(OptionError::error(format!("could not read standard input: {error}"), 1))
                }
            }
        }
    }
}

/// A script's bytes and where it is: here, or on the path. One that begins with `/`, `./` or `../` is nowhere
/// else, and stays called so.
fn find_script(name: &str) -> std::io::Result<(Vec<u8>, String)> {
    if ["/", "./", "../"].iter().any(|start| name.starts_with(start)) {
        return Ok((read_script(name.as_ref())?, name.to_string()));
    }
    let here = format!("{}/{name}", submission::work_dir());
    let found = read_script(here.as_ref()).map(|script| (script, here));
    found.or_else(|error| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&path).map(|dir| dir.join(name));
        let found = files.find_map(|file| Some((read_script(&file).ok()?, file)));
        let (script, file) = found.ok_or(error)?;
        Ok((script, file.display().to_string()))
    })
}

/// What a script is called in a job that works elsewhere: by its place there, if it has one.
fn seen_from(work_dir: &str, name: &str) -> String {
    let there = std::path::Path::new(work_dir).join(name);
    if name.starts_with('.') || !there.is_file() {
        return name.to_string();
    }
    there.display().to_string()
}

fn read_script(file: &std::path::Path) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    match std::fs::File::open(file)?.take(MAX_READ).read_to_end(&mut script) {
        // Nothing can be read of a directory, and what is empty is no script.
        Err(error) if error.kind() != std::io::ErrorKind::IsADirectory => Err(error),
        _ => Ok(script),
    }
}

/// Scripts are refused by the controller above its own limit; more than this is not even read.
const MAX_READ: u64 = 8 << 20;

/// The variables that go along, each ended by a NUL byte.
fn job_environment(request: &Request) -> Result<Vec<u8>, OptionError> {
    let wanted = match request.job.export.as_str() {
        "" => "ALL",
        wanted => wanted,
    };
    let export = export::parse(wanted);
    let file = request.tool.export_file.as_str();
    // A file stands in for the variables of this process.
    let mut bytes = match (file, &export) {
        ("", _) => submission::limits(&request.job.rare().propagate),
        (_, Export::None) => Vec::new(),
        (path, _) => submission::exported_file(path)?,
    };
    bytes = with_submission(bytes);
    // The node asks a login of the user for what is not brought along.
    if request.tool.get_user_env.is_some() || !export.is_everything() {
        bytes.extend_from_slice(b"SLURM_GET_USER_ENV=1\0");
    }
    let mut own = if file.is_empty() { submission::own_variables() } else { BTreeMap::new() };
    // Whether this job wants them is not for the job that it is submitted in to say.
    own.remove("SLURM_GET_USER_ENV");
    for (name, value) in export.apply(&own) {
        bytes.extend_from_slice(format!("{name}={value}\0").as_bytes());
    }
    // What is no text has no name that --export could mean, but ALL is all.
    if file.is_empty() && matches!(export, Export::All(_)) {
        for (name, value) in std::env::vars_os() {
            if name.to_str().is_none() || value.to_str().is_none() {
                bytes.extend_from_slice(name.as_bytes());
                bytes.push(b'=');
                bytes.extend_from_slice(value.as_bytes());
                bytes.push(0);
            }
        }
    }
    Ok(bytes)
}

/// Adds what only the submitting side knows; it goes along whatever `--export` says.
pub(super) fn with_submission(mut bytes: Vec<u8>) -> Vec<u8> {
    let facts = [
        ("SLURM_SUBMIT_DIR", submission::work_dir()),
        ("SLURM_SUBMIT_HOST", super::allocation::host_name()),
    ];
    for (name, value) in facts {
        bytes.extend_from_slice(format!("{name}={value}\0").as_bytes());
    }
    bytes
}

async fn send(requests: Vec<Request>, script: Vec<u8>, environment: Vec<u8>) -> u8 {
    let mut requests = requests.into_iter();
    let Some(request) = requests.next() else { return 1 };
    let partition = request.job.partition.clone();
    let clusters = request.job.placement().clusters.clone();
    let message = SubmitJobRequest {
        request_id: cluster::request_id(),
        spec: Some(request.job),
        script,
        environment,
        others: requests.map(|other| other.job).collect(),
    };
    let mut caller = cluster::caller();
    let ask = |mut client: ControllerClient<_>| {
        let message = message.clone();
        async move { client.submit_job(message).await }
    };
    let job = match caller.call(ask).await {
        Ok(reply) => reply.job_id,
        Err(error) => {
            let is_verbose = request.tool.verbose > 0;
            submission::not_taken(TOOL, &partition, &error, is_verbose);
            if matches!(error, CallError::Unreachable) {
                advise(
                    "sbatch: it may have been accepted all the same: see squeue before you repeat it",
                    is_verbose,
                );
            }
            return submission::error_status();
        }
    };
    if request.tool.quiet == 0 {
        print(&match (request.tool.parsable, clusters.as_str()) {
            (true, "") => format!("{job}\n"),
            (false, "") => format!("Submitted batch job {job}\n"),
            (true, cluster) => format!("{job};{cluster}\n"),
            (false, cluster) => format!("Submitted batch job {job} on cluster {cluster}\n"),
        });
    }
    if request.tool.wait { wait(&mut caller, job).await } else { 0 }
}

/// The job's exit code; a job killed by a signal, or never run, is a failure.
async fn wait(caller: &mut Caller, job: u32) -> u8 {
    loop {
        let ask = |mut client: ControllerClient<_>| async move {
            client.wait_job(WaitJobRequest { job_id: job, ..Default::default() }).await
        };
        match caller.call_and_wait(ask).await {
            Ok(reply) => return reply.job.unwrap_or_default().exit_code(),
            // The controller is away for longer than a call waits; the job is not.
            Err(spur_proto::caller::CallError::Unreachable) => {}
            Err(error) => {
                complain("sbatch", error);
                return 1;
            }
        }
    }
}
