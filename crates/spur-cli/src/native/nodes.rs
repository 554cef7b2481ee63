//! `spur nodes`: shows nodes; `waiting`, `approve` and `remove` say which machines belong to the cluster.

use clap::{Parser, Subcommand};
use spur_proto::caller::CallError;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{
    ApproveMachineRequest, ListMachinesRequest, MachineView, RemoveMachineRequest,
};

use crate::output::{complain, print};
use crate::{cluster, commands};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists machines that have joined, and those that wait.
    Machines,
    /// Lists machines that wait to be let in.
    Waiting,
    /// Lets a machine in that waits.
    Approve {
        /// Its name.
        name: String,
        /// The key it must have, as it shows it.
        #[arg(long, default_value = "")]
        fingerprint: String,
    },
    /// Throws a machine out: what it shows counts no more from now on.
    Remove {
        /// Its name.
        name: String,
    },
}

const VERBS: &[&str] = &["machines", "waiting", "approve", "remove"];

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    if !args.first().is_some_and(|first| VERBS.contains(&first.as_str())) {
        return commands::sinfo::run(&[&["-N".to_string(), "-l".to_string()], args].concat());
    }
    let arguments: Arguments = match super::read("nodes", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let done = match arguments.verb {
        Verb::Machines => list(|_| true),
        Verb::Waiting => list(|machine| machine.waiting),
        Verb::Approve { name, fingerprint } => approve(&name, &fingerprint),
        Verb::Remove { name } => remove(&name),
    };
    match done {
        Ok(said) => {
            print(&said);
            0
        }
        Err(error) => {
            complain("spur nodes", error);
            1
        }
    }
}

fn list(wanted: fn(&MachineView) -> bool) -> Result<String, CallError> {
    let ask = |mut client: ControllerClient<_>| async move {
        client.list_machines(ListMachinesRequest {}).await
    };
    let machines = cluster::block_on(cluster::caller().call(ask))?.machines;
    let mut text = format!("{:<16} {:<8} {:<8} KEY\n", "NAME", "ROLE", "STATE");
    for machine in machines.iter().filter(|machine| wanted(machine)) {
        let state = if machine.waiting { "waiting" } else { "joined" };
        let MachineView { name, role, fingerprint, .. } = machine;
        text += &format!("{name:<16} {role:<8} {state:<8} {fingerprint}\n");
    }
    Ok(text)
}

fn approve(name: &str, fingerprint: &str) -> Result<String, CallError> {
    let asked = ApproveMachineRequest {
        name: name.to_string(),
        fingerprint: fingerprint.to_string(),
        request_id: cluster::request_id(),
    };
    let ask = |mut client: ControllerClient<_>| {
        let asked = asked.clone();
        async move { client.approve_machine(asked).await }
    };
    let machine = cluster::block_on(cluster::caller().call(ask))?.machine.unwrap_or_default();
    Ok(format!("{name} is let in; its key is {}\n", machine.fingerprint))
}

fn remove(name: &str) -> Result<String, CallError> {
    let asked = RemoveMachineRequest { name: name.to_string(), request_id: cluster::request_id() };
    let ask = |mut client: ControllerClient<_>| {
        let asked = asked.clone();
        async move { client.remove_machine(asked).await }
    };
    cluster::block_on(cluster::caller().call(ask))?;
    Ok(format!("{name} is out; its certificate counts no more\n"))
}
