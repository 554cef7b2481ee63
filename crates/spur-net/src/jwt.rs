//! Users' tokens: `scontrol token` makes them, REST clients and remote users show them.
//!
//! One algorithm is accepted per key, whatever the token's header says: EdDSA by the cluster's key, HS256 by
//! a key the site has configured.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Map, Value, json};

use crate::PublicKey;
use crate::identity::MachineKey;

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Who: Slurm's `sun`.
    pub user: String,
    /// Seconds since the epoch.
    pub issued: i64,
    /// Seconds since the epoch.
    pub expires: i64,
    /// Which cluster it is for; Slurm's own tokens do not say it.
    pub audience: Option<String>,
}

/// The longest token that is looked at.
const LONGEST: usize = 4096;

/// How far the clocks of two machines may differ.
const SLACK_SECS: i64 = 30;

/// A token by the cluster's own key.
pub fn sign(claims: &Claims, key: &MachineKey) -> String {
    let head = encode(br#"{"alg":"EdDSA","typ":"JWT"}"#);
    let mut body = json!({"exp": claims.expires, "iat": claims.issued, "sun": claims.user});
    if let Some(audience) = &claims.audience {
        body["aud"] = json!(audience);
    }
    let signed = format!("{head}.{}", encode(body.to_string().as_bytes()));
    let signature = encode(&key.sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// What tokens of a cluster are for, by the hash of its authority.
pub fn audience(authority: &[u8; 32]) -> String {
    crate::hex(&authority[..16])
}

/// What tokens are for that are good for its accounting alone.
pub fn accounting_audience(authority: &[u8; 32]) -> String {
    format!("{}/accounting", audience(authority))
}

/// What tokens are checked with.
#[derive(Clone)]
pub struct Keys {
    /// The cluster's own.
    pub cluster: PublicKey,
    /// What tokens by that key must be for.
    pub audience: String,
    /// The site's, as slurmrestd has it in `jwt_hs256.key`.
    pub site: Option<Vec<u8>>,
}

/// What a token says, if it is ours and good now.
pub fn verify(token: &str, keys: &Keys, now: i64) -> Option<Claims> {
    if token.len() > LONGEST {
        return None;
    }
    let (signed, signature) = token.rsplit_once('.')?;
    let (head, body) = signed.split_once('.')?;
    let signature = decode(signature)?;
    let head: Map<String, Value> = serde_json::from_slice(&decode(head)?).ok()?;
    let claims = read(&decode(body)?)?;
    let is_signed = match head.get("alg")?.as_str()? {
        "EdDSA" => {
            keys.cluster.has_signed(signed.as_bytes(), &signature)
                && claims.audience.as_ref() == Some(&keys.audience)
        }
        "HS256" => keys.site.as_ref().is_some_and(|key| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, key);
            hmac::verify(&key, signed.as_bytes(), &signature).is_ok()
        }),
        _ => false,
    };
    let is_now = claims.expires > now && claims.issued <= now + SLACK_SECS;
    (is_signed && is_now).then_some(claims)
}

fn read(body: &[u8]) -> Option<Claims> {
    let body: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let number = |name: &str| body.get(name).and_then(Value::as_i64);
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_string);
    Some(Claims {
        // As Slurm has it: `sun`, or the standard name for it.
        user: text("sun").or_else(|| text("username"))?,
        issued: number("iat").unwrap_or(0),
        expires: number("exp")?,
        audience: text("aud"),
    })
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Claims {
        let audience = Some("cluster".to_string());
        Claims { user: "alice".to_string(), issued: 100, expires: 200, audience }
    }

    fn keys(key: &MachineKey) -> Keys {
        Keys { cluster: key.public(), audience: "cluster".to_string(), site: None }
    }

    fn site_token(alg: &str, key: &[u8]) -> String {
        let head = encode(format!("{{\"alg\":\"{alg}\"}}").as_bytes());
        let body = encode(br#"{"sun":"alice","exp":200,"iat":100}"#);
        let signed = format!("{head}.{body}");
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        format!("{signed}.{}", encode(hmac::sign(&key, signed.as_bytes()).as_ref()))
    }

    #[test]
    fn a_token_counts_until_it_expires_and_for_its_cluster() {
        let key = MachineKey::generate().expect("is made");
        let token = sign(&claims(), &key);
        assert_eq!(verify(&token, &keys(&key), 150), Some(claims()));
        assert_eq!(verify(&token, &keys(&key), 200), None, "has expired");
        assert_eq!(verify(&token, &keys(&key), 0), None, "is from the future");
        let elsewhere = Keys { audience: "other".to_string(), ..keys(&key) };
        assert_eq!(verify(&token, &elsewhere, 150), None, "is for another cluster");
        let other = MachineKey::generate().expect("is made");
        assert_eq!(verify(&token, &keys(&other), 150), None, "is signed by another");
    }

    #[test]
    fn the_header_cannot_choose_the_algorithm() {
        let key = MachineKey::generate().expect("is made");
        // The classical trick: the public key taken for a shared secret.
        let token = site_token("HS256", &key.public().0);
        assert_eq!(verify(&token, &keys(&key), 150), None);
        let (signed, _) = token.rsplit_once('.').expect("has three parts");
        let (_, body) = signed.split_once('.').expect("has three parts");
        let none = format!("{}.{body}.", encode(br#"{"alg":"none"}"#));
        assert_eq!(verify(&none, &keys(&key), 150), None);
    }

    #[test]
    fn the_sites_own_tokens_count_only_where_it_has_a_key() {
        let key = MachineKey::generate().expect("is made");
        let site = Keys { site: Some(b"secret".to_vec()), ..keys(&key) };
        let token = site_token("HS256", b"secret");
        assert_eq!(verify(&token, &site, 150).map(|it| it.user), Some("alice".to_string()));
        assert_eq!(verify(&token, &keys(&key), 150), None);
        assert_eq!(verify(&site_token("HS512", b"secret"), &site, 150), None);
    }
}
