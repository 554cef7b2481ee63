//! What `squeue`'s words and variables ask for.

use spur_core::fields::{job, step};
use spur_core::job::reference::JobReference;
use spur_core::job::state::{StateFilter, VALID_STATES};
use spur_core::tools::squeue::TOOL;

use super::order::Order;
use crate::commands::{Ended, Notation, user};
use crate::output::complain;

/// What is asked for.
pub struct Query {
    pub header: bool,
    pub format: Format,
    /// A line with the date comes first.
    pub dated: bool,
    pub notation: Notation,
    pub no_convert: bool,
    /// A line for each task of an array.
    pub each_task: bool,
    /// Pending jobs with their expected start.
    pub start: bool,
    pub order: Option<String>,
    pub repeat_secs: Option<u64>,
    /// Steps instead of jobs.
    pub steps: Option<Vec<JobReference>>,
    pub with_cluster: Option<String>,
    pub jobs: Vec<JobReference>,
    pub states: Option<StateFilter>,
    pub uids: Option<Vec<u32>>,
    /// Only jobs of others.
    pub not_uid: Option<u32>,
    pub partitions: Vec<String>,
    pub names: Vec<String>,
    pub accounts: Vec<String>,
    pub qos: Vec<String>,
    pub licenses: Vec<String>,
    pub reservation: Option<String>,
    pub nodes: Option<Vec<String>>,
    pub hidden: bool,
    /// `-v`: what was understood and found is told.
    pub verbose: bool,
}

/// Which columns.
pub enum Format {
    /// Nobody said.
    Unsaid,
    /// `-l`
    Long,
    Letters(String),
    Names(String),
}

impl Query {
    /// Reads words and variables.
    pub fn read(args: &[String]) -> Result<Query, Ended> {
        let words = crate::commands::read_tool(&TOOL, args)?;
        let said = |name: &str| words.options.iter().any(|(flag, _)| flag.long == name);
        if said("format") && said("long") {
            eprintln!(
                "squeue: fatal: Options -o(--format) and -l(--long) are mutually exclusive. \
                 Please remove one and retry."
            );
            return Err(Ended(1));
        }
        let mut query = Query::default();
        // A variable counts only where no word says the same.
        let formats = ["format", "Format", "long"];
        for (flag, value) in TOOL.read_variables(|name| std::env::var(name).ok()) {
            let is_format = formats.contains(&flag.long);
            let overruled = said(flag.long) || (is_format && formats.iter().any(|name| said(name)));
            let second = flag.long == "Format" && matches!(query.format, Format::Letters(_));
            if !overruled && !second {
                query.take(flag.long, &value, true)?;
            }
        }
        for (flag, value) in &words.options {
            query.take(flag.long, value, false)?;
        }
        if let Some(word) = words.rest.first() {
            complain("squeue", format!("Unrecognized option: {word}"));
            crate::output::print(TOOL.usage);
            return Err(Ended(1));
        }
        let loud = words.options.iter().filter(|(flag, _)| flag.long == "verbose").count();
        query.verbose = loud > 0;
        if query.verbose {
            crate::output::print(&query.told(loud, |name| {
                let last = words.options.iter().rev().find(|(flag, _)| flag.long == name);
                last.map(|(_, value)| value.clone())
            }));
        }
        Ok(query)
    }

    /// What `-v` prints first: what was understood.
    fn told(&self, loud: usize, last: impl Fn(&str) -> Option<String>) -> String {
        let said = |name: &str| last(name).is_some();
        let text = |name: &str| last(name).unwrap_or_else(|| "(null)".into());
        let format = match &self.format {
            Format::Letters(format) | Format::Names(format) => format.clone(),
            Format::Unsaid | Format::Long => "(null)".into(),
        };
        let (jobs, steps) = (u8::from(said("jobs")), u8::from(said("steps")));
        let rows: [(&str, String); 22] = [
            ("all         = ", self.hidden.to_string()),
            ("array       = ", self.each_task.to_string()),
            ("federation  = ", said("federation").to_string()),
            ("format      = ", format),
            ("iterate     = ", self.repeat_secs.unwrap_or(0).to_string()),
            ("job_flag    = ", jobs.to_string()),
            ("jobs        = ", text("jobs")),
            ("licenses    = ", text("licenses")),
            ("local       = ", said("local").to_string()),
            ("names       = ", text("name")),
            ("nodes       = ", last("nodelist").unwrap_or_default()),
            ("partitions  = ", text("partitions")),
            ("priority    = ", said("priority").to_string()),
            ("reservation = ", text("reservation")),
            ("sibling      = ", said("sibling").to_string()),
            ("sort        = ", text("sort")),
            ("start_flag  = ", u8::from(self.start).to_string()),
            ("states      = ", text("states")),
            ("step_flag   = ", steps.to_string()),
            ("steps       = ", text("steps")),
            ("users       = ", text("users")),
            ("verbose     = ", loud.to_string()),
        ];
        let rule = "-----------------------------\n";
        let rows: String = rows.iter().map(|(key, value)| format!("{key}{value}\n")).collect();
        format!("{rule}{rows}{rule}\n\n")
    }

