//! What `sbatch`, `srun` and `salloc` have in common: reading the line, answering questions, saying why not.

mod look_up;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;

use nix::sys::resource::getrlimit;
use spur_core::errors::SlurmError;
use spur_core::options::argv::{self, Argv, Question};
use spur_core::options::{Arg, OptionError, Request, Tool, help, options, usage};
use spur_core::rlimit;
use spur_core::time::{Timestamp, display};
use spur_proto::caller::CallError;
use spur_proto::rlimit::RESOURCES;
use spur_proto::slurm::TryJobRequest;
use spur_proto::slurm::controller_client::ControllerClient;

pub use self::look_up::{exported_file, look_up, read_files};
use crate::cluster::Controller;
use crate::output::{self, advise, complain, note, print};
use crate::{cluster, zone};

/// Says why a line was refused, and returns the exit status.
pub fn refused(tool: Tool, error: &OptionError) -> u8 {
    print(error.answer.unwrap_or_default());
    for line in error.lines(tool) {
        eprintln!("{line}");
    }
    error.exit as u8
}

/// The words of the line, one part for each component of a heterogeneous job; nothing when only a question
/// was asked, which is answered.
pub fn read(tool: Tool, args: &[String]) -> Result<Option<Vec<Argv>>, OptionError> {
    let line = argv::read_components(tool, args, look_up::judge)?;
    let asked = line.iter().flat_map(|part| &part.settings);
    if let Some(asked) = asked.into_iter().find(|said| said.option.long == "autocomplete") {
        print(&completed(tool, &asked.value));
        return Ok(None);
    }
    if let Some(question) = line.iter().find_map(|part| part.question) {
        print(&match question {
            Question::Version => format!("{}\n", super::VERSION),
            Question::Help => help::help(tool),
            Question::Usage => usage::usage(tool).to_string(),
        });
        return Ok(None);
    }
    Ok(Some(line))
}

/// What shows who somebody is stays with them: a job has its own ways to be known, and root of its node none.
const SECRETS: &[&str] = &["SLURM_JWT", "SPUR_DATABASE_URL"];

/// This command's variables that may go along with a job, as far as they are text.
pub fn own_variables() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let all = std::env::vars_os().filter_map(text);
    all.filter(|(name, _)| !SECRETS.contains(&name.as_str())).collect()
}

/// `--autocomplete=--no`: the options that begin so, with a sign where a value follows.
fn completed(tool: Tool, begun: &str) -> String {
    let rows = options(tool).filter(|row| !row.long.is_empty());
    let spelled = rows.flat_map(|row| {
        row.names().map(|name| match row.arg {
            Arg::Required(_) => format!("--{name}="),
            Arg::None | Arg::Optional(_) => format!("--{name}"),
        })
    });
    let mut found: Vec<String> = spelled.filter(|name| name.starts_with(begun)).collect();
    found.sort();
    found.iter().map(|name| format!("{name}\n")).collect()
}

/// Where the command was called.
pub fn work_dir() -> String {
    std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default()
}

/// Whether jobs may say how many cores they leave to the system; asked only where one does.
pub fn may_leave_cores(request: &Request) -> bool {
    if !request.said("core-spec") && !request.said("thread-spec") {
        return false;
    }
    let entries = aside(|controller| controller.config()).map(|config| config.entries);
    let key = "AllowSpecResourcesUsage";
    entries.unwrap_or_default().iter().any(|entry| entry.key == key && entry.value == "Yes")
}

/// Asks the controller in a thread of its own, since whoever calls may be in the middle of a call.
fn aside<T: Send>(
    ask: impl FnOnce(&mut Controller) -> Result<T, CallError> + Send,
) -> Result<T, CallError> {
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&mut Controller::find())).join();
        asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Passes on what the option table has to remark.
pub fn tell_notes(tool: Tool, request: &mut Request) {
    if request.tool.quiet > 1 {
        output::be_silent();
    }
    for note in request.notes.drain(..) {
        eprintln!("{}: {note}", tool.name());
    }
}

/// The command line as `SubmitLine` shows it.
pub fn submit_line(tool: Tool, args: &[String]) -> String {
    let words = std::iter::once(tool.name()).chain(args.iter().map(String::as_str));
    words.collect::<Vec<_>>().join(" ")
}

