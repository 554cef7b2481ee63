//! What is to be done about a committed entry. Safe to do twice; an effect may die with its leader, so
//! the controller also compares the state with what agents tell, and asks again.

use crate::blob::BlobHash;
use crate::ids::{Epoch, JobId, NodeName, StepId};
use crate::job::Owner;
use crate::state::SignalScope;

/// Something to do after a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask a node to run its part of a step. Leader only.
    Launch {
        /// Which job.
        job: JobId,
        /// Which run.
        epoch: Epoch,
        /// Which step.
        step: StepId,
        /// Where.
        node: NodeName,
    },
    /// Ask a node to end its part of a step. Leader only.
    Kill {
        /// Which job.
        job: JobId,
        /// Which run.
        epoch: Epoch,
        /// Which step.
        step: StepId,
        /// Where.
        node: NodeName,
    },
    /// Send a signal to processes of a run. Leader only, and only once.
    Signal {
        /// Which job.
        job: JobId,
        /// Which run.
        epoch: Epoch,
        /// Which signal.
        signal: u32,
        /// To whom.
        scope: SignalScope,
        /// Where.
        node: NodeName,
    },
    /// Run a program on the leader's machine. Leader only, and only once.
    RunProgram {
        /// As whom.
        owner: Owner,
        /// Which, with its arguments.
        program: String,
        /// One argument more, unless it is empty.
        argument: String,
    },
    /// Keep these bytes. Every replica.
    KeepBlob {
        /// Their name.
        hash: BlobHash,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// No job refers to these bytes any more. Every replica.
    DropBlob {
        /// Their name.
        hash: BlobHash,
    },
}
