//! From the name the binary was called by, or its first word, to a command.

use crate::output::complain;
use crate::{commands, native};

/// Runs a command with the words after its name; the result is the exit status.
type Command = fn(&[String]) -> u8;

/// Slurm's names: as a link to the binary, or as its first word.
pub const SLURM: &[(&str, Command)] = &[
    ("sbatch", commands::sbatch::run),
    ("scancel", commands::scancel::run),
    ("scontrol", commands::scontrol::run),
    ("sinfo", commands::sinfo::run),
    ("squeue", commands::squeue::run),
];

/// Our own verbs.
const NATIVE: &[(&str, &str, Command)] = &[
    ("up", "start a cluster on this machine", native::up::run),
    ("down", "stop the cluster of this machine", native::down::run),
    ("env", "print the shell variables that lead to the cluster", native::env::run),
    ("config", "check a configuration, or turn slurm.conf into one", native::config::run),
    ("version", "print the version", native::version::run),
];

/// Finds and runs the command.
pub fn run(called_as: &str, args: &[String]) -> u8 {
    let name = called_as.rsplit('/').next().unwrap_or(called_as);
    if let Some((_, command)) = SLURM.iter().find(|(slurm, _)| *slurm == name) {
        return command(args);
    }
    let Some((verb, rest)) = args.split_first() else {
        eprint!("{}", help());
        return 1;
    };
    let slurm = SLURM.iter().find(|(name, _)| name == verb).map(|(_, command)| *command);
    let native = NATIVE.iter().find(|(name, ..)| name == verb).map(|(.., command)| *command);
    match slurm.or(native) {
        Some(command) => command(rest),
        None if matches!(verb.as_str(), "help" | "--help" | "-h") => {
            print!("{}", help());
            0
        }
        None if matches!(verb.as_str(), "--version" | "-V") => native::version::run(rest),
        None => {
            complain("spur", format!("there is no command \"{verb}\"; see: spur help"));
            1
        }
    }
}

fn help() -> String {
    let mut text = String::from("spur COMMAND …\n\nCommands:\n");
    for (name, help, _) in NATIVE {
        text.push_str(&format!("  {name:<10} {help}\n"));
    }
    let slurm: Vec<&str> = SLURM.iter().map(|(name, _)| *name).collect();
    text.push_str(&format!("\nSlurm's commands: {}\n", slurm.join(" ")));
    text
}