/// Asking for it means setting it, so it is set back at once; nothing else runs here yet.
pub fn own_umask() -> u32 {
    let mask = nix::sys::stat::umask(nix::sys::stat::Mode::empty());
    nix::sys::stat::umask(mask);
    mask.bits()
}

/// The limits of this shell for the job, as variables: those that `--propagate` names, or all of them for the
/// site to choose from.
pub fn limits(propagate: &str) -> Vec<u8> {
    let (chosen, mark) = match propagate {
        "" => (rlimit::NAMES.to_vec(), ""),
        said => (rlimit::chosen([said]), "U"),
    };
    let mut bytes = Vec::new();
    for name in chosen {
        let resource = RESOURCES.iter().find(|(known, _)| *known == name);
        if let Some(Ok((soft, _))) = resource.map(|(_, resource)| getrlimit(*resource)) {
            let line = format!("{}={mark}{soft}\0", rlimit::variable(name));
            bytes.extend_from_slice(line.as_bytes());
        }
    }
    bytes
}

/// Says why the controller refused a job.
pub fn not_taken(tool: Tool, partition: &str, error: &CallError, is_verbose: bool) {
    let named = tool.name();
    match error {
        CallError::Refused(SlurmError::InvalidPartitionName) => {
            say_partition(tool, partition);
            complain(named, failed(tool, error));
        }
        // Slurm's tools see for themselves.
        CallError::Refused(SlurmError::InvalidGres) => complain(named, error),
        // What Slurm says comes first, then what helps.
        CallError::Remarked(remark, SlurmError::InvalidAccount | SlurmError::PathnameTooLong) => {
            complain(named, failed(tool, error));
            advise(format!("{named}: {remark}"), is_verbose);
        }
        error => {
            if let CallError::Remarked(remark, _) = error {
                complain(named, remark);
            }
            complain(named, failed(tool, error));
        }
    }
}

/// The exit status of a refusal: 1, or what `SLURM_EXIT_ERROR` says.
pub fn error_status() -> u8 {
    let said = std::env::var("SLURM_EXIT_ERROR").ok();
    said.and_then(|status| status.trim().parse::<i32>().ok()).filter(|it| *it != 0).unwrap_or(1)
        as u8
}

/// How each tool begins to say that it got no job.
pub fn failed(tool: Tool, error: &dyn Display) -> String {
    let what = match tool {
        Tool::Sbatch => "Batch job submission failed",
        Tool::Srun => "Unable to allocate resources",
        Tool::Salloc => "Job submit/allocate failed",
    };
    format!("{what}: {error}")
}

/// Which of the partitions is not there.
fn say_partition(tool: Tool, named: &str) {
    let known = aside(|controller| controller.partitions()).unwrap_or_default();
    let is_known = |name: &&str| known.iter().any(|known| known.name == *name);
    let unknown = named.split(',').find(|name| !is_known(name)).unwrap_or(named);
    complain(tool.name(), format!("invalid partition specified: {unknown}"));
}

/// `--test-only`: says when the job would start, and submits nothing.
pub async fn test_only(tool: Tool, requests: &[Request]) -> u8 {
    let Some((request, others)) = requests.split_first() else { return 1 };
    let others = others.iter().map(|other| other.job.clone()).collect();
    let message = TryJobRequest { spec: Some(request.job.clone()), others, as_asked: false };
    let ask = |mut client: ControllerClient<_>| {
        let message = message.clone();
        async move { client.try_job(message).await }
    };
    match cluster::caller().call(ask).await {
        Ok(reply) => {
            let start = reply.expected.unwrap_or_default();
            let at = display::moment(Timestamp(start.start_time), &zone::Local);
            if request.tool.quiet == 0 {
                note(format!(
                    "{}: Job {} to start at {at} using {} processors on nodes {} in partition {}",
                    tool.name(),
                    start.job_id,
                    start.cpus,
                    start.nodes,
                    start.partition
                ));
            }
            0
        }
        Err(error) => {
            if matches!(error, CallError::Refused(SlurmError::InvalidPartitionName)) {
                say_partition(tool, &request.job.partition);
            }
            match error {
                // Slurm's tools see for themselves.
                CallError::Refused(SlurmError::InvalidGres) => complain(tool.name(), error),
                error => note(format!("allocation failure: {error}")),
            }
            error_status()
        }
    }
}
