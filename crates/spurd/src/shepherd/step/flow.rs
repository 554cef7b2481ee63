//! Carries bytes, signals and endings between tasks and whoever is connected, until nothing is left.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::killpg;
use nix::unistd::Pid;
use spur_core::job::ExitStatus;
use spur_core::views::TaskUsage;
use spur_proto::step_io::{EVERYBODY, Frame, INPUT_WINDOW, Kind};

use super::super::pause::Pause;
use super::super::sampler::Sampler;
use super::super::watch::{Family, Insistence, Signals, usage};
use super::super::words::Words;
use super::clients::Clients;
use super::pmi::Pmi;
use super::program::Program;
use super::task;
use super::tasks::{Task, Tasks};
use crate::ending::{Ending, LastWord};
use crate::fence::{Fence, Look, REASON};
use crate::machine::child::{self, Waited};
use crate::machine::pidfd::{NOTICE, SCRIPT_ONLY};

/// How long whoever is connected may take to read the last words once the step is to end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// One node's part of a step under way.
pub struct Flow {
    program: Program,
    tasks: Tasks,
    /// For tasks of MPI programs.
    pmi: Option<Pmi>,
    clients: Clients,
    signals: Signals,
    /// Input the launcher was allowed to send, and what it has sent of it.
    granted: u64,
    received: u64,
    /// It is to end, by somebody's word.
    end: Option<Insistence>,
    /// Looks at what tasks use.
    sampler: Sampler,
    /// What was used here before any of them began.
    before: TaskUsage,
    /// When it must end by itself.
    fence: Fence,
    /// What people are to read.
    words: Words,
    /// Its tasks are to be stopped.
    rest: Pause,
}

impl Flow {
    /// Of tasks that have been started.
    pub fn new(
        program: Program,
        tasks: Tasks,
        pmi: Option<Pmi>,
        clients: Clients,
        signals: Signals,
        sampler: Sampler,
        fence: Fence,
    ) -> Flow {
        let before = child::usage_of_children();
        Flow {
            program,
            tasks,
            pmi,
            clients,
            signals,
            granted: 0,
            received: 0,
            end: None,
            sampler,
            before,
            fence,
            words: Words::default(),
            rest: Pause::default(),
        }
    }

    /// With what people are to read of it.
    pub fn telling(self, words: Words) -> Flow {
        Flow { words, ..self }
    }

    /// Goes on until every task has ended, everything they left is gone, and everything was told.
    pub fn run(mut self) -> Result<LastWord> {
        self.clients.tell(Kind::Started, EVERYBODY, &[]);
        self.grant();
        let mut buried: Option<Insistence> = None;
        loop {
            let childless = self.bury()?;
            if self.tasks.are_over() && buried.is_none() {
                // Nothing of a step outlives its tasks, however it was detached.
                buried = Some(Insistence::after(Duration::ZERO));
            }
            if childless && self.tasks.are_over() {
                break;
            }
            let fence = match self.fence.look() {
                // Nobody is given time: the run may soon begin elsewhere.
                Look::Due => {
                    self.end.get_or_insert_with(|| Insistence::after(Duration::ZERO)).hurry();
                    None
                }
                Look::In(left) => Some(left),
                Look::Never => None,
            };
            let pause = [self.end.as_mut(), buried.as_mut()].into_iter().flatten();
            let run = Family { group: self.program.group.as_deref() };
            let pause = pause.map(|due| due.kill_when_due(&run)).min();
            let live = self.tasks.list.iter().filter(|task| task.status.is_none());
            let pids = live.map(|task| task.pid);
            let look = self.sampler.look_when_due(pids, || run.members());
            let mut rest = std::mem::take(&mut self.rest);
            let stop = rest.stop_when_due(|| self.signal(libc::SIGSTOP));
            self.rest = rest;
            let pause = pause.into_iter().chain(look).chain(fence).chain(stop).min();
            self.wait(pause)?;
            self.work();
        }
        self.drain()?;
        self.say_if_out_of_memory();
        self.clients.tell(Kind::Over, EVERYBODY, &[]);
        self.say_goodbye()?;
        let used: Vec<_> = self.tasks.list.iter().map(|task| (task.rank, task.used)).collect();
        let ending = match self.oom_kills() {
            _ if self.fence.has_tripped() => Ending::NodeFault(REASON.to_string()),
            0 => Ending::Exited(self.tasks.status()),
            _ => Ending::OutOfMemory,
        };
        Ok(LastWord { ending, usage: usage(&used, self.before) })
    }

    /// Buries who has ended. Whether no child is left.
    fn bury(&mut self) -> Result<bool> {
        loop {
            match child::wait_any().context("could not wait")? {
                Waited::Ended(pid, status, used) => self.ended(pid, status, used),
                Waited::NotYet => return Ok(false),
                Waited::Childless => return Ok(true),
            }
        }
    }

