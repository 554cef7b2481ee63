//! What shells complete: the names of commands, their options and some of the values.

mod bash;
mod fish;
mod zsh;

pub use bash::script as bash;
pub use fish::script as fish;
pub use zsh::script as zsh;

use spur_core::getopt::Takes;
use spur_core::options::{self, Arg, Tool};
use spur_core::tools::TOOLS as QUERIES;

use spur_cli::dispatch::{NATIVE, SLURM};

/// A command with options.
struct Completed {
    name: &'static str,
    options: Vec<Spelled>,
    operands: Operands,
}

/// An option as a shell has to know it.
struct Spelled {
    long: Vec<&'static str>,
    short: Option<char>,
    arg: Arg,
    help: &'static str,
}

/// What stands behind the options.
#[derive(Clone, Copy)]
enum Operands {
    Script,
    Program,
    /// Words of the tool's own.
    Words,
}

/// Every command with a table of options.
fn tools() -> Vec<Completed> {
    let submitting = [Tool::Sbatch, Tool::Srun, Tool::Salloc].into_iter().map(|tool| {
        let mut rows: Vec<_> = options::options(tool).filter(|row| !row.long.is_empty()).collect();
        rows.sort_by_key(|row| row.long);
        let spelled = rows.into_iter().map(|row| Spelled {
            long: row.names().collect(),
            short: row.short,
            arg: row.arg,
            help: row.help,
        });
        let operands = if tool == Tool::Sbatch { Operands::Script } else { Operands::Program };
        Completed { name: tool.name(), options: spelled.collect(), operands }
    });
    let asking = QUERIES.iter().map(|tool| {
        let spelled = tool.rows.iter().map(|row| Spelled {
            long: vec![row.flag.long],
            short: row.flag.short,
            arg: match row.flag.takes {
                Takes::Nothing => Arg::None,
                Takes::Value => Arg::Required(row.value),
                Takes::MayValue | Takes::MayFollow => Arg::Optional(row.value),
            },
            help: row.help,
        });
        Completed { name: tool.name, options: spelled.collect(), operands: Operands::Words }
    });
    submitting.chain(asking).collect()
}

/// The first line of every script, after what its shell wants there.
const HEAD: &str =
    "# Spur's commands. Printed from the table of options; `cargo xtask docs` writes it anew.\n";

/// What `spur` takes as its first word, with what it does.
fn first_words() -> impl Iterator<Item = (&'static str, &'static str)> {
    NATIVE.iter().chain(SLURM).map(|command| (command.name, command.help))
}

/// What an option's value is called.
fn value(arg: Arg) -> Option<&'static str> {
    match arg {
        Arg::None => None,
        Arg::Required(name) | Arg::Optional(name) => Some(name),
    }
}

/// Alternatives that are names for a value and not words to be typed.
const NOT_TYPED: &[&str] = &["descriptor", "file", "variables"];

/// The words an option's value can be, as far as the table names them: `yes|no`.
fn choices(arg: Arg) -> Vec<&'static str> {
    let Some(name) = value(arg).filter(|name| name.contains('|')) else { return Vec::new() };
    let is_word = |word: &&str| {
        word.chars().all(|letter| letter.is_ascii_alphanumeric()) && !NOT_TYPED.contains(word)
    };
    name.split('|').filter(is_word).collect()
}

/// Whether an option's value is a path.
fn is_path(arg: Arg) -> bool {
    const PATHS: &[&str] = &["command", "directory", "file", "path", "pattern", "program"];
    value(arg).is_some_and(|name| PATHS.iter().any(|path| name.starts_with(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_slurms_is_completed() {
        let tools = tools();
        let plain = ["seff"];
        for command in SLURM.iter().filter(|command| !plain.contains(&command.name)) {
            let found = tools.iter().find(|tool| tool.name == command.name);
            assert!(found.is_some_and(|tool| !tool.options.is_empty()), "{}", command.name);
        }
    }

    #[test]
    fn alternatives_are_words_and_descriptions_are_not() {
        assert_eq!(choices(Arg::Optional("all|first|last")), ["all", "first", "last"]);
        assert_eq!(choices(Arg::Required("all|none|type,...")), ["all", "none"]);
        assert!(choices(Arg::Required("file|descriptor")).is_empty());
        assert!(choices(Arg::Required("name")).is_empty());
        assert!(choices(Arg::None).is_empty());
        assert!(is_path(Arg::Required("file|descriptor")) && !is_path(Arg::Required("name")));
    }
}
