//! Who this machine is to controllers on other machines: what it was given when it joined, or what it waits for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use spur_net::identity::MachineKey;
use spur_net::role::is_name;
use spur_net::tls::Dialler;
use spur_net::{Identity, Role};
use spur_proto::client::Address;
use spur_proto::enrol::{self, Outcome};
use spur_proto::proof::{self, Proof};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};
use tracing::{error, info};

/// How often a machine that waits asks again.
const PAUSE: Duration = Duration::from_secs(1);

/// The identity, if this machine needs one or has one. Waits until it is let in.
pub async fn identity(
    state_dir: &Path,
    node: &str,
    controllers: &[Address],
) -> Result<Option<Identity>> {
    let dir = Identity::dir(state_dir);
    let found = Identity::load(&dir).context("could not read this machine's identity")?;
    let is_remote = |address: &Address| address.clone().nearest().socket().is_none();
    // A machine that was away for too long is known all the same.
    let found = match found.filter(|it| it.times().is_some()) {
        Some(found) => Some(found),
        None if controllers.iter().any(is_remote) => {
            Some(wait(&dir, state_dir, node, controllers).await?)
        }
        None => by_socket(&dir, node, controllers).await?,
    };
    if let Some(found) = &found {
        match &found.role {
            Role::Compute(name) | Role::Login(name) if name == node => {}
            role => bail!("this machine has joined as {role}, not as {node}; start it with -N"),
        }
        proof::set(Proof::Machine(Dialler::member(found)?));
        tokio::spawn(stay_valid(found.clone(), dir, controllers.to_vec()));
    }
    Ok(found)
}

/// Renews the certificate in good time, or at a hangup.
async fn stay_valid(own: Identity, dir: PathBuf, controllers: Vec<Address>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    let mut asked = false;
    loop {
        let pause = enrol::stay_valid(&own, &dir, &controllers, asked).await;
        asked = timeout(pause, hangup.recv()).await.is_ok();
    }
}

/// On the controller's own machine root needs nobody's leave. Where the cluster has no network, or no
/// controller is there yet, the agent does without.
async fn by_socket(dir: &Path, node: &str, controllers: &[Address]) -> Result<Option<Identity>> {
    let is_there = |address: &&Address| address.socket().is_some_and(Path::exists);
    let there: Vec<Address> = controllers.iter().filter(is_there).cloned().collect();
    if there.is_empty() || !is_name(node) {
        return Ok(None);
    }
    let asked = enrol::ask(MachineKey::generate()?, node, "compute", None, None, &there);
    let asked = timeout(GLANCE, asked).await;
    proof::forget();
    match asked {
        Ok(Ok(Outcome::Enrolled(enrolled))) => {
            enrolled.identity.save(dir)?;
            Ok(Some(enrolled.identity))
        }
        _ => Ok(None),
    }
}

/// How long a controller of this machine is waited for.
const GLANCE: Duration = Duration::from_secs(1);

async fn wait(
    dir: &Path,
    state_dir: &Path,
    node: &str,
    controllers: &[Address],
) -> Result<Identity> {
    let (mut told, mut shown) = (false, None);
    loop {
        let key = MachineKey::open(dir)?;
        let fingerprint = key.public().fingerprint();
        match enrol::ask(key, node, "compute", None, shown, controllers).await {
            Ok(Outcome::Enrolled(enrolled)) => {
                enrolled.identity.save(dir)?;
                info!(role = %enrolled.identity.role, "this machine belongs to the cluster now");
                return Ok(enrolled.identity);
            }
            Ok(Outcome::Waits { authority }) if shown.is_none() => {
                (told, shown) = (true, Some(authority));
                let authority = spur_net::hex(&authority[..16]);
                let dir = state_dir.display();
                error!(
                    "this machine has not joined the cluster. Run here: spur join TOKEN --name \
                     {node} --state-dir {dir} (tokens are made with: spur token create --role \
                     compute), or where the controller is: spur nodes approve {node}. This \
                     machine's key is {fingerprint}, the cluster's {authority}"
                );
            }
            Ok(Outcome::Waits { .. }) => {}
            Err(trouble) if !told => {
                told = true;
                let at = Address::list(controllers);
                error!(
                    "this machine has not joined the cluster, and {at} does not answer: {trouble}"
                );
            }
            Err(_) => {}
        }
        sleep(PAUSE).await;
    }
}
