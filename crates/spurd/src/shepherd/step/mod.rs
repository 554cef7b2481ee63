//! A step: several tasks of one user, connected to whoever started them.
//!
//! The agent hands connections over; from then on bytes flow between `srun` and this process, whatever
//! becomes of the agent.

mod clients;
mod environment;
mod flow;
mod pmi;
mod program;
mod task;
mod tasks;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

use anyhow::Result;
use spur_proto::internal::Launch;
use spur_proto::step_io::{EVERYBODY, Kind};

use super::Room;
use super::sampler::Sampler;
use super::watch::Signals;
use super::words::Words;
use crate::ending::{Ending, LastWord};
use crate::fence::{Fence, Look, REASON};
use crate::gpu::usage;

/// Runs the tasks to their end and beyond: returns when no process of the step is left here.
pub fn run(
    launch: &Launch,
    marker: &str,
    room: Room,
    fence: Fence,
    words: Words,
) -> Result<LastWord> {
    let signals = Signals::listen()?;
    let mut clients = clients::Clients::new(listener()?);
    // Nobody may ever come: who made the step may be gone.
    let Some(hello) = clients.wait_for_launcher(&signals)? else {
        return Ok(Ending::CouldNotStart("nobody came to start the step".to_string()).into());
    };
    let gauges = usage::gauges(room.gpus.as_ref());
    let program = match program::Program::new(launch, hello, marker, room) {
        Ok(program) => program,
        Err(refusal) => {
            clients.refuse(&refusal);
            return Ok(Ending::CouldNotStart(refusal).into());
        }
    };
    if let Some(warning) = port_warning(launch, &program) {
        clients.tell_launcher(Kind::Say, EVERYBODY, warning.as_bytes());
    }
    if fence.look() == Look::Due {
        clients.refuse(REASON);
        return Ok(Ending::NodeFault(REASON.to_string()).into());
    }
    let mut pmi = launch.step.as_ref().and_then(|step| pmi::Pmi::new(step, &program));
    let tasks = tasks::Tasks::start(&program, pmi.as_mut())?;
    let sampler = Sampler::new(launch).with_gauges(gauges);
    flow::Flow::new(program, tasks, pmi, clients, signals, sampler, fence).telling(words).run()
}

/// The first node looks whether the job's port is free, which no other job has, but a stranger may.
fn port_warning(launch: &Launch, program: &program::Program) -> Option<String> {
    let step = launch.step.as_ref().filter(|step| step.node_id == 0)?;
    let tasks: usize = step.nodes.iter().map(|node| node.ranks.len()).sum();
    let port = u16::try_from(launch.master_port).ok().filter(|port| *port > 0 && tasks > 1)?;
    match TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => Some(format!(
            "slurmstepd: error: MASTER_PORT {port} of step {} is in use on {} by somebody else; set \
             another one\n",
            program.name, program.node
        )),
        _ => None,
    }
}

/// Tells whoever comes to start the step why it is not run here.
pub fn refuse(reason: &str) {
    let waited = || -> Result<()> {
        let signals = Signals::listen()?;
        let mut clients = clients::Clients::new(listener()?);
        if clients.wait_for_launcher(&signals)?.is_some() {
            clients.refuse(reason);
        }
        Ok(())
    };
    if let Err(error) = waited() {
        eprintln!("spurd shepherd: {error:#}");
    }
}

/// The agent made it before it started us, so that nobody who comes early finds nothing.
fn listener() -> Result<UnixListener> {
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    Ok(listener)
}
