//! How the node's processors are arranged, as the agent found them: read by shepherds that bind tasks.

use std::fs;
use std::io;
use std::path::Path;

use spur_core::step::binding::Machine;

/// In the spool: the kernel's numbers in the node's order, threads of a core, cores of a socket.
const FILE: &str = "processors";

/// Writes it down. A node whose processors are not the machine's has none that could be told apart.
pub fn write(spool: &Path, machine: &Machine) -> io::Result<()> {
    let order: Vec<String> = machine.order.iter().map(u32::to_string).collect();
    let (threads, cores) = (machine.threads_per_core, machine.cores_per_socket);
    let temporary = spool.join("processors-new");
    fs::write(&temporary, format!("{} {threads} {cores}\n", order.join(",")))?;
    fs::rename(temporary, spool.join(FILE))
}

/// What the agent wrote, if it could tell; with the memory domains as the kernel tells them now.
pub fn read(spool: &Path) -> Option<Machine> {
    let machine = parse(&fs::read_to_string(spool.join(FILE)).ok()?)?;
    let domains = Path::new("/sys/devices/system/node");
    let listed = |domain: usize| {
        let list = fs::read_to_string(domains.join(format!("node{domain}/cpulist"))).ok()?;
        Some(parse_list(&list))
    };
    let domains: Vec<Vec<u32>> = (0..).map_while(listed).collect();
    let domains = if domains.is_empty() { vec![machine.order.clone()] } else { domains };
    Some(Machine { domains, ..machine })
}

fn parse(text: &str) -> Option<Machine> {
    let mut words = text.trim_end().split(' ');
    let order: Option<Vec<u32>> = words.next()?.split(',').map(|cpu| cpu.parse().ok()).collect();
    Some(Machine {
        order: order?,
        threads_per_core: words.next()?.parse().ok()?,
        cores_per_socket: words.next()?.parse().ok()?,
        domains: Vec::new(),
    })
}

/// Reads `0-3,8`.
fn parse_list(list: &str) -> Vec<u32> {
    let part = |part: &str| -> Option<Vec<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse().ok()?..=last.parse().ok()?).collect())
    };
    list.trim().split(',').filter_map(part).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let spool = tempfile::tempdir().expect("a folder");
        assert_eq!(read(spool.path()), None);
        let machine = Machine {
            order: vec![0, 2, 1, 3],
            threads_per_core: 2,
            cores_per_socket: 1,
            domains: Vec::new(),
        };
        write(spool.path(), &machine).expect("writes");
        let read = read(spool.path()).expect("reads");
        assert_eq!(Machine { domains: Vec::new(), ..read }, machine);
        write(spool.path(), &Machine::default()).expect("writes");
        assert_eq!(super::read(spool.path()), None, "nothing to tell apart");
        assert_eq!(parse_list("0-2,8\n"), [0, 1, 2, 8]);
    }
}
