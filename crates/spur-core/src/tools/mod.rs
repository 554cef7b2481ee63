//! The options of the tools that ask and control, a table a tool. `--help`, completions and manual
//! pages are printed from it; what an option does is the tool's own business.

pub mod sacct;
pub mod sacctmgr;
pub mod sattach;
pub mod sbcast;
pub mod scancel;
pub mod scontrol;
pub mod scrontab;
pub mod sdiag;
pub mod sinfo;
pub mod sprio;
pub mod squeue;
pub mod sreport;
pub mod sshare;
pub mod sstat;
pub mod strigger;

use crate::getopt::{self, Flag, Takes, Words};

/// One option.
pub struct Row {
    /// How it is spelled.
    pub flag: Flag,
    /// What its value is called; empty where it takes none.
    pub value: &'static str,
    /// The variable that says the same; empty for none.
    pub env: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// A tool and its options.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a few words.
    pub does: &'static str,
    /// What may stand behind its options.
    pub operands: &'static str,
    /// What `--usage` prints; Slurm's words, since test suites compare them. Empty where Slurm prints what `--help`
    /// prints.
    pub usage: &'static str,
    /// Its options, by name.
    pub rows: &'static [Row],
}

/// An option without a value.
pub const fn flag(long: &'static str, short: Option<char>, help: &'static str) -> Row {
    Row { flag: getopt::flag(long, short), value: "", env: "", help }
}

/// An option with a value.
pub const fn option(
    long: &'static str,
    short: Option<char>,
    value: &'static str,
    help: &'static str,
) -> Row {
    Row { flag: getopt::option(long, short), value, env: "", help }
}

impl Row {
    /// The same, also said by a variable.
    pub const fn env(mut self, env: &'static str) -> Row {
        self.env = env;
        self
    }

    /// The same with a value only where one is attached.
    pub const fn attached(mut self) -> Row {
        self.flag.takes = Takes::MayValue;
        self
    }

    /// The same with a value that may be attached or follow, or be left out.
    pub const fn optional(mut self) -> Row {
        self.flag.takes = Takes::MayFollow;
        self
    }

    /// As `--help` writes it: `-p, --partition=names`.
    pub fn spelling(&self) -> String {
        let short = self.flag.short.map_or("    ".into(), |letter| format!("-{letter}, "));
        let value = match self.flag.takes {
            Takes::Nothing => String::new(),
            Takes::Value => format!("={}", self.value),
            Takes::MayValue | Takes::MayFollow => format!("[={}]", self.value),
        };
        format!("{short}--{}{value}", self.flag.long)
    }
}

impl Tool {
    /// Reads a command line. The error is what getopt prints behind the tool's name.
    pub fn read(&self, args: &[String]) -> Result<Words, String> {
        let flags: Vec<Flag> = self.rows.iter().map(|row| row.flag).collect();
        getopt::read(&flags, args)
    }

