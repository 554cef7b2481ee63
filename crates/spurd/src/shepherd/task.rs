//! The forked child on its way to becoming the script. The order matters, and every failure ends it.

use std::convert::Infallible;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::stat::{Mode, umask};
use nix::unistd;

use super::environment::TMP_DIR;
use super::login;
use super::plan::Plan;
use super::task_hooks;
use crate::machine::child;
use crate::machine::handover;
use crate::machine::privilege;

/// Becomes the script. Why it could not goes down `fault`, which closes by itself when it could. Where its
/// errors go is passed to `words`, for what the shepherd has to tell the user.
pub fn become_script(
    plan: &Plan,
    draft: Option<&mut Draft<'_>>,
    born_in_group: bool,
    fault: OwnedFd,
    words: &OwnedFd,
) -> Infallible {
    let error = match prepare(plan, born_in_group, words) {
        Ok(()) => {
            let tmp_dir = tmp_dir(plan);
            let environment = match draft {
                Some(draft) if tmp_dir == draft.tmp_dir => {
                    let number = format!("{TASK_PID}={}", std::process::id());
                    draft.entries.extend(CString::new(number));
                    std::mem::take(&mut draft.entries)
                }
                _ => work_out(plan, tmp_dir),
            };
            let errno = child::execute(&plan.program, &plan.arguments, &environment);
            say_to_user(&no_execution(plan, errno));
            child::leave(errno as i32)
        }
        Err(error) => error,
    };
    let _ = File::from(fault).write_all(format!("{error:#}").as_bytes());
    child::leave(1)
}

/// What a script is started with as far as its shepherd can know, who works it out before the fork: each page that a
/// forked child writes to is copied for it first.
pub struct Draft<'a> {
    entries: Vec<CString>,
    tmp_dir: &'a Path,
}

impl<'a> Draft<'a> {
    /// Nothing where programs that are run as the user have a say.
    pub fn new(plan: &'a Plan) -> Option<Draft<'a>> {
        let tmp_dir = plan.environment.tmp_dir().unwrap_or(Path::new(TMP_DIR));
        let mut variables = plan.environment.for_task(0, tmp_dir);
        if variables.contains_key(login::ASKED) || !plan.hooks.prologs.is_empty() {
            return None;
        }
        variables.remove(TASK_PID.as_bytes());
        let mut entries = task_hooks::entries(&variables);
        entries.reserve(1);
        Some(Draft { entries, tmp_dir })
    }
}

/// Tells a task its number.
const TASK_PID: &str = "SLURM_TASK_PID";

/// The variables, from the user's login and prologs too.
fn work_out(plan: &Plan, tmp_dir: &Path) -> Vec<CString> {
    let mut variables = plan.environment.for_task(std::process::id(), tmp_dir);
    if variables.contains_key(login::ASKED)
        && let Err(error) = login::add(&mut variables)
    {
        say_to_user(&format!("Failed to load current user environment variables: {error}"));
    }
    if let Err(code) = plan.hooks.run_prologs(&mut variables) {
        child::leave(code)
    }
    task_hooks::entries(&variables)
}

/// Becomes what runs the epilogs of the script, which has ended; their errors go where its errors went.
pub fn become_epilog(plan: &Plan, script: u32, words: Option<OwnedFd>) -> Infallible {
    let prepared = || -> Result<()> {
        unistd::setsid().context("could not begin a session")?;
        if let Some(group) = &plan.group {
            group.join(false)?;
        }
        child::reset_signals().context("could not reset the signals")?;
        privilege::become_user(&plan.owner)?;
        umask(plan.umask);
        let nothing = open_output(Path::new("/dev/null"), true)?;
        unistd::dup2_stdout(&nothing)?;
        match words {
            Some(words) => unistd::dup2_stderr(words)?,
            None => unistd::dup2_stderr(&nothing)?,
        }
        unistd::chdir(&plan.work_dir).or_else(|_| unistd::chdir("/tmp"))?;
        Ok(privilege::seal(&plan.owner)?)
    };
    if prepared().is_ok() {
        plan.hooks.run_epilogs(&plan.environment.for_task(script, tmp_dir(plan)));
    }
    child::leave(0)
}

fn prepare(plan: &Plan, born_in_group: bool, words: &OwnedFd) -> Result<()> {
    unistd::setsid().context("could not begin a session")?;
    if let Some(group) = &plan.group {
        group.join(born_in_group)?;
    }
    child::reset_signals().context("could not reset the signals")?;
    let complaints = plan.environment.limits.set()?;
    privilege::become_user(&plan.owner)?;
    // From here on nothing is done that the user could not do.
    umask(plan.umask);
    open_files(plan)?;
    handover::give(words, io::stderr()).context("could not pass the output on")?;
    complaints.iter().for_each(|it| say_to_user(it));
    enter_work_dir(plan)?;
    plan.environment.limits.set_open_files()?;
    privilege::seal(&plan.owner)?;
    let readable = unistd::access(plan.program.as_c_str(), unistd::AccessFlags::X_OK);
    readable.with_context(|| format!("cannot reach the script {:?}", plan.program))
}

fn open_files(plan: &Plan) -> Result<()> {
    let input = OpenOptions::new().read(true).custom_flags(libc::O_NOCTTY).open(&plan.input);
    let input = input.with_context(|| format!("could not open {}", plan.input.display()))?;
    let output = open_output(&plan.output, plan.append)?;
    let error = match &plan.error {
        Some(path) => open_output(path, plan.append)?,
        None => output.try_clone().context("could not share the output")?,
    };
    unistd::dup2_stdin(input)?;
    unistd::dup2_stdout(output)?;
    unistd::dup2_stderr(error)?;
    Ok(())
}

/// Slurm always writes at the end of the file, whether or not it emptied it first.
pub(super) fn open_output(path: &Path, keep: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).custom_flags(libc::O_NOCTTY);
    if !keep {
        options.custom_flags(libc::O_NOCTTY | libc::O_TRUNC);
    }
    options.open(path).with_context(|| format!("could not open {}", path.display()))
}

