//! The formats of the log and of snapshots: their own types, so that those in between stay free to
//! change. Tags are append-only; a field that older records lack has a meaning when it is missing.

mod control;
mod course;
mod crontab;
mod entry;
mod reservation;
mod rules;
mod snapshot;
mod steps;
mod trigger;
mod trust;

pub use entry::{decode_entries, encode_entries};
pub use snapshot::{Reader, encode};

/// The version written into every record by this release.
pub const VERSION: u32 = 1;

/// A stored record that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Written by a newer release.
    #[error("the record has format {found}, this release reads up to {VERSION}")]
    TooNew {
        /// Its version.
        found: u32,
    },
    /// Not what this release writes.
    #[error("the record cannot be decoded: {0}")]
    Garbled(String),
}

impl From<prost::DecodeError> for Error {
    fn from(error: prost::DecodeError) -> Error {
        Error::Garbled(error.to_string())
    }
}

fn missing(what: &'static str) -> Error {
    Error::Garbled(format!("{what} is missing"))
}

fn check_version(found: u32) -> Result<(), Error> {
    if found > VERSION { Err(Error::TooNew { found }) } else { Ok(()) }
}
