//! What can go wrong with a file.

use std::io;

/// A failed file operation: what was attempted, on which file, and why.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt} {file}")]
pub struct Error {
    /// What was tried: "append to", "sync" …
    pub attempt: &'static str,
    /// The file's name inside its disk.
    pub file: String,
    /// The cause.
    #[source]
    pub source: io::Error,
}

impl Error {
    /// Names the attempt and the file of an `io::Error`.
    pub fn new(attempt: &'static str, file: &str, source: io::Error) -> Error {
        Error { attempt, file: file.to_string(), source }
    }

    /// Whether the disk has no room left: refuse politely, keep what there is.
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}
