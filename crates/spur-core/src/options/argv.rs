//! Reads a command line with getopt's habits.
//!
//! Long names may be shortened as long as one option remains, a value may be attached or follow, flags
//! may be clustered, and the first word that is no option ends the options.

use super::error::OptionError;
use super::resolve::Request;
use super::row::{Arg, JobOption, Tool};
use super::{Setting, Source, options};

/// A command line, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Argv {
    pub settings: Vec<Setting>,
    /// The script or command, and what belongs to it.
    pub rest: Vec<String>,
    /// Set when the tool is asked to print something and end; nothing after it was read.
    pub question: Option<Question>,
}

/// A question about the tool itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Help,
    Usage,
    Version,
}

/// What a front end knows of values that the table cannot judge: whether a user is there.
pub type Judge = fn(&JobOption, &str) -> Result<(), OptionError>;

/// Reads the words after the tool's name. The first thing wrong is reported, in the order of the words:
/// a value is judged before the next option is looked at.
pub fn read(tool: Tool, args: &[String]) -> Result<Argv, OptionError> {
    read_judged(tool, args, |_, _| Ok(()))
}

fn read_judged(tool: Tool, args: &[String], judge: Judge) -> Result<Argv, OptionError> {
    let mut reader = Reader { judge, ..Reader::new(tool, Source::CommandLine) };
    let mut question = None;
    let rest = reader.run(args, |option| {
        question = Question::of(option);
        question.is_some()
    })?;
    Ok(Argv { settings: reader.settings, rest, question })
}

/// Reads the words of a heterogeneous job, whose components are separated by `:`. What is left after the
/// last one is the script or command.
pub fn read_components(
    tool: Tool,
    args: &[String],
    judge: Judge,
) -> Result<Vec<Argv>, OptionError> {
    let mut components = Vec::new();
    let mut words = args.to_vec();
    loop {
        let mut component = read_judged(tool, &words, judge)?;
        // Each component of `srun` may bring a command of its own.
        let separator = match tool {
            Tool::Srun => component.rest.iter().position(|word| word == ":"),
            _ => component.rest.first().filter(|word| *word == ":").map(|_| 0),
        };
        let Some(at) = separator.filter(|_| component.question.is_none()) else {
            components.push(component);
            return Ok(components);
        };
        words = component.rest.split_off(at + 1);
        component.rest.truncate(at);
        components.push(component);
    }
}

impl Question {
    /// The question that an option asks.
    pub(super) fn of(option: &JobOption) -> Option<Question> {
        match option.long {
            "help" => Some(Question::Help),
            "usage" => Some(Question::Usage),
            "version" => Some(Question::Version),
            _ => None,
        }
    }
}

/// Takes words one by one; also used for the words of a directive.
pub(super) struct Reader {
    tool: Tool,
    source: Source,
    pub settings: Vec<Setting>,
    /// Values are tried here at once, since errors come in the order of the words.
    trial: Request,
    judge: Judge,
}

impl Reader {
    pub fn new(tool: Tool, source: Source) -> Reader {
        Reader {
            tool,
            source,
            settings: Vec::new(),
            trial: Request::new(tool),
            judge: |_, _| Ok(()),
        }
    }

    /// Reads options until a word is none, or `stop` says so, and returns what is left.
    pub fn run(
        &mut self,
        args: &[String],
        mut stop: impl FnMut(&'static JobOption) -> bool,
    ) -> Result<Vec<String>, OptionError> {
        let mut words = args.iter();
        while let Some(word) = words.as_slice().first() {
            if word == "--" {
                words.next();
                break;
            }
            if !word.starts_with('-') || word == "-" {
                break;
            }
            words.next();
            let stopped = match word.strip_prefix("--") {
                Some(long) => self.long(long, &mut words, &mut stop)?,
                None => self.cluster(&word[1..], &mut words, &mut stop)?,
            };
            if stopped {
                return Ok(Vec::new());
            }
        }
        Ok(words.as_slice().to_vec())
    }

    fn long(
        &mut self,
        word: &str,
        words: &mut std::slice::Iter<'_, String>,
        stop: &mut impl FnMut(&'static JobOption) -> bool,
    ) -> Result<bool, OptionError> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let (option, name) = find_abbreviated(self.tool, name, word)?;
        let value = match (option.arg, attached) {
            (Arg::None, Some(_)) => {
                return Err(OptionError::usage(format!(
                    "option '--{name}' doesn't allow an argument"
                )));
            }
            (Arg::Required(_), None) => words.next().ok_or_else(|| {
                OptionError::usage(format!("option '--{name}' requires an argument"))
            })?,
            (_, attached) => attached.unwrap_or_default(),
        };
        self.take(option, value, stop)
    }

    fn cluster(
        &mut self,
        letters: &str,
        words: &mut std::slice::Iter<'_, String>,
        stop: &mut impl FnMut(&'static JobOption) -> bool,
    ) -> Result<bool, OptionError> {
        for (at, letter) in letters.char_indices() {
            let after = &letters[at + letter.len_utf8()..];
            let option = options(self.tool)
                .find(|option| option.short == Some(letter))
                .ok_or_else(|| OptionError::usage(format!("invalid option -- '{letter}'")))?;
            let value = match option.arg {
                Arg::None => {
                    if self.take(option, "", stop)? {
                        return Ok(true);
                    }
                    continue;
                }
                Arg::Optional(_) => after,
                Arg::Required(_) if !after.is_empty() => after,
                Arg::Required(_) => words.next().ok_or_else(|| {
                    OptionError::usage(format!("option requires an argument -- '{letter}'"))
                })?,
            };
            return self.take(option, value, stop);
        }
        Ok(false)
    }

    fn take(
        &mut self,
        option: &'static JobOption,
        value: &str,
        stop: &mut impl FnMut(&'static JobOption) -> bool,
    ) -> Result<bool, OptionError> {
        if stop(option) {
            return Ok(true);
        }
        option.apply(&mut self.trial, value)?;
        (self.judge)(option, value)?;
        self.settings.push(Setting { option, value: value.to_owned(), source: self.source });
        Ok(false)
    }
}

/// The option that a possibly shortened name means, and its full name.
fn find_abbreviated(
    tool: Tool,
    name: &str,
    word: &str,
) -> Result<(&'static JobOption, &'static str), OptionError> {
    let mut matches: Vec<(&'static JobOption, &'static str)> = Vec::new();
    for option in options(tool) {
        for full in option.names() {
            if full == name {
                return Ok((option, full));
            }
            if full.starts_with(name) {
                matches.push((option, full));
            }
        }
    }
    matches.sort_by_key(|(option, full)| (option.listed_as, *full));
    let Some(&first) = matches.first() else {
        return Err(OptionError::usage(format!("unrecognized option '--{word}'")));
    };
    // Two names of one option are no ambiguity, and getopt leaves the second out of its list.
    matches.retain(|found| found == &first || found.0 != first.0);
    if matches.len() == 1 {
        return Ok(first);
    }
    let possibilities: Vec<String> =
        matches.iter().map(|(_, full)| format!("'--{full}'")).collect();
    Err(OptionError::usage(format!(
        "option '--{word}' is ambiguous; possibilities: {}",
        possibilities.join(" ")
    )))
}
