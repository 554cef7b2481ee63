//! A node as `sinfo` and its relatives see it.

/// One node as shown.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct NodeView {
    #[prost(string, tag = "1")]
    pub name: String,
    /// Slurm's number of the base state, flags in the bits above; see `node/state.rs`.
    #[prost(uint32, tag = "2")]
    pub state: u32,
    #[prost(uint32, tag = "3")]
    pub cpus: u32,
    #[prost(uint32, tag = "4")]
    pub cpus_allocated: u32,
    #[prost(uint64, tag = "5")]
    pub memory_mb: u64,
    #[prost(string, tag = "6")]
    pub reason: String,
    #[prost(string, repeated, tag = "7")]
    pub partitions: Vec<String>,
    #[prost(string, tag = "8")]
    pub address: String,
    #[prost(string, tag = "9")]
    pub hostname: String,
    #[prost(uint32, tag = "10")]
    pub port: u32,
    #[prost(string, tag = "11")]
    pub architecture: String,
    #[prost(string, tag = "12")]
    pub operating_system: String,
    #[prost(string, tag = "13")]
    pub version: String,
    #[prost(uint32, tag = "14")]
    pub boards: u32,
    #[prost(uint32, tag = "15")]
    pub sockets: u32,
    /// Per socket.
    #[prost(uint32, tag = "16")]
    pub cores: u32,
    /// Per core.
    #[prost(uint32, tag = "17")]
    pub threads: u32,
    #[prost(int64, tag = "18")]
    pub boot_time: i64,
    #[prost(int64, tag = "19")]
    pub agent_start_time: i64,
    #[prost(int64, tag = "20")]
    pub last_busy: i64,
    /// Hundredths.
    #[prost(uint32, optional, tag = "21")]
    pub cpu_load_centi: Option<u32>,
    /// As the kernel tells it.
    #[prost(uint64, optional, tag = "22")]
    pub free_memory_mb: Option<u64>,
    #[prost(uint64, tag = "23")]
    pub memory_allocated_mb: u64,
    /// Kept for the system.
    #[prost(uint64, tag = "24")]
    pub memory_spec_mb: u64,
    /// Without those kept for the system.
    #[prost(uint32, tag = "25")]
    pub cpus_effective: u32,
    /// Kept for the system.
    #[prost(uint32, tag = "26")]
    pub core_spec_count: u32,
    /// Kept for the system.
    #[prost(string, tag = "27")]
    pub cpu_spec_list: String,
    #[prost(uint64, tag = "28")]
    pub temporary_disk_mb: u64,
    #[prost(uint32, tag = "29")]
    pub weight: u32,
    #[prost(string, repeated, tag = "30")]
    pub features: Vec<String>,
    #[prost(string, repeated, tag = "31")]
    pub active_features: Vec<String>,
    #[prost(string, tag = "32")]
    pub gres: String,
    #[prost(string, tag = "33")]
    pub gres_used: String,
    #[prost(string, tag = "34")]
    pub gres_drained: String,
    #[prost(string, tag = "35")]
    pub tres: String,
    #[prost(string, tag = "36")]
    pub tres_used: String,
    #[prost(string, tag = "37")]
    pub comment: String,
    #[prost(string, tag = "38")]
    pub extra: String,
    #[prost(int64, tag = "39")]
    pub reason_time: i64,
    #[prost(uint32, tag = "40")]
    pub reason_uid: u32,
    #[prost(string, tag = "41")]
    pub reason_user: String,
    #[prost(string, tag = "42")]
    pub reservation: String,
    #[prost(string, tag = "43")]
    pub owner: String,
    #[prost(string, tag = "44")]
    pub mcs_label: String,
    #[prost(int64, tag = "45")]
    pub resume_after: i64,
    #[prost(string, tag = "46")]
    pub instance_id: String,
    #[prost(string, tag = "47")]
    pub instance_type: String,
    #[prost(string, tag = "48")]
    pub cluster: String,
    #[prost(string, tag = "49")]
    pub topology: String,
    /// What it is to be after the restart it waits for.
    #[prost(string, tag = "50")]
    pub next_state: String,
    /// How tasks are bound when their step does not say: Slurm's bit.
    #[prost(uint32, tag = "51")]
    pub cpu_binding: u32,
}

macro_rules! members {
    ($($name:ident)*) => {
        /// The name of every member on the wire.
        pub static NODE_MEMBERS: &[&str] = &[$(stringify!($name)),*];

        impl NodeView {
            /// Leaves of it what is named.
            pub fn only(self, wanted: &[&str]) -> NodeView {
                let NodeView { $($name),* } = self;
                let mut left = NodeView::default();
                $(if wanted.contains(&stringify!($name)) {
                    left.$name = $name;
                })*
                left
            }
        }
    };
}

members! {
    name state cpus cpus_allocated memory_mb reason
    partitions address hostname port architecture operating_system
    version boards sockets cores threads boot_time
    agent_start_time last_busy cpu_load_centi free_memory_mb memory_allocated_mb memory_spec_mb
    cpus_effective core_spec_count cpu_spec_list temporary_disk_mb weight features
    active_features gres gres_used gres_drained tres tres_used
    comment extra reason_time reason_uid reason_user reservation
    owner mcs_label resume_after instance_id instance_type cluster
    topology next_state cpu_binding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_left_out() {
        let node =
            NodeView { name: "n1".into(), cpus: 4, gres: "gpu:2".into(), ..Default::default() };
        let left = NodeView { name: "n1".into(), gres: "gpu:2".into(), ..Default::default() };
        assert_eq!(node.clone().only(&["name", "gres"]), left);
        assert_eq!(node.clone().only(NODE_MEMBERS), node);
    }
}
