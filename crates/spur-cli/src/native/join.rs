//! `spur join TOKEN`: makes this machine one of the cluster.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;
use spur_net::authority::{Authority, Secrets};
use spur_net::identity::MachineKey;
use spur_net::{Identity, JoinToken, Role};
use spur_proto::client::Address;
use spur_proto::enrol::{self, Outcome};

use crate::cluster;
use crate::output::{complain, print};

/// Joins this machine to a cluster.
#[derive(Parser)]
struct Arguments {
    /// What `spur token create` printed; - reads it from standard input.
    token: String,
    /// The machine's name in the cluster; its short host name if not given.
    #[arg(long)]
    name: Option<String>,
    /// Where its daemon keeps its state: /var/spool/spurd, or /var/spool/spur for a controller, if not given.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("join", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    match join(arguments) {
        Ok(said) => {
            print(&said);
            0
        }
        Err(error) => {
            complain("spur join", format!("{error:#}"));
            1
        }
    }
}

fn join(arguments: Arguments) -> anyhow::Result<String> {
    let text = match arguments.token.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().take(64 << 10).read_to_string(&mut text)?;
            text
        }
        said => said.to_string(),
    };
    let token = JoinToken::parse(&text).context("this is no token of spur token create")?;
    let controllers = Address::parse_list(&token.controllers);
    let controllers = controllers.context("the token does not say where the controllers are")?;
    let name = match arguments.name {
        Some(name) => name,
        None => host_name()?,
    };
    let state_dir = arguments.state_dir;
    // Which it will be is the token's to say, and known only when the controller has answered.
    let dir = state_dir.clone().unwrap_or_else(|| PathBuf::from("/var/spool/spurd"));
    // The same key whenever it is tried again: a token that was spent and whose answer was lost still counts.
    let key = MachineKey::open(&Identity::dir(&dir))?;
    let asked = enrol::ask(key, &name, "", Some(&token), None, &controllers);
    let Outcome::Enrolled(enrolled) = cluster::block_on(asked)? else {
        bail!("the controller did not take the token");
    };
    let identity = &enrolled.identity;
    if identity.role == Role::Controller {
        let given = enrolled.secrets.context("the controller kept the authority for itself")?;
        let dir = state_dir.unwrap_or_else(|| PathBuf::from("/var/spool/spur"));
        let (certificate, key, users) = (given.certificate, given.key, given.users);
        Authority::from_secrets(&Secrets { certificate, key, users }, &dir.join("authority"))?;
        return Ok(format!(
            "This machine may be a controller now. Start it with all of them named:\n  \
             spurctld -D --state-dir {} --listen [::]:6817 --controllers {},HERE:6817\n",
            dir.display(),
            identity.controllers
        ));
    }
    identity.save(&Identity::dir(&dir))?;
    if identity.role == Role::Dbd {
        keep_users_key(&dir, &enrolled.users)?;
        let dir = dir.display();
        return Ok(format!(
            "This machine may keep the accounting now. Start it, and name it to the controllers:\n  \
             spurdbd -D --state-dir {dir} --listen unix:/run/spur/spurdbd.sock,[::]:6819\n  \
             spurctld … --accounting HERE:6819\n"
        ));
    }
    let (role, at) = (&identity.role, &identity.controllers);
    let dir = dir.display();
    Ok(format!(
        "This machine has joined as {role}. Start its agent:\n  \
         spurd -D -N {name} --state-dir {dir} --controller {at}\n"
    ))
}

/// Nothing secret: what users' tokens are checked with.
fn keep_users_key(dir: &Path, key: &[u8]) -> anyhow::Result<()> {
    let file = Identity::dir(dir).join("users");
    std::fs::write(&file, format!("{}\n", spur_net::hex(key)))
        .with_context(|| format!("could not write {}", file.display()))
}

fn host_name() -> anyhow::Result<String> {
    let name = nix::unistd::gethostname()?.to_string_lossy().into_owned();
    Ok(name.split('.').next().unwrap_or_default().to_string())
}
