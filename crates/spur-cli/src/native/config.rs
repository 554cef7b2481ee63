//! `spur config check FILE`, `spur config import slurm.conf …`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use serde_json::json;
use spur_core::config;

use crate::output::{complain, print};

/// Checks configurations and makes them from Slurm's.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Names everything that is wrong with a configuration file, all at once.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// The file.
        file: PathBuf,
    },
    /// Prints the spur.conf that a Slurm configuration stands for, and lists what it could not carry over.
    Import {
        /// Print JSON: the configuration and the notes in one object.
        #[arg(long)]
        json: bool,
        /// slurm.conf, and gres.conf, topology.conf, cgroup.conf, slurmdbd.conf where there are any.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("config", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    match arguments.verb {
        Verb::Check { file, json: false } => check(&file),
        Verb::Check { file, json: true } => check_for_programs(&file),
        Verb::Import { files, json } => import(&files, json),
    }
}

fn check(file: &std::path::Path) -> u8 {
    let Some(text) = read(file) else { return 1 };
    match config::read(&text) {
        Ok(config) => {
            for warning in config.warnings() {
                eprintln!("{}: warning: {warning}", file.display());
            }
            print(&format!("{}: ok\n", file.display()));
            0
        }
        Err(problems) => {
            for line in problems.lines(&file.display().to_string()) {
                eprintln!("{line}");
            }
            1
        }
    }
}

/// The same for programs.
fn check_for_programs(file: &std::path::Path) -> u8 {
    let Some(text) = read(file) else { return 1 };
    let name = file.display().to_string();
    let (warnings, problems) = match config::read(&text) {
        Ok(config) => (config.warnings(), Vec::new()),
        Err(problems) => (Vec::new(), problems.lines(&name).collect()),
    };
    let problems: Vec<String> = problems;
    let ok = problems.is_empty();
    let told = json!({"file": name, "ok": ok, "warnings": warnings, "problems": problems});
    print(&format!("{told}\n"));
    u8::from(!ok)
}

fn import(files: &[PathBuf], as_json: bool) -> u8 {
    let mut texts = Vec::new();
    for file in files {
        let Some(text) = read(file) else { return 1 };
        texts.push((file.display().to_string(), text));
    }
    let named: Vec<(&str, &str)> =
        texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let imported = config::import::slurm(&named);
    if as_json {
        let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
        print(&format!("{}\n", json!({"configuration": imported.toml, "notes": notes})));
        return 0;
    }
    for note in &imported.notes {
        eprintln!("{note}");
    }
    print(&imported.toml);
    0
}

fn read(file: &std::path::Path) -> Option<String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) => {
            complain("spur config", format!("could not read {}: {error}", file.display()));
            None
        }
    }
}
