//! Who a machine is to other machines: keys, certificates, TLS, the tokens that let one in, and the words
//! by which a machine or a controller speaks for a user.

pub mod assertion;
pub mod authority;
pub mod files;
pub mod identity;
pub mod jwt;
pub mod role;
pub mod shown;
pub mod tls;
pub mod token;

pub use authority::Authority;
pub use identity::{Identity, PublicKey};
pub use role::Role;
pub use token::JoinToken;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("could not {attempt} {path}")]
    File {
        /// What was tried.
        attempt: &'static str,
        /// On which file.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A certificate could not be made.
    #[error("could not make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// Keys and certificates that TLS cannot work with.
    #[error("could not use the certificate")]
    Tls(#[from] rustls::Error),
    /// What was read is no key or certificate, or not the one it should be.
    #[error("{0}")]
    Unusable(String),
}

/// Random bytes from the kernel.
pub fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut source = std::fs::File::open("/dev/urandom")?;
    std::io::Read::read_exact(&mut source, &mut bytes)?;
    Ok(bytes)
}

/// Bytes as people compare them.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that [`hex`] wrote.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())).collect()
}

/// The SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
    hash
}
