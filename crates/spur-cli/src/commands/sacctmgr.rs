//! `sacctmgr`: accounts, users, limits.

mod change;
mod dump;
mod events;
mod job;
mod kept;
mod load;
mod show;
mod truth;

use spur_core::accounts::manage::Entity;
use spur_core::errors::SlurmError;
use spur_core::fields::render::Layout;
use spur_core::tools::sacctmgr::TOOL;

use super::{Notation, VERSION, lines};
use crate::output::{complain, print};

/// How the command was called.
pub struct Style {
    pub immediate: bool,
    pub quiet: bool,
    pub header: bool,
    pub layout: Layout,
    pub with_associations: bool,
    pub notation: Option<Notation>,
    pub read_only: bool,
}

const COMMANDS: &str = "\nValid <COMMAND> values are:\n     \
add <ENTITY> <SPECS>      add entity\n     delete <ENTITY> <SPECS>   delete the specified entity\n     \
dump <CLUSTER> <FILE>     write a cluster's accounts, users and limits to a file\n     \
list <ENTITY> [<SPECS>]   display the specified entity\n     load <FILE>               \
read what dump has written\n     modify <ENTITY> <SPECS>   modify entity\n     \
show <ENTITY> [<SPECS>]   same as list\n     version                   display tool version number\n";

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let words = match super::read(&TOOL, args) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let mut style = Style {
        immediate: false,
        quiet: false,
        header: true,
        layout: Layout::Fixed,
        with_associations: false,
        notation: None,
        read_only: false,
    };
    let parsable = |ends| Layout::Parsable { delimiter: "|".to_string(), ends };
    for (flag, _) in &words.options {
        match flag.long {
            "associations" => style.with_associations = true,
            "immediate" => style.immediate = true,
            "quiet" => style.quiet = true,
            "noheader" => style.header = false,
            "parsable" => style.layout = parsable(true),
            "parsable2" => style.layout = parsable(false),
            "json" => style.notation = Some(Notation::Json),
            "yaml" => style.notation = Some(Notation::Yaml),
            "readonly" => style.read_only = true,
            "version" => {
                print(&format!("{VERSION}\n"));
                return 0;
            }
            "help" | "usage" => {
                print(&help());
                return 0;
            }
            _ => {}
        }
    }
    match words.rest.is_empty() {
        true => interactive(style),
        false => obey(&style, &words.rest),
    }
}

/// What it can be told, by options and by commands.
fn help() -> String {
    TOOL.help() + COMMANDS
}

/// Commands line by line, until there are no more.
fn interactive(mut style: Style) -> u8 {
    let mut status = 0;
    lines::each("sacctmgr: ", |words| {
        let Some(command) = words.first().map(|word| word.to_lowercase()) else { return true };
        let is =
            |name: &str, shortest: usize| command.len() >= shortest && name.starts_with(&command);
        match command {
            _ if is("quit", 4) || is("exit", 1) => return false,
            _ if is("help", 1) => print(&help()),
            _ if is("associations", 2) => style.with_associations = true,
            _ if is("immediate", 2) => style.immediate = true,
            _ if is("quiet", 4) => style.quiet = true,
            _ if is("readonly", 4) => style.read_only = true,
            _ if is("verbose", 4) || is("oneliner", 1) => {}
            _ => status = obey(&style, words),
        }
        true
    });
    status
}

