//! The cluster as a whole and its daemons.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::amounts::{Megabytes, Seconds};
use crate::config::by_name::Counts;
use crate::config::keys::section;
use crate::config::things::ControllerHost;
use crate::config::words::{
    AutoDetect, Channel, Enforce, Keep, LogLevel, Private, ReturnToService, Unreachable,
};

fn anywhere(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))
}

section! {
    /// The cluster as a whole.
    Cluster = "", repeated false;
    /// The cluster's name, as in accounting and in `SLURM_CLUSTER_NAME`.
    cluster_name: String = "spur".to_string(), Everything, ["ClusterName"];
    /// Users who may do everything, beside root.
    admins: Vec<String> = vec![], Now, [];
    /// Users who may look after all jobs and reservations, but not change nodes or rights.
    operators: Vec<String> = vec![], Now, [];
    /// What other users are not shown.
    private_data: Vec<Private> = vec![], Now, ["PrivateData"];
    /// Licences jobs can ask for with `--licenses`, and how many there are.
    licenses: Counts = Counts::default(), Now, ["Licenses"];
    /// What happens to the jobs of a node that went silent: `wait` never runs a job twice; `fence` lets
    /// it run elsewhere once the agent must have ended it. A partition or a job can say otherwise.
    unreachable: Unreachable = Unreachable::Wait, Now, [];
    /// With `fence`: the silence after which an agent ends the job.
    fence_after: Seconds = Seconds(240), Now, [];
    /// The same for jobs with `--max-restarts`, which ask to run elsewhere soon, wherever they run.
    fence_restartable_after: Seconds = Seconds(30), Now, [];
    /// How much the daemons log.
    log_level: LogLevel = LogLevel::Info, Now, ["SlurmctldDebug"];
}

section! {
    /// `spurctld`, the controller.
    Controller = "controller", repeated false;
    /// Where clients and agents reach the controller.
    listen_addr: SocketAddr = anywhere(6817), Controller, [];
    /// Where the log and the snapshots are kept; a disk of this machine.
    state_dir: String = "/var/spool/spur".to_string(), Controller, [];
    /// The controllers. The first one founds the cluster; an odd number survives most losses. None: this
    /// machine alone.
    hosts: Vec<ControllerHost> = vec![], Now, ["SlurmctldHost"];
    /// Where the sockets for clients on the same machine are.
    socket_dir: String = "/run/spur".to_string(), Controller, [];
    /// The user the controller, accounting and REST daemons run as.
    user: String = "spur".to_string(), Controller, [];
    /// Where metrics are served for scraping.
    metrics_addr: Option<SocketAddr> = None, Controller, [];
    /// A file to which every change and every refusal is appended as well, for programs that gather logs; what
    /// `spur audit` reads is below `state_dir`.
    audit_log: Option<String> = None, Controller, [];
    /// How long certificates of machines are good for; they are renewed when a third of that is left.
    certificate_lifetime: Seconds = Seconds(90 * 86_400), Controller, [];
    /// When a DOWN node comes back by itself.
    return_to_service: ReturnToService = ReturnToService::Silent, Now, ["ReturnToService"];
    /// A program run when this controller becomes the leader.
    leader_program: Option<String> = None, Now, ["SlurmctldPrimaryOnProg"];
    /// A program run when this controller stops being the leader.
    follower_program: Option<String> = None, Now, ["SlurmctldPrimaryOffProg"];
}

section! {
    /// `spurd`, the node agent.
    Agent = "agent", repeated false;
    /// Where `srun` reaches the tasks of a node.
    listen_addr: SocketAddr = anywhere(6818), Agents, [];
    /// Where a node keeps its running jobs; `%n` is the node, `%h` its host.
    spool_dir: String = "/var/spool/spurd".to_string(), Agents, [];
    /// The file system that `--tmp` asks about.
    tmp_fs: String = "/tmp".to_string(), Agents, ["TmpFS"];
    /// How GPUs are found.
    autodetect: AutoDetect = AutoDetect::Any, Agents, [];
    /// The directory below which `/sys`, `/proc` and `/dev` are looked for.
    sysfs_root: String = "/".to_string(), Agents, [];
    /// The SPANK plugins to load.
    plugstack: String = "/etc/spur/plugstack.conf".to_string(), Agents, ["PlugStackConfig"];
    /// What `scontrol reboot` runs.
    reboot_program: Option<String> = None, Now, ["RebootProgram"];
    /// Ports `srun` listens on, as `60001-63000`; none: any free one.
    srun_ports: Option<String> = None, Now, ["SrunPortRange"];
    /// Ports that jobs are lent for `MASTER_PORT`, outside those that systems hand out by themselves.
    rendezvous_ports: String = "15000-31999".to_string(), Now, [];
    /// The MPI interface of steps that do not say `--mpi`.
    mpi: String = "none".to_string(), Now, ["MpiDefault"];
}

