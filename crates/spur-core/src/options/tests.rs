//! The table as a whole, and the readers on arbitrary input.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

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

proptest! {
    #[test]
    fn readers_never_panic(words in prop::collection::vec(".*", 0..6), script in "(#SBATCH.*\n)*") {
        for tool in TOOLS {
            let _ = argv::read(tool, &words);
        }
        let _ = directive::read(&script, "script");
    }
}
