//! What the controller keeps on disk: the log, the vote, snapshots and blobs.
//!
//! Written for [`spur_disk::Disk`], so that the simulator runs the very same code.

mod blobs;
mod log;
mod mark;
mod snapshot;

use std::path::PathBuf;

use spur_disk::{Disk, RealDisk, SimDisk};

pub use blobs::{Blobs, Pin};
pub use log::{Log, Payload, Position, Record, decode_record, encode_record};
pub use snapshot::{Snapshot, SnapshotMeta};

/// Where a state is kept; it is opened as often as needed.
pub trait Place: Clone + Send + Sync + 'static {
    /// What it is opened as.
    type Disk: Disk + 'static;

    /// Opens it.
    fn open(&self) -> Result<Self::Disk, spur_disk::Error>;
}

impl Place for PathBuf {
    type Disk = RealDisk;

    fn open(&self) -> Result<RealDisk, spur_disk::Error> {
        RealDisk::open(self)
    }
}

impl Place for SimDisk {
    type Disk = SimDisk;

    fn open(&self) -> Result<SimDisk, spur_disk::Error> {
        Ok(self.clone())
    }
}

impl Error {
    /// Whether what was acknowledged is no longer on this disk.
    pub fn is_loss(&self) -> bool {
        matches!(self, Error::Damaged { .. } | Error::Hole { .. } | Error::Lost { .. })
    }

    /// Whether it may work later: the disk is full, or a blob waits for room.
    pub fn is_for_now(&self) -> bool {
        match self {
            Error::Disk(error) => error.is_full(),
            Error::MissingBlob { .. } => true,
            _ => false,
        }
    }
}

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
    /// A script or environment that jobs refer to is not there.
    #[error("blob {hash} is missing")]
    MissingBlob {
        /// Its name.
        hash: spur_core::blob::BlobHash,
    },
    /// A file that must be there is not.
    #[error(
        "the state directory has a {present} but no {missing}: a file was lost; restore it from a backup"
    )]
    Lost {
        /// What was found.
        present: &'static str,
        /// What was not.
        missing: &'static str,
    },
    /// The log has a hole.
    #[error("the log lacks entry {index}: a segment is missing")]
    Hole {
        /// The first index that is not there.
        index: u64,
    },
}
