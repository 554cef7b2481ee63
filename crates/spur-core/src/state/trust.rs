//! Which machines belong to the cluster, the tokens that let more in, and users' tokens that count no more.
//!
//! A certificate alone opens nothing: its key must stand here, so a machine that is taken out is out at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::auth::{Action, Actor, Target, may};
use crate::errors::SlurmError;
use crate::ids::Uid;
use crate::state::{Reply, State};
use crate::time::Timestamp;

/// Whom the cluster trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Machines by the names in their certificates.
    pub machines: BTreeMap<String, Machine>,
    /// Tokens that still let somebody in.
    pub tokens: BTreeMap<u64, Token>,
    /// Users whose tokens from before this moment count no more.
    pub revoked: BTreeMap<String, Timestamp>,
}

/// A machine that was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The name in its certificate, as in `n1.compute.spur`.
    pub certificate: String,
    /// What it is: `compute` or `login`.
    pub role: String,
    /// Its own name.
    pub name: String,
    /// Its public key.
    pub key: Vec<u8>,
    /// When it was let in.
    pub since: Timestamp,
}

/// What is known of a token that lets machines in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The hash of what its bearer must show.
    pub secret_hash: Vec<u8>,
    /// What it lets machines be.
    pub role: String,
    /// Until when.
    pub expires: Timestamp,
    /// How many more times.
    pub uses: u32,
}

/// A change to whom the cluster trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeTrust {
    /// What.
    pub change: TrustChange,
    /// Who wants it.
    pub by: Actor,
}

/// What can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustChange {
    /// A token is made.
    CreateToken {
        /// Its name.
        id: u64,
        /// What it is good for.
        token: Token,
    },
    /// A machine comes in.
    Admit {
        /// Which; its time is that of the entry.
        machine: Machine,
        /// The token it shows, and the hash of the secret; without one, an administrator lets it in.
        token: Option<(u64, Vec<u8>)>,
    },
    /// A machine is thrown out.
    Remove {
        /// Its own name, or the one in its certificate.
        name: String,
    },
    /// A user's tokens count no more.
    Revoke {
        /// Whose.
        user: String,
        /// The user's number: everybody may do it to themselves.
        uid: Uid,
    },
}

/// The word for machines that need no entry: they hold the authority itself.
pub const CONTROLLER: &str = "controller";

/// The most tokens that may be open at a time.
const MOST_TOKENS: usize = 10_000;

pub(super) fn change(state: &mut State, change: &ChangeTrust) -> Result<Reply, SlurmError> {
    let by = &change.by;
    let mut trust = (*state.trust).clone();
    let now = state.now;
    match &change.change {
        TrustChange::CreateToken { id, token } => {
            may(by, Action::Administer, Target::Cluster)?;
            trust.tokens.retain(|_, token| token.expires > now);
            if trust.tokens.len() >= MOST_TOKENS {
                return Err(SlurmError::AccessDenied);
            }
            trust.tokens.insert(*id, token.clone());
        }
        TrustChange::Admit { machine, token } => trust.admit(machine, token.as_ref(), by, now)?,
        TrustChange::Remove { name } => {
            may(by, Action::Administer, Target::Cluster)?;
            let before = trust.machines.len();
            trust.machines.retain(|_, it| it.name != *name && it.certificate != *name);
            if trust.machines.len() == before {
                return Err(SlurmError::InvalidNodeName);
            }
        }
        TrustChange::Revoke { user, uid } => {
            if by.uid() != Some(*uid) {
                may(by, Action::Administer, Target::Cluster)?;
            }
            trust.revoked.insert(user.clone(), now);
        }
    }
    state.trust = Arc::new(trust);
    Ok(Reply::Done)
}

impl Trust {
    fn admit(
        &mut self,
        machine: &Machine,
        token: Option<&(u64, Vec<u8>)>,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), SlurmError> {
        let known = self.machines.get(&machine.certificate);
        // The answer to the first request was lost.
        if known.is_some_and(|known| known.key == machine.key) {
            return Ok(());
        }
        // Names in certificates are compared without regard to case.
        let alike = |name: &String| name.eq_ignore_ascii_case(&machine.certificate);
        if known.is_none() && self.machines.keys().any(alike) {
            return Err(SlurmError::AccessDenied);
        }
        match token {
            Some((id, secret_hash)) => {
                // A token lets newcomers in; it does not put one in another's place.
                if known.is_some() {
                    return Err(SlurmError::AccessDenied);
                }
                self.spend(*id, secret_hash, &machine.role, now)?;
            }
            None => may(by, Action::Administer, Target::Cluster)?,
        }
        if machine.role != CONTROLLER {
            let machine = Machine { since: now, ..machine.clone() };
            self.machines.insert(machine.certificate.clone(), machine);
        }
        Ok(())
    }

