//! Slurm's commands, a file each.

pub mod allocation;
pub mod answer;
mod lines;
pub mod sacct;
pub mod sacctmgr;
pub mod salloc;
pub mod sattach;
pub mod sbatch;
pub mod sbcast;
pub mod scancel;
pub mod scontrol;
pub mod scrontab;
pub mod sdiag;
pub mod seff;
pub mod sinfo;
pub mod sprio;
pub mod squeue;
pub mod sreport;
pub mod srun;
pub mod sshare;
pub mod sstat;
pub mod strigger;
mod submission;

use std::time::Duration;

use spur_core::getopt::{Flag, Words};
use spur_core::tools::Tool;

use crate::cluster::Controller;
use crate::output::{complain, print};

/// What `-V` prints: clients parse it, so it is Slurm's form and the version we are compatible with.
pub const VERSION: &str = "slurm 25.11.0";

/// The command is over, with this exit status; whatever there was to say is said.
#[derive(Debug)]
pub struct Ended(pub u8);

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    Table,
    Json,
    Yaml,
}

/// Reads the words of a tool whose bad options end with exit status 1.
fn read(tool: &Tool, args: &[String]) -> Result<Words, u8> {
    tool.read(args).map_err(|message| refuse(tool.name, &message).0)
}

/// The same by the tool's table; `--help`, `--usage` and `--version` are answered.
fn read_tool(tool: &Tool, args: &[String]) -> Result<Words, Ended> {
    let words = tool.read(args).map_err(|message| refuse(tool.name, &message))?;
    let question = words.options.iter().find_map(|(flag, _)| match flag.long {
        "help" => Some(tool.help()),
        "usage" => Some(tool.summary()),
        "version" => Some(format!("{VERSION}\n")),
        _ => None,
    });
    match question {
        None => Ok(words),
        Some(text) => {
            print(&text);
            Err(Ended(0))
        }
    }
}

/// What a tool is told: by its variables first, then by its words, which have the last say.
fn read_all(tool: &Tool, args: &[String]) -> Result<Vec<(Flag, String)>, Ended> {
    let words = read_tool(tool, args)?;
    let mut said = tool.read_variables(|name| std::env::var(name).ok());
    said.extend(words.options);
    Ok(said)
}

fn refuse(tool: &str, message: &str) -> Ended {
    eprintln!("{tool}: {message}");
    eprintln!("Try \"{tool} --help\" for more information");
    Ended(1)
}

/// Answers once, or again and again as `--iterate` asks.
fn answer_each(
    pause_secs: Option<u64>,
    mut answer: impl FnMut() -> Result<(), Ended>,
) -> Result<(), Ended> {
    loop {
        answer()?;
        let Some(secs) = pause_secs else { return Ok(()) };
        print("\n");
        std::thread::sleep(Duration::from_secs(secs));
    }
}

/// A user's number, by name or number.
fn user(name: &str) -> Option<u32> {
    match name.parse() {
        Ok(number) => Some(number),
        Err(_) => nix::unistd::User::from_name(name).ok()?.map(|found| found.uid.as_raw()),
    }
}

/// `-M`: says which cluster answers, where there are headers.
fn name_cluster(
    tool: &str,
    wanted: &str,
    header: bool,
    controller: &mut Controller,
) -> Result<(), Ended> {
    let own = check_cluster(tool, wanted, controller)?;
    if header {
        print(&format!("CLUSTER: {own}\n"));
    }
    Ok(())
}

/// There is only our own cluster; its name is returned. Others are complained of, and pass where ours is named
/// too.
fn check_cluster(tool: &str, wanted: &str, controller: &mut Controller) -> Result<String, Ended> {
    let own = controller.ping().map(|reply| reply.cluster_name).unwrap_or_default();
    let is_own = |name: &str| name == own || name.eq_ignore_ascii_case("all");
    let mut names: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        names.push("");
    }
    for name in names.iter().filter(|name| !is_own(name)) {
        complain(tool, format!("No cluster '{name}' known by database."));
    }
    if names.iter().any(|name| is_own(name)) {
        return Ok(own);
    }
    let by_variable = std::env::var("SLURM_CLUSTERS").is_ok_and(|value| value == wanted);
    let place = if by_variable { "SLURM_CLUSTERS" } else { "--cluster" };
    complain(
        tool,
        format!(
            "'{wanted}' can't be reached now, or it is an invalid entry for {place}.  \
             Use 'sacctmgr list clusters' to see available clusters."
        ),
    );
    Err(Ended(1))
}

/// Commas separate jobs, except inside the brackets of an array: `12_[1,3],14`.
fn ids(word: &str) -> Vec<&str> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in word.char_indices() {
        match letter {
            '[' => inside = true,
            ']' => inside = false,
            ',' if !inside => {
                parts.push(&word[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&word[start..]);
    parts
}
