//! Commands on their way into the log: all that wait at one moment go as one proposal, so they share one
//! write and one sync.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;
use spur_core::ids::NodeName;
use spur_core::state::{Assignment, Command, Entry, JobAction, Origin, Submit, TrustChange};
use spur_core::time::Timestamp;

use super::{Connection, Ticket};

/// Who waits for a command to be applied.
#[derive(Debug)]
pub(super) enum Waiter {
    /// A caller. `spare` has the blobs that were left out of the command.
    Caller { ticket: Ticket, spare: Option<Box<Submit>> },
    /// The agent that made these reports.
    Agent { connection: Connection, sequences: Vec<u64> },
    /// The session of a node that has introduced itself.
    Registration { node: NodeName, session: u64 },
    /// The first proposal of a term.
    Leadership(u64),
    /// The scheduling pass.
    Planner,
    /// The leader's own duties, which look again when this is applied.
    Duty,
    /// Nobody.
    Nobody,
}

/// The queue in front of the log.
#[derive(Debug)]
pub(super) struct Proposals {
    life: u64,
    next: u64,
    queue: Vec<(Command, Waiter)>,
    /// Commands of the proposal under way.
    waiting: BTreeMap<u64, Waiter>,
}

impl Proposals {
    pub(super) fn new(life: u64) -> Proposals {
        Proposals { life, next: 0, queue: Vec::new(), waiting: BTreeMap::new() }
    }

    /// Puts a command into the queue.
    pub(super) fn add(&mut self, command: Command, waiter: Waiter) {
        self.queue.push((command, waiter));
    }

    /// Everything in the queue as one proposal, unless one is still under way. One at a time: while it
    /// is written, the next gathers.
    pub(super) fn next_batch(&mut self, at: Timestamp) -> Option<Arc<Vec<Entry>>> {
        if self.queue.is_empty() || !self.waiting.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = self.queue.iter().take_while(|(command, _)| {
            let fits = bytes < BATCH_BYTES;
            bytes += weight(command);
            fits
        });
        let count = fits.count().min(BATCH_COMMANDS);
        let mut entries = Vec::with_capacity(count);
        for (command, waiter) in self.queue.drain(..count) {
            let origin = Origin { life: self.life, number: self.next };
            self.next += 1;
            self.waiting.insert(origin.number, waiter);
            entries.push(Entry { at, origin, command });
        }
        Some(Arc::new(entries))
    }

    /// Whether nothing is queued or under way.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.waiting.is_empty()
    }

    /// Who waited for this entry, if it was proposed in this life.
    pub(super) fn applied(&mut self, origin: Origin) -> Option<Waiter> {
        if origin.life != self.life {
            return None;
        }
        self.waiting.remove(&origin.number)
    }

    /// Gives up on everything: what was under way may or may not be committed one day.
    pub(super) fn fail(&mut self) -> Vec<Waiter> {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        let queue = std::mem::take(&mut self.queue).into_iter().map(|(_, waiter)| waiter);
        waiting.chain(queue).collect()
    }
}

/// Limits of one proposal; the frame that holds it is bounded too.
const BATCH_COMMANDS: usize = 4096;
const BATCH_BYTES: usize = 8 << 20;

/// About how many bytes a command takes in the log.
pub(crate) fn weight(command: &Command) -> usize {
    match command.plain() {
        Command::Submit(submit) => {
            let blobs: usize = submit.blobs.iter().map(|blob| blob.bytes.len()).sum();
            512 + submit.spec.encoded_len() + blobs
        }
        Command::Start(starts) => 64 * starts.len(),
        Command::CreateStep(create) => 256 + create.spec.encoded_len(),
        Command::Control(control) => match &control.action {
            JobAction::Update(assignments) => 128 + said(assignments),
            _ => 128,
        },
        Command::Administer(change) => 128 + change.name.len() + said(&change.assignments),
        Command::RegisterNode(node) => 128 + node.inventory.encoded_len(),
        Command::Finished { finishes, .. } => 64 + 64 * finishes.len(),
        Command::SetCrontab(table) => {
            let submits = table.lines.iter().map(|line| &line.submit);
            let blobs = submits.flat_map(|submit| &submit.blobs).map(|blob| blob.bytes.len());
            table.text.len() + 1024 * table.lines.len() + blobs.sum::<usize>()
        }
        Command::ChangeTrust(change) => match &change.change {
            TrustChange::Remove { name: said } | TrustChange::Revoke { user: said, .. } => {
                512 + said.len()
            }
            TrustChange::CreateToken { .. } | TrustChange::Admit { .. } => 1024,
        },
        _ => 64,
    }
}

fn said(assignments: &[Assignment]) -> usize {
    assignments.iter().map(Message::encoded_len).sum()
}