    fn take(&mut self, name: &str, value: &str, variable: bool) -> Result<(), Ended> {
        match name {
            "accounts" => self.accounts = list(value),
            "all" => self.hidden = true,
            "array" => self.each_task = true,
            "clusters" => self.with_cluster = Some(value.to_string()),
            "format" | "Format" => self.take_format(name, value, variable)?,
            "hide" => self.hidden = false,
            "iterate" => self.repeat_secs = Some(seconds(value)?),
            "jobs" => self.jobs.extend(jobs(value)?),
            "json" => self.notation = Notation::Json,
            "licenses" => self.licenses = list(value),
            "long" => (self.format, self.dated) = (Format::Long, true),
            "me" => self.uids = Some(vec![nix::unistd::getuid().as_raw()]),
            "name" => self.names = list(value),
            "noconvert" => self.no_convert = true,
            "nodelist" | "nodes" => self.nodes = Some(hosts(value)?),
            "noheader" => self.header = false,
            "notme" => self.not_uid = Some(nix::unistd::getuid().as_raw()),
            "only-job-state" => {
                self.format = Format::Letters("%.18i %.2t".into());
            }
            "partitions" => self.partitions = list(value),
            "qos" => self.qos = list(value),
            "reservation" => self.reservation = Some(value.to_string()),
            "sort" => self.order = Some(value.to_string()),
            "start" => self.start = true,
            "states" => self.states = Some(states(value)?),
            "steps" => self.steps.get_or_insert_default().extend(steps(value)?),
            "users" => self.uids = Some(users(value)),
            "yaml" => self.notation = Notation::Yaml,
            _ => {}
        }
        Ok(())
    }

    fn take_format(&mut self, name: &str, value: &str, variable: bool) -> Result<(), Ended> {
        let clash = match (&self.format, name) {
            (Format::Letters(_), "Format") if !variable => {
                "-O (--Format) is incompatible with -o (--format)"
            }
            (Format::Names(_), "format") if !variable => {
                "-o (--format) is incompatible with -O (--Format)"
            }
            _ => {
                self.format = match name {
                    "format" => Format::Letters(value.to_string()),
                    _ => Format::Names(value.to_string()),
                };
                return Ok(());
            }
        };
        complain("squeue", clash);
        Err(Ended(1))
    }

    /// The columns' layout where it is one of letters: what was said, or the usual one.
    pub fn letters(&self) -> &str {
        match &self.format {
            Format::Letters(format) => format,
            _ if self.steps.is_some() => step::DEFAULT,
            _ if self.start => job::START,
            Format::Long => job::LONG,
            _ => job::DEFAULT,
        }
    }

    /// Which states are shown.
    pub fn states(&self) -> StateFilter {
        match &self.states {
            Some(states) => states.clone(),
            None if self.start => StateFilter::Any(vec![spur_core::job::JobState::Pending.into()]),
            None => StateFilter::default_for_squeue(),
        }
    }

    /// The order of lines.
    pub fn order(&self) -> Order {
        let usual = match (&self.steps, self.start) {
            (Some(_), _) => "P,i",
            (None, true) => "S",
            (None, false) => "P,t,-p",
        };
        Order::parse(self.order.as_deref().unwrap_or(usual), self.steps.is_some())
    }
}

impl Default for Query {
    fn default() -> Query {
        Query {
            header: true,
            format: Format::Unsaid,
            dated: false,
            notation: Notation::Table,
            no_convert: false,
            each_task: false,
            start: false,
            order: None,
            repeat_secs: None,
            steps: None,
            with_cluster: None,
            jobs: Vec::new(),
            states: None,
            uids: None,
            not_uid: None,
            partitions: Vec::new(),
            names: Vec::new(),
            accounts: Vec::new(),
            qos: Vec::new(),
            licenses: Vec::new(),
            reservation: None,
            nodes: None,
            hidden: false,
            verbose: false,
        }
    }
}

fn list(words: &str) -> Vec<String> {
    words.split(',').map(str::to_string).collect()
}

fn seconds(word: &str) -> Result<u64, Ended> {
    word.parse().ok().filter(|secs| *secs > 0).ok_or_else(|| {
        complain("squeue", format!("--iterate={word}\n"));
        Ended(1)
    })
}

fn jobs(list: &str) -> Result<Vec<JobReference>, Ended> {
    let parse = |word: &str| {
        JobReference::parse_loosely(word).ok_or_else(|| {
            complain("squeue", format!("Invalid job id: {word}"));
            Ended(1)
        })
    };
    list.split(',').filter(|word| !word.is_empty()).map(parse).collect()
}

fn steps(list: &str) -> Result<Vec<JobReference>, Ended> {
    let parse = |word: &str| {
        JobReference::parse_step_loosely(word).map_err(|told| {
            complain("squeue", format!("Invalid job_step id: {told}"));
            Ended(1)
        })
    };
    list.split(',').filter(|word| !word.is_empty()).map(parse).collect()
}

fn states(list: &str) -> Result<StateFilter, Ended> {
    StateFilter::parse(list).map_err(|unknown| {
        complain("squeue", unknown);
        complain("squeue", format!("Valid job states include: {VALID_STATES}\n"));
        Ended(1)
    })
}

/// The users' numbers; an unknown user has no jobs, and that is no error.
fn users(list: &str) -> Vec<u32> {
    let number = |name: &str| {
        // A number is one of a user, too.
        let is_known =
            |uid: &u32| nix::unistd::User::from_uid((*uid).into()).ok().flatten().is_some();
        let found = user(name).filter(is_known);
        if found.is_none() {
            complain("squeue", format!("Invalid user: {name}\n"));
        }
        found
    };
    list.split(',').filter(|name| !name.is_empty()).filter_map(number).collect()
}

fn hosts(list: &str) -> Result<Vec<String>, Ended> {
    spur_core::hostlist::expand(list).map_err(|_| {
        complain("squeue", format!("Invalid node name {list}"));
        Ended(1)
    })
}
