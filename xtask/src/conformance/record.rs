//! Recorded answers: line 1 the command, then `[exit] N`, `[stdout]` and `[stderr]` with what followed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A command line and what Slurm answered, if that is told.
pub struct Record {
    pub line: String,
    pub answer: Option<Answer>,
}

/// What a command said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Record {
    /// All command lines in their order, each with its answer.
    pub fn read_all(golden: &Path) -> Result<Vec<Record>> {
        let mut answers = BTreeMap::new();
        let dir = golden.join("cmd");
        for entry in
            fs::read_dir(&dir).with_context(|| format!("could not read {}", dir.display()))?
        {
            let path = entry?.path();
            let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
            if let Some((line, answer)) = parse(&text) {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                answers.insert(name, (line, answer));
            }
        }
        let commands = fs::read_to_string(golden.join("commands.txt")).unwrap_or_default();
        let lines: Vec<&str> = commands.lines().filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            let record = |(line, answer)| Record { line, answer: Some(answer) };
            return Ok(answers.into_values().map(record).collect());
        }
        // Files are numbered by the place of their line.
        let at = |place: usize| {
            let start = format!("{:03}_", place + 1);
            answers.iter().find(|(name, _)| name.starts_with(&start)).map(|(_, found)| found)
        };
        Ok(lines
            .iter()
            .enumerate()
            .map(|(place, line)| {
                let found = at(place).filter(|(known, _)| known == line);
                Record { line: line.to_string(), answer: found.map(|(_, answer)| answer.clone()) }
            })
            .collect())
    }

    /// The recorded JSON is of an older shape than ours, so it is no measure.
    pub fn is_old_json(&self) -> bool {
        self.line.contains("--json") || self.line.contains("--yaml")
    }
}

/// The tool a line calls; what is piped into it comes first.
pub fn tool(line: &str) -> &str {
    let last = line.rsplit(" | ").next().unwrap_or(line);
    last.split_whitespace().next().unwrap_or_default()
}

/// An answer in which lines of several tasks are in the order of the tasks: which of them speaks first is chance.
pub fn settled(line: &str, stdout: &str) -> String {
    let labels = line.starts_with("srun ") && line.contains(" --label ");
    let mut lines: Vec<&str> = stdout.split_inclusive('\n').collect();
    if labels {
        lines.sort_unstable();
    }
    lines.concat()
}

fn parse(text: &str) -> Option<(String, Answer)> {
    let (line, rest) = text.split_once("\n[exit] ")?;
    let (status, rest) = rest.split_once("\n[stdout]\n")?;
    // The line end before the mark belongs to the answer.
    let (stdout, stderr) = match rest.split_once("\n[stderr]\n") {
        Some((stdout, stderr)) => (format!("{stdout}\n"), stderr),
        None => rest.split_once("[stderr]\n").map(|(out, err)| (out.to_string(), err))?,
    };
    let whole = |text: &str| match text.is_empty() || text.ends_with('\n') {
        true => text.to_string(),
        false => format!("{text}\n"),
    };
    let answer = Answer {
        status: status.parse().ok()?,
        stdout: settled(line, &whole(&stdout)),
        stderr: whole(stderr),
    };
    Some((line.to_string(), answer))
}

impl Answer {
    /// The same with other words.
    pub fn map(&self, change: impl Fn(&str) -> String) -> Answer {
        Answer { status: self.status, stdout: change(&self.stdout), stderr: change(&self.stderr) }
    }

    /// The first lines that differ, or both answers.
    pub fn difference(&self, ours: &Answer, verbose: bool) -> String {
        if verbose {
            return format!(
                "  Slurm ({}):\n{}{}  Spur ({}):\n{}{}",
                self.status, self.stdout, self.stderr, ours.status, ours.stdout, ours.stderr
            );
        }
        let mut told = String::new();
        if self.status != ours.status {
            told.push_str(&format!("  exit status {} instead of {}\n", ours.status, self.status));
        }
        for (name, theirs, ours) in
            [("stdout", &self.stdout, &ours.stdout), ("stderr", &self.stderr, &ours.stderr)]
        {
            let pairs = theirs.lines().map(Some).chain(std::iter::repeat(None));
            let mut pairs = pairs.zip(ours.lines().map(Some).chain(std::iter::repeat(None)));
            let differs = |(theirs, ours): &(Option<&str>, Option<&str>)| {
                theirs != ours || (theirs.is_none() && ours.is_none())
            };
            if let Some((theirs, ours)) = pairs.find(differs)
                && (theirs.is_some() || ours.is_some())
            {
                let end = "(nothing)";
                told.push_str(&format!(
                    "  {name}:\n    Slurm: {}\n    Spur:  {}\n",
                    theirs.unwrap_or(end),
                    ours.unwrap_or(end)
                ));
            }
        }
        told.trim_end().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_taken_apart() {
        let text = "squeue -j 7\n[exit] 1\n[stdout]\na\nb\n[stderr]\nno\n";
        let (line, answer) = parse(text).expect("a record");
        assert_eq!(line, "squeue -j 7");
        assert_eq!(
            (answer.status, answer.stdout.as_str(), answer.stderr.as_str()),
            (1, "a\nb\n", "no\n")
        );
        let spaced = "scontrol show job 7\n[exit] 0\n[stdout]\na\n\n[stderr]\n";
        let (_, spaced) = parse(spaced).expect("a record");
        assert_eq!(spaced.stdout, "a\n\n");
        let (_, silent) = parse("scancel 9\n[exit] 0\n[stdout]\n[stderr]\n").expect("a record");
        assert_eq!(silent, Answer::default());
    }

    #[test]
    fn a_line_is_counted_for_the_tool_it_calls() {
        assert_eq!(tool("squeue -h -o \"%i|%j\""), "squeue");
        assert_eq!(tool("printf 'echo no shebang\\n' | sbatch"), "sbatch");
    }

    #[test]
    fn the_first_difference_is_told() {
        let theirs = Answer { stdout: "a\nb\n".into(), ..Answer::default() };
        let ours = Answer { stdout: "a\nc\n".into(), status: 1, ..Answer::default() };
        let told = theirs.difference(&ours, false);
        assert!(told.contains("exit status 1 instead of 0") && told.contains("Slurm: b"), "{told}");
    }
}
