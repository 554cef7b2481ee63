//! `spur audit`: shows who did what, and checks that nobody has changed the record of it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use spur_core::audit::{self, Broken, End, Record};

use super::layout::Layout;
use crate::output::{complain, print};

/// Shows the audit log of a controller.
#[derive(Parser)]
struct Arguments {
    /// Check that the log is whole, and print only whether it is.
    #[arg(long)]
    verify: bool,
    /// With --verify: the log must contain this record, as an earlier check printed it.
    #[arg(long, value_name = "HASH")]
    contains: Option<String>,
    /// Print JSON: a record a line, or with --verify one object.
    #[arg(long)]
    json: bool,
    /// Where the controller keeps its state; that of `spur up`, or else /var/spool/spur, if not given.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("audit", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    match walk(&arguments) {
        Ok(found) => {
            print(&found.shown);
            for trouble in &found.troubles {
                complain("spur audit", trouble);
            }
            u8::from(!found.troubles.is_empty())
        }
        Err(error) => {
            complain("spur audit", format!("{error:#}"));
            1
        }
    }
}

/// What there is to say.
#[derive(Default)]
struct Found {
    shown: String,
    /// What is not as it was written.
    troubles: Vec<String>,
}

fn walk(arguments: &Arguments) -> anyhow::Result<Found> {
    let dir = match &arguments.state_dir {
        Some(dir) => dir.clone(),
        None => usual_dir(),
    };
    let dir = dir.join("audit");
    // Before the records: they may grow meanwhile.
    let noted = fs::read_to_string(dir.join(audit::END_FILE)).ok();
    let noted: Option<End> = noted.and_then(|text| text.parse().ok());
    let mut found = Found::default();
    let mut end = End::default();
    let mut is_contained = arguments.contains.is_none();
    for file in files(&dir)? {
        let at = file.display().to_string();
        let bytes = fs::read(&file).with_context(|| format!("could not read {at}"))?;
        let text = String::from_utf8_lossy(&bytes);
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            match audit::check(&end, line) {
                Ok((record, next)) => {
                    end = next;
                    found.shown += &told(arguments, line, &record);
                }
                Err(broken) => {
                    found.troubles.push(format!("{at} is not whole: {broken}"));
                    end = audit::end_of(line).unwrap_or(end);
                }
            }
            is_contained |= arguments.contains.as_ref() == Some(&end.hash);
            if noted.as_ref().is_some_and(|it| it.number == end.number && it.hash != end.hash) {
                let broken = Broken::Changed(end.number);
                found.troubles.push(format!("{at} is not whole: {broken}"));
            }
        }
    }
    if let Some(noted) = noted.filter(|noted| noted.number > end.number) {
        let broken = Broken::Cut { last: noted.number, found: end.number };
        found.troubles.push(format!("{} is not whole: {broken}", dir.display()));
    } else if !is_contained {
        let trouble = "the log lacks the record that was to be in it: its end was cut off";
        found.troubles.push(trouble.to_string());
    }
    if arguments.verify && arguments.json {
        let whole = found.troubles.is_empty();
        let told = serde_json::json!({"records": end.number, "whole": whole, "last": end.hash});
        found.shown = format!("{told}\n");
    } else if arguments.verify && found.troubles.is_empty() {
        found.shown = format!("{} records, whole; the last is {}\n", end.number, end.hash);
    }
    Ok(found)
}

/// A record as it is shown.
fn told(arguments: &Arguments, line: &str, record: &Record) -> String {
    if arguments.verify {
        return String::new();
    }
    if arguments.json {
        return line.to_string();
    }
    let time = crate::zone::date(record.at);
    let Record { who, what, outcome, .. } = record;
    format!("{time} {who:<12} {what}: {outcome}\n")
}

fn usual_dir() -> PathBuf {
    let up = Layout::new(None).ok().map(|layout| layout.state(1));
    let up = up.filter(|dir| dir.join("audit").is_dir());
    up.unwrap_or_else(|| PathBuf::from("/var/spool/spur"))
}

fn files(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let at = || format!("could not read {}", dir.display());
    let entries = fs::read_dir(dir).with_context(at)?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "log"));
    files.sort();
    Ok(files)
}
