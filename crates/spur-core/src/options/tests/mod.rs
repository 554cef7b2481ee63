//! The table as a whole, the readers on arbitrary input, and both on recorded lines.

mod recorded;
mod shown;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::time::Timestamp;

const TOOLS: [Tool; 3] = [Tool::Sbatch, Tool::Srun, Tool::Salloc];

#[test]
fn within_one_tool_nothing_has_two_meanings() {
    for tool in TOOLS {
        let mut meanings: BTreeMap<String, &JobOption> = BTreeMap::new();
        for option in options(tool) {
            let flags = option.names().map(|name| format!("--{name}"));
            let letter = option.short.map(|letter| format!("-{letter}"));
            let variables = option.env.iter().filter(|(owner, _)| *owner == tool);
            let variables = variables.map(|(_, name)| (*name).to_owned());
            for word in flags.chain(letter).chain(variables) {
                let other = meanings.insert(word.clone(), option);
                assert_eq!(other, None, "{word} of {}", tool.name());
            }
        }
    }
}

#[test]
fn every_row_has_help() {
    for option in LISTS.iter().flat_map(|rows| rows.iter()) {
        assert!(option.help.ends_with('.'), "{option:?}");
    }
}

/// What the readers make of a command line: the exit status, the first line on standard error, and
/// the request if there is one.
fn submit(tool: Tool, env: &[(&str, &str)], words: &[&str]) -> (i32, String, Option<Request>) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let outcome = argv::read(tool, &words).and_then(|argv| {
        let mut settings = environment::read(tool, |name| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        settings.extend(argv.settings);
        let mut request = resolve(tool, settings)?;
        let (command, arguments) = match argv.rest.split_first() {
            Some((command, arguments)) => (command.as_str(), arguments),
            None => ("", &[][..]),
        };
        let around = Surroundings {
            command,
            arguments,
            work_dir: "/work",
            now: Timestamp(1_794_000_000),
            ..Surroundings::default()
        };
        fill_defaults(&mut request, around)?;
        Ok(request)
    });
    match outcome {
        Ok(request) => {
            let note = request.notes.first().map(|note| format!("{}: {note}", tool.name()));
            (0, note.unwrap_or_default(), Some(request))
        }
        Err(error) => (error.exit, error.lines(tool).first().cloned().unwrap_or_default(), None),
    }
}

#[test]
fn recorded_lines_come_out_as_they_did() {
    let mut wrong = Vec::new();
    for (tool, env, words, exit, line, attributes) in recorded::LINES {
        let (our_exit, our_line, request) = submit(*tool, env, words);
        let expected: BTreeMap<String, String> =
            attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let ours = match &request {
            Some(request) if *tool == Tool::Sbatch => shown::attributes(request),
            _ => BTreeMap::new(),
        };
        // What a step or an allocation ends with is not the readers' doing.
        if (our_exit, our_line.as_str()) != (*exit, *line) || ours != expected {
            wrong.push(format!(
                "{env:?} {} {words:?}\n    slurm: {exit} {line:?} {expected:?}\n    ours:  {our_exit} {our_line:?} {ours:?}",
                tool.name()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}

proptest! {
    #[test]
    fn readers_never_panic(words in prop::collection::vec(".*", 0..6), script in "(#SBATCH.*\n)*") {
        for tool in TOOLS {
            let _ = argv::read(tool, &words);
        }
        let _ = directive::read(&script, "script");
    }
}
