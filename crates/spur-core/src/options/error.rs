//! Refusals in Slurm's words, with the exit status of each.

use super::row::{JobOption, Tool};

/// How a refusal is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `sbatch: error: …`
    Error,
    /// `sbatch: fatal: …`
    Fatal,
    /// `sbatch: …` as getopt says it, then where to find help.
    Usage,
}

/// Why an option was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OptionError {
    /// What goes to standard output: the answer to `--hint=help`.
    pub answer: Option<&'static str>,
    /// What was remarked on the way there.
    pub notes: Vec<String>,
    /// A line that Slurm prints first, bare of any prefix.
    pub before: Option<String>,
    /// A line with the prefix of an error that comes before a fatal one.
    pub error: Option<String>,
    /// What stands after the prefix; several lines each get it.
    pub message: String,
    pub exit: i32,
    pub kind: Kind,
}

/// What a row has against a value. The option's name is added by whoever knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `Invalid --time specification`
    Specification,
    /// `Invalid numeric value "x" for --ntasks.`
    Number,
    /// `Numeric argument (9223372036854775807) to big for --ntasks.`
    TooBig(i64),
    /// As [`Refusal::Specification`], after a bare line.
    After(String),
    /// In other words, with this exit status.
    Said(String, i32),
}

/// The status for most bad values and everything getopt refuses.
pub const BAD_VALUE: i32 = 255;

impl OptionError {
    /// `sbatch: error: MESSAGE`
    pub fn error(message: impl Into<String>, exit: i32) -> OptionError {
        OptionError {
            answer: None,
            notes: Vec::new(),
            before: None,
            error: None,
            message: message.into(),
            exit,
            kind: Kind::Error,
        }
    }

    /// `sbatch: fatal: MESSAGE`
    pub fn fatal(message: impl Into<String>) -> OptionError {
        OptionError {
            answer: None,
            notes: Vec::new(),
            before: None,
            error: None,
            message: message.into(),
            exit: 1,
            kind: Kind::Fatal,
        }
    }

    /// Everything was said already; only the exit status is left.
    pub fn silent(exit: i32) -> OptionError {
        OptionError::error("", exit)
    }

    /// What getopt prints.
    pub fn usage(message: impl Into<String>) -> OptionError {
        OptionError {
            answer: None,
            notes: Vec::new(),
            before: None,
            error: None,
            message: message.into(),
            exit: BAD_VALUE,
            kind: Kind::Usage,
        }
    }

    /// A row's refusal, said with the option's name.
    pub fn refused(option: &JobOption, value: &str, refusal: Refusal) -> OptionError {
        let name = option.long;
        let specification = || format!("Invalid --{name} specification");
        match refusal {
            Refusal::Specification => OptionError::error(specification(), BAD_VALUE),
            Refusal::Number => {
                OptionError::error(format!("Invalid numeric value \"{value}\" for --{name}."), 1)
            }
            Refusal::TooBig(number) => {
                OptionError::error(format!("Numeric argument ({number}) to big for --{name}."), 1)
            }
            Refusal::After(line) => {
                OptionError { before: Some(line), ..OptionError::error(specification(), BAD_VALUE) }
            }
            Refusal::Said(message, exit) => {
                let asked = name == "mem-bind" && message.is_empty();
                let answer = asked.then_some(super::binding::MEM_HELP);
                OptionError { answer, ..OptionError::error(message, exit) }
            }
        }
    }

    /// The lines for standard error. Getopt's name the tool by the path it was called by; scripts that look
    /// for them were written where that is the name alone.
    pub fn lines(&self, tool: Tool) -> Vec<String> {
        let tool = tool.name();
        let prefix = match self.kind {
            Kind::Error => format!("{tool}: error: "),
            Kind::Fatal => format!("{tool}: fatal: "),
            Kind::Usage => format!("{tool}: "),
        };
        let mut lines: Vec<String> = self.notes.iter().map(|it| format!("{tool}: {it}")).collect();
        lines.extend(self.before.iter().cloned());
        lines.extend(self.error.iter().map(|line| format!("{tool}: error: {line}")));
        lines.extend(self.message.lines().map(|line| format!("{prefix}{line}")));
        if self.kind == Kind::Usage {
            lines.push(format!("Try \"{tool} --help\" for more information"));
        }
        lines
    }
}
