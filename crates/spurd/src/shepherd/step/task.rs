//! The forked child on its way to becoming a task. The order matters, and every failure ends it.

use std::convert::Infallible;
use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::stat::umask;
use nix::unistd;
use spur_core::step::binding::memory;

use super::program::Program;
use super::tasks::Task;
use crate::machine::{binding, child, privilege};
use crate::shepherd::task::open_output;
use crate::shepherd::task_hooks;

/// The task's ends of what connects it; what is missing is a file, or nothing.
#[derive(Default)]
pub struct Ends {
    /// Standard input.
    pub input: Option<OwnedFd>,
    /// Standard output.
    pub output: Option<OwnedFd>,
    /// Standard error.
    pub error: Option<OwnedFd>,
    /// All three.
    pub terminal: Option<OwnedFd>,
    /// Where it asks for the other processes of its MPI program.
    pub pmi: Option<OwnedFd>,
    /// Closes when its files are open.
    pub opened: Option<OwnedFd>,
    /// Ends when the first task here has opened its files, and so emptied those that others share with it.
    pub turn: Option<OwnedFd>,
}

impl Ends {
    /// Where errors go, if that is no file of the task's own.
    pub fn words(&self) -> Option<&OwnedFd> {
        self.error.as_ref().or(self.terminal.as_ref())
    }
}

/// Becomes the task.
pub fn become_task(program: &Program, rank: u32, ends: Ends, born_in: bool) -> Infallible {
    let pmi = match prepare(program, rank, ends, born_in) {
        Ok(pmi) => pmi,
        Err(error) => {
            say_to_user(&format!("{error:#}"));
            child::leave(1)
        }
    };
    bind(program, rank);
    let arguments = program.arguments(rank);
    let mut variables = program.environment.of_task(rank, std::process::id(), pmi);
    if let Err(code) = program.hooks.run_prologs(&mut variables) {
        child::leave(code)
    }
    let Some(name) = arguments.first() else { child::leave(1) };
    let path = find(name, variables.get(b"PATH".as_slice()).map(Vec::as_slice));
    let errno = child::execute(&path, &arguments, &task_hooks::entries(&variables));
    say_to_user(&format!("execve(): {}: {}", name.to_string_lossy(), errno.desc()));
    child::leave(errno as i32)
}

/// Which of its files is the socket of PMI, where there is one.
fn prepare(program: &Program, rank: u32, mut ends: Ends, born_in: bool) -> Result<Option<i32>> {
    let complaints = become_user(program, born_in)?;
    let pmi = ends.pmi.take();
    connect(program, rank, ends)?;
    complaints.iter().for_each(|it| say_to_user(it));
    enter_work_dir(program)?;
    program.environment.limits.set_open_files()?;
    privilege::seal(&program.owner)?;
    pmi.map(keep_open).transpose()
}

/// As Slurm's: beyond what a shell script is likely to use itself.
const FIRST_OWN_FD: i32 = 11;

/// A copy that the program finds open; everything else closes when it is executed.
fn keep_open(end: OwnedFd) -> Result<i32> {
    fcntl(&end, FcntlArg::F_DUPFD(FIRST_OWN_FD)).context("could not pass on a socket")
}

/// Binds the task to its processors and memory. One that cannot be bound runs all the same, and says so.
fn bind(program: &Program, rank: u32) {
    let pid = std::process::id();
    let local = program.environment.local_rank(rank);
    let node = program.node.as_str();
    let tell = |text: String| drop(io::stderr().write_all(text.as_bytes()));
    if let Some(binding) = &program.binding {
        let bound = binding.masks.get(local as usize).map_or(Ok(()), |cpus| binding::to_cpus(cpus));
        match bound {
            Ok(()) if binding.verbose => tell(binding.report(node, rank, local, pid)),
            Ok(()) => {}
            Err(error) => say_to_user(&format!("sched_setaffinity: {error}")),
        }
    }
    if let Some(memory) = memory(&program.memory_bind, local, &[0]) {
        match binding::to_memory(&memory.domains, memory.preferred) {
            Ok(()) => memory.told(node, rank, local, pid).into_iter().for_each(tell),
            Err(error) => say_to_user(&format!("set_mempolicy: {error}")),
        }
    }
    program.environment.gpu_report(rank).into_iter().for_each(tell);
}

