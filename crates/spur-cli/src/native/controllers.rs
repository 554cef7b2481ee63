//! `spur controllers list|add|remove`: who the controllers are, and how that changes while they run.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use nix::sys::signal::Signal;
use spur_proto::caller::{CallError, Caller};
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{ControllerView, ListControllersRequest, RemoveControllerRequest};

use super::daemons::Process;
use super::layout::Layout;
use super::up::SUPERVISOR;
use crate::cluster;
use crate::output::{complain, print};

/// Shows and changes who the controllers are.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the controllers.
    List {
        /// As a list of objects.
        #[arg(long)]
        json: bool,
    },
    /// Starts one more in the directory of a `spur up`; it catches up and votes.
    Add {
        /// The cluster's directory.
        #[arg(long)]
        dir: Option<PathBuf>,
    },
    /// Takes one out; it stops, and what it knew stays where it is.
    Remove {
        /// Its number or address as `list` shows them, or the name of its socket, as in spurctld-2.
        name: String,
    },
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("controllers", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let done = match arguments.verb {
        Verb::List { json } => list(json).map_err(|error| error.to_string()),
        Verb::Add { dir } => add(dir),
        Verb::Remove { name } => remove(name).map_err(|error| error.to_string()),
    };
    match done {
        Ok(()) => 0,
        Err(complaint) => {
            complain("spur controllers", complaint);
            1
        }
    }
}

fn list(json: bool) -> Result<(), CallError> {
    let controllers = cluster::block_on(controllers(&mut cluster::caller()))?;
    if json {
        let told = controllers.iter().map(|it| {
            serde_json::json!({
                "id": it.id, "role": role(it), "behind": it.behind, "address": it.address,
            })
        });
        let told: serde_json::Value = told.collect();
        print(&format!("{told:#}\n"));
        return Ok(());
    }
    let mut text = format!("{:>10} {:<8} {:>6} ADDRESS\n", "ID", "ROLE", "BEHIND");
    for controller in &controllers {
        let behind = controller.behind.map_or("?".to_string(), |behind| behind.to_string());
        let (id, address) = (controller.id, &controller.address);
        text += &format!("{id:>10} {:<8} {behind:>6} {address}\n", role(controller));
    }
    print(&text);
    Ok(())
}

fn role(controller: &ControllerView) -> &'static str {
    match controller {
        ControllerView { leads: true, .. } => "leader",
        ControllerView { votes: true, .. } => "follower",
        _ => "joining",
    }
}

async fn controllers(caller: &mut Caller) -> Result<Vec<ControllerView>, CallError> {
    let ask = |mut client: ControllerClient<_>| async move {
        client.list_controllers(ListControllersRequest {}).await
    };
    Ok(caller.call(ask).await?.controllers)
}

/// A new state directory tells the supervisor that there is one more to care for.
fn add(dir: Option<PathBuf>) -> Result<(), String> {
    let layout = Layout::new(dir).map_err(|error| error.to_string())?;
    let Some(supervisor) = Process::read(&layout, SUPERVISOR) else {
        return Err(format!("nothing is up in {}", layout.dir.display()));
    };
    let number = layout.controllers() + 1;
    let state = layout.state(number);
    std::fs::create_dir(&state)
        .map_err(|error| format!("could not make {}: {error}", state.display()))?;
    if !supervisor.signal(Signal::SIGUSR1) {
        return Err(format!("{}: Operation not permitted", layout.dir.display()));
    }
    print(&format!(
        "spur: {} is starting; see: spur controllers list\n",
        Layout::controller(number)
    ));
    Ok(())
}

fn remove(name: String) -> Result<(), CallError> {
    let asked = RemoveControllerRequest { name: name.clone(), request_id: cluster::request_id() };
    let ask = |mut client: ControllerClient<_>| {
        let request = asked.clone();
        async move { client.remove_controller(request).await }
    };
    cluster::block_on(cluster::caller().call(ask))?;
    print(&format!("spur: controller {name} is removed\n"));
    Ok(())
}