    fn ended(&mut self, pid: i32, status: u32, used: TaskUsage) {
        self.tasks.epilogs.retain(|it| *it != pid);
        let Some(task) = self.tasks.list.iter_mut().find(|task| task.pid == pid) else { return };
        task.status = Some(status);
        task.used = self.sampler.complete(pid, used);
        task.input = None;
        let rank = task.rank;
        // What it wrote before it ended comes before the word that it has.
        self.read_tasks(true);
        // A task that lost a process for want of memory has failed, whatever it says itself.
        let told = match self.oom_kills() {
            0 => status,
            _ => ExitStatus::OUT_OF_MEMORY.to_wait(),
        };
        self.clients.tell(Kind::Exited, rank, &told.to_le_bytes());
        if self.program.hooks.epilogs.is_empty() {
            return;
        }
        if let Some(task) = self.tasks.list.iter_mut().find(|task| task.pid == pid) {
            let forked = child::fork(None, |_| task::become_epilog(&self.program, task));
            task.words = None;
            self.tasks.epilogs.extend(forked);
        }
    }

    fn wait(&self, pause: Option<Duration>) -> Result<()> {
        let mut interests: Vec<(BorrowedFd<'_>, PollFlags)> = self.clients.interests();
        interests.push((self.signals.as_fd(), PollFlags::POLLIN));
        interests.extend(self.pmi.iter().flat_map(Pmi::interests));
        let have_room = self.clients.have_room();
        for task in &self.tasks.list {
            let outputs = [&task.output, &task.error].into_iter().flatten();
            interests.extend(
                outputs.filter(|_| have_room).map(|file| (file.as_fd(), PollFlags::POLLIN)),
            );
            if let Some(input) = &task.input
                && !input.waiting.is_empty()
            {
                interests.push((input.pipe.as_fd(), PollFlags::POLLOUT));
            }
        }
        let mut fds: Vec<PollFd<'_>> =
            interests.iter().map(|(fd, flags)| PollFd::new(*fd, *flags)).collect();
        let timeout = match pause {
            Some(pause) => {
                PollTimeout::try_from(pause + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
            }
            None => PollTimeout::NONE,
        };
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno).context("could not wait"),
        }
    }

    fn work(&mut self) {
        let heard = self.signals.read();
        for message in heard.messages {
            match message {
                NOTICE => self.pass_words_on(),
                message => {
                    let signal = self.rest.meant_by(message & !SCRIPT_ONLY);
                    if signal == libc::SIGKILL {
                        // Whoever started it is not surprised, and has the other nodes end their tasks, too.
                        self.clients.tell_launcher(Kind::Abort, EVERYBODY, &[]);
                    }
                    self.signal(signal);
                }
            }
        }
        if heard.end && self.end.is_none() {
            self.ask_to_end();
        }
        for frame in self.clients.work() {
            self.obey(&frame);
        }
        // As Slurm: tasks do not outlive whoever waits for them.
        if self.clients.are_deserted() && self.end.is_none() && !self.tasks.are_over() {
            self.ask_to_end();
        }
        self.write_tasks();
        self.read_tasks(false);
        if self.pmi.as_mut().is_some_and(|pmi| pmi.work(&mut self.clients)) {
            // Its tasks are everywhere: who is connected to all nodes ends them.
            self.say_cancelled();
            self.clients.tell_launcher(Kind::Abort, EVERYBODY, &[]);
        }
        self.grant();
    }

    fn obey(&mut self, frame: &Frame) {
        match frame.kind {
            Kind::Input => {
                self.received += frame.payload.len() as u64;
                let chosen = |task: &&mut Task| frame.rank == EVERYBODY || frame.rank == task.rank;
                for task in self.tasks.list.iter_mut().filter(chosen) {
                    let Some(input) = &mut task.input else { continue };
                    input.waiting.extend(&frame.payload);
                    input.ended |= frame.payload.is_empty();
                }
            }
            Kind::Signal => self.signal(frame.number() as i32),
            Kind::Window => {
                let [a, b, c, d] = frame.number().to_le_bytes();
                let (rows, columns) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
                for task in &self.tasks.list {
                    if let (true, Some(terminal)) =
                        (self.program.has_terminal(task.rank), &task.output)
                    {
                        child::set_window(terminal, rows, columns);
                    }
                }
            }
            Kind::Share | Kind::Name => {
                if let Some(pmi) = &mut self.pmi {
                    pmi.obey(frame, &mut self.clients);
                }
            }
            _ => {}
        }
    }