fn obey(style: &Style, words: &[String]) -> u8 {
    let Some((command, rest)) = words.split_first() else { return 0 };
    let said = command.to_lowercase();
    let is = |name: &str, shortest: usize| said.len() >= shortest && name.starts_with(&said);
    match command {
        _ if is("add", 3) || is("create", 3) => change::add(style, rest),
        _ if is("show", 3) || is("list", 3) => show::show(style, rest),
        _ if (is("modify", 1) || is("update", 1)) && is_job(rest) => {
            job::modify(style, rest.get(1..).unwrap_or_default())
        }
        _ if is("modify", 1) || is("update", 1) => change::modify(style, rest),
        _ if is("delete", 3) || is("remove", 3) => change::remove(style, rest),
        _ if is("dump", 3) => dump::dump(style, rest),
        _ if is("load", 2) => dump::load(style, rest),
        // They are for those who go on, of whom there is none here.
        _ if is("exit", 4) || is("quit", 4) || is("quiet", 4) || is("verbose", 4) => 0,
        _ if is("associations", 3) || is("oneliner", 1) || is("readonly", 4) => 0,
        _ if is("version", 4) => {
            print(&format!("{VERSION}\n"));
            0
        }
        _ if is("help", 1) => {
            if !rest.is_empty() {
                eprintln!("too many arguments for keyword:{command}");
            }
            print(&help());
            u8::from(!rest.is_empty())
        }
        _ if is("ping", 2) => show::ping(),
        _ if is("archive", 3) => archive(rest),
        _ if is("reconfigure", 4) && !rest.is_empty() => {
            eprintln!("too many arguments for {command} keyword");
            1
        }
        // There is nothing to read anew, and nothing that counts since a moment.
        _ if is("reconfigure", 4) => 0,
        _ if is("clear", 2) => clear(rest),
        _ if is("shutdown", 4) => shutdown(),
        _ => {
            eprintln!("invalid keyword: {command}");
            1
        }
    }
}

/// Records are archived by the daemon itself, as old as the configuration says.
fn archive(rest: &[String]) -> u8 {
    let is = |name: &str| rest.first().is_some_and(|word| name.starts_with(&word.to_lowercase()));
    if is("dump") || is("load") {
        let doing = if is("dump") { "dumping archive" } else { "loading archive file" };
        let deny = |_| {
            complain("sacctmgr", "Your user doesn't have privilege to perform this action");
            eprintln!(" Problem {doing}: {}", SlurmError::AccessDenied);
        };
        return change::for_operators(deny, || {
            eprintln!(
                " Archives are written by spurdbd: purge_jobs_after and archive_dir in [accounting]; spur \
                 history export writes what is kept"
            );
            1
        });
    }
    eprintln!("No valid entity in archive command\nInput line must include, \"Dump\", or \"load\"");
    1
}

/// The daemon belongs to who started it.
fn shutdown() -> u8 {
    let deny = |_| eprintln!(" Problem shutting down server: {}", SlurmError::AccessDenied);
    change::for_operators(deny, || {
        eprintln!(" spurdbd is stopped where it runs: systemctl stop spurdbd");
        1
    })
}

fn clear(rest: &[String]) -> u8 {
    match rest.first() {
        Some(word) if "stats".starts_with(&word.to_lowercase()) => {
            change::for_operators(|_| {}, || 0)
        }
        _ => {
            eprintln!("No valid entity in list command\nInput line must include \"Stats\"");
            1
        }
    }
}

/// Jobs are no rules: what is said of them is kept elsewhere.
fn is_job(rest: &[String]) -> bool {
    rest.first().is_some_and(|word| !word.is_empty() && "jobs".starts_with(&word.to_lowercase()))
}

/// What a word says the command is about; it may be shortened.
fn entity(word: &str) -> Option<Entity> {
    let word = word.to_lowercase();
    let is = |name: &str, shortest: usize| word.len() >= shortest && name.starts_with(&word);
    match () {
        () if is("accounts", 2) || word == "acct" => Some(Entity::Account),
        () if is("associations", 2) => Some(Entity::Association),
        () if is("clusters", 2) => Some(Entity::Cluster),
        () if is("coordinators", 3) => Some(Entity::Coordinator),
        () if is("federations", 2) => Some(Entity::Federation),
        () if is("qos", 1) => Some(Entity::Qos),
        () if is("resources", 4) => Some(Entity::Resource),
        () if is("users", 1) => Some(Entity::User),
        () => None,
    }
}
