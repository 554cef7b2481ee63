//! What a user asks for, as one record: the wire and the log carry it as it stands.
//!
//! Tags are append-only, as in `proto/slurm.proto`, where the same message is published; a test in
//! `spur-proto` compares the two. A field that was not said is `None` or empty, so that defaults are
//! filled in one place.

use crate::limit::Limit;

/// A job as asked for. Who asks is not part of it: that comes from the channel.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct JobSpec {
    /// `--job-name`
    #[prost(string, tag = "1")]
    pub name: String,
    /// `--partition`: one or several, by comma.
    #[prost(string, tag = "2")]
    pub partition: String,
    /// `--account`
    #[prost(string, tag = "3")]
    pub account: String,
    /// `--nodes=MIN[-MAX]`
    #[prost(uint32, optional, tag = "4")]
    pub nodes_min: Option<u32>,
    /// `--nodes=MIN-MAX`
    #[prost(uint32, optional, tag = "5")]
    pub nodes_max: Option<u32>,
    /// `--ntasks`
    #[prost(uint32, optional, tag = "6")]
    pub ntasks: Option<u32>,
    /// `--cpus-per-task`
    #[prost(uint32, optional, tag = "7")]
    pub cpus_per_task: Option<u32>,
    /// `--time`, in minutes.
    #[prost(message, optional, tag = "8")]
    pub time_limit: Option<Limit>,
    /// `--output`: a pattern, see `filename.rs`. Empty: Slurm's default.
    #[prost(string, tag = "9")]
    pub output: String,
    /// `--error`: a pattern. Empty: where the output goes.
    #[prost(string, tag = "10")]
    pub error: String,
    /// `--input`: a pattern. Empty: `/dev/null`.
    #[prost(string, tag = "11")]
    pub input: String,
    /// `--chdir`, or where the command was called.
    #[prost(string, tag = "12")]
    pub work_dir: String,
    /// Arguments of the script.
    #[prost(string, repeated, tag = "13")]
    pub arguments: Vec<String>,
    /// The command line that submitted the job, as `SubmitLine` shows it.
    #[prost(string, tag = "14")]
    pub submit_line: String,
    /// The script's path as given, or empty for `--wrap` and standard input.
    #[prost(string, tag = "15")]
    pub command: String,
    /// `--open-mode=append` (true) or `truncate` (false).
    #[prost(bool, optional, tag = "16")]
    pub open_append: Option<bool>,
    /// `--hold`
    #[prost(bool, tag = "17")]
    pub hold: bool,
    /// `--export`: names and assignments as given.
    #[prost(string, tag = "18")]
    pub export: String,
}