    /// All processes of the step here.
    fn family(&self) -> Family<'_> {
        Family { group: self.program.group.as_deref() }
    }

    /// To every task and the processes it leads. Nothing survives `KILL` by having left.
    fn signal(&self, signal: i32) {
        if signal == libc::SIGKILL {
            self.family().members().iter().for_each(|process| process.signal(signal));
            return;
        }
        let Ok(signal) = nix::sys::signal::Signal::try_from(signal) else { return };
        for task in self.tasks.list.iter().filter(|task| task.status.is_none()) {
            let _ = killpg(Pid::from_raw(task.pid), signal);
        }
    }

    /// `TERM`, then `KILL` for who does not heed it.
    fn ask_to_end(&mut self) {
        let run = Family { group: self.program.group.as_deref() };
        self.end = Some(self.rest.end(&run, self.program.kill_wait));
    }

    /// Says what the agent has left since the last time.
    fn pass_words_on(&mut self) {
        for notice in self.words.news() {
            let line = format!("slurmstepd: error: {}\n", notice);
            self.clients.tell(Kind::Say, EVERYBODY, line.as_bytes());
        }
    }

    fn say_cancelled(&mut self) {
        let line = format!(
            "slurmstepd: error: *** STEP {} ON {} CANCELLED AT {} ***\n",
            self.program.name,
            self.program.node,
            child::local_time()
        );
        self.clients.tell(Kind::Say, EVERYBODY, line.as_bytes());
    }

    /// Reads what tasks have written: as much as there is room for, or all that is there.
    fn read_tasks(&mut self, all: bool) {
        for at in 0..self.tasks.list.len() {
            for kind in [Kind::Output, Kind::Error] {
                self.read_task(at, kind, all);
            }
        }
    }

    fn read_task(&mut self, at: usize, kind: Kind, all: bool) {
        let mut bytes = [0; 64 << 10];
        while all || self.clients.have_room() {
            let task = &mut self.tasks.list[at];
            let rank = task.rank;
            let end = if kind == Kind::Output { &mut task.output } else { &mut task.error };
            let Some(file) = end else { return };
            match file.read(&mut bytes) {
                Ok(count) if count > 0 => self.clients.tell(kind, rank, &bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The end of a pipe, or of a terminal nobody holds any more.
                Ok(_) | Err(_) => {
                    *end = None;
                    self.clients.tell(kind, rank, &[]);
                    return;
                }
            }
        }
    }

    fn write_tasks(&mut self) {
        for task in &mut self.tasks.list {
            let Some(input) = &mut task.input else { continue };
            let is_terminal = self.program.asked.pty;
            match write_some(&mut input.pipe, &mut input.waiting) {
                // A terminal's input ends by a character; closing ours would hang up.
                Ok(()) if input.ended && input.waiting.is_empty() && !is_terminal => {
                    task.input = None;
                }
                Ok(()) => {}
                // It does not read any more.
                Err(_) => task.input = None,
            }
        }
    }

    /// Lets the launcher send more as the slowest task reads.
    fn grant(&mut self) {
        let waiting = self.tasks.list.iter().filter_map(|task| task.input.as_ref());
        let waiting = waiting.map(|input| input.waiting.len() as u64).max().unwrap_or(0);
        let outstanding = self.granted - self.received.min(self.granted);
        let free = u64::from(INPUT_WINDOW).saturating_sub(waiting + outstanding);
        if free >= u64::from(INPUT_WINDOW) / 4 {
            self.granted += free;
            self.clients.tell_launcher(Kind::Grant, EVERYBODY, &(free as u32).to_le_bytes());
        }
    }

    /// Passes on what the tasks have left in their pipes; nobody writes there any more.
    fn drain(&mut self) -> Result<()> {
        loop {
            self.read_tasks(false);
            let open = |task: &Task| task.output.is_some() || task.error.is_some();
            if !self.tasks.list.iter().any(open) {
                return Ok(());
            }
            self.wait(None)?;
            self.work();
        }
    }

    /// How many of the step's processes here were ended for want of memory.
    fn oom_kills(&self) -> u64 {
        self.program.group.as_ref().map_or(0, |group| group.oom_kills())
    }

    fn say_if_out_of_memory(&mut self) {
        let kills = self.oom_kills();
        if kills > 0 {
            let line = format!(
                "slurmstepd: error: Detected {kills} oom-kill event(s) in StepId={}. Some of your \
                 processes may have been killed by the cgroup out-of-memory handler.\n",
                self.program.name
            );
            self.clients.tell(Kind::Say, EVERYBODY, line.as_bytes());
        }
    }

    /// Whoever reads slowly is waited for, unless the step is to end.
    fn say_goodbye(&mut self) -> Result<()> {
        let mut deadline = None;
        loop {
            self.work();
            if self.clients.are_told() {
                return Ok(());
            }
            if self.end.is_some() && deadline.is_none() {
                deadline = Some(Instant::now() + LAST_WORDS);
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            self.wait(left)?;
        }
    }
}

fn write_some(pipe: &mut File, waiting: &mut VecDeque<u8>) -> std::io::Result<()> {
    while !waiting.is_empty() {
        let (first, _) = waiting.as_slices();
        match pipe.write(first) {
            Ok(count) => {
                waiting.drain(..count);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
