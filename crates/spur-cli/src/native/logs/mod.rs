//! `spur logs JOB[.STEP][:RANK]`: what a job, the tasks of an array or the tasks of a step wrote, from the first
//! byte, and on as they write.

mod reader;
mod sources;

use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use spur_core::errors::SlurmError;
use spur_core::fields::job::shown_id;
use spur_core::job::reference::JobReference;
use spur_core::job::{JobState, JobStatus, Reason};
use spur_core::views::JobView;
use spur_proto::caller::CallError;

use self::reader::Reader;
pub use self::sources::jobs;
use self::sources::{Source, Wanted};
use super::wait;
use crate::cluster::Controller;
use crate::output::{complain, note, print};

/// Prints what a job wrote to its output, also after its end; of several tasks, each line with its task in front.
/// With -f, goes on until the job is over.
#[derive(Parser)]
struct Arguments {
    /// The job, an array or a task of it, a step, a task of a step: 12, 12_3, 12.0, 12.0:5.
    #[arg(value_name = "JOB[.STEP][:RANK]")]
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
    /// Print the names of the files and nothing else.
    #[arg(long)]
    path: bool,
    /// An object for each file: the job, the file and what is in it.
    #[arg(long, conflicts_with = "follow")]
    json: bool,
}

/// How often files are looked at for more.
const PAUSE: Duration = Duration::from_millis(50);

/// How often it is asked whether more tasks have begun.
const MORE_TASKS: Duration = Duration::from_secs(1);

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("logs", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let refuse = |error: String| {
        complain("spur logs", format!("job {}: {error}", arguments.job));
        1
    };
    let unknown = || SlurmError::InvalidJobId.to_string();
    let Some(wanted) = Wanted::parse(&arguments.job, arguments.error) else {
        return refuse(unknown());
    };
    let mut controller = Controller::find();
    let sources = match wanted.sources(&mut controller) {
        Ok(sources) => sources,
        Err(error) => return refuse(error),
    };
    if sources.is_empty() && !(arguments.follow && wanted.reference.step.is_some()) {
        if wanted.reference.step.is_none() {
            return refuse(unknown());
        }
        complain("spur logs", format!("{}: no files of its own are known", arguments.job));
        let job = wanted.reference.job;
        note(format!(
            "What a step's tasks write goes to srun unless it has --output: spur logs {job}"
        ));
        return 1;
    }
    if arguments.path && !arguments.json {
        print(&sources.iter().map(|source| format!("{}\n", source.path)).collect::<String>());
        return 0;
    }
    let shown = match (arguments.json, arguments.follow) {
        (true, _) => show_json(&arguments, sources),
        (false, true) => follow(&arguments, &wanted, &mut controller, sources),
        (false, false) => show(&arguments, sources),
    };
    match shown {
        Ok(()) => 0,
        Err((_, error)) if error.kind() == ErrorKind::BrokenPipe => 0,
        Err((source, error)) => {
            complain("spur logs", format!("{}: {}", source.path, plain(&error)));
            advise(&source.job, &error);
            1
        }
    }
}

/// What went wrong, and with which file.
type Outcome = Result<(), (Source, std::io::Error)>;

/// The job of this name; of an array, the first task that has begun.
pub fn find(controller: &mut Controller, name: &str) -> Result<JobView, CallError> {
    let unknown = || CallError::Refused(SlurmError::InvalidJobId);
    let reference = JobReference::parse(name).ok_or_else(unknown)?;
    let found = jobs(controller, &reference)?;
    let begun = |job: &&JobView| JobStatus(job.state).base() != JobState::Pending;
    found.iter().find(begun).or(found.first()).cloned().ok_or_else(unknown)
}

