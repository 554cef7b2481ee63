//! `scontrol`: shows and changes the cluster, by one command line or by many.

mod about;
mod ask;
mod assoc_mgr;
mod hosts;
mod jobs;
mod levels;
mod pids;
mod reboot;
mod service;
mod show;
mod steps;
mod update;

use std::io::{BufRead, IsTerminal};

use spur_core::script::words;
use spur_core::tools::scontrol::TOOL;

use super::{Ended, Notation, VERSION};
use crate::cluster::Controller;
use crate::output::{complain, note, print};

/// What holds from one command to the next.
pub struct Session {
    controller: Option<Controller>,
    one_line: bool,
    details: bool,
    hidden: bool,
    quiet: bool,
    notation: Notation,
    /// The interactive mode is over.
    over: bool,
}

impl Session {
    /// The controller, found when it is first needed.
    fn controller(&mut self) -> &mut Controller {
        self.controller.get_or_insert_with(Controller::find)
    }

    /// What was not found, on standard output, unless nobody wants to read it.
    fn miss(&self, message: String) {
        if !self.quiet {
            print(&format!("{message}\n"));
        }
    }

    /// A refusal, unless nobody wants to read it. The exit status is 1.
    fn refuse(&self, message: impl std::fmt::Display) -> u8 {
        if !self.quiet {
            note(message);
        }
        1
    }
}

/// A command.
struct Keyword {
    name: &'static str,
    /// How much of the name must be said.
    least: usize,
    /// The fewest and the most words behind it.
    words: (usize, usize),
    help: &'static str,
    run: fn(&mut Session, &[&str]) -> u8,
}

const fn keyword(
    name: &'static str,
    least: usize,
    words: (usize, usize),
    help: &'static str,
    run: fn(&mut Session, &[&str]) -> u8,
) -> Keyword {
    Keyword { name, least, words, help, run }
}

const ANY: usize = usize::MAX;

#[rustfmt::skip]
const KEYWORDS: &[Keyword] = &[
    keyword("abort", 3, (0, ANY), "stop the controllers", service::abort),
    keyword("all", 3, (0, ANY), "hidden partitions too, from now on", |s, _| { s.hidden = true; 0 }),
    keyword("cancel_reboot", 3, (1, 1), "NODES: forget that they are to restart", reboot::cancel),
    keyword("cluster", 2, (0, 1), "NAME: ask this cluster from now on", service::cluster),
    keyword("completing", 3, (0, 0), "jobs that are completing, and where", ask::completing),
    keyword("create", 3, (1, ANY), "PartitionName=NAME KEY=VALUE ...: make a partition or reservation", update::create),
    keyword("delete", 3, (1, ANY), "PartitionName=NAME: take away a partition or reservation", update::delete),
    keyword("details", 3, (0, 0), "tell more, from now on", |s, _| { s.details = true; 0 }),
    keyword("errnumstr", 3, (1, 1), "ERRNO: what an error number means", ask::error_text),
    keyword("exit", 3, (0, 0), "the end", |s, _| { s.over = true; 0 }),
    keyword("fsdampeningfactor", 3, (1, 1), "FACTOR: how much usage counts", levels::dampening),
    keyword("help", 3, (0, 0), "show this help", |_, _| { print(&help()); 0 }),
    keyword("hide", 3, (0, ANY), "no hidden partitions, from now on", |s, _| { s.hidden = false; 0 }),
    keyword("hold", 4, (1, ANY), "ID ...: keep jobs from starting", jobs::hold),
    keyword("holdu", 5, (1, ANY), "ID ...: the same, as their owner", jobs::uhold),
    keyword("listpids", 5, (0, 2), "[ID[.STEP] [NODE]]: processes of jobs on this machine", pids::list),
    keyword("notify", 3, (2, ANY), "ID TEXT ...: a word to whoever waits for a job", jobs::notify),
    keyword("oneliner", 4, (0, 0), "a line for each record, from now on", |s, _| { s.one_line = true; 0 }),
    keyword("pidinfo", 3, (1, 1), "PID: which job a process belongs to", pids::info),
    keyword("ping", 3, (0, 0), "whether the controllers answer", ask::ping),
    keyword("quiet", 3, (0, 0), "no warnings, from now on", |s, _| { s.quiet = true; 0 }),
    keyword("quit", 4, (0, 0), "the end", |s, _| { s.over = true; 0 }),
    keyword("reboot", 3, (0, 4), "[ASAP] [nextstate=STATE] [reason=TEXT] ALL|NODES: restart nodes", reboot::reboot),
    keyword("reconfigure", 3, (0, ANY), "read the configuration again", service::reconfigure),
    keyword("release", 3, (1, ANY), "ID ...: let held jobs start", jobs::release),
    keyword("requeuehold", 8, (1, ANY), "ID ...: back into the queue, and held", jobs::requeue_and_hold),
    keyword("requeue", 3, (1, ANY), "ID ...: back into the queue", jobs::requeue),
    keyword("resume", 3, (1, ANY), "ID ...: let suspended jobs go on", jobs::resume),
    keyword("show", 3, (1, ANY), "ENTITY [ID]: job, node, partition, step, config, hostnames, ...", show::run),
    keyword("setdebug", 6, (1, 1), "LEVEL: how much the controller logs", levels::set_debug),
    keyword("setdebugflags", 9, (1, 1), "[+|-]FLAG: what the controller logs", levels::set_flags),
    keyword("shutdown", 3, (0, 1), "[slurmctld]: stop the daemons; jobs go on", service::shutdown),
    keyword("schedloglevel", 3, (1, 1), "LEVEL: how much the scheduler logs", levels::schedule),
    keyword("suspend", 3, (1, ANY), "ID ...: stop jobs for a while", jobs::suspend),
    keyword("takeover", 3, (0, 1), "[INDEX]: have another controller lead", service::takeover),
    keyword("top", 3, (1, ANY), "ID ...: before all other jobs of their user", jobs::top),
    keyword("token", 3, (0, ANY), "[lifespan=SECONDS] [username=NAME]: a token for REST and other machines", service::token),
    keyword("uhold", 5, (1, ANY), "ID ...: keep jobs from starting, as their owner", jobs::uhold),
    keyword("update", 3, (1, ANY), "JobId=ID KEY=VALUE ...: change a job, node, partition or reservation", update::update),
    keyword("verbose", 4, (0, 0), "say more, from now on", |_, _| 0),
    keyword("version", 4, (0, 0), "print the version", |_, _| { print(&format!("{VERSION}\n")); 0 }),
    keyword("wait_job", 4, (1, 1), "ID: until the job's nodes are ready", ask::wait_job),
    keyword("write", 3, (1, 3), "batch_script ID [FILE] | config [FILE]: write a job's script, or the configuration", about::write),
];

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match read(args) {
        Ok((mut session, words)) if words.is_empty() => converse(&mut session),
        Ok((mut session, words)) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            obey(&mut session, &words)
        }
        Err(Ended(status)) => status,
    }
}

