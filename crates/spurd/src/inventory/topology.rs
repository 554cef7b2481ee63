//! Sockets, cores and threads of the machine, and the order in which a node counts its processors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// How the processors are arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores_per_socket: u32,
    /// Threads of a core.
    pub threads_per_core: u32,
    /// The kernel's numbers: all threads of a core together, all cores of a socket together.
    pub order: Vec<u32>,
}

impl Topology {
    /// Reads how these processors are arranged. Where sockets or cores differ in size, as on a part of a
    /// machine, it is one socket with a core for each processor.
    pub fn read(root: &Path, cpus: &[u32]) -> Topology {
        let mut sockets: BTreeMap<u32, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
        for cpu in cpus {
            let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            let number = |file: &str| -> Option<u32> {
                fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
            };
            // Cores of one number on different dies are different cores.
            let core = number("core_id").zip(Some(number("die_id").unwrap_or(0)));
            let Some(((core, die), socket)) = core.zip(number("physical_package_id")) else {
                return Topology::flat(cpus);
            };
            sockets.entry(socket).or_default().entry(die << 16 | core).or_default().push(*cpu);
        }
        let cores: Vec<&BTreeMap<u32, Vec<u32>>> = sockets.values().collect();
        let sizes = cores.iter().map(|socket| socket.len());
        let threads = cores.iter().flat_map(|socket| socket.values().map(Vec::len));
        match (only(sizes), only(threads)) {
            (Some(cores_per_socket), Some(threads_per_core)) => Topology {
                sockets: cores.len() as u32,
                cores_per_socket: cores_per_socket as u32,
                threads_per_core: threads_per_core as u32,
                order: cores.iter().flat_map(|socket| socket.values().flatten()).copied().collect(),
            },
            _ => Topology::flat(cpus),
        }
    }

    fn flat(cpus: &[u32]) -> Topology {
        let cores_per_socket = cpus.len() as u32;
        Topology { sockets: 1, cores_per_socket, threads_per_core: 1, order: cpus.to_vec() }
    }

    /// The node's numbers of processors that the kernel lists as `0-7,16-23`.
    pub fn positions(&self, list: &str) -> String {
        let listed = parse_list(list);
        let places = self.order.iter().enumerate().filter(|(_, cpu)| listed.contains(cpu));
        format_list(&places.map(|(place, _)| place as u32).collect::<Vec<_>>())
    }
}

fn only(mut values: impl Iterator<Item = usize>) -> Option<usize> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Reads `0-7,16`; what is no number is left out.
fn parse_list(list: &str) -> Vec<u32> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().collect()
}

fn format_list(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|left, right| left + 1 == *right).map(|run| match run {
        [single] => single.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cpus: &[(u32, u32, u32)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary directory");
        for (cpu, socket, core) in cpus {
            let folder = root.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&folder).expect("makes folders");
            fs::write(folder.join("physical_package_id"), format!("{socket}\n")).expect("writes");
            fs::write(folder.join("core_id"), format!("{core}\n")).expect("writes");
        }
        root
    }

    #[test]
    fn threads_of_a_core_are_counted_together() {
        // As Linux numbers them: first threads of all cores, then the second ones.
        let cpus = [
            (0, 0, 0),
            (1, 0, 1),
            (2, 1, 0),
            (3, 1, 1),
            (4, 0, 0),
            (5, 0, 1),
            (6, 1, 0),
            (7, 1, 1),
        ];
        let root = machine(&cpus);
        let found = Topology::read(root.path(), &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((found.sockets, found.cores_per_socket, found.threads_per_core), (2, 2, 2));
        assert_eq!(found.order, [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(found.positions("0-1,4-5\n"), "0-3");
        assert_eq!(found.positions("2,6"), "4-5");
        assert_eq!(found.positions(""), "");
    }

    #[test]
    fn an_uneven_part_of_a_machine_is_one_socket() {
        let root = machine(&[(0, 0, 0), (1, 0, 1), (2, 1, 0)]);
        let found = Topology::read(root.path(), &[0, 1, 2]);
        assert_eq!((found.sockets, found.cores_per_socket, found.threads_per_core), (1, 3, 1));
        let nothing = Topology::read(Path::new("/no/such/root"), &[0, 1]);
        assert_eq!((nothing.cores_per_socket, nothing.order), (2, vec![0, 1]));
    }
}
