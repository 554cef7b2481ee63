//! Step credentials: the controller's word that a user may start a step and talk to its tasks.
//!
//! A controller makes its key when it starts and tells agents the public half when it greets them. Nothing
//! is kept on disk; after a restart, or with another leader, whoever holds an old word asks for a new one.

use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};
use prost::Message;

use crate::internal::Credential;

/// How long a credential is good for: time enough to connect to every node.
pub const LIFETIME_SECS: i64 = 300;

/// A controller's key.
pub struct Key(SigningKey);

impl Key {
    /// A key of its own, at random.
    pub fn generate() -> std::io::Result<Key> {
        let mut random = [0; 32];
        let mut source = std::fs::File::open("/dev/urandom")?;
        std::io::Read::read_exact(&mut source, &mut random)?;
        Ok(Key::new(&random))
    }

    /// A key from 32 random bytes.
    pub fn new(random: &[u8; 32]) -> Key {
        Key(SigningKey::from_bytes(random))
    }

    /// What agents are told.
    pub fn public(&self) -> Vec<u8> {
        self.0.verifying_key().to_bytes().to_vec()
    }

    /// The credential as it travels, and its signature.
    pub fn sign(&self, credential: &Credential) -> (Vec<u8>, Vec<u8>) {
        let bytes = credential.encode_to_vec();
        let signature = self.0.sign(&bytes).to_bytes().to_vec();
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
        let key = Key::new(&[7; 32]);
        let credential = Credential { job: 12, uid: 1000, expires: 100, ..Credential::default() };
        let (mut bytes, signature) = key.sign(&credential);
        let keys = [Key::new(&[8; 32]).public(), key.public()];
        assert_eq!(verify(&keys, &bytes, &signature, 100), Ok(credential));
        assert_eq!(verify(&keys, &bytes, &signature, 101), Err(Refusal::Expired));
        assert_eq!(verify(&keys[..1], &bytes, &signature, 1), Err(Refusal::Signature));
        bytes[1] ^= 1;
        assert_eq!(verify(&keys, &bytes, &signature, 1), Err(Refusal::Signature));
    }
}
