//! Reads the `#SBATCH` lines of a batch script.
//!
//! They count from the second line to the first line that is neither empty nor a comment.

use super::argv::Reader;
use super::error::{BAD_VALUE, OptionError};
use super::row::Tool;
use super::{Setting, Source};
use crate::script::{bsub, pbs, words};

/// Accepted in a script and passed over: only the command line may ask for these.
const COMMAND_LINE_ONLY: &[&str] = &["help", "quiet", "usage", "verbose", "version", "wrap"];

/// The settings of a whole script: its `#SBATCH` lines, then its `#BSUB` or else its `#PBS` lines, which win.
pub fn read_script(
    script: &str,
    name: &str,
    ignore_pbs: bool,
) -> Result<Vec<Vec<Setting>>, OptionError> {
    let mut components = read(script, name)?;
    if let Some(first) = components.first_mut()
        && !ignore_pbs
        && !first.iter().any(|setting| setting.option.long == "ignore-pbs")
    {
        first.extend(match bsub::read(script, name)? {
            Some(settings) => settings,
            None => pbs::read(script, name)?,
        });
    }
    Ok(components)
}

/// The settings of each component of a script: one, or several for a heterogeneous job.
///
/// The lines of a component are read as one line, so that a value may stand on the next. `name` is the script's as
/// messages call it.
pub fn read(script: &str, name: &str) -> Result<Vec<Vec<Setting>>, OptionError> {
    let mut components = Vec::new();
    let mut said = Vec::new();
    for (number, line) in script.lines().enumerate() {
        if let Some(text) = line.strip_prefix("#SBATCH") {
            if words::starts_component(text) {
                components.push(settings(&std::mem::take(&mut said))?);
                continue;
            }
            said.extend(words::split_line(text, name, number + 1)?);
        } else if !is_silent(line) {
            break;
        }
    }
    components.push(settings(&said)?);
    Ok(components)
}

/// What the words of a component say.
fn settings(words: &[String]) -> Result<Vec<Setting>, OptionError> {
    let mut reader = Reader::new(Tool::Sbatch, Source::Directive);
    let rest = reader.run(words, |_| false)?;
    reader.settings.retain(|setting| !COMMAND_LINE_ONLY.contains(&setting.option.long));
    match rest.first() {
        None => Ok(reader.settings),
        Some(word) => {
            let message = format!("Invalid directive found in batch script: {word}");
            Err(OptionError::error(message, BAD_VALUE))
        }
    }
}

/// Whether a line is passed over on the way to the next directive.
fn is_silent(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// What Slurm remarks on a script that separates components by the older word.
pub fn remark(script: &str) -> Option<&'static str> {
    let mut lines = script.lines().filter_map(|line| line.strip_prefix("#SBATCH"));
    let older = |text: &str| {
        text.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("packjob"))
    };
    lines.any(older).then_some(
        "Warning: the \"packjob\" component separator is being deprecated. Please, use \"hetjob\" instead.",
    )
}
