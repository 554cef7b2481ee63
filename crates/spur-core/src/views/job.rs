//! A job as `squeue` and its relatives see it.

use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use crate::job::{ExitStatus, JobState, JobStatus};
use crate::limit::Limit;

/// One job, or one pending array, as shown. Times are seconds since the epoch; 0 means "not yet".
///
/// What lists of jobs usually tell is here; the rest is apart, so that a list is small to make, carry and read.
/// It is read and written as if it were here; `members.rs` has all of it by name.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct JobView {
    #[prost(uint32, tag = "1")]
    pub job_id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub partition: String,
    #[prost(string, tag = "4")]
    pub account: String,
    #[prost(uint32, tag = "5")]
    pub uid: u32,
    #[prost(uint32, tag = "6")]
    pub gid: u32,
    /// The owner's name, as the controller's machine knows it.
    #[prost(string, tag = "7")]
    pub user_name: String,
    /// Slurm's number of the base state, flags in the bits above; see `job/state.rs`.
    #[prost(uint32, tag = "8")]
    pub state: u32,
    /// Slurm's number of the reason; see `job/reason.rs`.
    #[prost(uint32, tag = "9")]
    pub reason: u32,
    #[prost(int64, tag = "10")]
    pub submit_time: i64,
    #[prost(int64, tag = "11")]
    pub start_time: i64,
    #[prost(int64, tag = "12")]
    pub end_time: i64,
    /// Minutes.
    #[prost(message, optional, tag = "13")]
    pub time_limit: Option<Limit>,
    /// Compressed, as `n[1-4]`.
    #[prost(string, tag = "14")]
    pub nodes: String,
    #[prost(uint32, tag = "15")]
    pub num_nodes: u32,
    #[prost(uint32, tag = "16")]
    pub num_tasks: u32,
    #[prost(uint32, tag = "17")]
    pub num_cpus: u32,
    #[prost(uint32, tag = "18")]
    pub priority: u32,
    /// As `wait(2)` gives it: the exit code above eight bits of signal.
    #[prost(uint32, tag = "19")]
    pub exit_status: u32,
    /// The array this job belongs to; 0 for none.
    #[prost(uint32, tag = "26")]
    pub array_job_id: u32,
    /// Which task of the array this is.
    #[prost(uint32, optional, tag = "27")]
    pub array_task_id: Option<u32>,
    /// The tasks a pending array still has: `3-6%2`.
    #[prost(string, tag = "28")]
    pub array_task_string: String,
    /// How many tasks of the array may run at once; 0 for any number.
    #[prost(uint32, tag = "29")]
    pub array_max_tasks: u32,
    /// The first component of the heterogeneous job; 0 for none.
    #[prost(uint32, tag = "30")]
    pub het_job_id: u32,
    /// Which component this is.
    #[prost(uint32, tag = "31")]
    pub het_job_offset: u32,
    /// All components: `27-28`.
    #[prost(string, tag = "32")]
    pub het_job_id_set: String,
    #[prost(string, tag = "34")]
    pub qos: String,
    /// Where a pending job is expected to start.
    #[prost(string, tag = "41")]
    pub scheduled_nodes: String,
    #[prost(int64, tag = "50")]
    pub eligible_time: i64,
    #[prost(int64, tag = "51")]
    pub accrue_time: i64,
    /// Last suspended or resumed.
    #[prost(int64, tag = "54")]
    pub suspend_time: i64,
    /// How long it ran before `suspend_time`.
    #[prost(int64, tag = "55")]
    pub run_secs_before_suspend: i64,
    #[prost(uint32, tag = "75")]
    pub max_nodes: u32,
    /// More than the reason says: `ReqNodeNotAvail, UnavailableNodes:n4`.
    #[prost(string, tag = "101")]
    pub state_description: String,
    /// Everything else; nothing where none of it was asked for.
    #[prost(message, optional, boxed, tag = "140")]
    pub detail: Option<Box<JobDetail>>,
}

