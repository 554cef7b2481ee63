//! `spur logs JOB`: what a job wrote, from the first byte, and on as it writes.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use spur_core::fields::job::shown_id;
use spur_core::filename::{self, Values};
use spur_core::job::reference::JobReference;
use spur_core::job::{JobState, JobStatus, Reason};
use spur_core::views::JobView;
use spur_proto::caller::CallError;
use spur_proto::slurm::ListJobsRequest;

use crate::cluster::Controller;
use crate::output::{complain, note};

/// The name of a file as the node made it: the controller fills in only what it knows.
fn written(job: &JobView, shown: &str) -> String {
    let values = Values { job: job.job_id, node_name: job.batch_host.clone(), ..Values::default() };
    filename::expand(shown, &values)
}

/// Prints what a job wrote to its output, also after its end. With -f, goes on until the job is over.
#[derive(Parser)]
struct Arguments {
    /// The job, or a task of an array: 12, 12_3.
    job: String,
    /// Go on as the job writes, until it is over.
    #[arg(long, short)]
    follow: bool,
    /// Its standard error, where that is a file of its own.
    #[arg(long, short)]
    error: bool,
    /// Only the last lines.
    #[arg(long, short = 'n', value_name = "LINES")]
    tail: Option<usize>,
    /// Print the name of the file and nothing else.
    #[arg(long)]
    path: bool,
    /// As one object: the job, the file and what is in it.
    #[arg(long, conflicts_with = "follow")]
    json: bool,
}

/// How often a file is looked at for more.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("logs", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut controller = Controller::find();
    let job = match find(&mut controller, &arguments.job) {
        Ok(job) => job,
        Err(error) => {
            complain("spur logs", format!("job {}: {error}", arguments.job));
            return 1;
        }
    };
    let path = &match arguments.error {
        true => written(&job, &job.standard_error),
        false => written(&job, &job.standard_output),
    };
    if arguments.path && !arguments.json {
        crate::output::print(&format!("{path}\n"));
        return 0;
    }
    let shown = match arguments.json {
        true => show_json(&arguments, &job, path),
        false => show(&arguments, &job, path),
    };
    match shown {
        Ok(()) => 0,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => 0,
        Err(error) => {
            complain("spur logs", format!("{path}: {}", plain(&error)));
            advise(&job, &error);
            1
        }
    }
}

/// The job of this name; of an array, the first task that has begun.
pub fn find(controller: &mut Controller, name: &str) -> Result<JobView, CallError> {
    let unknown = || CallError::Refused(spur_core::errors::SlurmError::InvalidJobId);
    let reference = JobReference::parse(name).ok_or_else(unknown)?;
    let request =
        ListJobsRequest { job_ids: vec![reference.job], ended: true, ..Default::default() };
    let mut found = controller.jobs(&request)?;
    found.retain(|job| reference.names(job));
    let begun = |job: &&JobView| JobStatus(job.state).base() != JobState::Pending;
    found.iter().find(begun).or(found.first()).cloned().ok_or_else(unknown)
}

fn show(arguments: &Arguments, job: &JobView, path: &str) -> std::io::Result<()> {
    let over = Arc::new(AtomicBool::new(is_over(job)));
    if arguments.follow && !is_over(job) {
        let (over, id) = (over.clone(), job.job_id);
        // Told when the job is over, so that nothing asks about it again and again.
        std::thread::spawn(move || {
            while matches!(Controller::find().wait(id), Err(CallError::Unreachable)) {}
            over.store(true, Ordering::Release);
        });
    }
    let Some(mut file) = open(path, arguments.follow, &over)? else { return Ok(()) };
    if let Some(lines) = arguments.tail {
        skip_to_last(&mut file, lines)?;
    }
    let mut out = std::io::stdout().lock();
    loop {
        // Asked first: what was written before the end is read after it.
        let last_look = over.load(Ordering::Acquire) || !arguments.follow;
        if std::io::copy(&mut file, &mut out)? == 0 && last_look {
            return out.flush();
        }
        out.flush()?;
        if !last_look {
            std::thread::sleep(PAUSE);
        }
    }
}

/// For programs; with `--path` without the text.
fn show_json(arguments: &Arguments, job: &JobView, path: &str) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    if !arguments.path {
        let mut file = File::open(path)?;
        if let Some(lines) = arguments.tail {
            skip_to_last(&mut file, lines)?;
        }
        file.read_to_end(&mut bytes)?;
    }
    let mut told = serde_json::json!({
        "job_id": job.job_id,
        "job": shown_id(job),
        "state": JobStatus(job.state).name(),
        "stream": if arguments.error { "stderr" } else { "stdout" },
        "path": path,
    });
    if !arguments.path {
        told["text"] = String::from_utf8_lossy(&bytes).into();
    }
    crate::output::print(&format!("{told:#}\n"));
    Ok(())
}

/// Opens the file; whoever follows waits for it to appear.
fn open(path: &str, follow: bool, over: &AtomicBool) -> std::io::Result<Option<File>> {
    loop {
        let last_look = over.load(Ordering::Acquire) || !follow;
        match File::open(path) {
            Ok(file) => return Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound && !last_look => {
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Goes to where the last lines begin.
fn skip_to_last(file: &mut File, lines: usize) -> std::io::Result<()> {
    const PIECE: u64 = 64 << 10;
    let end = file.seek(SeekFrom::End(0))?;
    let (mut start, mut seen) = (end, Vec::new());
    while start > 0 {
        let from = start.saturating_sub(PIECE);
        let mut piece = vec![0; (start - from) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut piece)?;
        piece.extend_from_slice(&seen);
        (seen, start) = (piece, from);
        if let Some(place) = last_lines(&seen, lines) {
            file.seek(SeekFrom::Start(start + place as u64))?;
            return Ok(());
        }
    }
    file.seek(SeekFrom::Start(0)).map(drop)
}

/// Where the last lines of a text begin; nothing when it has no more than these.
fn last_lines(text: &[u8], lines: usize) -> Option<usize> {
    let whole = text.strip_suffix(b"\n").unwrap_or(text);
    let mut breaks = whole.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match lines {
        0 => Some(text.len()),
        lines => breaks.nth(lines - 1).map(|(place, _)| place + 1),
    }
}

fn is_over(job: &JobView) -> bool {
    !matches!(
        JobStatus(job.state).base(),
        JobState::Pending | JobState::Running | JobState::Suspended
    )
}

fn advise(job: &JobView, error: &std::io::Error) {
    let id = shown_id(job);
    match (error.kind(), JobStatus(job.state).base()) {
        (ErrorKind::NotFound, JobState::Pending) => {
            let reason = Reason::word(job.reason);
            note(format!(
                "The job waits ({reason}); see: spur why {id}, or follow: spur logs -f {id}"
            ));
        }
        (ErrorKind::NotFound, _) if !job.batch_host.is_empty() => {
            note(format!(
                "It was written on {}, and that directory is not shared with this machine.",
                job.batch_host
            ));
        }
        _ => {}
    }
}

fn plain(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_found() {
        let text = b"a\nb\nc\n";
        assert_eq!(last_lines(text, 1), Some(4));
        assert_eq!(last_lines(text, 2), Some(2));
        assert_eq!(last_lines(text, 3), None);
        assert_eq!(last_lines(b"a\nb", 1), Some(2));
        assert_eq!(last_lines(text, 0), Some(6));
    }
}
