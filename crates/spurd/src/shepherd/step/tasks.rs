//! The tasks of one node, and our ends of their pipes.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::unistd::pipe2;
use spur_core::views::TaskUsage;
use spur_proto::internal::StepProgram;

use super::pmi::Pmi;
use super::program::Program;
use super::task::{self, Ends};
use crate::machine::cgroup::Group;
use crate::machine::child;

/// All tasks of this node.
pub struct Tasks {
    /// In the order of their ranks.
    pub list: Vec<Task>,
    /// Processes that run epilogs of tasks that have ended.
    pub epilogs: Vec<i32>,
}

/// One task.
pub struct Task {
    /// Its number in the step.
    pub rank: u32,
    /// Its process, which leads a session of its own.
    pub pid: i32,
    /// How it ended.
    pub status: Option<u32>,
    /// What it used, once it has ended.
    pub used: TaskUsage,
    /// Where its input goes.
    pub input: Option<Input>,
    /// Where its output comes from.
    pub output: Option<File>,
    /// Where its error output comes from.
    pub error: Option<File>,
    /// The other end of that, kept for its epilogs where there are any.
    pub words: Option<OwnedFd>,
}

/// What a task has not read yet.
pub struct Input {
    /// Our end.
    pub pipe: File,
    /// Bytes to be written.
    pub waiting: VecDeque<u8>,
    /// There will be no more.
    pub ended: bool,
}

/// Both ends of what a task is given.
#[derive(Default)]
struct Given {
    ends: Ends,
    input: Option<File>,
    output: Option<File>,
    error: Option<File>,
}

impl Tasks {
    /// Starts all of them.
    pub fn start(program: &Program, mut pmi: Option<&mut Pmi>) -> Result<Tasks> {
        let mut list: Vec<Task> = Vec::new();
        let mut first_opens: Option<OwnedFd> = None;
        for rank in &program.ranks {
            let given = given(program, *rank)?;
            let mut ends = given.ends;
            match &first_opens {
                Some(turn) => ends.turn = Some(turn.try_clone()?),
                None if program.shares_files() => {
                    let (turn, opened) =
                        pipe2(OFlag::O_CLOEXEC).context("could not make a pipe")?;
                    (ends.opened, first_opens) = (Some(opened), Some(turn));
                }
                None => {}
            }
            if let Some(pmi) = &mut pmi {
                ends.pmi = Some(pmi.connect().context("could not make a socket")?);
            }
            let has_epilogs = !program.hooks.epilogs.is_empty();
            let words = has_epilogs.then(|| ends.words()?.try_clone().ok()).flatten();
            // Whatever of other tasks is open here closes itself when the program is executed.
            let cradle = program.group.as_deref().and_then(Group::cradle);
            let become_task = |born_in| task::become_task(program, *rank, ends, born_in);
            let pid = child::fork(cradle.as_ref().map(AsFd::as_fd), become_task)
                .context("could not fork")?;
            list.push(Task {
                rank: *rank,
                pid,
                status: None,
                used: TaskUsage::default(),
                input: given.input.map(|pipe| Input {
                    pipe,
                    waiting: VecDeque::new(),
                    ended: false,
                }),
                output: given.output,
                error: given.error,
                words,
            });
        }
        Ok(Tasks { list, epilogs: Vec::new() })
    }

    /// The highest status of all.
    pub fn status(&self) -> u32 {
        self.list.iter().filter_map(|task| task.status).max().unwrap_or(0)
    }

    /// Whether all have ended, and what is run after them.
    pub fn are_over(&self) -> bool {
        self.epilogs.is_empty() && self.list.iter().all(|task| task.status.is_some())
    }
}

fn given(program: &Program, rank: u32) -> Result<Given> {
    let asked = &program.asked;
    let mut given = Given::default();
    if program.has_terminal(rank) {
        let (master, slave) = terminal(asked)?;
        given.input = Some(master.try_clone()?);
        given.output = Some(master);
        given.ends = Ends { terminal: Some(slave), ..Ends::default() };
        return Ok(given);
    }
    let only = |one: Option<u32>| one.is_none_or(|one| one == rank);
    let silent = asked.pty;
    if asked.input.is_empty() && !asked.no_input && only(asked.only_input) && !silent {
        let (read, write) = pipe2(OFlag::O_CLOEXEC).context("could not make a pipe")?;
        given.ends.input = Some(read);
        given.input = Some(ours(write)?);
    }
    if asked.output.is_empty() && !asked.no_output && only(asked.only_output) && !silent {
        let (read, write) = match asked.unbuffered {
            true => raw_terminal()?,
            false => pipe2(OFlag::O_CLOEXEC).context("could not make a pipe")?,
        };
        given.ends.output = Some(write);
        given.output = Some(ours(read)?);
    }
    let to_connection = asked.error.is_empty() && !asked.no_error && !asked.joined;
    if to_connection && only(asked.only_error) && !silent {
        let (read, write) = pipe2(OFlag::O_CLOEXEC).context("could not make a pipe")?;
        given.ends.error = Some(write);
        given.error = Some(ours(read)?);
    }
    Ok(given)
}

/// Our ends never make us wait.
fn ours(fd: OwnedFd) -> Result<File> {
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("could not set a flag")?;
    Ok(File::from(fd))
}

/// A terminal of this size, ours first.
fn terminal(asked: &StepProgram) -> Result<(File, OwnedFd)> {
    let size = |size: u32, default: u16| match u16::try_from(size) {
        Ok(0) | Err(_) => default,
        Ok(size) => size,
    };
    let size = Winsize {
        ws_row: size(asked.rows, 24),
        ws_col: size(asked.columns, 80),
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pair = openpty(&size, None).context("could not open a terminal")?;
    child::close_on_exec(&pair.master)?;
    child::close_on_exec(&pair.slave)?;
    Ok((ours(pair.master)?, pair.slave))
}

/// A terminal that changes nothing: programs write to it at once, as `--unbuffered` wants.
fn raw_terminal() -> Result<(OwnedFd, OwnedFd)> {
    let pair = openpty(None, None).context("could not open a terminal")?;
    child::close_on_exec(&pair.master)?;
    child::close_on_exec(&pair.slave)?;
    let mut settings = nix::sys::termios::tcgetattr(&pair.slave)?;
    nix::sys::termios::cfmakeraw(&mut settings);
    nix::sys::termios::tcsetattr(&pair.slave, nix::sys::termios::SetArg::TCSANOW, &settings)?;
    Ok((pair.master, pair.slave))
}
