//! The word that lets a machine in: which authority to believe, which secret to show, and where.

use std::fmt;

use crate::{hex, random, sha256, unhex};

/// A token as `spur token create` prints it and `spur join` reads it.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinToken {
    /// Names it in the replicated state.
    pub id: u64,
    /// Known to whoever was given the token. The state has its hash.
    pub secret: [u8; 16],
    /// The hash of the authority's certificate: nobody else can pass for the controller.
    pub authority: [u8; 32],
    /// Where the controllers are, with commas between.
    pub controllers: String,
}

const KIND: &str = "spur1";

impl JoinToken {
    /// A new one.
    pub fn generate(authority: [u8; 32], controllers: String) -> std::io::Result<JoinToken> {
        let id = u64::from_le_bytes(random()?);
        Ok(JoinToken { id, secret: random()?, authority, controllers })
    }

    /// Reads one; nothing when a part of it is missing.
    pub fn parse(text: &str) -> Option<JoinToken> {
        let (word, controllers) = text.trim().split_once('@')?;
        let mut parts = word.split('.');
        if parts.next()? != KIND || controllers.is_empty() {
            return None;
        }
        let mut part = || parts.next().and_then(unhex);
        let id = u64::from_be_bytes(part()?.try_into().ok()?);
        let (secret, authority) = (part()?.try_into().ok()?, part()?.try_into().ok()?);
        let controllers = controllers.to_string();
        parts.next().is_none().then_some(JoinToken { id, secret, authority, controllers })
    }

    /// What the state keeps of the secret.
    pub fn secret_hash(&self) -> [u8; 32] {
        sha256(&self.secret)
    }
}

impl fmt::Display for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = hex(&self.id.to_be_bytes());
        let (secret, authority) = (hex(&self.secret), hex(&self.authority));
        write!(f, "{KIND}.{id}.{secret}.{authority}@{}", self.controllers)
    }
}

impl fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinToken({:x})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back_and_what_is_cut_short_is_none() {
        let token = JoinToken::generate([7; 32], "ctl:6817,[::1]:6817".to_string());
        let token = token.expect("is made");
        let text = token.to_string();
        assert_eq!(JoinToken::parse(&text), Some(token));
        let (word, at) = text.split_once('@').expect("has a place");
        assert_eq!(JoinToken::parse(&format!("{}@{at}", &word[..word.len() - 2])), None);
        assert_eq!(JoinToken::parse(word), None);
        assert_eq!(JoinToken::parse("ü.ü.ü.ü@x"), None);
    }
}
