//! Starts the task, waits for its end, heeds requests to end it, and leaves nobody behind.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd;
use spur_core::views::{TaskUsage, Usage};

use super::pause::Pause;
use super::plan::Plan;
use super::sampler::Sampler;
use super::task;
use super::words::Words;
use crate::ending::{Ending, LastWord};
use crate::fence::{Look, REASON};
use crate::machine::cgroup::Group;
use crate::machine::child::{self, Waited};
use crate::machine::handover;
use crate::machine::pidfd::{NOTICE, SCRIPT_ONLY, message_signal};
use crate::machine::processes;

/// Runs the script to its end and beyond: returns when no process of the run is left.
pub fn run(plan: &mut Plan) -> Result<LastWord> {
    let signals = Signals::listen()?;
    let before = child::usage_of_children();
    let mut sampler = plan.sampler.take();
    let plan = &*plan;
    if plan.fence.look() == Look::Due {
        return Ok(Ending::NodeFault(REASON.to_string()).into());
    }
    let (fault, fault_writer) =
        unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).context("could not make a pipe")?;
    let (words, words_giver) = handover::passage().context("could not make a passage")?;
    let run = Family { group: plan.group.as_deref() };
    let cradle = plan.group.as_deref().and_then(Group::cradle);
    let mut draft = task::Draft::new(plan);
    let become_script =
        |born_in| task::become_script(plan, draft.as_mut(), born_in, fault_writer, &words_giver);
    let pid = child::fork(cradle.as_ref().map(AsFd::as_fd), become_script);
    let pid = pid.context("could not fork")?;
    drop(cradle);
    let mut voice = Voice { passage: words, output: None, words: Words::at(plan.words.clone()) };
    let (status, used) = await_script(plan, &run, &signals, pid, &mut sampler, &mut voice)?;
    let is_fenced = plan.fence.has_tripped();
    if !plan.hooks.epilogs.is_empty() {
        let end = voice.output().and_then(|output| output.try_clone().ok());
        let end = end.map(OwnedFd::from);
        let epilogs = child::fork(None, |_| task::become_epilog(plan, pid as u32, end));
        let epilogs = epilogs.context("could not fork")?;
        await_script(plan, &run, &signals, epilogs, &mut None, &mut voice)?;
    }
    bury_the_rest(&run, &signals)?;
    if is_fenced {
        return Ok(Ending::NodeFault(REASON.to_string()).into());
    }
    let mut reason = String::new();
    // The writing end here is closed with `fork`'s argument; all others ended with their processes.
    let _ = File::from(fault).read_to_string(&mut reason);
    if !reason.is_empty() {
        return Ok(Ending::CouldNotStart(reason).into());
    }
    let used = sampler.as_ref().map_or(used, |sampler| sampler.complete(pid, used));
    let usage = usage(&[(0, used)], before);
    let oom_kills = plan.group.as_ref().map_or(0, |group| group.oom_kills());
    if oom_kills == 0 {
        return Ok(LastWord { ending: Ending::Exited(status), usage });
    }
    if let Some(output) = voice.output() {
        let complaint = format!(
            "Detected {oom_kills} oom-kill event(s) in StepId={}. Some of your processes may have \
             been killed by the cgroup out-of-memory handler.",
            plan.step
        );
        task::say(output, &complaint);
    }
    Ok(LastWord { ending: Ending::OutOfMemory, usage })
}

/// What the shepherd has to tell the user goes where the script's errors go: the script opened it as the user, and
/// passed it on.
struct Voice {
    passage: OwnedFd,
    output: Option<File>,
    words: Words,
}

/// No more is said at once: a pipe that has room takes as much without making anybody wait.
const MOST_WORDS: usize = 4000;

impl Voice {
    fn output(&mut self) -> Option<&File> {
        if self.output.is_none() {
            self.output = handover::take(&self.passage).ok().flatten().map(File::from);
        }
        self.output.as_ref()
    }

    /// Says what the agent has left since the last time. Where nobody reads, nothing is said.
    fn pass_on(&mut self) {
        let news = self.words.news();
        let Some(output) = self.output() else { return };
        for notice in news {
            let mut ready = [PollFd::new(output.as_fd(), PollFlags::POLLOUT)];
            if matches!(poll(&mut ready, PollTimeout::ZERO), Ok(1..)) {
                task::say(output, &notice[..notice.floor_char_boundary(MOST_WORDS)]);
            }
        }
    }
}

/// What tasks used each, and all children together, detached ones included but not those of `before`.
pub(super) fn usage(tasks: &[(u32, TaskUsage)], before: TaskUsage) -> Usage {
    let whole = child::usage_of_children();
    let mut usage = Usage {
        user_micros: whole.user_micros.saturating_sub(before.user_micros),
        system_micros: whole.system_micros.saturating_sub(before.system_micros),
        ..Usage::default()
    };
    tasks.iter().for_each(|(rank, used)| usage.add(*rank, used));
    usage
}