/// What lists of jobs do not usually tell.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct JobDetail {
    #[prost(string, tag = "20")]
    pub work_dir: String,
    #[prost(string, tag = "21")]
    pub command: String,
    #[prost(string, tag = "22")]
    pub standard_output: String,
    #[prost(string, tag = "23")]
    pub standard_error: String,
    #[prost(string, tag = "24")]
    pub batch_host: String,
    /// How often the job was started again.
    #[prost(uint32, tag = "25")]
    pub restarts: u32,
    #[prost(uint32, tag = "33")]
    pub association_id: u32,
    #[prost(string, tag = "35")]
    pub reservation: String,
    #[prost(string, tag = "36")]
    pub licenses: String,
    #[prost(string, tag = "37")]
    pub features: String,
    #[prost(string, tag = "38")]
    pub prefer: String,
    #[prost(string, tag = "39")]
    pub required_nodes: String,
    #[prost(string, tag = "40")]
    pub excluded_nodes: String,
    /// What is left of it, with how each part stands: `afterok:7(unfulfilled)`.
    #[prost(string, tag = "42")]
    pub dependency: String,
    #[prost(string, tag = "43")]
    pub comment: String,
    #[prost(string, tag = "44")]
    pub admin_comment: String,
    #[prost(string, tag = "45")]
    pub system_comment: String,
    #[prost(string, tag = "46")]
    pub extra: String,
    #[prost(string, tag = "47")]
    pub wckey: String,
    #[prost(sint32, tag = "48")]
    pub nice: i32,
    #[prost(string, tag = "49")]
    pub group_name: String,
    #[prost(int64, tag = "52")]
    pub deadline: i64,
    #[prost(int64, tag = "53")]
    pub preempt_time: i64,
    #[prost(int64, tag = "56")]
    pub resize_time: i64,
    #[prost(int64, tag = "57")]
    pub last_sched_eval: i64,
    /// Minutes.
    #[prost(message, optional, tag = "58")]
    pub time_min: Option<Limit>,
    #[prost(uint64, optional, tag = "59")]
    pub memory_per_cpu_mb: Option<u64>,
    #[prost(uint64, optional, tag = "60")]
    pub memory_per_node_mb: Option<u64>,
    #[prost(uint32, tag = "61")]
    pub min_cpus_per_node: u32,
    #[prost(uint64, tag = "62")]
    pub min_tmp_disk_mb: u64,
    #[prost(uint32, optional, tag = "63")]
    pub cpus_per_task: Option<u32>,
    #[prost(uint32, tag = "64")]
    pub tasks_per_node: u32,
    #[prost(uint32, optional, tag = "65")]
    pub tasks_per_socket: Option<u32>,
    #[prost(uint32, optional, tag = "66")]
    pub tasks_per_core: Option<u32>,
    #[prost(uint32, tag = "67")]
    pub tasks_per_board: u32,
    #[prost(uint32, tag = "68")]
    pub tasks_per_tres: u32,
    #[prost(uint32, optional, tag = "69")]
    pub sockets_per_node: Option<u32>,
    #[prost(uint32, optional, tag = "70")]
    pub cores_per_socket: Option<u32>,
    #[prost(uint32, optional, tag = "71")]
    pub threads_per_core: Option<u32>,
    #[prost(uint32, tag = "72")]
    pub sockets_per_board: u32,
    #[prost(uint32, tag = "73")]
    pub boards_per_node: u32,
    #[prost(uint32, tag = "74")]
    pub max_cpus: u32,
    #[prost(uint32, optional, tag = "76")]
    pub core_spec: Option<u32>,
    #[prost(uint32, optional, tag = "77")]
    pub thread_spec: Option<u32>,
    #[prost(bool, tag = "78")]
    pub contiguous: bool,
    /// `OK`, `YES`, `NO`, `USER` or `MCS`.
    #[prost(string, tag = "79")]
    pub over_subscribe: String,
    /// Whether the job may be started again.
    #[prost(bool, tag = "80")]
    pub requeue: bool,
    #[prost(bool, tag = "81")]
    pub reboot: bool,
    /// Whether it has a script.
    #[prost(bool, tag = "82")]
    pub batch_flag: bool,
    /// Where it was submitted.
    #[prost(string, tag = "83")]
    pub alloc_node: String,
    /// The session that submitted it.
    #[prost(uint32, tag = "84")]
    pub alloc_sid: u32,
    #[prost(string, tag = "85")]
    pub standard_input: String,
    #[prost(string, tag = "86")]
    pub network: String,
    #[prost(string, tag = "87")]
    pub mcs_label: String,
    #[prost(string, tag = "88")]
    pub container: String,
    #[prost(string, tag = "89")]
    pub container_id: String,
    #[prost(string, tag = "90")]
    pub tres_allocated: String,
    #[prost(string, tag = "91")]
    pub tres_requested: String,
    #[prost(string, tag = "92")]
    pub tres_per_job: String,
    #[prost(string, tag = "93")]
    pub tres_per_node: String,
    #[prost(string, tag = "94")]
    pub tres_per_socket: String,
    #[prost(string, tag = "95")]
    pub tres_per_task: String,
    #[prost(string, tag = "96")]
    pub tres_bind: String,
    #[prost(string, tag = "97")]
    pub tres_freq: String,
    #[prost(string, tag = "98")]
    pub cpus_per_tres: String,
    #[prost(string, tag = "99")]
    pub memory_per_tres: String,
    #[prost(uint32, tag = "100")]
    pub derived_exit_status: u32,
    #[prost(string, repeated, tag = "102")]
    pub mail_types: Vec<String>,
    #[prost(string, tag = "103")]
    pub mail_user: String,
    #[prost(string, tag = "104")]
    pub cluster: String,
    #[prost(uint32, tag = "105")]
    pub required_switches: u32,
    #[prost(uint32, tag = "106")]
    pub switch_wait_secs: u32,
    #[prost(string, tag = "107")]
    pub burst_buffer: String,
    #[prost(string, tag = "108")]
    pub burst_buffer_state: String,
    #[prost(string, tag = "109")]
    pub cluster_features: String,
    #[prost(string, repeated, tag = "110")]
    pub profile: Vec<String>,
    /// The line of the crontab it came from.
    #[prost(string, tag = "111")]
    pub cron: String,
    #[prost(string, tag = "112")]
    pub federation_origin: String,
    #[prost(string, tag = "113")]
    pub federation_siblings_active: String,
    #[prost(string, tag = "114")]
    pub federation_siblings_viable: String,
    #[prost(string, tag = "115")]
    pub batch_features: String,
    #[prost(uint32, optional, tag = "116")]
    pub cpu_frequency_min: Option<u32>,
    #[prost(uint32, optional, tag = "117")]
    pub cpu_frequency_max: Option<u32>,
    #[prost(uint32, optional, tag = "118")]
    pub cpu_frequency_governor: Option<u32>,
    /// Thousandths.
    #[prost(uint64, optional, tag = "119")]
    pub billable_tres_milli: Option<u64>,
    /// What each node gives: `gpu:mi300x:4(IDX:0-3)`.
    #[prost(string, repeated, tag = "120")]
    pub gres_detail: Vec<String>,
    #[prost(string, tag = "121")]
    pub failed_node: String,
    /// As JSON lists them.
    #[prost(string, repeated, tag = "122")]
    pub flags: Vec<String>,
    #[prost(uint32, tag = "123")]
    pub delay_boot_secs: u32,
    #[prost(string, tag = "124")]
    pub selinux_context: String,
    #[prost(string, tag = "125")]
    pub licenses_allocated: String,
    #[prost(uint32, tag = "126")]
    pub segment_size: u32,
    #[prost(int64, tag = "127")]
    pub preemptable_time: i64,
    #[prost(string, tag = "128")]
    pub sluid: String,
    /// What each node gives, in the order of `nodes`.
    #[prost(message, repeated, tag = "129")]
    pub resources: Vec<JobNodeShare>,
    /// Runs that failed by themselves and were begun again.
    #[prost(uint32, tag = "130")]
    pub failures: u32,
    /// Runs that made room for others.
    #[prost(uint32, tag = "131")]
    pub preemptions: u32,
    /// Runs that were lost with their node.
    #[prost(uint32, tag = "132")]
    pub node_losses: u32,
    /// Nodes where that happened; the job runs elsewhere while it can.
    #[prost(string, tag = "133")]
    pub avoided_nodes: String,
    #[prost(string, tag = "134")]
    pub power: String,
}

