//! Reads `#PBS` lines and says them as `#SBATCH` would.
//!
//! Slurm looks for them in the whole script, and lets them win over `#SBATCH` lines.

use super::words;
use crate::options::{OptionError, Request, Setting, Source, Tool, find};

const GRAMMAR: Grammar =
    Grammar { with_value: "aAcCeJjklmMNopqrStuvW", flags: "hIVz", option: Reader::option };

/// The letters of another batch system, and what each of them says.
pub(super) struct Grammar {
    /// Letters that take a value.
    pub with_value: &'static str,
    /// Letters that are flags.
    pub flags: &'static str,
    pub option: fn(&mut Reader, char, &str) -> Result<(), OptionError>,
}

/// Names in `-l`, and where their values end: those of chunks may be followed by another part of the chunk.
const RESOURCES: &[(&str, char)] = &[
    ("arch", ','),
    ("cput", ','),
    ("file", ','),
    ("host", ','),
    ("mem", ','),
    ("mpiprocs", ':'),
    ("mpphost", ','),
    ("mppmem", ','),
    ("mppnodes", ','),
    ("naccelerators", ','),
    ("ncpus", ':'),
    ("nice", ','),
    ("nodes", ','),
    ("opsys", ','),
    ("other", ','),
    ("pcput", ','),
    ("pmem", ','),
    ("proc", ','),
    ("pvmem", ','),
    ("select", ':'),
    ("software", ','),
    ("vmem", ','),
    ("walltime", ','),
];

/// A size without the letter for bytes, which counts megabytes then.
fn bytes(size: &str) -> &str {
    size.strip_suffix(['b', 'B']).unwrap_or(size)
}

/// The settings that a script's `#PBS` lines stand for. `name` is the script's, for messages.
pub fn read(script: &str, name: &str) -> Result<Vec<Setting>, OptionError> {
    let words = gather(script, "#PBS", name)?.unwrap_or_default();
    Reader::read(&words, &GRAMMAR)
}

/// The words of all lines that begin with a mark, which are read as one line; nothing where there are none.
pub(super) fn gather(
    script: &str,
    mark: &str,
    name: &str,
) -> Result<Option<Vec<String>>, OptionError> {
    let mut said = None;
    for (number, line) in script.lines().enumerate() {
        let Some(text) = line.strip_prefix(mark) else { continue };
        let words = words::split_line(text, name, number + 1)?;
        said.get_or_insert_with(Vec::new).extend(words);
    }
    Ok(said)
}

pub(super) struct Reader {
    settings: Vec<Setting>,
    trial: Request,
}

impl Reader {
    /// What the words of a script say.
    pub(super) fn read(words: &[String], grammar: &Grammar) -> Result<Vec<Setting>, OptionError> {
        let mut reader = Reader { settings: Vec::new(), trial: Request::new(Tool::Sbatch) };
        reader.words(words, grammar)?;
        Ok(reader.settings)
    }

