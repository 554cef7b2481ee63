//! Everything about a task that can be known before it is forked.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use nix::sys::stat::Mode;
use spur_core::filename;
use spur_proto::internal::Launch;

use super::Room;
use super::duty::Own;
use super::environment::{Environment, file_values};
use super::sampler::Sampler;
use super::script;
use super::task_hooks::TaskHooks;
use crate::agent::RunFile;
use crate::fence::Fence;
use crate::gpu::usage;
use crate::machine::cgroup::Group;
use crate::machine::privilege::{Credentials, Refusal};
use crate::run::RunId;

/// How a script is to be started.
pub struct Plan {
    /// Whose it is.
    pub owner: Credentials,
    /// The script.
    pub program: CString,
    /// The script's path, then its arguments.
    pub arguments: Vec<CString>,
    /// The interpreter the script names, for a message when there is none.
    pub interpreter: String,
    /// All variables but those that need the task's number.
    pub environment: Environment,
    /// Where it runs.
    pub work_dir: PathBuf,
    /// Where it reads from.
    pub input: PathBuf,
    /// Where it writes to.
    pub output: PathBuf,
    /// Where errors go, if not there.
    pub error: Option<PathBuf>,
    /// Whether files that are there are kept and added to.
    pub append: bool,
    /// The file mode mask of its submission.
    pub umask: Mode,
    /// How long a run that is to end has to end by itself.
    pub kill_wait: Duration,
    /// What Slurm calls it: `12.batch`.
    pub step: String,
    /// The group its processes are in, where there are groups.
    pub group: Option<Rc<Group>>,
    /// What is run as the user before and after the script.
    pub hooks: TaskHooks,
    /// Looks at what it uses.
    pub sampler: Option<Sampler>,
    /// When it must end by itself.
    pub fence: Fence,
    /// Where the agent leaves words for its output.
    pub words: PathBuf,
}

/// Why there is no plan.
pub enum Error {
    /// The request is at fault.
    Request(String),
    /// This node is at fault.
    Node(String),
}

impl Plan {
    /// Looks up the user, places the script and names the files.
    pub fn make(
        spool: &Path,
        own: &mut Own,
        launch: Launch,
        marker: String,
        room: Room,
        fence: Fence,
    ) -> Result<Plan, Error> {
        let run = RunId::from(&launch);
        let owner = own.users.resolve(launch.uid, launch.gid, &launch.user_name);
        let owner = owner.map_err(|refusal| match refusal {
            Refusal::Lookup(_, ref source) => Error::Node(format!("{refusal}: {source}")),
            _ => Error::Request(refusal.to_string()),
        })?;
        let owner = owner.hardened(launch.harden);
        let path = script::place(spool, run, &launch.script, &owner, &mut own.script)
            .map_err(|error| Error::Node(format!("could not place the script: {error}")))?;
        let spec = launch.spec.clone().unwrap_or_default();
        let work_dir = PathBuf::from(&spec.work_dir);
        let values = file_values(&launch, &spec);
        // Names are relative to the directory asked for, even where it does not exist.
        let file = |pattern: &str| work_dir.join(filename::expand(pattern, &values));
        let or = |pattern: &str, default: &'static str| {
            file(if pattern.is_empty() { default } else { pattern })
        };
        let output = or(&spec.output, filename::batch_output(launch.array_task.is_some()));
        let error = (!spec.error.is_empty()).then(|| file(&spec.error));
        let program = text(&path.to_string_lossy())?;
        let mut arguments = vec![program.clone()];
        for argument in &spec.arguments {
            arguments.push(text(argument)?);
        }
        let gauges = usage::gauges(room.gpus.as_ref());
        Ok(Plan {
            words: spool.join(RunFile::Words.name(run)),
            fence,
            owner,
            program,
            arguments,
            interpreter: interpreter(&launch.script),
            environment: Environment::new(&launch, &spec, marker, room.gpus),
            input: or(&spec.input, "/dev/null"),
            error: error.filter(|error| *error != output),
            output,
            work_dir,
            umask: Mode::from_bits_truncate(spec.umask.unwrap_or(0o022)),
            append: spec.open_append.unwrap_or(false),
            kill_wait: launch
                .kill_wait_secs
                .map_or(KILL_WAIT, |secs| Duration::from_secs(secs.into())),
            step: format!("{}.batch", launch.job),
            group: room.group,
            sampler: Some(Sampler::new(&launch).with_gauges(gauges)),
            hooks: launch.hooks.as_ref().map_or_else(TaskHooks::default, |site| {
                TaskHooks::new([&site.task_prolog, &site.task_epilog], ["", ""])
            }),
        })
    }
}

/// Slurm's default `KillWait`.
const KILL_WAIT: Duration = Duration::from_secs(30);

fn text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::Request(format!("{text:?} contains a NUL byte")))
}

/// What follows `#!` on the first line.
fn interpreter(script: &[u8]) -> String {
    let line = script.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line.strip_prefix(b"#!").unwrap_or_default());
    line.split_ascii_whitespace().next().unwrap_or_default().to_string()
}