/// Shows what is there now. Of several files those that are there will do.
fn show(arguments: &Arguments, sources: Vec<Source>) -> Outcome {
    let mut out = std::io::stdout().lock();
    let mut missing = None;
    let mut any = false;
    for source in sources {
        let mut reader = Reader::new(source, arguments.tail);
        match reader.open() {
            Ok(false) => {
                let error = std::io::Error::from(ErrorKind::NotFound);
                missing.get_or_insert((reader.source, error));
                continue;
            }
            Err(error) => return Err((reader.source, error)),
            Ok(true) => any = true,
        }
        let shown = reader.show(&mut out).and_then(|_| reader.finish(&mut out));
        shown.map_err(|error| (reader.source, error))?;
    }
    match missing {
        Some(missing) if !any => Err(missing),
        _ => Ok(()),
    }
}

/// Shows what comes until all is over.
fn follow(
    arguments: &Arguments,
    wanted: &Wanted,
    controller: &mut Controller,
    sources: Vec<Source>,
) -> Outcome {
    let over = Arc::new(AtomicBool::new(false));
    tell_when_over(wanted, &over);
    let mut readers: Vec<Reader> =
        sources.into_iter().map(|source| Reader::new(source, arguments.tail)).collect();
    let mut out = std::io::stdout().lock();
    let mut asked = Instant::now();
    loop {
        // Asked first: what was written before the end is read after it.
        let last_look = over.load(Ordering::Acquire);
        if last_look || asked.elapsed() >= MORE_TASKS {
            asked = Instant::now();
            for source in wanted.sources(controller).unwrap_or_default() {
                if !readers.iter().any(|reader| reader.source.path == source.path) {
                    readers.push(Reader::new(source, None));
                }
            }
            // The first task of an array stood alone until there was a second.
            if let [first, _, ..] = readers.as_mut_slice()
                && first.source.label.is_empty()
            {
                first.source.label = shown_id(&first.source.job);
            }
        }
        let mut read = 0;
        for reader in &mut readers {
            let shown = reader.show(&mut out).and_then(|count| out.flush().map(|()| count));
            read += shown.map_err(|error| (reader.source.clone(), error))?;
        }
        if last_look && read == 0 {
            break;
        }
        if !last_look {
            std::thread::sleep(PAUSE);
        }
    }
    for reader in &mut readers {
        reader.finish(&mut out).map_err(|error| (reader.source.clone(), error))?;
    }
    let never = |reader: &mut Reader| !matches!(reader.open(), Ok(true));
    match readers.iter_mut().all(never) {
        true => match readers.into_iter().next() {
            Some(reader) => Err((reader.source, ErrorKind::NotFound.into())),
            None => Ok(()),
        },
        false => Ok(()),
    }
}

/// Told by the controller, so that nothing asks about jobs again and again.
fn tell_when_over(wanted: &Wanted, over: &Arc<AtomicBool>) {
    let (over, requests) = (over.clone(), wait::requests(&wanted.reference));
    std::thread::spawn(move || {
        for request in requests {
            while matches!(Controller::find().wait(request), Err(CallError::Unreachable)) {}
        }
        over.store(true, Ordering::Release);
    });
}

/// For programs; with `--path` without the text.
fn show_json(arguments: &Arguments, sources: Vec<Source>) -> Outcome {
    for source in sources {
        let mut reader = Reader::new(source, arguments.tail);
        let text = match arguments.path {
            true => None,
            false => match reader.open() {
                Ok(true) => Some(reader.text().map_err(|error| (reader.source.clone(), error))?),
                Ok(false) => return Err((reader.source, ErrorKind::NotFound.into())),
                Err(error) => return Err((reader.source, error)),
            },
        };
        let (job, source) = (&reader.source.job, &reader.source);
        let mut told = serde_json::json!({
            "job_id": job.job_id,
            "job": shown_id(job),
            "state": JobStatus(job.state).name(),
            "stream": if arguments.error { "stderr" } else { "stdout" },
            "label": source.label,
            "path": source.path,
        });
        if let Some(text) = text {
            told["text"] = text.into();
        }
        print(&format!("{told:#}\n"));
    }
    Ok(())
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
    match error.kind() {
        ErrorKind::NotFound => "No such file or directory".to_string(),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_string(),
    }
}