/// A directory that cannot be entered is no reason to fail: Slurm says so, twice, and goes on in `/tmp`.
fn enter_work_dir(plan: &Plan) -> Result<()> {
    if let Err(errno) = unistd::chdir(&plan.work_dir) {
        let complaint = format!(
            "couldn't chdir to `{}': {}: going to /tmp instead",
            plan.work_dir.display(),
            errno.desc()
        );
        say_to_user(&complaint);
        say_to_user(&complaint);
        unistd::chdir("/tmp").context("could not enter /tmp")?;
    }
    Ok(())
}

/// The user's directory for temporary files, made if needed.
fn tmp_dir(plan: &Plan) -> &Path {
    let fallback = Path::new(TMP_DIR);
    let wanted = plan.environment.tmp_dir().unwrap_or(fallback);
    match unistd::mkdir(wanted, Mode::S_IRWXU) {
        Ok(()) | Err(Errno::EEXIST) => wanted,
        Err(errno) => {
            let name = wanted.display();
            say_to_user(&format!("Unable to create TMPDIR [{name}]: {}", errno.desc()));
            say_to_user(&format!("Setting TMPDIR to {TMP_DIR}"));
            fallback
        }
    }
}

/// A line in the job's error output, in Slurm's words and name: users search for them.
fn say_to_user(complaint: &str) {
    say(io::stderr(), complaint);
}

/// The same, wherever the error output is held.
pub fn say(mut output: impl Write, complaint: &str) {
    let _ = output.write_all(format!("slurmstepd: error: {complaint}\n").as_bytes());
}

fn no_execution(plan: &Plan, errno: Errno) -> String {
    if errno == Errno::ENOENT {
        format!("execve(): bad interpreter({}): {}", plan.interpreter, errno.desc())
    } else {
        format!("execve(): {}: {}", plan.program.to_string_lossy(), errno.desc())
    }
}
