//! The shell around the agent: carries events in and decisions out.

mod care;
mod door;
mod flock;
mod network;
mod reboot;
mod runs;
mod spool;
mod stream;
mod usage;
mod used;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use spur_core::node::Gres;
use spur_core::step::binding::Machine;
use spur_disk::{Error, RealDisk};
use spur_net::{Role, tls};
use spur_proto::internal::controller_message::Message as Hears;
use spur_proto::watchdog;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};
use tracing::{debug, error, info, warn};
use tracing_subscriber::EnvFilter;

use crate::agent::{Agent, Found, Identity, Input, Output};
use crate::confine::Confines;
use crate::fence::Heard;
use crate::gpu::GpuFiles;
use crate::health::{self, Offered};
use crate::inventory;
use crate::joining;
use crate::load;
use crate::machine::clock::boot_time;
use crate::machine::connection::is_free;
use crate::machine::oom;
use crate::machine::pidfd::GENTLY;
use crate::options::Options;
use crate::processors;
use crate::recover::{self, Fate};
use crate::run::RunId;
use care::Care;
use door::Door;
use runs::Runs;
use stream::Stream;

/// A hangup ends nothing: it asks to read again what may have changed, and that is the machine's certificate alone.
async fn hear_hangups() {
    let Ok(mut hangups) = signal(SignalKind::hangup()) else { return };
    while hangups.recv().await.is_some() {
        info!(
            "asked to read again: flags count from the next start, all else comes from the controller"
        );
    }
}

/// Runs the agent until it is asked to go. The jobs run on.
pub fn serve(options: Options) -> Result<()> {
    start_log(options.verbose);
    let offer = inventory::offer(&options)?;
    let mut identity = offer.identity;
    let spool = spool::prepare(&options.state_dir)?;
    let _lock = spool::lock(&spool)?;
    if !oom::spare() {
        debug!("this process may be ended when the machine has no memory left");
    }
    spool::warn_unless_reachable(&spool);
    recover::sweep(&spool).context("could not sweep the spool")?;
    GpuFiles::of(&offer.gpus, &options.sysfs_root)
        .write(&spool)
        .context("could not write down the GPUs")?;
    let (threads_per_core, cores_per_socket) = offer.shape;
    let order = offer.cpu_numbers.clone();
    let machine = Machine { order, threads_per_core, cores_per_socket, ..Machine::default() };
    processors::write(&spool, &machine).context("could not write down the processors")?;
    let confines = Confines::settle(&spool, &identity.boot_id, offer.cpu_numbers);
    if let Some(confines) = confines {
        confines.sweep(&spool);
    }
    // What is only declared for trials cannot get lost.
    let offered = Offered {
        memory_mb: if identity.inventory.trial { 0 } else { identity.inventory.memory_mb },
        gpus: offer.gpus.len(),
        gpu_errors: health::errors_of(&options.sysfs_root, &offer.gpus)
            .into_iter()
            .map(|errors| (errors.file, errors.count))
            .collect(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::spawn(hear_hangups());
        watchdog::start("spurd", || async {})?;
        info!(
            node = identity.node,
            cpus = identity.inventory.cpus,
            memory_mb = identity.inventory.memory_mb,
            gres = gres_text(&identity.inventory.gres),
            "starting"
        );
        let node = identity.node.clone();
        let controllers = options.controller.0;
        let machine = joining::identity(&spool, &node, &controllers).await?;
        let is_near = controllers.iter().all(|address| address.socket().is_some());
        let listener = match &machine {
            Some(_) => match network::listen(&options.listen).await {
                Ok(listener) => Some(listener),
                // Several nodes of one machine share its socket, but not its port.
                Err(error) if is_near => {
                    warn!("{error:#}: srun on other machines will not reach this node");
                    None
                }
                Err(error) => return Err(error),
            },
            None => None,
        };
        if let Some(listener) = &listener {
            identity.address = network::announced(listener, &controllers, &identity.address)?;
        }
        let hands_jobs_in = machine.as_ref().is_some_and(|it| matches!(it.role, Role::Login(_)));
        let (mut agent, runs, outputs) = recover(identity, &spool)?;
        agent.ask_for_ports(is_free);
        let socket = spool.join(inventory::SOCKET);
        let machine = machine.map(Arc::new);
        let door = Door::open(&spool, &socket, &node, machine.clone(), runs.begun())?;
        if let (Some(listener), Some(machine)) = (listener, machine) {
            tokio::spawn(door.clone().serve_network(listener, tls::acceptor(&machine)?));
        }
        // Where users log in no jobs are run; the agent only says who they are.
        let stream = Stream::dial(if hands_jobs_in { Vec::new() } else { controllers });
        let care = Care::begin(&spool, &options.sysfs_root, &node, offered);
        let heard = Heard::open(&spool)?;
        let mut shell = Shell { agent, runs, stream, door, care, heard };
        shell.carry_out(outputs)?;
        shell.run().await
    })
}

/// As Slurm writes it: `gpu:mi300x:8`.
fn gres_text(gres: &[Gres]) -> String {
    let one = |gres: &Gres| match gres.kind.is_empty() {
        true => format!("{}:{}", gres.name, gres.count),
        false => format!("{}:{}:{}", gres.name, gres.kind, gres.count),
    };
    gres.iter().map(one).collect::<Vec<_>>().join(",")
}

const HEARTBEAT: Duration = Duration::from_secs(1);

