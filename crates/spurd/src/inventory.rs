//! What this machine has to offer.

use std::fs;
use std::num::NonZero;
use std::path::Path;

use anyhow::{Context, Result};
use spur_core::node::Inventory;

use crate::agent::Identity;
use crate::claim::boot_id;
use crate::options::Options;

/// What to register: what was said on the command line, and the machine's own answer for the rest.
pub fn identity(options: &Options) -> Result<Identity> {
    let node = match &options.node {
        Some(name) => name.clone(),
        None => short_host_name()?,
    };
    let memory_mb = match options.memory {
        Some(memory_mb) => memory_mb,
        None => {
            memory_mb(&fs::read_to_string("/proc/meminfo").context("could not read /proc/meminfo")?)
                .context("/proc/meminfo does not tell the memory")?
        }
    };
    let cpus = options.cpus.unwrap_or_else(processors);
    let boot_id = format!(
        "{} {}",
        boot_id().context("could not read the boot id")?,
        spool_id(&options.state_dir)?
    );
    let address =
        format!("unix:{}", std::path::absolute(&options.state_dir)?.join(SOCKET).display());
    Ok(Identity { node, boot_id, inventory: Inventory::simple(cpus, memory_mb), address })
}

/// Where connections for the input and output of tasks are taken, below the state directory.
pub const SOCKET: &str = "spurd.sock";

/// A number that is made with the spool: another spool knows nothing of this one's runs.
fn spool_id(spool: &Path) -> Result<String> {
    let file = spool.join("spool-id");
    if let Ok(id) = fs::read_to_string(&file) {
        return Ok(id.trim().to_string());
    }
    let made =
        fs::read_to_string("/proc/sys/kernel/random/uuid").context("could not make a number")?;
    fs::create_dir_all(spool).and_then(|()| fs::write(&file, &made)).context("could not write")?;
    Ok(made.trim().to_string())
}

/// The kernel's numbers of the node's processors, in the node's order. None if the node offers others
/// than the machine has, or goes by another name: then it may not be the only one here.
pub fn cpu_numbers(options: &Options) -> Vec<u32> {
    if options.node.as_ref().is_some_and(|name| short_host_name().ok().as_ref() != Some(name)) {
        return Vec::new();
    }
    let Ok(own) = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)) else {
        return Vec::new();
    };
    let count = nix::sched::CpuSet::count();
    let numbers: Vec<u32> =
        (0..count).filter(|cpu| own.is_set(*cpu).unwrap_or(false)).map(|cpu| cpu as u32).collect();
    if options.cpus.is_some_and(|cpus| cpus as usize != numbers.len()) {
        Vec::new()
    } else {
        numbers
    }
}

/// The processors we may use, also in a container.
fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, NonZero::get) as u32
}

fn short_host_name() -> Result<String> {
    let name = nix::unistd::gethostname().context("could not read the host name")?;
    let name = name.to_string_lossy();
    Ok(name.split('.').next().unwrap_or_default().to_string())
}

fn memory_mb(meminfo: &str) -> Option<u64> {
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
        assert_eq!(memory_mb(meminfo), Some(16000));
        assert_eq!(memory_mb("MemFree: 1 kB\n"), None);
    }
}
