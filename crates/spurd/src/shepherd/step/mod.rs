//! A step: several tasks of one user, connected to whoever started them.
//!
//! The agent hands connections over; from then on bytes flow between `srun` and this process, whatever
//! becomes of the agent.

mod clients;
mod environment;
mod flow;
mod program;
mod task;
mod tasks;

use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

use anyhow::Result;
use spur_proto::internal::Launch;

use super::Room;
use super::watch::Signals;
use crate::ending::{Ending, LastWord};

/// Runs the tasks to their end and beyond: returns when no process of the step is left here.
pub fn run(launch: &Launch, marker: &str, room: Room) -> Result<LastWord> {
    let signals = Signals::listen()?;
    let mut clients = clients::Clients::new(listener()?);
    // Nobody may ever come: who made the step may be gone.
    let Some(hello) = clients.wait_for_launcher(&signals)? else {
        return Ok(Ending::CouldNotStart("nobody came to start the step".to_string()).into());
    };
    let program = match program::Program::new(launch, hello, marker, room) {
        Ok(program) => program,
        Err(refusal) => {
            clients.refuse(&refusal);
            return Ok(Ending::CouldNotStart(refusal).into());
        }
    };
    let tasks = tasks::Tasks::start(&program)?;
    flow::Flow::new(program, tasks, clients, signals).run()
}

/// The agent made it before it started us, so that nobody who comes early finds nothing.
fn listener() -> Result<UnixListener> {
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    Ok(listener)
}
