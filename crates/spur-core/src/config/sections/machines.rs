//! Nodes, what is in them, and the network between them.

use crate::config::amounts::Megabytes;
use crate::config::keys::section;
use crate::config::things::{NodeGres, NodeList};
use crate::config::words::{AutoDetect, CpuBind, NodeState};

section! {
    /// Nodes that are alike. Without any, every node that joins is taken as it is; with some, an unknown
    /// name is refused.
    Node = "nodes", repeated true;
    /// Their names. A node's name is `spurd -N`, or its short host name.
    names: NodeList = NodeList::default(), Now, ["NodeName"];
    /// CPUs that can be given to jobs. Alone it means one socket, that many cores, one thread each.
    cpus: Option<u32> = None, Now, ["CPUs", "Procs"];
    /// Main boards.
    boards: Option<u32> = None, Now, ["Boards"];
    /// Sockets of a node; `sockets_per_board` says the same by board.
    sockets: Option<u32> = None, Now, ["Sockets"];
    /// Sockets of a board.
    sockets_per_board: Option<u32> = None, Now, ["SocketsPerBoard"];
    /// Cores of a socket.
    cores_per_socket: Option<u32> = None, Now, ["CoresPerSocket"];
    /// Hardware threads of a core.
    threads_per_core: Option<u32> = None, Now, ["ThreadsPerCore"];
    /// Memory; none: what the node reports.
    memory_mb: Option<Megabytes> = None, Now, ["RealMemory"];
    /// Space in `tmp_fs`.
    tmp_disk_mb: Option<Megabytes> = None, Now, ["TmpDisk"];
    /// Nodes of lower weight are used first.
    weight: u32 = 1, Now, ["Weight"];
    /// Words that `--constraint` can ask for.
    features: Vec<String> = vec![], Now, ["Features", "Feature"];
    /// Generic resources; GPUs found on the node need no mention.
    gres: Vec<NodeGres> = vec![], Now, ["Gres"];
    /// The state a node starts with.
    state: NodeState = NodeState::Unknown, Now, ["State"];
    /// Why it is not in service.
    reason: Option<String> = None, Now, ["Reason"];
    /// Where its agent listens, when not at the usual port.
    port: Option<u16> = None, Now, ["Port"];
    /// Addresses, one for each name or one for all; none: the name.
    address: Option<String> = None, Now, ["NodeAddr"];
    /// Host names, one for each name or one for all; none: the name.
    hostname: Option<String> = None, Now, ["NodeHostname"];
    /// Addresses for `sbcast`, where another network is better.
    bcast_address: Option<String> = None, Now, ["BcastAddr"];
    /// Cores kept for the system.
    core_spec_count: Option<u32> = None, Now, ["CoreSpecCount"];
    /// CPUs kept for the system, as `0,4-7`.
    cpu_spec_list: Option<String> = None, Now, ["CpuSpecList"];
    /// Memory kept for the system.
    mem_spec_limit_mb: Option<Megabytes> = None, Now, ["MemSpecLimit"];
    /// Where tasks are pinned when a step does not say.
    cpu_bind: Option<CpuBind> = None, Now, ["CpuBind"];
    /// Cores of each GPU that only jobs with that GPU get.
    restricted_cores_per_gpu: Option<u32> = None, Now, ["RestrictedCoresPerGPU"];
    /// Where the node is in the network, as `TOPOLOGY:UNIT`.
    topology: Option<String> = None, Now, ["Topology"];
    /// Declared for trying things out: less hardware than declared does not drain the node.
    trial: bool = false, Now, [];
}

section! {
    /// A name for several nodes, to be used in `[[partitions]]`.
    NodeSet = "node_sets", repeated true;
    /// The name.
    name: String = String::new(), Now, ["NodeSet"];
    /// These nodes,
    /// and those of `feature`.
    nodes: NodeList = NodeList::default(), Now, ["Nodes"];
    /// All nodes with this feature.
    feature: Option<String> = None, Now, ["Feature"];
}

section! {
    /// Nodes that are out of service for now.
    DownNodes = "down_nodes", repeated true;
    /// Which.
    names: NodeList = NodeList::default(), Now, ["DownNodes"];
    /// Down, drain or fail.
    state: NodeState = NodeState::Down, Now, ["State"];
    /// Why.
    reason: Option<String> = None, Now, ["Reason"];
}

section! {
    /// Devices that are not found by themselves.
    Gres = "gres", repeated true;
    /// The nodes that have them.
    nodes: NodeList = NodeList::All, Now, ["NodeName"];
    /// What they are: `gpu`, or a name of your own.
    name: String = String::new(), Now, ["Name"];
    /// The type, as in `--gres=gpu:TYPE:N`.
    r#type: Option<String> = None, Now, ["Type"];
    /// How many; none: one for each file.
    count: Option<String> = None, Now, ["Count"];
    /// Device files, as `/dev/nvidia[0-3]`.
    files: Option<String> = None, Now, ["File"];
    /// Several files that make one device.
    multiple_files: Option<String> = None, Agents, ["MultipleFiles"];
    /// Cores that are near it.
    cores: Option<String> = None, Now, ["Cores", "CPUs"];
    /// Links to the others, as `-1,4,2`.
    links: Option<String> = None, Now, ["Links"];
    /// Flags, as `nvidia_gpu_env`.
    flags: Vec<String> = vec![], Agents, ["Flags"];
    /// How the GPUs of these nodes are found.
    autodetect: Option<AutoDetect> = None, Agents, ["AutoDetect"];
}

section! {
    /// A switch, for `topology = "tree"`.
    Switch = "switches", repeated true;
    /// Its name.
    name: String = String::new(), Now, ["SwitchName"];
    /// The nodes at it.
    nodes: NodeList = NodeList::default(), Now, ["Nodes"];
    /// The switches below it.
    switches: Option<String> = None, Now, ["Switches"];
}

section! {
    /// A block of nodes, for `topology = "block"`.
    Block = "blocks", repeated true;
    /// Its name.
    name: String = String::new(), Now, ["BlockName"];
    /// The nodes in it.
    nodes: NodeList = NodeList::default(), Now, ["Nodes"];
}
