//! A machine's word for one of its users, good for one connection and a minute.

use crate::identity::MachineKey;
use crate::{PublicKey, hex, unhex};

/// How long a word is good for.
pub const LIFETIME_SECS: i64 = 60;

/// How far the clocks of two machines may differ.
const SLACK_SECS: i64 = 30;

/// What a machine says about whoever is on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The machine, by the name in its certificate.
    pub machine: String,
    /// The user, as the machine's kernel told it.
    pub uid: u32,
    /// The user's group.
    pub gid: u32,
    /// Seconds since the epoch.
    pub expires: i64,
    /// The connection; see [`crate::tls::binding`].
    pub binding: [u8; 32],
}

const KIND: &str = "spur-caller-1";

impl Assertion {
    /// Signed, as it travels.
    pub fn sign(&self, key: &MachineKey) -> Vec<u8> {
        let text = self.text();
        let signature = hex(&key.sign(text.as_bytes()));
        format!("{text} {signature}").into_bytes()
    }

    /// What was signed and by whom is for the caller to look up: `key_of` finds a machine's key.
    pub fn read(
        bytes: &[u8],
        binding: &[u8; 32],
        now: i64,
        key_of: impl FnOnce(&str) -> Option<PublicKey>,
    ) -> Option<Assertion> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (text, signature) = text.rsplit_once(' ')?;
        let said = Assertion::parse(text)?;
        let is_fresh = said.expires >= now && said.expires <= now + LIFETIME_SECS + SLACK_SECS;
        let is_here = said.binding == *binding;
        let key = key_of(&said.machine)?;
        let is_signed = key.has_signed(text.as_bytes(), &unhex(signature)?);
        (is_fresh && is_here && is_signed).then_some(said)
    }

    fn text(&self) -> String {
        let Assertion { machine, uid, gid, expires, binding } = self;
        format!("{KIND} {machine} {uid} {gid} {expires} {}", hex(binding))
    }

    fn parse(text: &str) -> Option<Assertion> {
        let words: Vec<&str> = text.split(' ').collect();
        let [KIND, machine, uid, gid, expires, binding] = words.as_slice() else { return None };
        Some(Assertion {
            machine: machine.to_string(),
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
            expires: expires.parse().ok()?,
            binding: unhex(binding)?.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_on_its_connection_for_a_minute_and_from_its_machine() {
        let key = MachineKey::generate().expect("is made");
        let other = MachineKey::generate().expect("is made");
        let machine = "login1.login.spur".to_string();
        let said = Assertion { machine, uid: 1000, gid: 100, expires: 60, binding: [1; 32] };
        let word = said.sign(&key);
        let read = |word: &[u8], binding: [u8; 32], now, key: &MachineKey| {
            let key = key.public();
            Assertion::read(word, &binding, now, |machine| {
                (machine == "login1.login.spur").then_some(key)
            })
        };
        assert_eq!(read(&word, [1; 32], 0, &key), Some(said));
        assert_eq!(read(&word, [1; 32], 61, &key), None, "is stale");
        assert_eq!(read(&word, [1; 32], -1000, &key), None, "is from the future");
        assert_eq!(read(&word, [2; 32], 0, &key), None, "was made for another connection");
        assert_eq!(read(&word, [1; 32], 0, &other), None, "is signed by another");
        let forged = String::from_utf8(word).expect("is text").replace(" 1000 ", " 0 ");
        assert_eq!(read(forged.as_bytes(), [1; 32], 0, &key), None, "was changed");
    }
}
