//! What this machine has to offer.

mod topology;

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use spur_core::gres;
use spur_core::node::{Gres, Inventory};

use crate::agent::Identity;
use crate::claim::boot_id;
use crate::gpu::{self, GPU, Gpu};
use crate::options::Options;
use topology::Topology;

/// The machine as this agent offers it.
pub struct Offer {
    /// What is registered.
    pub identity: Identity,
    /// The kernel's numbers of the node's processors, in the node's order. None if the node offers
    /// others than the machine has, or goes by another name: then it may not be the only one here.
    pub cpu_numbers: Vec<u32>,
    /// Threads of a core and cores of a socket, for binding.
    pub shape: (u32, u32),
    /// The GPUs that are really there and offered.
    pub gpus: Vec<Gpu>,
}

/// Takes what was said on the command line, and the machine's own answer for the rest.
pub fn offer(options: &Options) -> Result<Offer> {
    let root = options.sysfs_root.as_path();
    let host = short_host_name()?;
    let own = processors();
    let topology = Topology::read(root, &own);
    let declared = declared(options)?;
    let is_declared = |name: &str| declared.iter().any(|gres| gres.name == name);
    let gpus = if is_declared(GPU) { Vec::new() } else { gpu::find(root) };
    let mut gres = gpu::registered(&gpus, |cpus| topology.positions(cpus));
    gres.extend(declared);
    let mut inventory = shape(options, &topology, memory_mb(root)?);
    inventory.trial |= options.gres.is_some();
    inventory.gres = gres;
    let uname = nix::sys::utsname::uname().context("could not ask for the system's name")?;
    let word = |word: &std::ffi::OsStr| word.to_string_lossy().into_owned();
    inventory.architecture = word(uname.machine());
    let (system, release) = (word(uname.sysname()), word(uname.release()));
    inventory.operating_system = format!("{system} {release} {}", word(uname.version()));
    inventory.version = env!("CARGO_PKG_VERSION").to_string();
    inventory.hostname = host.clone();
    inventory.address = host.clone();
    inventory.tmp_mb = disk_mb(Path::new("/tmp"));
    inventory.boot_time = boot_time(&fs::read_to_string("/proc/stat").unwrap_or_default());
    inventory.agent_start = now();
    let whole = options.cpus.is_none_or(|cpus| cpus as usize == own.len());
    let alone = options.node.as_ref().is_none_or(|name| *name == host);
    let boot_id = format!(
        "{} {}",
        boot_id().context("could not read the boot id")?,
        spool_id(&options.state_dir)?
    );
    let node = options.node.clone().unwrap_or(host);
    let socket = std::path::absolute(&options.state_dir)?.join(SOCKET);
    let address = format!("unix:{}", socket.display());
    Ok(Offer {
        identity: Identity { node, boot_id, inventory, address },
        shape: (topology.threads_per_core, topology.cores_per_socket),
        cpu_numbers: if whole && alone { topology.order } else { Vec::new() },
        gpus,
    })
}

/// Where connections for the input and output of tasks are taken, below the state directory.
pub const SOCKET: &str = "spurd.sock";

/// Processors and memory. Those that were only said count as one socket, and as a trial where the machine
/// has less.
fn shape(options: &Options, topology: &Topology, memory_mb: u64) -> Inventory {
    let own = topology.order.len() as u32;
    let offered = options.memory.unwrap_or(memory_mb);
    let mut inventory = match options.cpus {
        Some(cpus) if cpus != own => Inventory::simple(cpus, offered),
        _ => Inventory {
            sockets: topology.sockets,
            cores_per_socket: topology.cores_per_socket,
            threads_per_core: topology.threads_per_core,
            ..Inventory::simple(own, offered)
        },
    };
    inventory.trial = inventory.cpus > own || offered > memory_mb;
    inventory
}

/// `--gres gpu:mi300x:8`: resources without devices, for trials.
fn declared(options: &Options) -> Result<Vec<Gres>> {
    let Some(text) = &options.gres else { return Ok(Vec::new()) };
    let Ok(requests) = gres::parse(text) else {
        bail!("--gres={text} is no list of resources; say it as in gpu:mi300x:8");
    };
    let gres = requests.into_iter().map(|request| Gres {
        name: request.name,
        kind: request.model.unwrap_or_default(),
        count: request.count,
        ..Gres::default()
    });
    Ok(gres.collect())
}