    fn words(&mut self, words: &[String], grammar: &Grammar) -> Result<(), OptionError> {
        let no_option = |word: &String| OptionError::error(format!("Invalid argument: {word}"), 1);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                return Err(no_option(word));
            };
            if letters == "-" {
                return words.next().map_or(Ok(()), |word| Err(no_option(word)));
            }
            if letters.starts_with('-') {
                return Err(unknown(format!("unrecognized option '{word}'")));
            }
            for (at, letter) in letters.char_indices() {
                if grammar.flags.contains(letter) {
                    (grammar.option)(self, letter, "")?;
                    continue;
                }
                if !grammar.with_value.contains(letter) {
                    return Err(unknown(format!("invalid option -- '{letter}'")));
                }
                let attached = &letters[at + letter.len_utf8()..];
                let value = match attached {
                    "" => words.next().map(String::as_str).ok_or_else(|| {
                        unknown(format!("option requires an argument -- '{letter}'"))
                    })?,
                    attached => attached,
                };
                (grammar.option)(self, letter, value)?;
                break;
            }
        }
        Ok(())
    }

    fn option(&mut self, letter: char, value: &str) -> Result<(), OptionError> {
        match letter {
            'a' => self.say("begin", value),
            'A' => self.say("account", value),
            'e' => self.say("error", value),
            'h' => self.say("hold", ""),
            'J' | 't' => self.say("array", value),
            'l' => self.resources(value),
            'm' => self.mail(value),
            'M' => self.say("mail-user", value),
            'N' => self.say("job-name", value),
            'o' => self.say("output", value),
            'p' => self.say("nice", value),
            'q' => self.say("partition", value),
            'v' => self.say("export", value),
            'V' => self.say("export", "ALL"),
            'W' => match value.strip_prefix("depend=") {
                Some(list) => self.say("dependency", list),
                None => Ok(()),
            },
            // Shells, checkpoints, joined files and the like have no counterpart.
            _ => Ok(()),
        }
    }

    pub(super) fn say(&mut self, long: &str, value: &str) -> Result<(), OptionError> {
        let Some(option) = find(Tool::Sbatch, long) else { return Ok(()) };
        option.apply(&mut self.trial, value)?;
        let value = value.to_owned();
        self.settings.push(Setting { option, value, source: Source::Directive });
        Ok(())
    }

    /// `-m abe`: at abortion, begin, end.
    fn mail(&mut self, letters: &str) -> Result<(), OptionError> {
        let kinds: Vec<&str> = letters
            .chars()
            .filter_map(|letter| match letter {
                'a' => Some("FAIL"),
                'b' => Some("BEGIN"),
                'e' => Some("END"),
                'n' => Some("NONE"),
                _ => None,
            })
            .collect();
        self.say("mail-type", &kinds.join(","))
    }

    /// `-l nodes=2:ppn=4,walltime=1:00:00`, or `-l select=2:ncpus=4:mem=1gb`. Slurm looks at every place of the list
    /// for a name that it knows.
    fn resources(&mut self, list: &str) -> Result<(), OptionError> {
        let (mut cpus, mut processes, mut accelerators) = (None, None, None);
        let mut rest = list;
        while !rest.is_empty() {
            if let Some(behind) = rest.strip_prefix("accelerator=") {
                let is_true = behind.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("true"));
                accelerators = accelerators.or(is_true.then_some(1));
                rest = behind;
                continue;
            }
            let known = RESOURCES.iter().find_map(|(name, end)| {
                let value = rest.strip_prefix(name)?.strip_prefix('=')?;
                let (value, rest) = value.split_once(*end).unwrap_or((value, ""));
                Some((*name, value, rest))
            });
            let Some((name, value, others)) = known else {
                rest = rest
                    .get(1..)
                    .unwrap_or_else(|| rest.trim_start_matches(|c: char| !c.is_ascii()));
                continue;
            };
            rest = others;
            match name {
                "walltime" | "cput" | "pcput" => self.say("time", value)?,
                "mem" => self.say("mem", bytes(value))?,
                "file" => self.say("tmp", bytes(value))?,
                "nice" => self.say("nice", value)?,
                "proc" => {
                    self.say("constraint", value)?;
                    // What stands behind it is lost.
                    rest = rest.split_once(',').map_or("", |(_, rest)| rest);
                }
                "mppnodes" => self.say("nodelist", value)?,
                "nodes" => self.nodes(value)?,
                "select" => self.say("nodes", value)?,
                "ncpus" => {
                    cpus = value.parse::<u32>().ok();
                    self.say("mincpus", value)?;
                }
                "mpiprocs" => {
                    processes = value.parse::<u32>().ok();
                    self.say("ntasks-per-node", value)?;
                }
                "naccelerators" => {
                    let count = value.parse().ok().filter(|count| (1..i32::MAX).contains(count));
                    accelerators = Some(count.ok_or_else(|| {
                        let line = format!("Invalid numeric value \"{value}\" for naccelerators.");
                        OptionError::error(line, 1)
                    })?);
                }
                // Known, and without meaning.
                _ => {}
            }
        }
        if let Some(count) = accelerators {
            let before = self.trial.job.gres.clone();
            let both = [before, format!("gpu:{count}")];
            self.say("gres", both.join(",").trim_start_matches(','))?;
        }
        if let (Some(cpus), Some(processes @ 1..)) = (cpus, processes) {
            self.say("cpus-per-task", &(cpus / processes).max(1).to_string())?;
        }
        Ok(())
    }

    /// `2:ppn=4:gpus=1+n1:ppn=2`: counts add up, names make a list.
    fn nodes(&mut self, text: &str) -> Result<(), OptionError> {
        let mut count = 0_u32;
        let (mut tasks, mut gpus) = (0_u32, 0_u32);
        let mut names = Vec::new();
        for part in text.split(['+', ':']) {
            let number = |value: &str| value.parse::<u32>().unwrap_or(0);
            match part.split_once('=') {
                Some(("ppn", value)) => tasks = tasks.saturating_add(number(value)),
                Some(("gpus", value)) => gpus = gpus.saturating_add(number(value)),
                Some(_) => {}
                None => match part.parse::<u32>() {
                    Ok(more) => count = count.saturating_add(more),
                    Err(_) if part.is_empty() => {}
                    Err(_) => names.push(part),
                },
            }
        }
        if count > 0 {
            self.say("nodes", &count.to_string())?;
        }
        if !names.is_empty() {
            self.say("nodelist", &names.join(","))?;
        }
        if tasks > 0 {
            self.say("ntasks", &tasks.saturating_mul(count.max(1)).to_string())?;
        }
        if gpus > 0 {
            self.say("gres", &format!("gpu:{gpus}"))?;
        }
        Ok(())
    }
}

/// What getopt says, and then Slurm.
fn unknown(line: String) -> OptionError {
    OptionError {
        before: Some(format!("sbatch: {line}")),
        ..OptionError::error("Unrecognized command line parameter ?", 1)
    }
}
