//! Files that survive crashes. What must be kept goes through [`Disk`], so that the shipped code also
//! runs on [`SimDisk`], where a crash can tear, lose or refuse any write that was not synced.

mod error;
pub mod frame;
mod real;
mod sim;

pub use error::Error;
pub use real::RealDisk;
pub use sim::{SimDisk, SimFault};

/// A flat folder of named files. Names may contain `/`; missing folders are made.
///
/// `append`, `put` and `remove` may be undone by a power cut, but not by the death of a process; `sync`
/// and `replace` are durable when they return.
pub trait Disk: Send {
    /// Names that begin with `prefix`, sorted.
    fn list(&self, prefix: &str) -> Result<Vec<String>, Error>;

    /// The whole file, or `None` when there is none.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error>;

    /// So many bytes of the file from there on; it is an error where there are fewer.
    fn read_part(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>, Error>;

    /// Writes at the end of the file, making it if needed: all of it, or nothing when it fails.
    fn append(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error>;

    /// Makes everything appended to the file durable.
    fn sync(&mut self, name: &str) -> Result<(), Error>;

    /// Cuts the file at `len`, durably.
    fn truncate(&mut self, name: &str, len: u64) -> Result<(), Error>;

    /// Puts a whole new content in place: after a crash the file is the old one or the new one.
    fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error>;

    /// As `replace`, but only the death of a process is survived, not a power cut.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error>;

    /// Removes the file; one that is not there is fine.
    fn remove(&mut self, name: &str) -> Result<(), Error>;
}
