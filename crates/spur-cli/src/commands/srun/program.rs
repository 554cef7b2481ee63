//! What tasks run and where their input and output go, told from the options.

use std::fs::{File, OpenOptions};
use std::io::IsTerminal;
use std::net::UdpSocket;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use spur_core::filename::{self, Values};
use spur_core::job::export::{self, Export};
use spur_core::options::Request;
use spur_proto::internal::StepProgram;
use spur_proto::slurm::StepAccess;

use super::multi_prog;
use super::output::Manner;
use super::terminal;
use crate::commands::allocation::host_name;
use crate::commands::submission;
use crate::output::reason;

/// Everything that was worked out before the tasks are started.
pub struct Prepared {
    /// For us.
    pub manner: Manner,
    /// What is sent to tasks as their input.
    pub input: Source,
    /// Whose input it is; all tasks' if nobody's in particular.
    pub only_input: Option<u32>,
}

/// Where the input of tasks comes from.
pub enum Source {
    /// Nowhere.
    Nothing,
    /// Our own standard input.
    Own,
    /// A file of ours.
    File(File),
}

/// Where a stream leads.
enum Target {
    Connection,
    Nothing,
    Only(u32),
    /// A file that we open.
    Ours(String),
    /// Files that the tasks open.
    Theirs(String),
}

fn target(pattern: &str, tasks: u32) -> Target {
    match pattern {
        "" | "all" => Target::Connection,
        "none" => Target::Nothing,
        pattern => match pattern.parse::<u32>() {
            Ok(rank) if rank < tasks => Target::Only(rank),
            _ if filename::is_per_task(pattern) => Target::Theirs(pattern.to_string()),
            _ => Target::Ours(pattern.to_string()),
        },
    }
}

/// A port that is this srun's for as long as it lives, as programs know it from Slurm. Nobody listens there: it is srun
/// that calls the nodes.
fn own_port() -> u16 {
    static HELD: OnceLock<Option<UdpSocket>> = OnceLock::new();
    let held = HELD.get_or_init(|| UdpSocket::bind(("127.0.0.1", 0)).ok());
    held.as_ref().and_then(|socket| socket.local_addr().ok()).map_or(0, |it| it.port())
}

