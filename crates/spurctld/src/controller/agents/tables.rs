//! Both ends compare what they know of a node's runs, by digest at every heartbeat and by table where that differs:
//! it makes up for everything lost on the way.

use std::collections::BTreeSet;

use spur_core::ids::NodeName;
use spur_core::state::{Command, Finish, State};
use spur_disk::Disk;
use spur_proto::internal::controller_message::Message as AgentHears;
use spur_proto::internal::{AskTable, Table};

use super::super::proposals::Waiter;
use super::super::{Controller, Output};
use super::errands::kills_message;
use super::launch::launch_messages;
use super::{RunKey, run_key};
use crate::store;

impl<D: Disk> Controller<D> {
    pub(super) fn ask_table(&mut self, node: &NodeName, out: &mut Vec<Output>) {
        let marker = self.agents.number();
        let Some(session) = self.agents.sessions.get_mut(node) else { return };
        session.asked = Some((marker, expected(&self.state, node).collect()));
        let ask = AgentHears::AskTable(AskTable { marker });
        out.push(Output::Tell(session.connection, ask));
    }

    /// Repairs both ways. The stream is in order: whatever was said before the table was asked for, the
    /// agent has taken in before it answered.
    pub(super) fn compare(
        &mut self,
        node: &NodeName,
        table: Table,
        term: u64,
        out: &mut Vec<Output>,
    ) -> Result<(), store::Error> {
        let Some(session) = self.agents.sessions.get_mut(node) else { return Ok(()) };
        let (connection, id) = (session.connection, session.id);
        let Some((_, asked)) = session.asked.take_if(|(marker, _)| *marker == table.marker) else {
            return Ok(());
        };
        let theirs: BTreeSet<RunKey> = table.runs.iter().map(run_key).collect();
        let ours: BTreeSet<RunKey> = expected(&self.state, node).collect();
        let mut launches = Vec::new();
        let mut kills: Vec<RunKey> = theirs.difference(&ours).copied().collect();
        let mut gone = Vec::new();
        let boots = self.state.nodes.get(node).map_or(0, |node| node.boots);
        for run in &ours {
            let (number, epoch, id) = *run;
            let Some(job) = self.state.jobs.get(&number).cloned() else { continue };
            let Some(step) = job.steps.live.get(&id) else { continue };
            let boot = step.on(node).map_or(0, |share| share.boot);
            let lost = Finish::lost(number, epoch, id);
            match (step.end.is_some(), theirs.contains(run)) {
                (false, false) if boot == boots => {
                    launches.extend(self.launch_message(&job, step, node)?);
                }
                // It may have run before the node rebooted, so it is not begun a second time.
                (false, false) => gone.push(lost),
                (true, true) => kills.push(*run),
                // Never arrived, and never will: it was expected when the table was asked for.
                (true, false) if asked.contains(run) => gone.push(lost),
                _ => {}
            }
        }
        for message in launch_messages(id, term, launches) {
            out.push(Output::Tell(connection, message));
        }
        if !kills.is_empty() {
            out.push(Output::Tell(connection, kills_message(id, term, &kills)));
        }
        if !gone.is_empty() {
            let command = Command::Finished { node: node.clone(), finishes: gone };
            self.proposals.add(command, Waiter::Nobody);
        }
        Ok(())
    }
}

/// The runs a node should know, by what is committed.
pub(super) fn expected<'a>(
    state: &'a State,
    node: &'a NodeName,
) -> impl Iterator<Item = RunKey> + 'a {
    let jobs = state.index.on_node.get(node).into_iter().flat_map(|jobs| jobs.keys());
    jobs.filter_map(|id| state.jobs.get(id))
        .flat_map(move |job| job.steps.on(node).map(|(step, _)| (job.id, job.epoch, step.id)))
}
