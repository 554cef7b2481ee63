//! `spur exec JOB [COMMAND …]`: a shell, or a command, inside a job that runs. It takes nothing from the job's
//! steps.

use std::io::IsTerminal;

use clap::Parser;

use super::logs;
use crate::cluster::{self, Controller};
use crate::commands::srun;
use crate::output::{complain, print};

/// Runs a shell or a command inside a running job, beside whatever runs there.
#[derive(Parser)]
struct Arguments {
    /// On this node of the job; without, on its first.
    #[arg(long, short = 'w', value_name = "NODE")]
    node: Option<String>,
    /// One object at the end: what the command wrote, and its exit code.
    #[arg(long)]
    json: bool,
    /// The job, or a task of an array.
    job: String,
    /// What to run; without, a shell.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("exec", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut controller = Controller::find();
    let job = match logs::find(&mut controller, &arguments.job) {
        Ok(job) => job,
        Err(error) => {
            complain("spur exec", format!("job {}: {error}", arguments.job));
            return 1;
        }
    };
    drop(controller);
    if arguments.json {
        return told(job.job_id, &arguments);
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    srun::run(&words(job.job_id, &arguments, terminal))
}

/// Runs the command and tells what came of it, for programs.
fn told(job: u32, arguments: &Arguments) -> u8 {
    let ran = cluster::same_program().and_then(|mut spur| {
        let words = words(job, arguments, false);
        spur.arg("srun").args(words).stdin(std::process::Stdio::inherit()).output()
    });
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => {
            complain("spur exec", error);
            return 1;
        }
    };
    let code = ran.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    let told = serde_json::json!({
        "job_id": job,
        "command": arguments.command,
        "exit_code": code,
        "stdout": String::from_utf8_lossy(&ran.stdout),
        "stderr": String::from_utf8_lossy(&ran.stderr),
    });
    print(&format!("{told:#}\n"));
    code
}

/// The same as a line of `srun`.
fn words(job: u32, arguments: &Arguments, terminal: bool) -> Vec<String> {
    let mut words = vec![format!("--jobid={job}")];
    words.extend(["--overlap", "-N1", "-n1", "-J", "exec"].map(str::to_string));
    if terminal {
        words.push("--pty".to_string());
    }
    if let Some(node) = &arguments.node {
        words.push(format!("--nodelist={node}"));
    }
    match arguments.command.is_empty() {
        false => words.extend(arguments.command.iter().cloned()),
        true => words.push(std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_string())),
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_beside_the_steps_of_the_job() {
        let arguments =
            Arguments::parse_from(["exec", "-w", "n2", "7", "ls", "-l"].map(str::to_string));
        let words = words(7, &arguments, false);
        let expected =
            ["--jobid=7", "--overlap", "-N1", "-n1", "-J", "exec", "--nodelist=n2", "ls", "-l"];
        assert_eq!(words, expected);
    }
}
