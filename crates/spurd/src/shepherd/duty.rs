//! A shepherd's life: one run after the other, all of one user, as the agent says on its line. It ends when nobody is
//! at the other end any more, but never before its run is over.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use anyhow::{Context, Result};
use nix::sys::prctl;
use nix::sys::signal::SigSet;
use nix::unistd;

use super::{Node, Run, SHEPHERD, script};
use crate::claim::Claim;
use crate::machine::child::{self, CommandLine};
use crate::machine::handover;
use crate::machine::oom;
use crate::machine::pidfd::message_signal;
use crate::machine::privilege::Known;
use crate::run::RunId;

/// What the agent asks of a shepherd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The run to care for.
    pub run: String,
    /// An empty file in the spool that it may use.
    pub spare: Option<String>,
}

impl Request {
    /// As it goes over the line.
    pub fn to_text(&self) -> String {
        format!("{} {}", self.run, self.spare.as_deref().unwrap_or_default())
    }

    fn parse(text: &[u8]) -> Request {
        let text = String::from_utf8_lossy(text);
        let (run, spare) = text.split_once(' ').unwrap_or((&text, ""));
        let spare = (!spare.is_empty()).then(|| spare.to_string());
        Request { run: run.to_string(), spare }
    }
}

/// What stays with a shepherd from run to run.
pub(super) struct Own {
    pub(super) claim: Claim,
    pub(super) script: script::Spare,
    pub(super) users: Known,
}

impl Own {
    fn of(node: &Node) -> Result<Own> {
        let claim = Claim::own_in(node.boot_id.clone())?;
        Ok(Own { claim, script: script::Spare::default(), users: Known::default() })
    }
}

/// What it says when a run is over and it could take another.
const RESTS: &[u8] = b"rests";

/// A leak that nobody has found yet does not grow for ever.
const MOST_RUNS: usize = 1000;

/// Cares for run after run.
pub fn live(node: &Node, line: OwnedFd, words: Option<CommandLine>) -> ExitCode {
    told(go_on(node, &line, words).map(|()| 0))
}

/// Cares for a single run.
pub fn one(node: &Node, name: &str) -> ExitCode {
    let begun = begin(node);
    told(begun.and_then(|mut own| {
        let care = Run { node, run: parse(name)?, own: &mut own }.shepherd(None);
        leave_nothing(node, &own);
        care
    }))
}

fn told(code: Result<u8>) -> ExitCode {
    match code {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("spurd shepherd: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn begin(node: &Node) -> Result<Own> {
    // First of all: from here on a request to end a run waits until it can be heeded.
    let _ = SigSet::all().thread_block();
    stand_alone()?;
    // Known before the first fork, so that no child has to look.
    oom::is_spared().context("could not look whether this process is spared")?;
    Own::of(node)
}

fn go_on(node: &Node, line: &OwnedFd, words: Option<CommandLine>) -> Result<()> {
    let show = |what: &[&OsStr]| {
        if let Some(words) = words {
            let name = [OsStr::new("spurd")];
            let all = name.iter().chain(what).map(|word| word.as_bytes());
            words.write(&all.collect::<Vec<_>>());
        }
    };
    let nothing = OwnedFd::from(File::open("/dev/null").context("could not open /dev/null")?);
    unistd::dup2_stdin(&nothing)?;
    let mut own = begin(node)?;
    let ended = run_after_run(node, line, &mut own, &nothing, show);
    leave_nothing(node, &own);
    ended
}

fn leave_nothing(node: &Node, own: &Own) {
    if let Some(confines) = &node.confines {
        confines.host.remove_spare(own.claim.pid);
    }
}

fn run_after_run(
    node: &Node,
    line: &OwnedFd,
    own: &mut Own,
    nothing: &OwnedFd,
    show: impl Fn(&[&OsStr]),
) -> Result<()> {
    let spool = node.spool.as_os_str();
    for number in 1..=MOST_RUNS {
        let Ok((request, listener)) = handover::receive(line) else { break };
        // Whoever was told something since its last run cannot know which run was meant.
        if request.is_empty() || child::is_pending(&[libc::SIGTERM, message_signal()]) {
            break;
        }
        let Request { run, spare } = Request::parse(&request);
        show(&[OsStr::new(SHEPHERD), spool, OsStr::new(&run)]);
        if let Some(listener) = &listener {
            unistd::dup2_stdin(listener)?;
        }
        let has_listener = listener.is_some();
        drop(listener);
        let spare = spare.map(|spare| node.spool.join(spare));
        let care = Run { node, run: parse(&run)?, own: &mut *own }.shepherd(spare);
        care.with_context(|| format!("run {run}"))?;
        if has_listener {
            unistd::dup2_stdin(nothing)?;
        }
        show(&[OsStr::new(IDLE), spool]);
        if number == MOST_RUNS || handover::send(line, RESTS, None).is_err() {
            break;
        }
    }
    Ok(())
}

/// Shown in place of [`SHEPHERD`] while there is no run.
const IDLE: &str = "idle";

fn parse(name: &str) -> Result<RunId> {
    RunId::parse(name).with_context(|| format!("{name:?} names no run"))
}

/// Leaves the agent's session, and becomes the parent of every orphan of its runs.
fn stand_alone() -> Result<()> {
    // Refused only to the leader of a group, and one of those is apart already.
    let _ = unistd::setsid();
    prctl::set_child_subreaper(true).context("could not become a subreaper")?;
    prctl::set_name(c"spurd-shepherd").context("could not set the name")?;
    std::env::set_current_dir("/").context("could not leave the working directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        for spare in [None, Some("spare/7".to_string())] {
            let request = Request { run: "7.1.2".to_string(), spare };
            assert_eq!(Request::parse(request.to_text().as_bytes()), request);
        }
    }
}
