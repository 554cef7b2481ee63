//! How a machine comes to belong to a cluster, from its own side.

use std::path::Path;
use std::time::Duration;

use spur_net::identity::MachineKey;
use spur_net::tls::Dialler;
use spur_net::{Identity, JoinToken, sha256};
use tracing::{error, info};

use crate::address::Address;
use crate::caller::{CallError, Caller};
use crate::proof::{self, Proof};
use crate::slurm::controller_client::ControllerClient;
use crate::slurm::{AuthoritySecrets, EnrolReply, EnrolRequest};

/// What a machine was given.
pub struct Enrolled {
    /// Its certificate, and all that belongs to it.
    pub identity: Identity,
    /// For a controller: the authority.
    pub secrets: Option<AuthoritySecrets>,
    /// The key that users' tokens are signed with, its public half.
    pub users: Vec<u8>,
}

/// How it went.
pub enum Outcome {
    /// It belongs to the cluster.
    Enrolled(Box<Enrolled>),
    /// An administrator must let it in.
    Waits {
        /// The hash of the authority that was shown; no other may be believed the next time.
        authority: [u8; 32],
    },
}

/// Why it did not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The controller said no, or nothing.
    #[error("{0}")]
    Call(#[from] CallError),
    /// What the controller gave is of no use.
    #[error("{0}")]
    Given(#[from] spur_net::Error),
    /// Somebody stands between this machine and the controller.
    #[error("the controller shows one authority and gives another")]
    Differs,
}

/// Has the certificate of a machine that belongs to the cluster made anew, and shows it from now on.
pub async fn renew(own: &Identity, controllers: &[Address]) -> Result<(), Error> {
    let (role, name) = (own.role.word().to_string(), own.role.name().to_string());
    let public_key = own.key.public().0;
    let request = EnrolRequest { name, role, public_key, ..EnrolRequest::default() };
    let ask = |mut client: ControllerClient<_>| {
        let request = request.clone();
        async move { client.enrol(request).await }
    };
    // A machine that was away for too long is let in as a newcomer: its key is known.
    let is_late = own.times().is_none();
    if is_late {
        proof::set(Proof::Machine(Dialler::newcomer(Some(own.authority_hash()))?));
    }
    let reply = Caller::new(controllers.to_vec(), PATIENCE).call(ask).await;
    if is_late {
        proof::set(Proof::Machine(Dialler::member(own)?));
    }
    let reply = reply?;
    if *own.authority != *reply.authority {
        return Err(Error::Differs);
    }
    Ok(own.renew(&reply.certificate)?)
}

/// Renews the certificate where it is time, or where somebody asks, and keeps it; returns when to look again.
pub async fn stay_valid(
    own: &Identity,
    dir: &Path,
    controllers: &[Address],
    asked: bool,
) -> Duration {
    let due = || own.times().map_or(Duration::ZERO, |times| times.due_in);
    if asked || due().is_zero() {
        let renewed = renew(own, controllers).await.and_then(|()| Ok(own.save(dir)?));
        match renewed {
            Ok(()) => info!("this machine's certificate is renewed"),
            Err(trouble) => {
                error!("could not renew this machine's certificate, will try again: {trouble}");
                let left = own.times().map_or(Duration::ZERO, |times| times.left);
                return (left / 10).clamp(SOON, LATE);
            }
        }
    }
    due().clamp(SOON, LATE)
}

/// How soon and how late a certificate is looked at again.
const SOON: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_secs(3600);

const PATIENCE: Duration = Duration::from_secs(10);

/// Asks once. Only the authority of the token is believed, or the one that was shown before; with neither, the
/// first that answers.
pub async fn ask(
    key: MachineKey,
    name: &str,
    role: &str,
    token: Option<&JoinToken>,
    shown: Option<[u8; 32]>,
    controllers: &[Address],
) -> Result<Outcome, Error> {
    let dialler = Dialler::newcomer(token.map(|token| token.authority).or(shown))?;
    proof::set(Proof::Machine(dialler.clone()));
    let request = EnrolRequest {
        name: name.to_string(),
        role: role.to_string(),
        public_key: key.public().0,
        token: token.map(|token| token.id),
        secret: token.map(|token| token.secret.to_vec()).unwrap_or_default(),
    };
    let ask = |mut client: ControllerClient<_>| {
        let request = request.clone();
        async move { client.enrol(request).await }
    };
    let reply = Caller::new(controllers.to_vec(), PATIENCE).call(ask).await;
    proof::forget();
    let reply = reply?;
    // Over a socket of this machine nothing was shown: the kernel keeps others out.
    if dialler.authority().is_some_and(|shown| *shown != *reply.authority) {
        return Err(Error::Differs);
    }
    let EnrolReply { certificate, authority, controllers, secrets, users_public: users } = reply;
    if certificate.is_empty() {
        return Ok(Outcome::Waits { authority: sha256(&authority) });
    }
    let identity = Identity::new(key, &certificate, &authority, &controllers)?;
    Ok(Outcome::Enrolled(Box::new(Enrolled { identity, secrets, users })))
}
