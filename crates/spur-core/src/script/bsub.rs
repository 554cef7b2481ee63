//! Reads `#BSUB` lines and says them as `#SBATCH` would: the few letters that Slurm knows.

use super::pbs::{Grammar, Reader, gather};
use crate::options::{OptionError, Setting};

const GRAMMAR: Grammar = Grammar { with_value: "ceJmMnoqW", flags: "x", option };

/// The settings that a script's `#BSUB` lines stand for; nothing where there are none. `name` is the script's,
/// for messages.
pub fn read(script: &str, name: &str) -> Result<Option<Vec<Setting>>, OptionError> {
    let Some(mut words) = gather(script, "#BSUB", name)? else { return Ok(None) };
    // The one option that is a word.
    words.iter_mut().filter(|word| *word == "-cwd").for_each(|word| "-c".clone_into(word));
    Reader::read(&words, &GRAMMAR).map(Some)
}

fn option(reader: &mut Reader, letter: char, value: &str) -> Result<(), OptionError> {
    match letter {
        'c' => reader.say("chdir", value),
        'e' => reader.say("error", value),
        'J' => reader.say("job-name", value),
        'm' => reader.say("nodelist", &value.split_whitespace().collect::<Vec<_>>().join(",")),
        'M' => {
            let is_bare = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let size = if is_bare { format!("{value}K") } else { value.to_owned() };
            reader.say("mem-per-cpu", &size)
        }
        // The least and the most: the most counts.
        'n' => reader.say("ntasks", value.rsplit(',').next().unwrap_or(value)),
        'o' => reader.say("output", value),
        'q' => reader.say("partition", value),
        'W' => reader.say("time", value),
        'x' => reader.say("exclusive", ""),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Vec<(&'static str, String)>, String> {
        let script = format!("#!/bin/sh\n#BSUB {line}\n");
        let settings = read(&script, "d.sh").map_err(|error| error.message)?.unwrap_or_default();
        Ok(settings.into_iter().map(|said| (said.option.long, said.value)).collect())
    }

    #[test]
    fn letters_say_what_slurm_takes_them_for() {
        let one = |long, value: &str| Ok(vec![(long, value.to_owned())]);
        assert_eq!(said("-n 2,4"), one("ntasks", "4"));
        assert_eq!(said("-M 1000"), one("mem-per-cpu", "1000K"));
        assert_eq!(said("-M 1G"), one("mem-per-cpu", "1G"));
        assert_eq!(said("-cwd /tmp"), one("chdir", "/tmp"));
        assert_eq!(said("-m \"n1 n2\""), one("nodelist", "n1,n2"));
        assert_eq!(said("-x"), one("exclusive", ""));
        assert!(said("-P x").is_err() && said("foo").is_err() && said("-n").is_err());
        assert!(read("#!/bin/sh\n", "d.sh").is_ok_and(|settings| settings.is_none()));
    }
}
