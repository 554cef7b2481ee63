//! What a row says about an option, and the words rows are written in.

use super::error::{OptionError, Refusal};
use super::json::Form;
use super::resolve::Request;
use super::tool::ToolSettings;
use crate::job::JobSpec;
use crate::step::StepSpec;

/// A command that submits work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    Sbatch,
    Srun,
    Salloc,
}

impl Tool {
    /// The name of the command, as it stands before its messages.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Sbatch => "sbatch",
            Tool::Srun => "srun",
            Tool::Salloc => "salloc",
        }
    }
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Nothing: a flag.
    None,
    /// A value, called so in the help.
    Required(&'static str),
    /// A value, after `=` in the long form and attached in the short one.
    Optional(&'static str),
}

/// Writes a value into the part of the request that an option is about.
#[derive(Clone, Copy)]
pub enum Setter {
    Job(fn(&mut JobSpec, &str) -> Result<(), Refusal>),
    Step(fn(&mut StepSpec, &str) -> Result<(), Refusal>),
    Tool(fn(&mut ToolSettings, &str) -> Result<(), Refusal>),
    /// Nothing to write.
    Nothing,
}

/// One option and the tools that share its meaning.
#[derive(Clone, Copy)]
pub struct JobOption {
    /// Without dashes. Empty for what only a variable can set.
    pub long: &'static str,
    /// Older names that scripts still use.
    pub older: &'static [&'static str],
    pub short: Option<char>,
    pub arg: Arg,
    pub tools: &'static [Tool],
    /// Variables that set the option; of several, the last one set wins.
    pub env: &'static [(Tool, &'static str)],
    pub help: &'static str,
    pub set: Setter,
    /// What the tool says about a value that it takes all the same.
    pub remark: fn(&str) -> Vec<String>,
    /// Why nothing comes of the option, where it is accepted only so that scripts keep running.
    pub no_effect: &'static str,
    /// Whether later components of a heterogeneous job take the option over from the first.
    pub whole_job: bool,
    /// Where an ambiguity message lists the option: Slurm's order follows names of its own.
    pub listed_as: &'static str,
    /// What a job description in JSON calls it, and how its value is said there; see `json.rs`.
    pub json: Option<(&'static str, Form)>,
}

impl JobOption {
    /// The long name, then the older ones.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.long).chain(self.older.iter().copied()).filter(|name| !name.is_empty())
    }

    /// Writes a value, and says in Slurm's words why not.
    pub fn apply(&self, request: &mut Request, value: &str) -> Result<(), OptionError> {
        let set = match self.set {
            Setter::Job(set) => set(&mut request.job, value),
            Setter::Step(set) => set(&mut request.step, value),
            Setter::Tool(set) => set(&mut request.tool, value),
            Setter::Nothing => Ok(()),
        };
        match set {
            Ok(()) => {
                request.notes.extend((self.remark)(value));
                Ok(())
            }
            Err(refusal) => Err(OptionError {
                notes: std::mem::take(&mut request.notes),
                ..OptionError::refused(self, value, refusal)
            }),
        }
    }
}

impl std::fmt::Debug for JobOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "--{}", self.long)
    }
}

/// Rows are told apart by their place in the table.
impl PartialEq for JobOption {
    fn eq(&self, other: &JobOption) -> bool {
        std::ptr::eq(self, other) || (self.long == other.long && self.tools == other.tools)
    }
}

pub(super) const ALL: &[Tool] = &[Tool::Sbatch, Tool::Srun, Tool::Salloc];
pub(super) const SBATCH: &[Tool] = &[Tool::Sbatch];
pub(super) const SRUN: &[Tool] = &[Tool::Srun];
pub(super) const SALLOC: &[Tool] = &[Tool::Salloc];
pub(super) const SBATCH_SRUN: &[Tool] = &[Tool::Sbatch, Tool::Srun];

/// Starts a row: a flag of every tool until told otherwise.
pub(super) const fn option(long: &'static str, help: &'static str) -> JobOption {
    JobOption {
        long,
        older: &[],
        short: None,
        arg: Arg::None,
        tools: ALL,
        env: &[],
        help,
        set: Setter::Nothing,
        remark: |_| Vec::new(),
        no_effect: "",
        whole_job: false,
        listed_as: long,
        json: None,
    }
}

/// Starts a row that no command line has: only variables set it.
pub(super) const fn variable(value: &'static str, help: &'static str) -> JobOption {
    option("", help).takes(value)
}

impl JobOption {
    pub(super) const fn short(mut self, letter: char) -> JobOption {
        self.short = Some(letter);
        self
    }

    pub(super) const fn takes(mut self, value: &'static str) -> JobOption {
        self.arg = Arg::Required(value);
        self
    }

    pub(super) const fn may_take(mut self, value: &'static str) -> JobOption {
        self.arg = Arg::Optional(value);
        self
    }

    pub(super) const fn of(mut self, tools: &'static [Tool]) -> JobOption {
        self.tools = tools;
        self
    }

    pub(super) const fn older(mut self, names: &'static [&'static str]) -> JobOption {
        self.older = names;
        self
    }

    pub(super) const fn env(mut self, variables: &'static [(Tool, &'static str)]) -> JobOption {
        self.env = variables;
        self
    }

    pub(super) const fn json(mut self, name: &'static str, form: Form) -> JobOption {
        self.json = Some((name, form));
        self
    }

    pub(super) const fn whole_job(mut self) -> JobOption {
        self.whole_job = true;
        self
    }

    pub(super) const fn listed_as(mut self, name: &'static str) -> JobOption {
        self.listed_as = name;
        self
    }

    pub(super) const fn job(
        mut self,
        set: fn(&mut JobSpec, &str) -> Result<(), Refusal>,
    ) -> JobOption {
        self.set = Setter::Job(set);
        self
    }

    pub(super) const fn step(
        mut self,
        set: fn(&mut StepSpec, &str) -> Result<(), Refusal>,
    ) -> JobOption {
        self.set = Setter::Step(set);
        self
    }

    pub(super) const fn tool(
        mut self,
        set: fn(&mut ToolSettings, &str) -> Result<(), Refusal>,
    ) -> JobOption {
        self.set = Setter::Tool(set);
        self
    }

    pub(super) const fn remark(mut self, remark: fn(&str) -> Vec<String>) -> JobOption {
        self.remark = remark;
        self
    }

    pub(super) const fn no_effect(mut self, reason: &'static str) -> JobOption {
        self.no_effect = reason;
        self
    }
}

/// Writes text as it is.
pub(super) fn text(field: &mut String, value: &str) -> Result<(), Refusal> {
    value.clone_into(field);
    Ok(())
}

/// Raises a flag.
pub(super) fn flag(field: &mut bool) -> Result<(), Refusal> {
    *field = true;
    Ok(())
}

/// Writes a value that was read, or passes the refusal on.
pub(super) fn put<T>(field: &mut Option<T>, value: Result<T, Refusal>) -> Result<(), Refusal> {
    *field = Some(value?);
    Ok(())
}
