//! The forked child on its way to becoming a task. The order matters, and every failure ends it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{CStr, CString, OsStr};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use nix::sys::stat::umask;
use nix::unistd;

use super::program::Program;
use crate::machine::{child, privilege};
use crate::shepherd::task::open_output;

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
}

/// Becomes the task.
pub fn become_task(program: &Program, rank: u32, ends: Ends, born_in: bool) -> Infallible {
    if let Err(error) = prepare(program, rank, ends, born_in) {
        say_to_user(&format!("{error:#}"));
        child::leave(1)
    }
    let more = match prolog(program, rank) {
        Ok(more) => more,
        Err(code) => child::leave(code),
    };
    let arguments = program.arguments(rank);
    let environment = program.environment.of_task(rank, std::process::id(), &more);
    let Some(name) = arguments.first() else { child::leave(1) };
    let path = find(name, program.environment.sent("PATH"));
    let errno = child::execute(&path, &arguments, &environment);
    say_to_user(&format!("execve(): {}: {}", name.to_string_lossy(), errno.desc()));
    child::leave(errno as i32)
}

fn prepare(program: &Program, rank: u32, ends: Ends, born_in: bool) -> Result<()> {
    unistd::setsid().context("could not begin a session")?;
    if let Some(group) = &program.group {
        group.join(born_in)?;
    }
    child::reset_signals().context("could not reset the signals")?;
    privilege::become_user(&program.owner)?;
    // From here on nothing is done that the user could not do.
    umask(program.umask);
    connect(program, rank, ends)?;
    if let Err(errno) = unistd::chdir(&program.work_dir) {
        say_to_user(&format!(
            "couldn't chdir to `{}': {}: going to /tmp instead",
            program.work_dir.display(),
            errno.desc()
        ));
        unistd::chdir("/tmp").context("could not enter /tmp")?;
    }
    child::close_others_on_exec().context("could not close what is open")
}

fn connect(program: &Program, rank: u32, ends: Ends) -> Result<()> {
    if let Some(terminal) = ends.terminal {
        child::take_terminal(&terminal).context("could not take the terminal")?;
        unistd::dup2_stdin(&terminal)?;
        unistd::dup2_stdout(&terminal)?;
        unistd::dup2_stderr(&terminal)?;
        return Ok(());
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
            None => Ok(open_output(&program.file(pattern, rank), asked.append)?.into()),
        }
    };
    let output = writing(ends.output, &asked.output)?;
    let error = match asked.joined {
        true => output.try_clone().context("could not share the output")?,
        false => writing(ends.error, &asked.error)?,
    };
    unistd::dup2_stdin(input)?;
    unistd::dup2_stdout(output)?;
    unistd::dup2_stderr(error)?;
    Ok(())
}

/// Runs the task prolog, which may set and unset variables by printing lines, and print others.
fn prolog(program: &Program, rank: u32) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, i32> {
    let mut more = BTreeMap::new();
    let path = &program.asked.task_prolog;
    if path.is_empty() {
        return Ok(more);
    }
    let output = command(program, rank, path).stderr(Stdio::inherit()).output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            say_to_user(&format!("{path}: {error}"));
            return Ok(more);
        }
    };
    for line in output.stdout.split(|byte| *byte == b'\n') {
        if let Some(set) = line.strip_prefix(b"export ")
            && let Some(equals) = set.iter().position(|byte| *byte == b'=')
        {
            more.insert(set[..equals].to_vec(), set[equals + 1..].to_vec());
        } else if let Some(text) = line.strip_prefix(b"print ") {
            let _ = io::stdout().write_all(&[text, b"\n"].concat());
        }
    }
    match output.status.success() {
        true => Ok(more),
        false => Err(output.status.code().unwrap_or(1)),
    }
}

/// A program of the user's that runs with a task's variables.
pub fn command(program: &Program, rank: u32, path: &str) -> Command {
    let mut command = Command::new(path);
    let pid = std::process::id();
    command.env_clear().stdin(Stdio::null()).current_dir("/");
    for entry in program.environment.of_task(rank, pid, &BTreeMap::new()) {
        let entry = entry.as_bytes();
        if let Some(equals) = entry.iter().position(|byte| *byte == b'=') {
            let (name, value) = (&entry[..equals], &entry[equals + 1..]);
            command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
        }
    }
    if program.work_dir.is_dir() {
        command.current_dir(&program.work_dir);
    }
    command
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

/// Runs the task epilog as the user, when its task has ended.
pub fn become_epilog(program: &Program, rank: u32, path: &str) -> Infallible {
    let own = prepare(program, rank, Ends::default(), false);
    let code = own.ok().and_then(|()| {
        let status = command(program, rank, path).stdout(Stdio::null()).status().ok()?;
        status.code()
    });
    child::leave(code.unwrap_or(1))
}
