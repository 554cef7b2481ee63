//! Accounting for other machines: controllers are known by their certificates, users by tokens of the controllers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use spur_core::auth::{Actor, Level};
use spur_core::ids::{Gid, Uid};
use spur_net::jwt::{self, Claims, Keys};
use spur_net::tls::{self, Dialler};
use spur_net::{Identity, PublicKey, Role, unhex};
use spur_proto::client::Address;
use spur_proto::door::{Judge, Local, local_user};
use spur_proto::enrol;
use spur_proto::entrance::{Peer, Register, now};
use spur_proto::proof::{self, Proof};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::revoked::Revoked;

/// Listens for other machines, as the machine that this one has become.
pub async fn open(
    address: &Address,
    state_dir: &Path,
) -> anyhow::Result<((TcpListener, TlsAcceptor), Callers)> {
    let Address::Tls { host, port } = address else { bail!("a port is needed") };
    let dir = Identity::dir(state_dir);
    let own = Identity::load(&dir).context("could not read this machine's identity")?;
    let Some(own) = own.filter(|own| own.role == Role::Dbd) else {
        let dir = state_dir.display();
        bail!(
            "this machine has not joined the cluster as its accounting; on a controller run: \
             spur token create --role dbd, and here: spur join TOKEN --state-dir {dir}"
        );
    };
    let users = std::fs::read_to_string(dir.join("users")).context("no key of users' tokens")?;
    let users = unhex(users.trim()).and_then(|key| PublicKey::new(&key));
    let revoked = Arc::new(Revoked::open(&dir)?);
    let callers = Callers::new(users.context("no key of users' tokens")?, &own, revoked);
    let listener = TcpListener::bind((host.as_str(), *port)).await;
    let listener = listener.with_context(|| format!("could not listen on {address}"))?;
    let acceptor = tls::acceptor(&own)?;
    proof::set(Proof::Machine(Dialler::member(&own)?));
    tokio::spawn(stay_valid(own, dir));
    Ok(((listener, acceptor), callers))
}

async fn stay_valid(own: Identity, dir: PathBuf) {
    let controllers = Address::parse_list(&own.controllers).unwrap_or_default();
    loop {
        tokio::time::sleep(enrol::stay_valid(&own, &dir, &controllers, false).await).await;
    }
}

/// Tells who callers are.
pub struct Callers {
    users: PublicKey,
    audiences: [String; 2],
    /// Whose tokens are worthless.
    pub revoked: Arc<Revoked>,
    known: Mutex<BTreeMap<String, Known>>,
}

/// When a user was looked up, and their numbers, if there is such a user.
type Known = (Instant, Option<(u32, u32)>);

/// How long a user's number is remembered.
const REMEMBERED: Duration = Duration::from_secs(60);

impl Callers {
    fn new(users: PublicKey, own: &Identity, revoked: Arc<Revoked>) -> Callers {
        let hash = own.authority_hash();
        let audiences = [jwt::accounting_audience(&hash), jwt::audience(&hash)];
        Callers { users, audiences, revoked, known: Mutex::default() }
    }

    fn claims(&self, token: &str) -> Option<Claims> {
        let mut audiences = self.audiences.iter();
        let claims = audiences.find_map(|audience| {
            let keys = Keys { cluster: self.users.clone(), audience: audience.clone(), site: None };
            jwt::verify(token, &keys, now())
        });
        claims.filter(|claims| self.revoked.allows(&claims.user, claims.issued))
    }

    fn by_token(&self, token: &str) -> Actor {
        match self.claims(token).and_then(|claims| self.numbers(&claims.user)) {
            // Root of the controllers' machines, by their word.
            Some((0, gid)) => Actor::user(Uid::ROOT, Gid(gid), Level::Administrator),
            Some((uid, gid)) => Actor::user(Uid(uid), Gid(gid), Level::None),
            None => Actor::Anonymous,
        }
    }

    /// A user's numbers as this machine knows them.
    fn numbers(&self, name: &str) -> Option<(u32, u32)> {
        let mut known = self.known.lock().ok()?;
        if let Some((at, found)) = known.get(name)
            && at.elapsed() < REMEMBERED
        {
            return *found;
        }
        let found = nix::unistd::User::from_name(name).ok().flatten();
        let found = found.map(|user| (user.uid.as_raw(), user.gid.as_raw()));
        known.retain(|_, (at, _)| at.elapsed() < REMEMBERED);
        known.insert(name.to_string(), (Instant::now(), found));
        found
    }
}

impl Judge for Callers {
    fn actor(&self, peer: &Peer, token: Option<&str>) -> Actor {
        match (peer, token) {
            (_, Some(token)) => self.by_token(token),
            (Peer::Token(token), None) => self.by_token(token),
            (Peer::Local { uid, gid }, None) => local_user(*uid, *gid),
            (Peer::Machine(bearer), None) if bearer.role == Role::Controller => Actor::Controller,
            _ => Actor::Anonymous,
        }
    }

    fn refused(&self, method: &str, actor: &Actor) {
        Local.refused(method, actor);
    }
}

impl Register for Callers {
    /// Nobody's word is taken here but that of the controllers.
    fn key_of(&self, _: &str) -> Option<PublicKey> {
        None
    }

    fn user_of(&self, token: &str) -> Option<String> {
        Some(self.claims(token)?.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_net::Authority;
    use spur_net::identity::{Bearer, MachineKey};
    use spur_proto::slurm::RevokedTokens;

    #[test]
    fn controllers_by_certificate_users_by_token_and_nobody_else() {
        let authority = Authority::generate().expect("is made");
        let key = MachineKey::generate().expect("is made");
        let public = key.public();
        let certificate = authority.certify(&Role::Dbd, &public).expect("is signed");
        let own = Identity::new(key, &certificate, authority.certificate(), "").expect("fits");
        let revoked = Arc::new(Revoked::default());
        let callers = Callers::new(authority.users().public(), &own, revoked.clone());
        let bearer = |role| Peer::Machine(Bearer { role, key: public.clone() });
        let node = Role::Compute("n1".to_string());
        assert_eq!(callers.actor(&bearer(Role::Controller), None), Actor::Controller);
        assert_eq!(callers.actor(&bearer(node), None), Actor::Anonymous);
        assert_eq!(callers.actor(&Peer::Nobody, None), Actor::Anonymous);
        let sign = |audience: String, expires, key: &MachineKey| {
            let (user, audience) = ("root".to_string(), Some(audience));
            Peer::Token(jwt::sign(&Claims { user, issued: now(), expires, audience }, key))
        };
        let (hash, later) = (authority.hash(), now() + 60);
        let good = sign(jwt::accounting_audience(&hash), later, authority.users());
        assert_eq!(callers.actor(&good, None), Actor::Anonymous, "no controller has told yet");
        revoked.learn(&[]).expect("is taken");
        assert_eq!(callers.actor(&good, None).uid(), Some(Uid::ROOT));
        for bad in [
            sign(jwt::accounting_audience(&hash), now() - 1, authority.users()),
            sign(jwt::accounting_audience(&[0; 32]), later, authority.users()),
            sign(jwt::accounting_audience(&hash), later, &own.key),
        ] {
            assert_eq!(callers.actor(&bad, None), Actor::Anonymous);
        }
        let (user_name, until) = ("root".to_string(), now());
        revoked.learn(&[RevokedTokens { user_name, until }]).expect("is taken");
        assert_eq!(callers.actor(&good, None), Actor::Anonymous);
        assert_eq!(callers.actor(&bearer(Role::Controller), None), Actor::Controller);
    }
}
