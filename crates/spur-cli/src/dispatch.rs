//! From the name the binary was called by, or its first word, to a command.

use spur_core::config::nearest;

use crate::output::{complain, print};
use crate::{commands, native};

/// A name the binary answers to.
pub struct Command {
    /// The name.
    pub name: &'static str,
    /// What it is for.
    pub help: &'static str,
    /// Runs it with the words after its name; the result is the exit status.
    run: fn(&[String]) -> u8,
}

const fn command(name: &'static str, help: &'static str, run: fn(&[String]) -> u8) -> Command {
    Command { name, help, run }
}

/// Slurm's names: as a link to the binary, or as its first word.
pub const SLURM: &[Command] = &[
    command("sacct", "show jobs of the past", commands::sacct::run),
    command("sacctmgr", "show and change accounts, users, limits", commands::sacctmgr::run),
    command("salloc", "get an allocation and run a command in it", commands::salloc::run),
    command("sattach", "see the output of a step that runs", commands::sattach::run),
    command("sbatch", "hand in a script", commands::sbatch::run),
    command("sbcast", "copy a file to every node of a job", commands::sbcast::run),
    command("scancel", "end jobs", commands::scancel::run),
    command("scontrol", "show and change the cluster", commands::scontrol::run),
    command("scrontab", "manage jobs that come again by the calendar", commands::scrontab::run),
    command("sdiag", "show how the controller fares", commands::sdiag::run),
    command("seff", "show how well a job used what it had", commands::seff::run),
    command("sinfo", "show nodes and partitions", commands::sinfo::run),
    command("sprio", "show what priorities are made of", commands::sprio::run),
    command("squeue", "show jobs", commands::squeue::run),
    command("sreport", "report what was used", commands::sreport::run),
    command("srun", "run tasks", commands::srun::run),
    command("sshare", "show shares and usage", commands::sshare::run),
    command("sstat", "see what running steps use", commands::sstat::run),
    command("strigger", "have programs run when something happens", commands::strigger::run),
];

/// Our own verbs.
pub const NATIVE: &[Command] = &[
    command("up", "start a cluster on this machine", native::up::run),
    command("down", "stop the cluster of this machine", native::down::run),
    command("env", "print the shell variables that lead to the cluster", native::env::run),
    command("init", "begin a cluster of several machines", native::init::run),
    command("token", "make a token that lets machines join", native::token::run),
    command("join", "make this machine one of a cluster", native::join::run),
    command("audit", "show who did what, and check the record of it", native::audit::run),
    command("config", "check a configuration, or turn slurm.conf into one", native::config::run),
    command("controllers", "list, add and remove controllers", native::controllers::run),
    command("status", "how the cluster stands: nodes, jobs, what is in use", native::status::run),
    command("top", "nodes, what of them is in use, and by whom", native::status::run_top),
    command(
        "health",
        "which nodes are fit for jobs, and what is wrong with the others",
        native::health::run,
    ),
    command("doctor", "what is wrong, and the command that mends it", native::doctor::run),
    command("submit", "hand in a script, as sbatch", commands::sbatch::run),
    command("queue", "show jobs, as squeue", commands::squeue::run),
    command("cancel", "end jobs, as scancel", commands::scancel::run),
    command("nodes", "show nodes, as sinfo -N -l; let machines in and out", native::nodes::run),
    command("history", "show, export and weigh up jobs of the past", native::history::run),
    command("show", "show a job, node or partition, as scontrol show", show),
    command("why", "why a job waits, in numbers, and what would start it", native::why::run),
    command("plan", "when waiting jobs will start, or a new one would", native::plan::run),
    command("logs", "what a job wrote, and on as it writes", native::logs::run),
    command("run", "run tasks, as srun", commands::srun::run),
    command("alloc", "get an allocation, as salloc", commands::salloc::run),
    command("exec", "a shell or a command inside a running job", native::exec::run),
    command("wait", "return when jobs are over, with their exit code", native::wait::run),
    command("retry", "have what failed run again", native::retry::run),
    command("watch", "tell what becomes of jobs and nodes, as it happens", native::watch::run),
    command("version", "print the version", native::version::run),
    command("help", "show the commands", show_help),
];

/// Finds and runs the command.
pub fn run(called_as: &str, args: &[String]) -> u8 {
    let name = called_as.rsplit('/').next().unwrap_or(called_as);
    if let Some(command) = SLURM.iter().find(|command| command.name == name) {
        return (command.run)(args);
    }
    let Some((verb, rest)) = args.split_first() else {
        eprint!("{}", help());
        return 1;
    };
    let verb = match verb.as_str() {
        "--help" | "-h" => "help",
        "--version" | "-V" => "version",
        verb => verb,
    };
    match all().find(|command| command.name == verb) {
        Some(command) => (command.run)(rest),
        None => {
            complain("spur", unknown(verb));
            1
        }
    }
}

fn all() -> impl Iterator<Item = &'static Command> {
    SLURM.iter().chain(NATIVE)
}

fn unknown(verb: &str) -> String {
    match nearest(verb, all().map(|command| command.name)) {
        Some(meant) => format!("there is no command \"{verb}\"; did you mean \"{meant}\"?"),
        None => format!("there is no command \"{verb}\"; see: spur help"),
    }
}

fn show(args: &[String]) -> u8 {
    commands::scontrol::run(&[&["show".to_string()], args].concat())
}

fn show_help(_: &[String]) -> u8 {
    print(&help());
    0
}

fn help() -> String {
    let list = |commands: &[Command]| -> String {
        commands
            .iter()
            .map(|command| format!("  {:<10} {}\n", command.name, command.help))
            .collect()
    };
    format!(
        "spur COMMAND …\n\nCommands:\n{}\nSlurm's commands, also by these names alone:\n{}",
        list(NATIVE),
        list(SLURM)
    )
}

#[cfg(test)]
mod tests {
    use super::unknown;

    #[test]
    fn a_slip_of_the_fingers_is_told_what_was_meant() {
        assert_eq!(unknown("quue"), "there is no command \"quue\"; did you mean \"queue\"?");
        assert_eq!(unknown("bjobs42"), "there is no command \"bjobs42\"; see: spur help");
    }
}
