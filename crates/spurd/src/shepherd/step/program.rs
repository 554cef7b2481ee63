//! What the tasks run: the launcher's word, bounded by what the controller committed.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use nix::sys::stat::Mode;
use spur_core::filename::{self, Values};
use spur_core::step::StepSpec;
use spur_core::step::binding::{self, Binding, Machine, Part, Refused};
use spur_proto::internal::{Launch, StepLaunch, StepProgram};

use super::environment::Environment;
use crate::confine;
use crate::machine::cgroup::Group;
use crate::machine::privilege::Credentials;
use crate::shepherd::Room;
use crate::shepherd::task_hooks::TaskHooks;

/// Everything about this node's part of a step.
pub struct Program {
    /// Whose it is.
    pub owner: Credentials,
    /// Job and step as people name them: `12.0`.
    pub name: String,
    /// This node's name.
    pub node: String,
    /// Ranks of the tasks here.
    pub ranks: Vec<u32>,
    /// The variables.
    pub environment: Environment,
    /// Where tasks run.
    pub work_dir: PathBuf,
    /// The file mode mask.
    pub umask: Mode,
    /// How long tasks that are to end have to end by themselves.
    pub kill_wait: Duration,
    /// What its processes are held by, where there are groups.
    pub group: Option<Rc<Group>>,
    /// What is run as the user before and after each task.
    pub hooks: TaskHooks,
    /// The processors of each task, where they are bound.
    pub binding: Option<Binding>,
    /// `--mem-bind`
    pub memory_bind: String,
    /// The launcher's word.
    pub asked: StepProgram,
    values: Values,
}

/// Slurm's default `KillWait`.
const KILL_WAIT: Duration = Duration::from_secs(30);

impl Program {
    /// Puts together what the controller committed and what the launcher asks for.
    pub fn new(
        launch: &Launch,
        asked: StepProgram,
        marker: &str,
        room: Room,
    ) -> Result<Program, String> {
        let step = launch.step.clone().unwrap_or_default();
        let owner = Credentials::resolve(launch.uid, launch.gid, &launch.user_name)
            .map_err(|refusal| refusal.to_string())?
            .hardened(launch.harden);
        let here = step.nodes.get(step.node_id as usize).cloned().unwrap_or_default();
        if asked.arguments.is_empty() && asked.programs.is_empty() {
            return Err("there is no program to run".to_string());
        }
        let spec = step.spec.clone().unwrap_or_default();
        let binding = match binding(launch, &step, &spec, room.machine.as_ref()) {
            Ok(binding) => binding,
            Err(Refused(line, refusal)) => {
                // Who asked is told what was wrong, too.
                return Err(format!("{line}\n{refusal}"));
            }
        };
        let values = Values {
            job: launch.job,
            step: Some(step.step),
            array_job: launch.array_task.map(|_| launch.array_job),
            array_task: launch.array_task,
            node: step.node_id,
            node_name: here.node.clone(),
            user: launch.user_name.clone(),
            job_name: launch.spec.as_ref().map_or(String::new(), |spec| spec.name.clone()),
            ..Values::default()
        };
        Ok(Program {
            owner,
            name: format!("{}.{}", launch.job, step.step),
            node: here.node,
            ranks: here.ranks,
            environment: Environment::new(launch, &step, &spec, &asked, marker, room.gpus)
                .bound(binding.as_ref(), &spec),
            binding,
            memory_bind: spec
                .request
                .as_deref()
                .map_or(String::new(), |request| request.layout().mem_bind.clone()),
            work_dir: PathBuf::from(OsStr::from_bytes(&asked.work_dir)),
            umask: Mode::from_bits_truncate(asked.umask.unwrap_or(0o022)),
            kill_wait: launch
                .kill_wait_secs
                .map_or(KILL_WAIT, |secs| Duration::from_secs(secs.into())),
            hooks: TaskHooks::new(
                launch.hooks.as_ref().map_or(["", ""], |it| [&it.task_prolog, &it.task_epilog]),
                [&asked.task_prolog, &asked.task_epilog],
            ),
            asked,
            group: room.group,
            values,
        })
    }

    /// What a task executes.
    pub fn arguments(&self, rank: u32) -> Vec<CString> {
        let own = self.asked.programs.iter().find(|program| program.ranks.contains(&rank));
        let arguments = own.map_or(&self.asked.arguments, |own| &own.arguments);
        arguments.iter().filter_map(|word| CString::new(word.clone()).ok()).collect()
    }

    /// A task's own file for a pattern.
    pub fn file(&self, pattern: &[u8], rank: u32) -> PathBuf {
        let values = Values { task: rank, ..self.values.clone() };
        let name = filename::expand(&String::from_utf8_lossy(pattern), &values);
        self.work_dir.join(name)
    }

    /// Whether the file is one that a task before this one has here, too: what that wrote has to stay.
    pub fn shares_with_earlier(&self, pattern: &[u8], rank: u32) -> bool {
        let first = self.ranks.first().copied().unwrap_or(rank);
        rank != first && self.file(pattern, rank) == self.file(pattern, first)
    }

    /// Whether tasks here write to one file that is emptied first.
    pub fn shares_files(&self) -> bool {
        let last = self.ranks.last().copied().unwrap_or_default();
        let patterns = [&self.asked.output, &self.asked.error];
        let shares = |it: &&Vec<u8>| !it.is_empty() && self.shares_with_earlier(it, last);
        !self.asked.append && patterns.iter().any(shares)
    }

    /// Whether a task is the only one with a terminal.
    pub fn has_terminal(&self, rank: u32) -> bool {
        self.asked.pty && rank == 0
    }
}

/// The tasks on each node of a step.
pub fn tasks_per_node(step: &StepLaunch) -> Vec<u32> {
    step.nodes.iter().map(|node| node.ranks.len() as u32).collect()
}

/// What the tasks here are bound to: processors that the step has to itself. Not where the node's processors are
/// not the machine's.
fn binding(
    launch: &Launch,
    step: &StepLaunch,
    spec: &StepSpec,
    machine: Option<&Machine>,
) -> Result<Option<Binding>, Refused> {
    let Some(machine) = machine else { return Ok(None) };
    let here = step.nodes.get(step.node_id as usize).cloned().unwrap_or_default();
    let ids = confine::cpu_ids(launch).cloned().unwrap_or_default();
    let known = |id: u32| machine.order.get(id as usize).copied();
    let Some(all) = ids.iter().map(known).collect::<Option<Vec<u32>>>() else { return Ok(None) };
    if all.is_empty() {
        return Ok(None);
    }
    let request = spec.request.as_deref().cloned().unwrap_or_default();
    let own = if here.cpus > 0 { (here.cpus as usize).min(all.len()) } else { all.len() };
    let part = Part {
        cpus: all[..own].to_vec(),
        tasks: here.ranks.len() as u32,
        cpus_per_task: request.cpus_per_task.unwrap_or(1),
        fills_sockets: request.layout().distribution.split(':').nth(1) == Some("block"),
    };
    let is_asked = !matches!(spec.cpu_bind.as_str(), "" | "q" | "quiet");
    let by_itself =
        launch.confinement.as_ref().is_some_and(|it| it.cores) && part.is_bound_by_itself(machine);
    if !is_asked && !by_itself {
        return Ok(None);
    }
    binding::cpus(&spec.cpu_bind, machine, &part).map(Some)
}
