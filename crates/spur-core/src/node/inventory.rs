//! What a node has, as one record: the wire and the log carry it as it stands.

use crate::config::sections;

/// The hardware of a node.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Inventory {
    /// Processors that can be given to jobs.
    #[prost(uint32, tag = "1")]
    pub cpus: u32,
    /// Memory.
    #[prost(uint64, tag = "2")]
    pub memory_mb: u64,
    /// Main boards.
    #[prost(uint32, tag = "3")]
    pub boards: u32,
    /// Sockets of the node.
    #[prost(uint32, tag = "4")]
    pub sockets: u32,
    /// Cores of a socket.
    #[prost(uint32, tag = "5")]
    pub cores_per_socket: u32,
    /// Threads of a core.
    #[prost(uint32, tag = "6")]
    pub threads_per_core: u32,
    /// Space for temporary files.
    #[prost(uint64, tag = "7")]
    pub tmp_mb: u64,
    /// Generic resources.
    #[prost(message, repeated, tag = "8")]
    pub gres: Vec<Gres>,
    /// Words the agent says of itself.
    #[prost(string, repeated, tag = "9")]
    pub features: Vec<String>,
    /// `x86_64`
    #[prost(string, tag = "10")]
    pub architecture: String,
    /// `Linux 6.1.0 …`
    #[prost(string, tag = "11")]
    pub operating_system: String,
    /// The agent's release.
    #[prost(string, tag = "12")]
    pub version: String,
    /// The machine's own name.
    #[prost(string, tag = "13")]
    pub hostname: String,
    /// Where it is reached.
    #[prost(string, tag = "14")]
    pub address: String,
    /// When the machine was started, in seconds since the epoch.
    #[prost(int64, tag = "15")]
    pub boot_time: i64,
    /// When the agent was started.
    #[prost(int64, tag = "16")]
    pub agent_start: i64,
    /// Declared for trying things out: less hardware than declared does not drain the node.
    #[prost(bool, tag = "17")]
    pub trial: bool,
}

/// Generic resources of one name and type.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Gres {
    /// `gpu`
    #[prost(string, tag = "1")]
    pub name: String,
    /// `mi300x`; empty where it has no types.
    #[prost(string, tag = "2")]
    pub kind: String,
    /// How much there is.
    #[prost(uint64, tag = "3")]
    pub count: u64,
    /// Device files, one for each of the count where there are any.
    #[prost(string, repeated, tag = "4")]
    pub files: Vec<String>,
    /// Cores near each device, as `0-7`; as long as `files`, or empty.
    #[prost(string, repeated, tag = "5")]
    pub cores: Vec<String>,
    /// Links of each device to the others, as `-1,4,2`; as long as `files`, or empty.
    #[prost(string, repeated, tag = "6")]
    pub links: Vec<String>,
    /// Jobs ask for it but do not use it up.
    #[prost(bool, tag = "7")]
    pub no_consume: bool,
}

impl Inventory {
    /// Some processors and memory, arranged as one socket.
    pub fn simple(cpus: u32, memory_mb: u64) -> Inventory {
        let (boards, sockets, cores_per_socket, threads_per_core) = (1, 1, cpus, 1);
        Inventory {
            cpus,
            memory_mb,
            boards,
            sockets,
            cores_per_socket,
            threads_per_core,
            ..Inventory::default()
        }
    }

    /// What can be given to jobs: as configured, or as found where nothing is.
    pub fn under(&self, rules: Option<&sections::Node>) -> Inventory {
        let mut inventory = self.clone();
        let Some(rules) = rules else { return inventory };
        if let Ok(Some(shape)) = rules.shape() {
            inventory.cpus = shape.cpus;
            inventory.boards = shape.boards;
            inventory.sockets = shape.sockets;
            inventory.cores_per_socket = shape.cores_per_socket;
            inventory.threads_per_core = shape.threads_per_core;
        }
        inventory.memory_mb = rules.memory_mb.map_or(self.memory_mb, |memory| memory.0);
        inventory.tmp_mb = rules.tmp_disk_mb.map_or(self.tmp_mb, |tmp| tmp.0);
        for declared in &rules.gres {
            let kind = declared.kind.clone().unwrap_or_default();
            let is_it = |gres: &&mut Gres| {
                gres.name == declared.name && (kind.is_empty() || gres.kind == kind)
            };
            match inventory.gres.iter_mut().find(is_it) {
                Some(found) => {
                    found.count = declared.count;
                    found.no_consume = declared.no_consume;
                }
                None => inventory.gres.push(Gres {
                    name: declared.name.clone(),
                    kind,
                    count: declared.count,
                    no_consume: declared.no_consume,
                    ..Gres::default()
                }),
            }
        }
        inventory
    }

    /// What the node lacks of what it is configured to have, in Slurm's words.
    pub fn shortage(&self, configured: &Inventory) -> Option<String> {
        let cores = |it: &Inventory| it.sockets * it.cores_per_socket * it.threads_per_core;
        let has_fewer_cpus = self.cpus < configured.cpus;
        let memory = format!(
            "Low RealMemory (reported:{} < 100.00% of configured:{})",
            self.memory_mb, configured.memory_mb
        );
        let low: Vec<&str> = [
            (has_fewer_cpus && cores(self) < cores(configured), "Low socket*core*thread count"),
            (has_fewer_cpus, "Low CPUs"),
            (self.memory_mb < configured.memory_mb, memory.as_str()),
            (self.tmp_mb < configured.tmp_mb, "Low TmpDisk"),
        ]
        .iter()
        .filter_map(|(is, what)| is.then_some(*what))
        .collect();
        if !low.is_empty() {
            return Some(low.join(", "));
        }
        let count = |it: &Inventory, gres: &Gres| -> u64 {
            it.gres
                .iter()
                .filter(|other| other.name == gres.name && other.kind == gres.kind)
                .map(|other| other.count)
                .sum()
        };
        let lacking = configured.gres.iter().find(|gres| count(self, gres) < gres.count)?;
        Some(format!(
            "gres/{} count reported lower than configured ({} < {})",
            lacking.name,
            count(self, lacking),
            lacking.count
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn the_file_decides_where_it_says_something() {
        let text = "[[nodes]]\nnames = \"n1\"\ncpus = 4\ngres = [\"gpu:h100:2\"]\n";
        let config = config::read(text).unwrap();
        let found = Inventory::simple(8, 1000);
        let under = found.under(config.nodes.first());
        assert_eq!((under.cpus, under.cores_per_socket, under.memory_mb), (4, 4, 1000));
        assert_eq!(under.gres[0].count, 2);
        let lacking = "gres/gpu count reported lower than configured (0 < 2)";
        assert_eq!(found.shortage(&under).as_deref(), Some(lacking));
        assert_eq!(found.shortage(&found), None);
        let more = Inventory { cpus: 64, cores_per_socket: 64, memory_mb: 9000, ..found.clone() };
        let told = Inventory::simple(2, 1000).shortage(&more);
        let words = "Low socket*core*thread count, Low CPUs, \
                     Low RealMemory (reported:1000 < 100.00% of configured:9000)";
        assert_eq!(told.as_deref(), Some(words));
        assert!(Inventory::simple(2, 1000).shortage(&under).unwrap().contains("Low CPUs"));
    }
}