/// Works everything out. What is wrong is told in Slurm's words.
pub fn prepare(
    request: &Request,
    access: &StepAccess,
    command: &[String],
    inside: bool,
) -> Result<(StepProgram, Prepared), String> {
    let tasks: u32 = access.nodes.iter().map(|node| node.ranks.len() as u32).sum();
    let job = &request.job;
    let pty = request.step.pty && std::io::stdin().is_terminal();
    let bytes = |words: &[String]| words.iter().map(|word| word.clone().into_bytes()).collect();
    let mut program = StepProgram {
        environment: environment(request),
        arguments: bytes(command),
        work_dir: job.work_dir.clone().into_bytes(),
        umask: job.umask,
        append: job.open_append.unwrap_or(false),
        pty,
        unbuffered: request.step.unbuffered && !request.step.pty,
        launcher_address: "127.0.0.1".to_string(),
        launcher_port: own_port().into(),
        // Told along with all that srun has, and not where only some of it goes along.
        debug_level: match exported(request) {
            Export::All(_) => (3 + request.tool.verbose) - u32::from(request.tool.quiet > 0),
            Export::None | Export::Nil | Export::Only(_) => 0,
        },
        inside_allocation: inside,
        name: if request.said("job-name") { job.name.clone() } else { String::new() },
        task_prolog: request.step.task_prolog.clone(),
        task_epilog: request.step.task_epilog.clone(),
        ..StepProgram::default()
    };
    if request.step.multi_prog {
        let (path, more) = command.split_first().ok_or("No command given to execute.")?;
        program.programs = multi_prog::read(path, tasks, more)?;
        program.arguments.clear();
    }
    if pty {
        let (rows, columns) = terminal::size().unwrap_or((24, 80));
        (program.rows, program.columns) = (rows.into(), columns.into());
    }
    let view = access.job.as_ref().and_then(|job| job.view.clone()).unwrap_or_default();
    let values = Values {
        job: access.job_id,
        step: Some(access.step_id),
        array_job: (view.array_job_id > 0).then_some(view.array_job_id),
        array_task: view.array_task_id,
        node_name: access.nodes.first().map_or(String::new(), |node| node.name.clone()),
        user: view.user_name,
        job_name: access.job.as_ref().and_then(|job| job.spec.clone()).unwrap_or_default().name,
        ..Values::default()
    };
    let path = |pattern: &str| format!("{}/{}", job.work_dir, filename::expand(pattern, &values));
    let path = |pattern: &str| match filename::expand(pattern, &values) {
        absolute if absolute.starts_with('/') => absolute,
        _ => path(pattern),
    };
    let open = |pattern: &str| -> Result<File, String> {
        let name = path(pattern);
        let mut options = OpenOptions::new();
        options.create(true).append(program.append).write(true).truncate(!program.append);
        options
            .open(&name)
            .map_err(|error| format!("Could not open stdout file: {}", reason(&error)))
    };
    let (mut output_file, mut error_file) = (None, None);
    let mut joined = false;
    match target(&job.output, tasks) {
        Target::Connection => {}
        Target::Nothing => program.no_output = true,
        Target::Only(rank) => program.only_output = Some(rank),
        Target::Ours(pattern) => output_file = Some(open(&pattern)?),
        Target::Theirs(pattern) => program.output = pattern.into_bytes(),
    }
    match target(&job.error, tasks) {
        Target::Connection if job.error.is_empty() => {
            joined = output_file.is_some();
            program.joined = !program.output.is_empty();
            program.no_error = program.no_output;
            program.only_error = program.only_output;
        }
        Target::Connection => {}
        Target::Nothing => program.no_error = true,
        Target::Only(rank) => program.only_error = Some(rank),
        Target::Ours(pattern) if job.error == job.output => {
            let _ = pattern;
            joined = true;
        }
        Target::Ours(pattern) => error_file = Some(open(&pattern)?),
        Target::Theirs(_) if job.error == job.output => program.joined = true,
        Target::Theirs(pattern) => program.error = pattern.into_bytes(),
    }
    let mut only_input = None;
    let input = match target(&job.input, tasks) {
        Target::Connection => Source::Own,
        Target::Nothing => {
            program.no_input = true;
            Source::Nothing
        }
        Target::Only(rank) => {
            program.only_input = Some(rank);
            only_input = Some(rank);
            Source::Own
        }
        Target::Ours(pattern) => {
            let name = path(&pattern);
            Source::File(
                File::open(&name)
                    .map_err(|error| format!("Could not open stdin file: {}", reason(&error)))?,
            )
        }
        Target::Theirs(pattern) => {
            program.input = pattern.into_bytes();
            Source::Nothing
        }
    };
    let width = tasks.saturating_sub(1).to_string().len();
    let manner = Manner {
        label: request.step.label.then_some(width),
        // One task has nobody to be kept apart from.
        unbuffered: request.step.unbuffered || tasks == 1 || pty,
        output: output_file,
        error: error_file,
        joined,
    };
    Ok((program, Prepared { manner, input, only_input }))
}

/// What `--export` says of variables.
fn exported(request: &Request) -> Export {
    match request.job.export.as_str() {
        "" => export::parse("ALL"),
        wanted => export::parse(wanted),
    }
}

/// The variables that go along, each ended by a NUL byte.
fn environment(request: &Request) -> Vec<u8> {
    let own = submission::own_variables();
    let mut bytes = submission::limits(&request.job.rare().propagate);
    let mut put = |name: &[u8], value: &[u8]| {
        bytes.extend_from_slice(name);
        bytes.push(b'=');
        bytes.extend_from_slice(value);
        bytes.push(0);
    };
    if !own.contains_key("SLURM_SUBMIT_DIR") {
        let dir = std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default();
        put(b"SLURM_SUBMIT_DIR", dir.as_bytes());
        put(b"SLURM_SUBMIT_HOST", host_name().as_bytes());
    }
    let export = exported(request);
    for (name, value) in export.apply(&own) {
        put(name.as_bytes(), value.as_bytes());
    }
    // What is no text has no name that --export could mean, but ALL is all.
    if matches!(export, Export::All(_)) {
        for (name, value) in std::env::vars_os() {
            if name.to_str().is_none() || value.to_str().is_none() {
                put(name.as_bytes(), value.as_bytes());
            }
        }
    }
    bytes
}
