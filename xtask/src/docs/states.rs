//! `docs/compat/states.md`: the states of jobs and nodes, and the words made of them.

use spur_core::job::{JobFlag, JobState};
use spur_core::node::{NodeFlag, NodeState, NodeStatus};

use super::page::{Page, code};

pub(super) fn page() -> String {
    let mut page = Page::new("States", "the tables of states");
    jobs(&mut page);
    nodes(&mut page);
    page.text()
}

fn jobs(page: &mut Page) {
    page.section("Jobs and steps");
    page.table(
        &["number", "state", "short", "can next be"],
        JobState::ALL.iter().map(|state| {
            let next = JobState::ALL.iter().filter(|next| state.may_become(**next));
            vec![
                state.number().to_string(),
                code(state.name()),
                code(state.compact()),
                next.map(|next| next.compact()).collect::<Vec<_>>().join(" "),
            ]
        }),
    );
    page.paragraph(
        "Flags are bits above the state. Where one word is printed, the first flag of this list that is up\n\
         stands in place of the state.",
    );
    page.table(
        &["bit", "flag", "short"],
        JobFlag::ALL.iter().map(|flag| {
            vec![format!("{:#x}", flag.bit()), code(flag.name()), code(flag.compact())]
        }),
    );
}

/// The base states nodes are commonly in.
const COMMON: &[NodeState] =
    &[NodeState::Down, NodeState::Idle, NodeState::Allocated, NodeState::Mixed];

fn nodes(page: &mut Page) {
    page.section("Nodes");
    page.table(
        &["number", "state", "short"],
        NodeState::ALL.iter().map(|state| {
            vec![state.number().to_string(), code(state.name()), code(state.compact())]
        }),
    );
    page.paragraph(
        "Flags are bits above the state. `scontrol` shows all of them (`IDLE+DRAIN`); `sinfo` makes one word\n\
         of both. The word for each flag that is up alone, as `sinfo -o %t` prints it:",
    );
    let mut header = vec!["bit".to_string(), "flag".to_string()];
    header.extend(COMMON.iter().map(|state| code(state.name())));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    page.table(
        &header,
        NodeFlag::ALL.iter().map(|flag| {
            let mut row = vec![format!("{:#x}", flag.bit()), code(flag.name())];
            row.extend(COMMON.iter().map(|state| {
                code(&NodeStatus::from(*state).with(*flag).compact().to_ascii_lowercase())
            }));
            row
        }),
    );
}