fn await_script(
    plan: &Plan,
    run: &Family,
    signals: &Signals,
    script: i32,
    sampler: &mut Option<Sampler>,
    voice: &mut Voice,
) -> Result<(u32, TaskUsage)> {
    let mut end: Option<Insistence> = None;
    let mut rest = Pause::default();
    loop {
        loop {
            match child::wait_any().context("could not wait")? {
                Waited::Ended(pid, status, used) if pid == script => return Ok((status, used)),
                Waited::Ended(..) => {}
                Waited::NotYet => break,
                Waited::Childless => anyhow::bail!("the script's process vanished"),
            }
        }
        let look = sampler
            .as_mut()
            .and_then(|sampler| sampler.look_when_due(std::iter::once(script), || run.members()));
        let fence = match plan.fence.look() {
            // Nobody is given time: the run may soon begin elsewhere.
            Look::Due => {
                end.get_or_insert_with(|| Insistence::after(Duration::ZERO)).hurry();
                None
            }
            Look::In(left) => Some(left),
            Look::Never => None,
        };
        let pause = end.as_mut().map(|end| end.kill_when_due(run));
        let stop = rest.stop_when_due(|| run.pass_on(libc::SIGSTOP, script));
        let pause = pause.into_iter().chain(look).chain(fence).chain(stop).min();
        let heard = signals.wait(pause)?;
        for message in heard.messages {
            match message {
                NOTICE => voice.pass_on(),
                message => run.pass_on(rest.meant_by(message), script),
            }
        }
        if heard.end && end.is_none() {
            end = Some(rest.end(run, plan.kill_wait));
        }
    }
}

/// Nothing of a run outlives its script, however it was detached: orphans become our children.
fn bury_the_rest(run: &Family, signals: &Signals) -> Result<()> {
    let mut end = Insistence::after(Duration::ZERO);
    loop {
        loop {
            match child::wait_any().context("could not wait")? {
                Waited::Ended(..) => {}
                Waited::NotYet => break,
                Waited::Childless => return Ok(()),
            }
        }
        signals.wait(Some(end.kill_when_due(run)))?;
    }
}

/// When to kill, and kill again: a process may have escaped a look by forking, or hang in the kernel,
/// where nothing but patience helps.
pub(super) struct Insistence {
    due: Instant,
    pause: Duration,
}

impl Insistence {
    pub(super) fn after(patience: Duration) -> Insistence {
        Insistence { due: Instant::now() + patience, pause: FIRST_PAUSE }
    }

    /// Waits no longer.
    pub(super) fn hurry(&mut self) {
        self.due = self.due.min(Instant::now() + self.pause);
    }

    /// Kills all of the run if it is time to; returns how long to wait for the next time.
    pub(super) fn kill_when_due(&mut self, run: &Family) -> Duration {
        if self.due <= Instant::now() {
            run.kill(self.pause > FIRST_PAUSE);
            self.due = Instant::now() + self.pause;
            self.pause = (self.pause * 2).min(Duration::from_secs(1));
        }
        self.due.saturating_duration_since(Instant::now())
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// Between two signals: of two that come at once the lower number is heard first, and bash forgets one of them.
const BREATH: Duration = Duration::from_millis(10);

/// All processes of the run: our descendants, and with a group its members.
pub(super) struct Family<'a> {
    pub(super) group: Option<&'a Group>,
}

impl Family<'_> {
    /// As Slurm: the stopped ones must be able to heed it.
    pub(super) fn ask_to_end(&self) {
        let processes = match self.group {
            Some(group) => group.members(),
            None => descendants(),
        };
        processes.iter().for_each(|process| process.signal(libc::SIGCONT));
        std::thread::sleep(BREATH);
        processes.iter().for_each(|process| process.signal(libc::SIGTERM));
    }

    /// Passes a signal on: to the script's shell alone, or to everybody.
    pub(super) fn pass_on(&self, message: i32, script: i32) {
        let (signal, script_only) = (message & !SCRIPT_ONLY, message & SCRIPT_ONLY != 0);
        let chosen = self.members().into_iter().filter(|it| !script_only || it.pid == script);
        chosen.for_each(|process| process.signal(signal));
    }

    pub(super) fn members(&self) -> Vec<processes::Process> {
        match self.group {
            Some(group) => group.members(),
            None => descendants(),
        }
    }

    /// Who is not hit by the group's end has left it, which only root can; so that is looked for only
    /// when somebody `is_left`.
    fn kill(&self, is_left: bool) {
        let killed = self.group.is_some_and(|group| group.kill().is_ok());
        if !killed || is_left {
            processes::kill_all(descendants);
        }
    }
}

fn descendants() -> Vec<processes::Process> {
    processes::descendants(std::process::id() as i32)
}

/// The signals a shepherd listens to; all others are blocked.
pub(super) struct Signals(SignalFd);

/// What signals said.
#[derive(Default)]
pub(super) struct Heard {
    /// The run is to end.
    pub(super) end: bool,
    /// Signals to pass on.
    pub(super) messages: Vec<i32>,
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Signals {
    pub(super) fn listen() -> Result<Signals> {
        let mask = child::signal_set(&[libc::SIGTERM, libc::SIGCHLD, message_signal()]);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Signals(SignalFd::with_flags(&mask, flags).context("could not listen to signals")?))
    }

    /// Waits for a signal, not longer than told.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> Result<Heard> {
        let timeout = match timeout {
            // Rounded up, or the last fraction of a millisecond would be spent awake.
            Some(time) => {
                PollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
            }
            None => PollTimeout::NONE,
        };
        match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno).context("could not wait for signals"),
        }
        Ok(self.read())
    }

    /// What was said so far.
    pub(super) fn read(&self) -> Heard {
        let mut heard = Heard::default();
        while let Ok(Some(signal)) = self.0.read_signal() {
            heard.end |= signal.ssi_signo == libc::SIGTERM as u32;
            if signal.ssi_signo == message_signal() as u32 {
                heard.messages.push(signal.ssi_int);
            }
        }
        heard
    }
}