fn read(args: &[String]) -> Result<(Session, Vec<String>), Ended> {
    // What begins with a sign behind these is no option.
    let signs = args.iter().position(|word| word.eq_ignore_ascii_case("setdebugflags"));
    let (args, flags) = args.split_at(signs.map_or(args.len(), |at| at + 1));
    let mut words = TOOL.read(args).map_err(|message| super::refuse("scontrol", &message))?;
    let mut session = Session {
        controller: None,
        one_line: false,
        details: false,
        hidden: false,
        quiet: false,
        notation: Notation::Table,
        over: false,
    };
    let variables = TOOL.read_variables(|name| std::env::var(name).ok());
    for (flag, value) in variables.iter().chain(&words.options) {
        match flag.long {
            "all" => session.hidden = true,
            "details" => session.details = true,
            "hide" => session.hidden = false,
            "json" => session.notation = Notation::Json,
            "oneliner" => session.one_line = true,
            "quiet" => session.quiet = true,
            "yaml" => session.notation = Notation::Yaml,
            "uid" if super::user(value).is_none() => {
                complain("scontrol", format!("--uid=\"{value}\" invalid"));
                return Err(Ended(0));
            }
            "clusters" => {
                super::check_cluster("scontrol", value, session.controller())?;
            }
            "help" | "usage" => {
                print(&help());
                return Err(Ended(0));
            }
            "version" => {
                print(&format!("{VERSION}\n"));
                return Err(Ended(0));
            }
            _ => {}
        }
    }
    words.rest.extend_from_slice(flags);
    Ok((session, words.rest))
}

/// Line by line until somebody says exit. A failure is the exit status unless the controllers answer a `ping`
/// after it, as in Slurm.
fn converse(session: &mut Session) -> u8 {
    let stdin = std::io::stdin();
    let echo = !stdin.is_terminal();
    let mut status = 0;
    let mut before = String::new();
    print("scontrol: ");
    for line in stdin.lock().lines().map_while(Result::ok) {
        if echo {
            print(&format!("{line}\n"));
        }
        let line = if line.trim() == "!!" { before.clone() } else { line };
        match words::split(&line) {
            Ok(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let pings = words.first().is_some_and(|word| *word == "ping");
                let outcome = obey(session, &words);
                status = if pings { outcome } else { status.max(outcome) };
            }
            Err(message) => status = session.refuse(format!("scontrol: error: {message}")),
        }
        if session.over {
            return status;
        }
        before = line;
        print("scontrol: ");
    }
    print("\n");
    status
}

fn obey(session: &mut Session, words: &[&str]) -> u8 {
    let Some((name, arguments)) = words.split_first() else { return 0 };
    let lower = name.to_ascii_lowercase();
    let fits = |keyword: &&Keyword| {
        lower.len() >= keyword.least && keyword.name.starts_with(lower.as_str())
    };
    match KEYWORDS.iter().find(fits) {
        Some(keyword) if arguments.len() < keyword.words.0 && keyword.name == "errnumstr" => {
            session.refuse("one arguments required for keyword:errnumstr")
        }
        Some(Keyword { name: name @ ("create" | "delete" | "update"), .. })
            if arguments.is_empty() =>
        {
            session.refuse(format!("too few arguments for {name} keyword"))
        }
        Some(Keyword { name: name @ ("cancel_reboot" | "pidinfo"), .. })
            if arguments.is_empty() =>
        {
            session.refuse(format!("missing argument for keyword:{name}"))
        }
        Some(keyword) if arguments.len() < keyword.words.0 => {
            session.refuse(format!("too few arguments for keyword:{name}"))
        }
        Some(Keyword { name: name @ ("verbose" | "version"), words: (_, most), .. })
            if arguments.len() > *most =>
        {
            note(format!("too many arguments for {name} keyword"));
            if *name == "version" {
                print(&format!("{VERSION}\n"));
            }
            0
        }
        Some(keyword) if arguments.len() > keyword.words.1 => {
            session.refuse(format!("too many arguments for keyword:{name}"))
        }
        Some(keyword) => (keyword.run)(session, arguments),
        // This is told however quiet the rest is.
        None => {
            note(format!("invalid keyword: {name}"));
            1
        }
    }
}

fn help() -> String {
    let mut text = TOOL.help();
    text.push_str("\nCommands, on the command line or one a line:\n");
    for keyword in KEYWORDS {
        text.push_str(&format!("  {:<12} {}\n", keyword.name, keyword.help));
    }
    text
}