/// From here on nothing is done that the user could not do. What is to be said about its limits is returned.
fn become_user(program: &Program, born_in: bool) -> Result<Vec<String>> {
    unistd::setsid().context("could not begin a session")?;
    if let Some(group) = &program.group {
        group.join(born_in)?;
    }
    child::reset_signals().context("could not reset the signals")?;
    let complaints = program.environment.limits.set()?;
    privilege::become_user(&program.owner)?;
    umask(program.umask);
    Ok(complaints)
}

fn enter_work_dir(program: &Program) -> Result<()> {
    if let Err(errno) = unistd::chdir(&program.work_dir) {
        say_to_user(&format!(
            "couldn't chdir to `{}': {}: going to /tmp instead",
            program.work_dir.display(),
            errno.desc()
        ));
        unistd::chdir("/tmp").context("could not enter /tmp")?;
    }
    Ok(())
}

fn connect(program: &Program, rank: u32, ends: Ends) -> Result<()> {
    if let Some(terminal) = ends.terminal {
        child::take_terminal(&terminal).context("could not take the terminal")?;
        unistd::dup2_stdin(&terminal)?;
        unistd::dup2_stdout(&terminal)?;
        unistd::dup2_stderr(&terminal)?;
        return Ok(());
    }
    if let Some(turn) = ends.turn {
        io::copy(&mut File::from(turn), &mut io::sink())?;
    }
    let asked = &program.asked;
    let nothing = Path::new("/dev/null");
    let input = match ends.input {
        Some(pipe) => pipe,
        None => {
            let own = (!asked.input.is_empty()).then(|| program.file(&asked.input, rank));
            let path = own.as_deref().unwrap_or(nothing);
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NOCTTY).open(path);
            file.with_context(|| format!("Could not open stdin file {}", path.display()))?.into()
        }
    };
    let writing = |end: Option<OwnedFd>, pattern: &[u8]| -> Result<OwnedFd> {
        match end {
            Some(pipe) => Ok(pipe),
            None if pattern.is_empty() => Ok(open_output(nothing, true)?.into()),
            None => {
                let keep = asked.append || program.shares_with_earlier(pattern, rank);
                Ok(open_output(&program.file(pattern, rank), keep)?.into())
            }
        }
    };
    let output = writing(ends.output, &asked.output)?;
    let error = match asked.joined {
        true => output.try_clone().context("could not share the output")?,
        false => writing(ends.error, &asked.error)?,
    };
    drop(ends.opened);
    unistd::dup2_stdin(input)?;
    unistd::dup2_stdout(output)?;
    unistd::dup2_stderr(error)?;
    Ok(())
}

/// The program on the task's own `PATH`; one that is not found is tried as it was said.
fn find(name: &CStr, path: Option<&[u8]>) -> CString {
    let said = name.to_bytes();
    if said.contains(&b'/') {
        return name.to_owned();
    }
    let folders = path.unwrap_or(b"/usr/local/bin:/usr/bin:/bin").split(|byte| *byte == b':');
    for folder in folders {
        let folder = if folder.is_empty() { b".".as_slice() } else { folder };
        let candidate = [folder, said].join(&b'/');
        let file = Path::new(OsStr::from_bytes(&candidate));
        if file.is_file()
            && unistd::access(file, unistd::AccessFlags::X_OK).is_ok()
            && let Ok(candidate) = CString::new(candidate.clone())
        {
            return candidate;
        }
    }
    name.to_owned()
}

/// A line in the task's error output, in Slurm's words and name.
fn say_to_user(complaint: &str) {
    let _ = io::stderr().write_all(format!("slurmstepd: error: {complaint}\n").as_bytes());
}

/// Becomes what runs the epilogs of a task, which has ended; their errors go where its errors went.
pub fn become_epilog(program: &Program, task: &Task) -> Infallible {
    let prepared = || -> Result<()> {
        become_user(program, false)?;
        let nothing = open_output(Path::new("/dev/null"), true)?;
        unistd::dup2_stdout(&nothing)?;
        let pattern = &program.asked.error;
        match &task.words {
            Some(words) => unistd::dup2_stderr(words)?,
            None if pattern.is_empty() => unistd::dup2_stderr(&nothing)?,
            None => unistd::dup2_stderr(open_output(&program.file(pattern, task.rank), true)?)?,
        }
        enter_work_dir(program)?;
        Ok(privilege::seal(&program.owner)?)
    };
    if prepared().is_ok() {
        let variables = program.environment.of_task(task.rank, task.pid as u32, None);
        program.hooks.run_epilogs(&variables);
    }
    child::leave(0)
}
