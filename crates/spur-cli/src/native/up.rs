//! `spur up`: a cluster on this machine with one command.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::Signal;
use spur_core::node::{NodeState, NodeStatus};
use spur_core::size;
use spur_core::{config, hostlist};
use spur_proto::caller::Caller;
use spur_proto::client::Address;
use spur_proto::slurm::ListNodesRequest;
use spur_proto::slurm::controller_client::ControllerClient;
use tokio::signal::unix::{SignalKind, signal};

use super::daemons::{self, AGENT, Daemon, Process};
use super::down;
use super::former;
use super::hosts;
use super::layout::Layout;
use super::news::News;
use super::shape::Shape;
use super::welcome::welcome;
use crate::cluster;
use crate::output::{complain, note, print};

/// Starts a cluster on this machine, runs a first job, and watches over it until Ctrl-C.
#[derive(Clone, Parser)]
struct Arguments {
    /// Where the cluster lives.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Names of the nodes, each an agent of its own, as in n[1-4]. Default: as last time, or this machine's name.
    #[arg(long)]
    nodes: Option<String>,
    /// Processors of each node. Default: as last time, or what the machine has.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,
    /// Memory of each node, as in 4G. Default: as last time, or what the machine has.
    #[arg(long)]
    memory: Option<String>,
    /// How many controllers: with three, the cluster goes on when one of them is lost. Default: as many as
    /// the directory has, or one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=7))]
    controllers: Option<u32>,
    /// Resources to declare on each node for trials, as in gpu:mi300x:8. Default: what the machine has.
    #[arg(long)]
    gres: Option<String>,
    /// A partition and its nodes, as in gpu=n[1-2]; may be said several times. The first is the default one.
    #[arg(long, value_name = "NAME=HOSTLIST")]
    partition: Vec<String>,
    /// The cluster's configuration; none is needed.
    #[arg(long)]
    config: Option<PathBuf>,
    /// A key of the configuration, as in scheduler.interval_secs=2; may be said several times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Keep no history of jobs; sacct has nothing to show then.
    #[arg(long)]
    no_accounting: bool,
    /// Return as soon as the cluster is up.
    #[arg(long)]
    detach: bool,
    /// What `--detach` leaves behind: it speaks only of trouble.
    #[arg(long, hide = true)]
    background: bool,
}

