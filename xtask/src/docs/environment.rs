//! `docs/compat/environment.md`: the variables a job sees.

use spur_core::jobenv::{Owner, VARIABLES, Where};

use super::page::{Page, code};

pub(super) fn page() -> String {
    let mut page = Page::new("The environment of jobs", "the table of variables");
    page.paragraph(
        "What is set beside what the user's environment brings along. A task of `srun` inside a batch job\n\
         inherits the batch script's variables and gets those for tasks on top. A variable is absent where\n\
         there is nothing to say.",
    );
    page.paragraph(
        "A heterogeneous job has those marked \"each\" once for each component too, with `_HET_GROUP_n` (and\n\
         the older `_PACK_GROUP_n`) behind the name, and of those marked \"each alone\" no other in its script.",
    );
    page.table(
        &["variable", "batch script", "command of `salloc`", "task of `srun`", "components"],
        VARIABLES.iter().map(|variable| {
            let seen = |place| if variable.seen.overlaps(place) { "yes" } else { "" }.to_string();
            vec![
                code(variable.name),
                seen(Where::BATCH),
                seen(Where::ALLOCATION),
                seen(Where::TASK),
                match variable.owner {
                    Owner::Whole => "",
                    Owner::Both => "each",
                    Owner::Component => "each alone",
                }
                .to_string(),
            ]
        }),
    );
    page.text()
}