static NOTHING: LazyLock<JobDetail> = LazyLock::new(JobDetail::default);

impl Deref for JobView {
    type Target = JobDetail;

    fn deref(&self) -> &JobDetail {
        self.detail.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for JobView {
    fn deref_mut(&mut self) -> &mut JobDetail {
        self.detail.get_or_insert_default()
    }
}

/// What one node gives to a job.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct JobNodeShare {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint32, tag = "2")]
    pub cpus: u32,
    #[prost(uint64, tag = "3")]
    pub memory_mb: u64,
    /// Which cores, counted over all sockets.
    #[prost(uint32, repeated, tag = "4")]
    pub cores: Vec<u32>,
    #[prost(uint32, tag = "5")]
    pub cores_per_socket: u32,
    #[prost(uint32, tag = "6")]
    pub sockets: u32,
}

impl JobView {
    /// The job's exit code; a job killed by a signal, or never run, is a failure.
    pub fn exit_code(&self) -> u8 {
        match JobStatus(self.state).base() {
            JobState::Completed => 0,
            _ => ExitStatus::from_wait(self.exit_status).code.max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_the_jobs_own_and_never_0_for_a_failure() {
        let job = |state: JobState, exit_status| JobView {
            state: state.number(),
            exit_status,
            ..JobView::default()
        };
        assert_eq!(job(JobState::Completed, 0).exit_code(), 0);
        assert_eq!(job(JobState::Failed, 3 << 8).exit_code(), 3);
        assert_eq!(job(JobState::Failed, 9).exit_code(), 1);
        assert_eq!(job(JobState::Cancelled, 0).exit_code(), 1);
    }
}