/// Events taken in before what they brought is made durable and sent.
const BATCH: usize = 1024;

struct Shell {
    agent: Agent<RealDisk>,
    runs: Runs,
    stream: Stream,
    door: Door,
    care: Care,
    heard: Heard,
}

impl Shell {
    async fn run(mut self) -> Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            self.flush()?;
            tokio::select! {
                input = self.stream.next() => self.take(input)?,
                event = self.runs.next() => self.settle(event)?,
                problems = self.care.next() => self.take(Input::Health(problems))?,
                _ = heartbeat.tick() => {
                    self.take(Input::Load(load::now()))?;
                    self.take(Input::HeartbeatDue)?;
                    self.runs.tidy();
                }
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            }
            for _ in 0..BATCH {
                if let Some(event) = self.runs.try_next() {
                    self.settle(event)?;
                } else if let Some(input) = self.stream.try_next() {
                    self.take(input)?;
                } else {
                    break;
                }
            }
        }
        info!("leaving; jobs run on");
        Ok(())
    }

    fn take(&mut self, input: Input) -> Result<()> {
        match &input {
            Input::Heard(Hears::Beat(beat)) => self.care.compare_clocks(boot_time(), beat),
            // Whether the node is fit is asked when a job comes, not when it was looked at last.
            Input::Heard(Hears::Launches(_)) => {
                if let Some(problems) = self.care.look_now() {
                    let outputs = self.agent.on(boot_time(), Input::Health(problems));
                    self.carry_out(survive(outputs)?)?;
                }
            }
            _ => {}
        }
        let outputs = self.agent.on(boot_time(), input);
        self.carry_out(survive(outputs)?)
    }

    fn settle(&mut self, event: runs::Event) -> Result<()> {
        match self.runs.on(event) {
            Some((run, outcome, told)) => self.take(Input::Over(run, outcome, Box::new(told))),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let outputs = self.agent.flush();
        self.carry_out(survive(outputs)?)
    }

    fn carry_out(&mut self, outputs: Vec<Output>) -> Result<()> {
        for output in outputs {
            match output {
                Output::Say(message) => self.stream.say(message),
                Output::Spawn(run, user) => {
                    let spare = self.agent.disk().take_spare();
                    self.runs.spawn(run, user, spare);
                }
                Output::Kill(run) => self.runs.kill(run),
                Output::Signal(run, signal, script_only) => {
                    self.runs.signal(run, signal, script_only);
                }
                Output::Suspend(run) => self.runs.signal(run, GENTLY, false),
                Output::Notice(run, words) => self.runs.notice(run, &words),
                Output::Farewell(run, why) => self.runs.farewell(run, self.agent.node(), &why),
                Output::Trust(key) => self.door.trust(key),
                Output::CareFor(rules) => self.care.follow(rules),
                Output::Reboot(program) => reboot::begin(program, self.agent.node()),
                Output::Heard(at) => self.heard.note(at),
                Output::HangUp => self.stream.hang_up(),
            }
        }
        Ok(())
    }
}

/// A full disk passes: what was not accepted is offered again, what was not written is tried again. A
/// failed sync does not: nobody knows what is on the disk after it.
fn survive(result: Result<Vec<Output>, Error>) -> Result<Vec<Output>> {
    match result {
        Ok(outputs) => Ok(outputs),
        Err(error) if error.attempt == "sync" => Err(error.into()),
        Err(error) => {
            error!("{:#}", anyhow::Error::from(error));
            Ok(Vec::new())
        }
    }
}

/// Files of runs that are used again; sockets cannot be.
const SPARE_KINDS: &[&str] = &[".launch", ".shepherd"];

/// Finds the runs of an earlier life. What is left of dead shepherds' runs is removed meanwhile, so those
/// are not over yet.
fn recover(identity: Identity, spool: &Path) -> Result<(Agent<RealDisk>, Runs, Vec<Output>)> {
    let boot_id = crate::claim::boot_id().context("could not read the boot id")?;
    let mut runs = Runs::new(spool, &boot_id)?;
    let mut disk = RealDisk::open(spool)?;
    disk.keep_spares(SPARE_KINDS)?;
    let look = |run: RunId| match recover::look(spool, run, &boot_id) {
        Ok(Fate::Over(last)) => Found::Over(last.ending.outcome(), Box::new(last.account())),
        Ok(Fate::Unclaimed) => Found::Unclaimed,
        Ok(Fate::Gone(claim)) if claim.boot_id != boot_id => Found::Gone,
        fate @ (Ok(Fate::Alive(_) | Fate::Gone(_)) | Err(_)) => {
            runs.adopt(run, fate);
            Found::Alive
        }
    };
    let (agent, outputs) = Agent::recover(identity, disk, look)?;
    info!(runs = agent.table().count(), "recovered");
    Ok((agent, runs, outputs))
}

fn start_log(verbose: u8) {
    let level = match verbose {
        0 => "info",
        1 => "spurd=debug,info",
        _ => "spurd=trace,debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // A second agent in one process, as in tests, shares the first one's log.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .try_init();
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn a_full_disk_is_survived_and_a_failed_sync_is_not() {
        let failed = |attempt, kind: ErrorKind| Err(Error::new(attempt, "outbox", kind.into()));
        assert_eq!(survive(failed("append to", ErrorKind::StorageFull)).expect("goes on"), []);
        assert!(survive(failed("sync", ErrorKind::StorageFull)).is_err());
    }
}