impl Arguments {
    /// Without what is kept in the directory.
    fn unsaid(&self) -> Arguments {
        Arguments {
            nodes: None,
            cpus: None,
            memory: None,
            gres: None,
            config: None,
            set: Vec::new(),
            partition: Vec::new(),
            ..self.clone()
        }
    }
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("up", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let result = if arguments.detach { detach(&arguments, args) } else { foreground(&arguments) };
    match result {
        Ok(()) => 0,
        Err(error) => {
            complain("spur up", format!("{error:#}"));
            1
        }
    }
}

/// Leaves a supervisor behind that does the same in the background.
fn detach(arguments: &Arguments, args: &[String]) -> anyhow::Result<()> {
    let began = Instant::now();
    let layout = prepare(arguments)?;
    let lock = lock(&layout)?;
    let daemons = wanted(&layout, arguments, lock.is_some())?;
    if lock.is_some() {
        drop(lock);
        print(&starting(&layout, &daemons));
        let log = File::options().create(true).append(true).open(layout.log("up"))?;
        Command::new(std::env::current_exe()?)
            .args(["up", "--background"])
            .args(args.iter().filter(|word| *word != "--detach"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .context("could not start the supervisor")?;
    } else {
        return complete(&layout, &daemons);
    }
    cluster::block_on(ready(&layout, &daemons))?;
    welcome(&layout, agents(&daemons).count(), began);
    Ok(())
}

/// Has the supervisor that is there start what is missing, and waits for it.
fn complete(layout: &Layout, daemons: &[Daemon]) -> anyhow::Result<()> {
    if let Some(supervisor) = Process::read(layout, SUPERVISOR)
        && !supervisor.signal(Signal::SIGUSR1)
    {
        bail!("{}: Operation not permitted", layout.dir.display());
    }
    cluster::block_on(ready(layout, daemons))?;
    print(&format!("spur: already up in {}\n", layout.dir.display()));
    Ok(())
}

/// The daemons there should be, by what is said now and what was said before; it is kept for the next time.
fn wanted(layout: &Layout, arguments: &Arguments, is_down: bool) -> anyhow::Result<Vec<Daemon>> {
    // Whoever left a supervisor behind has written down for it what was said.
    let arguments = &if arguments.background { arguments.unsaid() } else { arguments.clone() };
    let said = Shape {
        nodes: arguments.nodes.clone(),
        cpus: arguments.cpus,
        memory: arguments.memory.clone(),
        gres: arguments.gres.clone(),
        config: arguments.config.as_deref().map(found).transpose()?,
    };
    let shape = said.or(Shape::read(layout));
    let (config, shape) = configuration(layout, arguments, shape)?;
    let daemons = daemons(layout, arguments, &shape, config.as_deref())?;
    let changes_settings = !arguments.set.is_empty() || !arguments.partition.is_empty();
    if !is_down && (changes_settings || arguments.config.is_some()) {
        note("spur: settings hold from the next start: spur down, then spur up");
    }
    if !is_down {
        // A state directory is what a further controller is known by.
        for number in layout.controllers() + 1..=arguments.controllers.unwrap_or(0) {
            let state = layout.state(number);
            std::fs::create_dir(&state)
                .with_context(|| format!("could not make {}", state.display()))?;
        }
    }
    hosts::write(layout, &nodes(&shape)?, shape.nodes.is_some())
        .context("could not write the names of the nodes")?;
    shape.write(layout)?;
    Ok(daemons)
}

fn found(config: &Path) -> anyhow::Result<PathBuf> {
    std::fs::canonicalize(config).with_context(|| format!("could not find {}", config.display()))
}

/// What is being started, in a line.
fn starting(layout: &Layout, daemons: &[Daemon]) -> String {
    let nodes = hostlist::compress(agents(daemons).map(|it| &it.name[AGENT.len()..]));
    let others = daemons.iter().filter(|it| !it.name.starts_with(AGENT));
    let others: Vec<&str> = others.map(|it| it.name.as_str()).collect();
    format!(
        "spur: starting {} and spurd of {nodes} in {}\n",
        others.join(", "),
        layout.dir.display()
    )
}

fn foreground(arguments: &Arguments) -> anyhow::Result<()> {
    let began = Instant::now();
    let layout = prepare(arguments)?;
    let lock = lock(&layout)?;
    let daemons = wanted(&layout, arguments, lock.is_some())?;
    let Some(_lock) = lock else { return complete(&layout, &daemons) };
    let me = Process::of(std::process::id() as i32).context("/proc is needed")?;
    me.write(&layout, SUPERVISOR)?;
    let quiet = arguments.background;
    if !quiet {
        print(&starting(&layout, &daemons));
    }
    let outcome = cluster::block_on(supervise(&layout, arguments, daemons, began));
    let left: Vec<Process> = layout
        .pid_files()
        .iter()
        .filter(|name| *name != SUPERVISOR)
        .filter_map(|name| Process::read(&layout, name))
        .collect();
    if outcome.as_ref().is_ok_and(|keep_jobs| !keep_jobs) {
        down::end_jobs(&layout);
    }
    daemons::stop(&left);
    let _ = std::fs::remove_file(layout.pid_file(SUPERVISOR));
    if !quiet && outcome.is_ok() {
        print("spur: down\n");
    }
    outcome.map(|_| ())
}

/// The supervisor's name among the pid files.
pub const SUPERVISOR: &str = "up";

/// Watches over the daemons until told to stop; whether running jobs are to be left alone.
async fn supervise(
    layout: &Layout,
    arguments: &Arguments,
    mut daemons: Vec<Daemon>,
    began: Instant,
) -> anyhow::Result<bool> {
    let quiet = arguments.background;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut look_again = signal(SignalKind::user_defined1())?;
    let nodes = agents(&daemons).count();
    for daemon in &daemons {
        tokio::spawn(daemons::keep(layout.clone(), daemon.clone()));
    }
    let started = async {
        ready(layout, &daemons).await?;
        if quiet {
            return anyhow::Ok(());
        }
        let layout = layout.clone();
        tokio::task::spawn_blocking(move || welcome(&layout, nodes, began)).await?;
        anyhow::Ok(())
    };
    tokio::select! {
        result = started => result?,
        _ = terminate.recv() => return Ok(true),
        _ = interrupt.recv() => return Ok(true),
    }
    tokio::spawn(former::forget(layout.clone(), former::agents(layout, &daemons)));
    let mut news = (!quiet).then(|| News::new(layout.clone()));
    loop {
        tokio::select! {
            // `spur down` has asked about the jobs already.
            _ = terminate.recv() => {
                news.iter_mut().for_each(News::pause);
                return Ok(true);
            }
            _ = interrupt.recv() => news.iter_mut().for_each(News::pause),
            () = async {
                match &mut news {
                    Some(news) => news.tell().await,
                    None => std::future::pending().await,
                }
            } => continue,
            _ = look_again.recv() => {
                let now = Arguments { controllers: None, ..arguments.unsaid() };
                let (config, shape) = configuration(layout, &now, Shape::read(layout))?;
                for daemon in self::daemons(layout, &now, &shape, config.as_deref())? {
                    if daemons.iter().all(|known| known.name != daemon.name) {
                        tokio::spawn(daemons::keep(layout.clone(), daemon.clone()));
                        daemons.push(daemon);
                    }
                }
                continue;
            }
        }
        let asked = layout.clone();
        let answer = tokio::task::spawn_blocking(move || down::permission(&asked, false, false));
        match answer.await? {
            Ok(permission) => return Ok(permission == down::Jobs::Keep),
            Err(refusal) => complain("spur up", refusal),
        }
    }
}

fn prepare(arguments: &Arguments) -> anyhow::Result<Layout> {
    let layout = Layout::new(arguments.dir.clone())?;
    // The kernel's limit for the name of a socket.
    let socket = layout.socket(arguments.controllers.unwrap_or_else(|| layout.controllers()));
    if socket.as_os_str().len() > 107 {
        bail!("{} is too long a path for a socket; choose a shorter --dir", socket.display());
    }
    layout.make().with_context(|| format!("could not make {}", layout.dir.display()))?;
    Ok(layout)
}

/// One supervisor per directory; nothing when there is one already.
fn lock(layout: &Layout) -> anyhow::Result<Option<Flock<File>>> {
    let path = layout.dir.join("run/up.lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| format!("could not open {}", path.display()))?;
    Ok(Flock::lock(file, FlockArg::LockExclusiveNonblock).ok())
}

/// The configuration: the file that was named, or one with what else was said, which stays for the next time.
fn configuration(
    layout: &Layout,
    arguments: &Arguments,
    shape: Shape,
) -> anyhow::Result<(Option<PathBuf>, Shape)> {
    let own = layout.dir.join("spur.conf");
    if arguments.set.is_empty() && arguments.partition.is_empty() {
        let config = shape.config.clone().or_else(|| own.exists().then_some(own));
        return Ok((config, shape));
    }
    let text = match &shape.config {
        Some(named) => std::fs::read_to_string(named)
            .with_context(|| format!("could not read {}", named.display()))?,
        None => String::new(),
    };
    let text = config::said::with(&text, &arguments.set, &arguments.partition);
    let text = text.map_err(|problem| anyhow::anyhow!("{problem}"))?;
    if let Err(problems) = config::read(&text) {
        let lines: Vec<String> = problems.lines(&own.display().to_string()).collect();
        bail!("this makes no configuration\n{}\n{text}", lines.join("\n"));
    }
    std::fs::write(&own, text).with_context(|| format!("could not write {}", own.display()))?;
    Ok((Some(own), Shape { config: None, ..shape }))
}

/// Whether a configuration names a database.
fn names_database(config: &Path) -> bool {
    let text = std::fs::read_to_string(config).unwrap_or_default();
    config::read(&text).is_ok_and(|config| config.accounting.database_url.is_some())
}

fn daemons(
    layout: &Layout,
    arguments: &Arguments,
    shape: &Shape,
    config: Option<&Path>,
) -> anyhow::Result<Vec<Daemon>> {
    let text = |path: &Path| path.display().to_string();
    let count = arguments.controllers.unwrap_or_else(|| layout.controllers());
    if count == 2 {
        note("spur: two controllers survive the loss of none; say --controllers 3");
    }
    let addresses = Address::list(&layout.addresses(count));
    let mut daemons = Vec::new();
    let accounting = format!("unix:{}", text(&layout.accounting_socket()));
    if !arguments.no_accounting {
        let mut args = ["-D", "--listen", &accounting].map(str::to_string).to_vec();
        match config.is_some_and(names_database) {
            // It reads the address itself, which may have a password in it, and makes what is missing there.
            true => args.push("--migrate".to_string()),
            false => {
                let own = format!("sqlite:{}", text(&layout.dir.join("accounting.db")));
                args.extend(["--database-url".to_string(), own]);
            }
        }
        if let Some(config) = config {
            args.extend(["--config".to_string(), text(config)]);
        }
        daemons.push(Daemon { name: ACCOUNTING.to_string(), program: beside("spurdbd")?, args });
    }
    for number in 1..=count {
        let mut args = vec![
            "-D".to_string(),
            "--state-dir".to_string(),
            text(&layout.state(number)),
            "--listen".to_string(),
            Address::Unix(layout.socket(number)).to_string(),
        ];
        if count > 1 {
            args.extend(["--controllers".to_string(), addresses.clone()]);
        }
        if let Some(config) = config {
            args.extend(["--config".to_string(), text(config)]);
        }
        if !arguments.no_accounting {
            args.extend(["--accounting".to_string(), accounting.clone()]);
        }
        let name = Layout::controller(number);
        daemons.push(Daemon { name, program: beside("spurctld")?, args });
    }
    let agent = beside("spurd")?;
    for node in nodes(shape)? {
        let mut args = vec![
            "-D".to_string(),
            "-N".to_string(),
            node.clone(),
            "--controller".to_string(),
            addresses.clone(),
            "--state-dir".to_string(),
            text(&layout.spool(&node)),
        ];
        if let Some(cpus) = shape.cpus {
            args.extend(["--cpus".to_string(), cpus.to_string()]);
        }
        if let Some(gres) = &shape.gres {
            args.extend(["--gres".to_string(), gres.clone()]);
        }
        if let Some(memory) = &shape.memory {
            let megabytes = size::parse_megabytes(memory).map_err(|_| {
                anyhow::anyhow!(
                    "--memory={memory} is no size; say a number with K, M, G or T, as in 4G"
                )
            })?;
            args.extend(["--memory".to_string(), megabytes.to_string()]);
        }
        daemons.push(Daemon { name: format!("{AGENT}{node}"), program: agent.clone(), args });
    }
    Ok(daemons)
}

/// The daemons that are nodes.
fn agents(daemons: &[Daemon]) -> impl Iterator<Item = &Daemon> {
    daemons.iter().filter(|daemon| daemon.name.starts_with(AGENT))
}

fn nodes(shape: &Shape) -> anyhow::Result<Vec<String>> {
    match &shape.nodes {
        Some(list) => {
            let nodes = hostlist::expand(list).with_context(|| format!("--nodes={list}"))?;
            if nodes.is_empty() {
                bail!("--nodes={list} names no node");
            }
            let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let is_name = |name: &&String| {
                name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_word)
            };
            if let Some(bad) = nodes.iter().find(|name| !is_name(name)) {
                bail!(
                    "--nodes={list}: \"{bad}\" is no node name: letters, digits, - _ and . make one"
                );
            }
            let mut unique = nodes.clone();
            unique.sort();
            unique.dedup();
            if unique.len() < nodes.len() {
                bail!("--nodes={list} names a node twice");
            }
            Ok(nodes)
        }
        None => {
            let name = nix::unistd::gethostname()?.to_string_lossy().into_owned();
            let short = name.split('.').next().unwrap_or_default();
            Ok(vec![if short.is_empty() { "localhost".to_string() } else { short.to_string() }])
        }
    }
}

/// A daemon's binary lies where this one does.
fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name(name);
    if !program.exists() {
        bail!("{} is missing; build it with: cargo build --release", program.display());
    }
    Ok(program)
}

/// Waits until the controller answers and every node is there.
async fn ready(layout: &Layout, daemons: &[Daemon]) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    let mut caller = Caller::new(layout.known_addresses(), START_TIMEOUT);
    loop {
        let request = ListNodesRequest { members: vec!["state".into()], ..Default::default() };
        let ask = |mut client: ControllerClient<_>| {
            let request = request.clone();
            async move { client.list_nodes(request).await }
        };
        let nodes = caller
            .call(ask)
            .await
            .with_context(|| {
                format!("the controller does not start; see {}", layout.log("spurctld").display())
            })?
            .nodes;
        let is_there = |daemon: &&Daemon| {
            nodes.iter().any(|node| {
                daemon.name == format!("{AGENT}{}", node.name)
                    && NodeStatus(node.state).base() != NodeState::Down
            })
        };
        let Some(missing) = agents(daemons).find(|daemon| !is_there(daemon)) else { break };
        if Instant::now() > deadline {
            bail!("{} does not come up; see {}", missing.name, layout.log(&missing.name).display());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    if daemons.iter().any(|daemon| daemon.name == ACCOUNTING) && !accounting_answers(layout).await {
        let log = layout.log(ACCOUNTING);
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let last = text.lines().last().unwrap_or_default();
        note(format!(
            "spur: {ACCOUNTING} does not come up: {last}\nspur: jobs run all the same, and their history is \
             kept until it does; see {}",
            log.display()
        ));
    }
    Ok(())
}

/// Whether accounting is there soon; nothing else waits for it.
async fn accounting_answers(layout: &Layout) -> bool {
    let deadline = Instant::now() + ACCOUNTING_TIMEOUT;
    while Instant::now() < deadline {
        if tokio::net::UnixStream::connect(layout.accounting_socket()).await.is_ok() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

const ACCOUNTING: &str = "spurdbd";
const ACCOUNTING_TIMEOUT: Duration = Duration::from_secs(3);
const START_TIMEOUT: Duration = Duration::from_secs(30);
