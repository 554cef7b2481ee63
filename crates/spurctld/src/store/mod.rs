//! What the controller keeps on disk: the log, the vote, snapshots and blobs.
//!
//! Written for [`spur_disk::Disk`], so that the simulator runs the very same code.

mod blobs;
mod log;
mod snapshot;

pub use blobs::Blobs;
pub use log::{Log, Payload, Position, Record};
pub use snapshot::{Snapshot, SnapshotMeta};

/// Something that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] spur_disk::Error),
    /// Acknowledged data is damaged; the bytes are left as they are.
    #[error(
        "{file} is damaged at byte {at}: entries that were acknowledged cannot be read; \
         restore the state directory from a peer or a backup"
    )]
    Damaged {
        /// Which file.
        file: String,
        /// Where.
        at: u64,
    },
    /// A record that this release cannot read.
    #[error("{file}: {source}")]
    Stored {
        /// Which file.
        file: String,
        /// Why.
        source: spur_core::state::stored::Error,
    },
    /// The log has a hole.
    #[error("the log lacks entry {index}: a segment is missing")]
    Hole {
        /// The first index that is not there.
        index: u64,
    },
}