    fn spend(
        &mut self,
        id: u64,
        secret_hash: &[u8],
        role: &str,
        now: Timestamp,
    ) -> Result<(), SlurmError> {
        let token = self.tokens.get_mut(&id).ok_or(SlurmError::AccessDenied)?;
        let is_good = token.secret_hash == secret_hash && token.role == role && token.expires > now;
        if !is_good || token.uses == 0 {
            return Err(SlurmError::AccessDenied);
        }
        token.uses -= 1;
        if token.uses == 0 {
            self.tokens.remove(&id);
        }
        Ok(())
    }

    /// Whether this is the key of a machine that was let in under this name.
    pub fn knows(&self, certificate: &str, key: &[u8]) -> bool {
        self.machines.get(certificate).is_some_and(|machine| machine.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Level;
    use crate::ids::Gid;

    fn user(uid: u32, level: Level) -> Actor {
        Actor::user(Uid(uid), Gid(uid), level)
    }

    fn root() -> Actor {
        user(0, Level::Administrator)
    }

    fn machine(name: &str, key: u8) -> Machine {
        Machine {
            certificate: format!("{name}.compute.spur"),
            role: "compute".to_string(),
            name: name.to_string(),
            key: vec![key; 32],
            since: Timestamp(0),
        }
    }

    fn with_token(uses: u32) -> State {
        let mut state = State { now: Timestamp(100), ..State::new() };
        let role = "compute".to_string();
        let token = Token { secret_hash: vec![7; 32], role, expires: Timestamp(200), uses };
        tell(&mut state, TrustChange::CreateToken { id: 1, token }, root()).expect("is made");
        state
    }

    fn tell(state: &mut State, what: TrustChange, by: Actor) -> Result<Reply, SlurmError> {
        change(state, &ChangeTrust { change: what, by })
    }

    fn join(state: &mut State, machine: Machine, secret: u8) -> Result<Reply, SlurmError> {
        let token = Some((1, vec![secret; 32]));
        tell(state, TrustChange::Admit { machine, token }, Actor::Anonymous)
    }

    #[test]
    fn a_token_lets_in_as_many_as_it_says_and_a_repetition_counts_once() {
        let mut state = with_token(1);
        assert_eq!(join(&mut state, machine("n1", 1), 8), Err(SlurmError::AccessDenied));
        assert_eq!(join(&mut state, machine("n1", 1), 7), Ok(Reply::Done));
        assert_eq!(join(&mut state, machine("n1", 1), 7), Ok(Reply::Done), "is said again");
        assert!(state.trust.knows("n1.compute.spur", &[1; 32]));
        assert_eq!(join(&mut state, machine("n2", 2), 7), Err(SlurmError::AccessDenied));
    }

    #[test]
    fn a_token_is_good_for_its_role_and_its_time_and_never_takes_a_place() {
        let mut state = with_token(9);
        let login = Machine { role: "login".to_string(), ..machine("n1", 1) };
        assert_eq!(join(&mut state, login, 7), Err(SlurmError::AccessDenied));
        assert_eq!(join(&mut state, machine("n1", 1), 7), Ok(Reply::Done));
        assert_eq!(join(&mut state, machine("n1", 2), 7), Err(SlurmError::AccessDenied));
        assert!(state.trust.knows("n1.compute.spur", &[1; 32]));
        state.now = Timestamp(200);
        assert_eq!(join(&mut state, machine("n2", 2), 7), Err(SlurmError::AccessDenied));
    }

    #[test]
    fn only_administrators_let_in_and_throw_out() {
        let mut state = State::new();
        let admit = || TrustChange::Admit { machine: machine("n1", 1), token: None };
        let remove = || TrustChange::Remove { name: "n1".to_string() };
        for stranger in [Actor::Anonymous, user(1000, Level::Operator)] {
            assert_eq!(tell(&mut state, admit(), stranger), Err(SlurmError::AccessDenied));
        }
        assert_eq!(tell(&mut state, admit(), root()), Ok(Reply::Done));
        assert_eq!(
            tell(&mut state, remove(), user(1000, Level::None)),
            Err(SlurmError::AccessDenied)
        );
        assert_eq!(tell(&mut state, remove(), root()), Ok(Reply::Done));
        assert!(!state.trust.knows("n1.compute.spur", &[1; 32]));
        assert_eq!(tell(&mut state, remove(), root()), Err(SlurmError::InvalidNodeName));
    }

    #[test]
    fn users_revoke_their_own_tokens_only() {
        let mut state = State { now: Timestamp(5), ..State::new() };
        let revoke = || TrustChange::Revoke { user: "alice".to_string(), uid: Uid(1000) };
        assert_eq!(
            tell(&mut state, revoke(), user(1001, Level::None)),
            Err(SlurmError::AccessDenied)
        );
        assert_eq!(tell(&mut state, revoke(), user(1000, Level::None)), Ok(Reply::Done));
        assert_eq!(state.trust.revoked.get("alice"), Some(&Timestamp(5)));
    }
}