section! {
    /// What keeps a job inside its share of the node.
    Cgroup = "cgroup", repeated false;
    /// Jobs run on their cores only.
    constrain_cores: bool = true, Agents, ["ConstrainCores"];
    /// Jobs see their devices only.
    constrain_devices: bool = true, Agents, ["ConstrainDevices"];
    /// Jobs that use more memory than they asked for are ended by the kernel.
    constrain_memory: bool = true, Agents, ["ConstrainRAMSpace"];
    /// Swap counts against `allowed_swap_percent`.
    constrain_swap: bool = false, Agents, ["ConstrainSwapSpace"];
    /// How much of what it asked for a job may use, in percent.
    allowed_memory_percent: f64 = 100.0, Agents, ["AllowedRAMSpace"];
    /// How much swap beside that, in percent of the memory asked for.
    allowed_swap_percent: f64 = 0.0, Agents, ["AllowedSwapSpace"];
    /// How much of the node's memory all jobs may use, in percent.
    max_memory_percent: f64 = 100.0, Agents, ["MaxRAMPercent"];
    /// How much of the node's memory and swap all jobs may use, in percent.
    max_swap_percent: f64 = 100.0, Agents, ["MaxSwapPercent"];
    /// No job is limited to less than this.
    min_memory_mb: Megabytes = Megabytes(30), Agents, ["MinRAMSpace"];
    /// How many processes and threads a job may have on a node. None: as many as its user.
    max_processes: Option<u64> = None, Now, [];
    /// Where the hierarchy is mounted.
    mount_point: String = "/sys/fs/cgroup".to_string(), Agents, ["CgroupMountpoint"];
}

section! {
    /// `spurdbd`, accounting.
    Accounting = "accounting", repeated false;
    /// `postgresql://user:password@host/name`, or `sqlite:/path`. None: a file beside the state.
    database_url: Option<String> = None, Accounting, [];
    /// Where `spurdbd` listens.
    listen_addr: SocketAddr = anywhere(6819), Accounting, [];
    /// Where the controller and clients find `spurdbd`.
    address: String = "http://localhost:6819".to_string(), Controller, [];
    /// Which rules of accounting hold at submission.
    enforce: Vec<Enforce> = vec![], Now, ["AccountingStorageEnforce"];
    /// Resources recorded beside CPUs, memory, nodes, energy and billing.
    tres: Vec<String> = vec!["gres/gpu".to_string()], Now, ["AccountingStorageTRES"];
    /// What is kept of a job beside its numbers; comments and extra always are.
    keep: Vec<Keep> = vec![], Now, ["AccountingStoreFlags"];
    /// How often running tasks are measured; 0: only when they end.
    sample_interval: Seconds = Seconds(30), Now, [];
    /// Jobs carry a wckey.
    track_wckey: bool = false, Now, ["TrackWCKey"];
    /// Job records older than this are removed: `12months`, `90days`, `36hours`.
    purge_jobs_after: Option<String> = None, Accounting, ["PurgeJobAfter"];
    /// Step records older than this are removed.
    purge_steps_after: Option<String> = None, Accounting, ["PurgeStepAfter"];
    /// Node events older than this are removed.
    purge_events_after: Option<String> = None, Accounting, ["PurgeEventAfter"];
    /// Reservations older than this are removed.
    purge_reservations_after: Option<String> = None, Accounting, ["PurgeResvAfter"];
    /// Records of suspended jobs older than this are removed.
    purge_suspends_after: Option<String> = None, Accounting, ["PurgeSuspendAfter"];
    /// Transactions older than this are removed.
    purge_transactions_after: Option<String> = None, Accounting, ["PurgeTXNAfter"];
    /// Usage sums older than this are removed.
    purge_usage_after: Option<String> = None, Accounting, ["PurgeUsageAfter"];
    /// Where removed records are written first; none: nowhere.
    archive_dir: Option<String> = None, Accounting, ["ArchiveDir"];
    /// The longest span one query may cover, for users.
    max_query_span: Option<String> = None, Accounting, ["MaxQueryTimeRange"];
}

section! {
    /// `spurrestd`, HTTP.
    Rest = "rest", repeated false;
    /// Where it listens; anything but this machine needs TLS.
    listen_addr: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 6820)), Rest, [];
    /// The certificate, in PEM.
    tls_cert: Option<String> = None, Rest, [];
    /// Its key, in PEM.
    tls_key: Option<String> = None, Rest, [];
    /// The file with a site's HS256 key, for clients of slurmrestd that make their own tokens.
    jwt_key: Option<String> = None, Rest, [];
    /// Host names it answers to, beside its own address.
    hosts: Vec<String> = vec![], Rest, [];
    /// Connections at a time.
    max_connections: u32 = 10_000, Rest, [];
    /// Serve the dashboard.
    dashboard: bool = true, Rest, [];
}

section! {
    /// News about releases.
    Update = "update", repeated false;
    /// Ask once at start whether a newer release exists; `false` makes no query at all.
    check_on_startup: bool = true, Everything, [];
    /// Install it too; no daemon is ever restarted by it.
    auto_update: bool = false, Everything, [];
    /// Which releases to follow.
    channel: Channel = Channel::Stable, Everything, [];
    /// Where the last answer is kept for an hour.
    cache_dir: String = "/var/cache/spur".to_string(), Everything, [];
}

section! {
    /// The WireGuard mesh between nodes.
    Mesh = "mesh", repeated false;
    /// Whether nodes that join are put into the mesh.
    enabled: bool = false, Everything, [];
    /// The network its addresses are from.
    network: String = "10.44.0.0/16".to_string(), Everything, [];
    /// The interface it appears as.
    interface: String = "spur0".to_string(), Everything, [];
    /// The UDP port.
    port: u16 = 51820, Everything, [];
}
