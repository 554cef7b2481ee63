//! Reads the variables that stand for options, such as `SBATCH_ACCOUNT`.

use super::row::{Arg, Tool};
use super::{Setting, Source, options};

/// The settings said by a tool's variables. `lookup` answers what a variable holds.
pub fn read(tool: Tool, lookup: impl Fn(&str) -> Option<String>) -> Vec<Setting> {
    let mut settings = Vec::new();
    // Slurm reads them in alphabetical order, so that is the order of the first error.
    let mut rows: Vec<_> = options(tool).collect();
    rows.sort_by_key(|option| option.env.iter().find(|(owner, _)| *owner == tool));
    for option in rows {
        for (_, name) in option.env.iter().filter(|(owner, _)| *owner == tool) {
            let Some(value) = lookup(name) else { continue };
            // Inside a job it is the job's name, which is not each step's.
            if *name == "SLURM_JOB_NAME" && lookup("SLURM_JOB_ID").is_some() {
                continue;
            }
            // A plane has its size in a variable of its own.
            let value = match (*name, value.as_str(), lookup("SLURM_DIST_PLANESIZE")) {
                ("SLURM_DISTRIBUTION", "plane", Some(size)) => format!("plane={size}"),
                _ => value,
            };
            // It was a flag before it took a word.
            let is_flag =
                option.arg == Arg::None || option.long == "requeue" && value != "expedite";
            let value = match option.arg {
                _ if is_flag && !raises(&value) => continue,
                Arg::None if option.long == "verbose" && value.is_empty() => continue,
                // `--verbose` may be said several times; its variable holds the number.
                Arg::None if option.long == "verbose" => value,
                _ if is_flag => String::new(),
                _ => value,
            };
            settings.push(Setting { option, value, source: Source::Environment });
        }
    }
    settings
}

/// Whether a variable raises a flag: when empty, `yes`, or a number other than zero.
fn raises(value: &str) -> bool {
    value.is_empty()
        || value.eq_ignore_ascii_case("yes")
        || value.parse::<i64>().is_ok_and(|number| number != 0)
}
