//! Large things are named by their content: a script or an environment travels once.

use std::fmt;

use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobHash(pub [u8; 32]);

impl BlobHash {
    /// Names these bytes.
    pub fn of(bytes: &[u8]) -> BlobHash {
        BlobHash(Sha256::digest(bytes).into())
    }

    /// Reads a stored name; anything but 32 bytes is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<BlobHash> {
        bytes.try_into().ok().map(BlobHash)
    }

    /// Reads what `to_string` wrote.
    pub fn parse(text: &str) -> Option<BlobHash> {
        let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        let byte = |digits: Option<&str>| u8::from_str_radix(digits?, 16).ok();
        let bytes: Option<Vec<u8>> = digits.map(byte).collect();
        BlobHash::from_bytes(&bytes?)
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