    /// What the variables say, in the order of the table.
    pub fn read_variables(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<(Flag, String)> {
        let said = |row: &Row| Some((row.flag, variable(row.env)?));
        self.rows.iter().filter(|row| !row.env.is_empty()).filter_map(said).collect()
    }

    /// What `--usage` prints.
    pub fn summary(&self) -> String {
        if self.usage.is_empty() { self.help() } else { self.usage.to_string() }
    }

    /// What `--help` prints.
    pub fn help(&self) -> String {
        let own = HEADS.iter().find(|(tool, _)| *tool == self.name);
        let mut text = match own {
            Some((_, head)) => format!("{head}\n"),
            None => format!("Usage: {} [OPTIONS]{}\n", self.name, self.operands),
        };
        let is_help = |row: &&Row| ["help", "usage"].contains(&row.flag.long);
        let (help, others): (Vec<&Row>, Vec<&Row>) = self.rows.iter().partition(is_help);
        for row in others {
            row.tell(&mut text);
        }
        text.push_str("\nHelp options:\n");
        for row in help {
            row.tell(&mut text);
        }
        text
    }
}

/// First lines of `--help` that Slurm has in other words than most.
const HEADS: &[(&str, &str)] = &[
    ("sacct", "sacct [<OPTION>]"),
    ("sacctmgr", "sacctmgr [<OPTION>] [<COMMAND>]"),
    ("sattach", "Usage: sattach [options] <jobid.stepid>"),
    ("scancel", "Usage: scancel [OPTIONS] [job_id[_array_id][.step_id]]"),
    ("scontrol", "scontrol [<OPTION>] [<COMMAND>]"),
    ("sreport", "sreport [<OPTION>] [<COMMAND>]"),
    ("sshare", "Usage:  sshare [OPTION]"),
    ("sstat", "sstat [<OPTION>] -j <job(.stepid)>"),
    ("strigger", "Usage: strigger [--set | --get | --clear] [OPTIONS]"),
];

impl Row {
    /// Its line of `--help`.
    fn tell(&self, text: &mut String) {
        let spelling = self.spelling();
        match spelling.len() {
            ..30 => text.push_str(&format!("  {spelling:<30}{}\n", self.help)),
            _ => text.push_str(&format!("  {spelling}\n{:32}{}\n", "", self.help)),
        }
    }
}

/// Every tool with a table here.
pub const TOOLS: &[&Tool] = &[
    &sacct::TOOL,
    &sacctmgr::TOOL,
    &sattach::TOOL,
    &sbcast::TOOL,
    &scancel::TOOL,
    &scontrol::TOOL,
    &scrontab::TOOL,
    &sdiag::TOOL,
    &sinfo::TOOL,
    &sprio::TOOL,
    &squeue::TOOL,
    &sreport::TOOL,
    &sshare::TOOL,
    &sstat::TOOL,
    &strigger::TOOL,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_spelling_has_two_meanings_and_every_option_has_help() {
        for tool in TOOLS {
            let mut seen = BTreeSet::new();
            for row in tool.rows {
                assert!(
                    seen.insert(format!("--{}", row.flag.long)),
                    "{} {}",
                    tool.name,
                    row.flag.long
                );
                let short = row.flag.short.map(|letter| format!("-{letter}"));
                assert!(short.is_none_or(|letter| seen.insert(letter)), "{}", row.flag.long);
                assert!(!row.help.is_empty());
                assert_eq!(
                    row.value.is_empty(),
                    row.flag.takes == Takes::Nothing,
                    "{}",
                    row.flag.long
                );
            }
        }
    }

    /// The variables that Slurm's manual pages list, with the option each stands for.
    const VARIABLES: &[(&Tool, &[(&str, &str)])] = &[
        (
            &squeue::TOOL,
            &[
                ("SLURM_CLUSTERS", "clusters"),
                ("SQUEUE_ACCOUNT", "accounts"),
                ("SQUEUE_ALL", "all"),
                ("SQUEUE_ARRAY", "array"),
                ("SQUEUE_FEDERATION", "federation"),
                ("SQUEUE_FORMAT", "format"),
                ("SQUEUE_FORMAT2", "Format"),
                ("SQUEUE_LICENSES", "licenses"),
                ("SQUEUE_LOCAL", "local"),
                ("SQUEUE_NAMES", "name"),
                ("SQUEUE_PARTITION", "partitions"),
                ("SQUEUE_PRIORITY", "priority"),
                ("SQUEUE_QOS", "qos"),
                ("SQUEUE_SIBLING", "sibling"),
                ("SQUEUE_SORT", "sort"),
                ("SQUEUE_STATES", "states"),
                ("SQUEUE_USERS", "users"),
            ],
        ),
        (
            &sinfo::TOOL,
            &[
                ("SINFO_ALL", "all"),
                ("SINFO_FEDERATION", "federation"),
                ("SINFO_FORMAT", "format"),
                ("SINFO_LOCAL", "local"),
                ("SINFO_PARTITION", "partition"),
                ("SINFO_SORT", "sort"),
                ("SLURM_CLUSTERS", "clusters"),
            ],
        ),
        (
            &scontrol::TOOL,
            &[
                ("SCONTROL_ALL", "all"),
                ("SCONTROL_FEDERATION", "federation"),
                ("SCONTROL_FUTURE", "future"),
                ("SCONTROL_LOCAL", "local"),
                ("SCONTROL_SIBLING", "sibling"),
                ("SLURM_CLUSTERS", "clusters"),
            ],
        ),
        (
            &scancel::TOOL,
            &[
                ("SCANCEL_ACCOUNT", "account"),
                ("SCANCEL_BATCH", "batch"),
                ("SCANCEL_CRON", "cron"),
                ("SCANCEL_CTLD", "ctld"),
                ("SCANCEL_FULL", "full"),
                ("SCANCEL_HURRY", "hurry"),
                ("SCANCEL_INTERACTIVE", "interactive"),
                ("SCANCEL_NAME", "jobname"),
                ("SCANCEL_PARTITION", "partition"),
                ("SCANCEL_QOS", "qos"),
                ("SCANCEL_STATE", "state"),
                ("SCANCEL_USER", "user"),
                ("SCANCEL_VERBOSE", "verbose"),
                ("SCANCEL_WCKEY", "wckey"),
                ("SLURM_CLUSTERS", "clusters"),
            ],
        ),
        (
            &sprio::TOOL,
            &[
                ("SLURM_CLUSTERS", "clusters"),
                ("SPRIO_FEDERATION", "federation"),
                ("SPRIO_FORMAT", "format"),
                ("SPRIO_LOCAL", "local"),
                ("SPRIO_SIBLING", "sibling"),
            ],
        ),
    ];

    #[test]
    fn every_variable_of_the_manual_says_what_its_option_says() {
        for (tool, variables) in VARIABLES {
            for (variable, option) in *variables {
                let said = |name: &str| (name == *variable).then(|| "x".to_string());
                let read = tool.read_variables(said);
                let read: Vec<(&str, &str)> =
                    read.iter().map(|(flag, value)| (flag.long, value.as_str())).collect();
                assert_eq!(read, [(*option, "x")], "{} {variable}", tool.name);
            }
        }
    }

    #[test]
    fn help_names_every_option() {
        for tool in TOOLS {
            let help = tool.help();
            assert!(tool.rows.iter().all(|row| help.contains(&row.spelling())), "{help}");
        }
    }
}
