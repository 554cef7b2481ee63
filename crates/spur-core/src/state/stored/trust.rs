//! Whom the cluster trusts, in the log and in snapshots.

use prost::Message;

use super::entry::StoredActor;
use super::{Error, missing};
use crate::ids::Uid;
use crate::state::trust::{ChangeTrust, Machine, Token, Trust, TrustChange};
use crate::time::Timestamp;

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredTrust {
    #[prost(message, repeated, tag = "1")]
    machines: Vec<StoredMachine>,
    #[prost(message, repeated, tag = "2")]
    tokens: Vec<StoredToken>,
    #[prost(message, repeated, tag = "3")]
    revoked: Vec<StoredRevoked>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredMachine {
    #[prost(string, tag = "1")]
    certificate: String,
    #[prost(string, tag = "2")]
    role: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(bytes = "vec", tag = "4")]
    key: Vec<u8>,
    #[prost(int64, tag = "5")]
    since: i64,
}

#[derive(Clone, PartialEq, Message)]
struct StoredToken {
    #[prost(fixed64, tag = "1")]
    id: u64,
    #[prost(bytes = "vec", tag = "2")]
    secret_hash: Vec<u8>,
    #[prost(string, tag = "3")]
    role: String,
    #[prost(int64, tag = "4")]
    expires: i64,
    #[prost(uint32, tag = "5")]
    uses: u32,
}

#[derive(Clone, PartialEq, Message)]
struct StoredRevoked {
    #[prost(string, tag = "1")]
    user: String,
    /// When; in the log, where the entry says when, the user's number.
    #[prost(int64, tag = "2")]
    at: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredChangeTrust {
    #[prost(message, optional, tag = "1")]
    by: Option<StoredActor>,
    #[prost(oneof = "StoredChange", tags = "10, 11, 12, 13")]
    change: Option<StoredChange>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum StoredChange {
    #[prost(message, tag = "10")]
    CreateToken(StoredToken),
    #[prost(message, tag = "11")]
    Admit(StoredAdmit),
    #[prost(string, tag = "12")]
    Remove(String),
    #[prost(message, tag = "13")]
    Revoke(StoredRevoked),
}

#[derive(Clone, PartialEq, Message)]
struct StoredAdmit {
    #[prost(message, optional, tag = "1")]
    machine: Option<StoredMachine>,
    #[prost(fixed64, optional, tag = "2")]
    token: Option<u64>,
    #[prost(bytes = "vec", tag = "3")]
    secret_hash: Vec<u8>,
}

impl From<&Trust> for StoredTrust {
    fn from(trust: &Trust) -> StoredTrust {
        let revoked =
            |(user, at): (&String, &Timestamp)| StoredRevoked { user: user.clone(), at: at.0 };
        StoredTrust {
            machines: trust.machines.values().map(StoredMachine::from).collect(),
            tokens: trust.tokens.iter().map(|(id, token)| stored_token(*id, token)).collect(),
            revoked: trust.revoked.iter().map(revoked).collect(),
        }
    }
}

impl From<StoredTrust> for Trust {
    fn from(stored: StoredTrust) -> Trust {
        let machines = stored.machines.into_iter().map(Machine::from);
        Trust {
            machines: machines.map(|machine| (machine.certificate.clone(), machine)).collect(),
            tokens: stored.tokens.into_iter().map(|token| (token.id, token.into())).collect(),
            revoked: stored.revoked.into_iter().map(|it| (it.user, Timestamp(it.at))).collect(),
        }
    }
}

impl From<&Machine> for StoredMachine {
    fn from(machine: &Machine) -> StoredMachine {
        StoredMachine {
            certificate: machine.certificate.clone(),
            role: machine.role.clone(),
            name: machine.name.clone(),
            key: machine.key.clone(),
            since: machine.since.0,
        }
    }
}

impl From<StoredMachine> for Machine {
    fn from(stored: StoredMachine) -> Machine {
        let StoredMachine { certificate, role, name, key, since } = stored;
        Machine { certificate, role, name, key, since: Timestamp(since) }
    }
}

fn stored_token(id: u64, token: &Token) -> StoredToken {
    StoredToken {
        id,
        secret_hash: token.secret_hash.clone(),
        role: token.role.clone(),
        expires: token.expires.0,
        uses: token.uses,
    }
}

impl From<StoredToken> for Token {
    fn from(stored: StoredToken) -> Token {
        let StoredToken { secret_hash, role, expires, uses, .. } = stored;
        Token { secret_hash, role, expires: Timestamp(expires), uses }
    }
}

impl From<&ChangeTrust> for StoredChangeTrust {
    fn from(change: &ChangeTrust) -> StoredChangeTrust {
        let stored = match &change.change {
            TrustChange::CreateToken { id, token } => {
                StoredChange::CreateToken(stored_token(*id, token))
            }
            TrustChange::Admit { machine, token } => StoredChange::Admit(StoredAdmit {
                machine: Some(machine.into()),
                token: token.as_ref().map(|(id, _)| *id),
                secret_hash: token.as_ref().map(|(_, hash)| hash.clone()).unwrap_or_default(),
            }),
            TrustChange::Remove { name } => StoredChange::Remove(name.clone()),
            TrustChange::Revoke { user, uid } => {
                StoredChange::Revoke(StoredRevoked { user: user.clone(), at: uid.0.into() })
            }
        };
        StoredChangeTrust { by: Some((&change.by).into()), change: Some(stored) }
    }
}

impl TryFrom<StoredChangeTrust> for ChangeTrust {
    type Error = Error;

    fn try_from(stored: StoredChangeTrust) -> Result<ChangeTrust, Error> {
        let change = match stored.change.ok_or(missing("the change"))? {
            StoredChange::CreateToken(token) => {
                TrustChange::CreateToken { id: token.id, token: token.into() }
            }
            StoredChange::Admit(admit) => TrustChange::Admit {
                machine: admit.machine.ok_or(missing("the machine"))?.into(),
                token: admit.token.map(|id| (id, admit.secret_hash)),
            },
            StoredChange::Remove(name) => TrustChange::Remove { name },
            StoredChange::Revoke(revoked) => TrustChange::Revoke {
                user: revoked.user,
                uid: Uid(u32::try_from(revoked.at).map_err(|_| missing("the user"))?),
            },
        };
        let by = stored.by.ok_or(missing("who wants it"))?.try_into()?;
        Ok(ChangeTrust { change, by })
    }
}
