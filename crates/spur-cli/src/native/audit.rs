//! `spur audit`: shows who did what, and checks that nobody has changed the record of it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;
use spur_core::audit::{self, End};

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
        Ok(said) => {
            print(&said);
            0
        }
        Err(error) => {
            complain("spur audit", format!("{error:#}"));
            1
        }
    }
}

fn walk(arguments: &Arguments) -> anyhow::Result<String> {
    let dir = match &arguments.state_dir {
        Some(dir) => dir.clone(),
        None => usual_dir(),
    };
    let mut shown = String::new();
    let mut end = End::default();
    let mut is_contained = arguments.contains.is_none();
    for file in files(&dir.join("audit"))? {
        let at = file.display().to_string();
        let text = fs::read_to_string(&file).with_context(|| format!("could not read {at}"))?;
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let (record, next) =
                audit::check(&end, line).with_context(|| format!("{at} is not whole"))?;
            end = next;
            is_contained |= arguments.contains.as_ref() == Some(&end.hash);
            if !arguments.verify && arguments.json {
                shown += line;
            } else if !arguments.verify {
                let time = crate::zone::date(record.at);
                let audit::Record { who, what, outcome, .. } = &record;
                shown += &format!("{time} {who:<12} {what}: {outcome}\n");
            }
        }
    }
    if !is_contained {
        bail!("the log lacks the record that was to be in it: its end was cut off");
    }
    if arguments.verify && arguments.json {
        let told = serde_json::json!({"records": end.number, "whole": true, "last": end.hash});
        shown = format!("{told}\n");
    } else if arguments.verify {
        shown = format!("{} records, whole; the last is {}\n", end.number, end.hash);
    }
    Ok(shown)
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
