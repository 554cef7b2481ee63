//! Steps: what `srun` asks for beyond the job.

/// A step as asked for.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StepSpec {
    /// `--label`: each line of output starts with the task's number.
    #[prost(bool, tag = "1")]
    pub label: bool,
}
