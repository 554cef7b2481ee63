//! Step credentials: the controller's word that a user may start a step and talk to its tasks.
//!
//! A controller makes its key when it starts and tells agents the public half when it greets them. Nothing
//! is kept on disk; after a restart, or with another leader, whoever holds an old word asks for a new one.
//!
//! A credential is for one node and good for one connection: a node that has seen one can do nothing with it
//! elsewhere, and nobody can with one that was overheard.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};
use prost::Message;

use crate::internal::Credential;

/// How long a credential is good for: time enough to connect to every node.
pub const LIFETIME_SECS: i64 = 60;

/// A controller's key.
pub struct Key {
    key: SigningKey,
    /// Of the next credential; those of different controllers begin anywhere.
    serial: AtomicU64,
}

impl Key {
    /// A key of its own, at random.
    pub fn generate() -> std::io::Result<Key> {
        let (mut random, mut serial) = ([0; 32], [0; 8]);
        let mut source = std::fs::File::open("/dev/urandom")?;
        std::io::Read::read_exact(&mut source, &mut random)?;
        std::io::Read::read_exact(&mut source, &mut serial)?;
        Ok(Key::new(&random, u64::from_le_bytes(serial)))
    }

    /// A key from 32 random bytes, whose first credential has this number.
    pub fn new(random: &[u8; 32], serial: u64) -> Key {
        Key { key: SigningKey::from_bytes(random), serial: AtomicU64::new(serial) }
    }

    /// What agents are told.
    pub fn public(&self) -> Vec<u8> {
        self.key.verifying_key().to_bytes().to_vec()
    }

    /// The credential as it travels, with a number that no other has, and its signature.
    pub fn sign(&self, credential: &Credential) -> (Vec<u8>, Vec<u8>) {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let bytes = Credential { serial, ..credential.clone() }.encode_to_vec();
        let signature = self.key.sign(&bytes).to_bytes().to_vec();
        (bytes, signature)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Why a credential is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Signed by nobody we know, or changed on the way.
    #[error("the step credential is not signed by this cluster's controller")]
    Signature,
    /// Too old.
    #[error("the step credential has expired")]
    Expired,
    /// Good, but for something else.
    #[error("the step credential is for another step, user or node")]
    Other,
    /// Somebody has come with it before.
    #[error("the step credential has been used already")]
    Replayed,
}

/// Credentials that have been used, for as long as they would be good otherwise.
#[derive(Debug, Default)]
pub struct Used(BTreeSet<(i64, u64)>);

impl Used {
    /// One that was used before, as `all` told.
    pub fn remember(&mut self, expires: i64, serial: u64) {
        self.0.insert((expires, serial));
    }

    /// When each that is remembered expires, and its number.
    pub fn all(&self) -> impl ExactSizeIterator<Item = (i64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Takes a credential that was verified; once.
    pub fn take(&mut self, credential: &Credential, now: i64) -> Result<(), Refusal> {
        self.0 = self.0.split_off(&(now, 0));
        match self.0.insert((credential.expires, credential.serial)) {
            true => Ok(()),
            false => Err(Refusal::Replayed),
        }
    }
}

/// Reads a credential that one of these keys signed and that is still good.
pub fn verify(
    keys: &[Vec<u8>],
    bytes: &[u8],
    signature: &[u8],
    now: i64,
) -> Result<Credential, Refusal> {
    let signature = Signature::from_slice(signature).map_err(|_| Refusal::Signature)?;
    let good = |key: &Vec<u8>| {
        let key = key.as_slice().try_into().ok().and_then(|key| VerifyingKey::from_bytes(key).ok());
        key.is_some_and(|key| key.verify(bytes, &signature).is_ok())
    };
    if !keys.iter().any(good) {
        return Err(Refusal::Signature);
    }
    let credential = Credential::decode(bytes).map_err(|_| Refusal::Signature)?;
    if credential.expires < now { Err(Refusal::Expired) } else { Ok(credential) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_is_accepted_and_only_for_a_while() {
        let key = Key::new(&[7; 32], 3);
        let credential = Credential { job: 12, uid: 1000, expires: 100, ..Credential::default() };
        let (mut bytes, signature) = key.sign(&credential);
        let keys = [Key::new(&[8; 32], 0).public(), key.public()];
        let signed = Credential { serial: 3, ..credential };
        assert_eq!(verify(&keys, &bytes, &signature, 100), Ok(signed));
        assert_eq!(verify(&keys, &bytes, &signature, 101), Err(Refusal::Expired));
        assert_eq!(verify(&keys[..1], &bytes, &signature, 1), Err(Refusal::Signature));
        bytes[1] ^= 1;
        assert_eq!(verify(&keys, &bytes, &signature, 1), Err(Refusal::Signature));
    }

    #[test]
    fn a_credential_is_good_for_one_use_and_forgotten_when_it_has_expired() {
        let (key, mut used) = (Key::new(&[7; 32], u64::MAX), Used::default());
        let make = |expires| {
            let (bytes, signature) = key.sign(&Credential { expires, ..Credential::default() });
            verify(&[key.public()], &bytes, &signature, 0).expect("is good")
        };
        let (first, second) = (make(100), make(100));
        assert_eq!(used.take(&first, 50), Ok(()));
        assert_eq!(used.take(&first, 100), Err(Refusal::Replayed));
        assert_eq!(used.take(&second, 100), Ok(()));
        assert_eq!(used.take(&make(200), 101), Ok(()));
        assert_eq!(used.0.len(), 1);
    }
}
