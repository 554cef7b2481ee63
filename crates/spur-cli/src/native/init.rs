//! `spur init`: the first steps of a cluster of several machines.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;

use crate::output::{complain, print};

/// Writes a configuration to begin with, and says what to run.
#[derive(Parser)]
struct Arguments {
    /// The cluster's name.
    #[arg(long, default_value = "cluster")]
    name: String,
    /// Where the configuration goes; one that is there is left alone.
    #[arg(long, value_name = "FILE", default_value = "/etc/spur/spur.conf")]
    config: PathBuf,
    /// Where the controller keeps its state.
    #[arg(long, value_name = "DIR", default_value = "/var/spool/spur")]
    state_dir: PathBuf,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("init", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    match init(&arguments) {
        Ok(said) => {
            print(&said);
            0
        }
        Err(error) => {
            complain("spur init", format!("{error:#}"));
            1
        }
    }
}

fn init(arguments: &Arguments) -> anyhow::Result<String> {
    let Arguments { name, config: file, state_dir } = arguments;
    let text = format!(
        "cluster_name = {name:?}\n\n\
         # Every machine that joins is a node of it.\n\
         [[partitions]]\nname = \"main\"\ndefault = true\nnodes = \"ALL\"\n"
    );
    spur_core::config::read(&text)
        .map_err(|problems| anyhow::anyhow!("{problems}"))
        .with_context(|| format!("{name} cannot be a cluster's name"))?;
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("could not make {}", parent.display()))?;
    }
    let written = std::fs::File::options().write(true).create_new(true).open(file);
    let word = match written {
        Ok(mut file) => {
            file.write_all(text.as_bytes())?;
            "is written"
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => "was there already",
        Err(error) => {
            return Err(error).with_context(|| format!("could not write {}", file.display()));
        }
    };
    let (file, dir) = (file.display(), state_dir.display());
    Ok(format!(
        "{file} {word}. Start the controller; at its first start it makes the cluster's keys:\n  \
         spurctld -D --state-dir {dir} --config {file} --listen [::]:6817\n\
         For every node, make a token here and use it there:\n  \
         spur token create --role compute\n  \
         spur join TOKEN\n"
    ))
}