/// The processors we may use, also in a container.
fn processors() -> Vec<u32> {
    let Ok(own) = sched_getaffinity(Pid::from_raw(0)) else { return vec![0] };
    let numbers = (0..CpuSet::count()).filter(|cpu| own.is_set(*cpu).unwrap_or(false));
    numbers.map(|cpu| cpu as u32).collect()
}

fn memory_mb(root: &Path) -> Result<u64> {
    let file = root.join("proc/meminfo");
    let text = fs::read_to_string(&file).or_else(|_| fs::read_to_string("/proc/meminfo"));
    let text = text.with_context(|| format!("could not read {}", file.display()))?;
    parse_memory_mb(&text).context("/proc/meminfo does not tell the memory")
}

fn disk_mb(folder: &Path) -> u64 {
    nix::sys::statvfs::statvfs(folder)
        .map_or(0, |found| found.blocks().saturating_mul(found.fragment_size()) >> 20)
}

/// Seconds since the epoch.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs() as i64)
}

/// The line `btime` of `/proc/stat`.
fn boot_time(stat: &str) -> i64 {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "));
    line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}

/// A number that is made with the spool: another spool knows nothing of this one's runs.
fn spool_id(spool: &Path) -> Result<String> {
    let file = spool.join("spool-id");
    if let Ok(id) = fs::read_to_string(&file) {
        return Ok(id.trim().to_string());
    }
    let made =
        fs::read_to_string("/proc/sys/kernel/random/uuid").context("could not make a number")?;
    fs::create_dir_all(spool).with_context(|| format!("could not make {}", spool.display()))?;
    fs::write(&file, &made).with_context(|| format!("could not write {}", file.display()))?;
    Ok(made.trim().to_string())
}

fn short_host_name() -> Result<String> {
    let name = nix::unistd::gethostname().context("could not read the host name")?;
    let name = name.to_string_lossy();
    Ok(name.split('.').next().unwrap_or_default().to_string())
}

fn parse_memory_mb(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_megabytes() {
        let meminfo = "MemTotal:       16384000 kB\nMemFree:         1 kB\n";
        assert_eq!(parse_memory_mb(meminfo), Some(16000));
        assert_eq!(parse_memory_mb("MemFree: 1 kB\n"), None);
    }

    fn options(words: &[&str]) -> Options {
        let fixed = ["spurd", "--controller", "unix:/x", "--state-dir", "/x"];
        clap::Parser::parse_from(fixed.iter().chain(words))
    }

    #[test]
    fn declared_resources_have_no_devices() {
        let gres = declared(&options(&["--gres", "gpu:mi300x:8,shard:4"])).expect("reads");
        let names: Vec<(&str, &str, u64)> =
            gres.iter().map(|it| (it.name.as_str(), it.kind.as_str(), it.count)).collect();
        assert_eq!(names, [("gpu", "mi300x", 8), ("shard", "", 4)]);
        assert!(gres.iter().all(|it| it.files.is_empty()));
        assert!(declared(&options(&["--gres", "gpu:"])).is_err());
        assert_eq!(declared(&options(&[])).expect("reads"), []);
    }

    #[test]
    fn more_than_the_machine_has_is_a_trial() {
        let topology = Topology {
            sockets: 2,
            cores_per_socket: 1,
            threads_per_core: 2,
            order: vec![0, 2, 1, 3],
        };
        let own = shape(&options(&[]), &topology, 1000);
        assert_eq!((own.cpus, own.sockets, own.threads_per_core, own.trial), (4, 2, 2, false));
        let more = shape(&options(&["--cpus", "64"]), &topology, 1000);
        assert_eq!((more.cpus, more.sockets, more.trial), (64, 1, true));
        let fewer = shape(&options(&["--cpus", "2", "--memory", "10"]), &topology, 1000);
        assert_eq!((fewer.cpus, fewer.memory_mb, fewer.trial), (2, 10, false));
    }
}
