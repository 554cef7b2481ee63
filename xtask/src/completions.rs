//! What shells complete: the names of commands, the submission tools' options and some of their values.

mod bash;
mod fish;
mod zsh;

pub use bash::script as bash;
pub use fish::script as fish;
pub use zsh::script as zsh;

use spur_core::options::{Arg, JobOption, Tool, options};

use spur_cli::dispatch::{NATIVE, SLURM};

const TOOLS: [Tool; 3] = [Tool::Sbatch, Tool::Srun, Tool::Salloc];

/// The first line of every script, after what its shell wants there.
const HEAD: &str =
    "# Spur's commands. Printed from the table of options; `cargo xtask docs` writes it anew.\n";

/// The rows of a tool that a command line can say, by name.
fn rows(tool: Tool) -> Vec<&'static JobOption> {
    let mut rows: Vec<_> = options(tool).filter(|row| !row.long.is_empty()).collect();
    rows.sort_by_key(|row| row.long);
    rows
}

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
    fn alternatives_are_words_and_descriptions_are_not() {
        assert_eq!(choices(Arg::Optional("all|first|last")), ["all", "first", "last"]);
        assert_eq!(choices(Arg::Required("all|none|type,...")), ["all", "none"]);
        assert!(choices(Arg::Required("file|descriptor")).is_empty());
        assert!(choices(Arg::Required("name")).is_empty());
        assert!(choices(Arg::None).is_empty());
        assert!(is_path(Arg::Required("file|descriptor")) && !is_path(Arg::Required("name")));
    }
}
