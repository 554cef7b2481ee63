//! Whose job it is and what it is called.

use super::error::Refusal;
use super::json::Form;
use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, option, text};

pub(super) static ROWS: &[JobOption] = &[
    option("account", "Charge the job to this account.")
        .json("account", Form::Plain)
        .whole_job()
        .short('A')
        .takes("name")
        .env(&[(Sbatch, "SBATCH_ACCOUNT"), (Srun, "SLURM_ACCOUNT"), (Salloc, "SALLOC_ACCOUNT")])
        .job(|job, name| text(&mut job.account, &name.to_lowercase())),
    option("comment", "Keep this text with the job.")
        .json("comment", Form::Plain)
        .whole_job()
        .takes("text")
        .job(|job, comment| {
            job.rare_mut().comment = Some(comment.to_owned());
            Ok(())
        }),
    option("extra", "Keep this text with the job, for programs that look for it.")
        .json("extra", Form::Plain)
        .whole_job()
        .takes("text")
        .job(|job, extra| text(&mut job.rare_mut().extra, extra)),
    option("gid", "Run the job with this group; for administrators.")
        .json("group_id", Form::Plain)
        .whole_job()
        .takes("group")
        .tool(|tool, group| text(&mut tool.gid, some(group)?)),
    option("job-name", "Call the job this.")
        .json("name", Form::Plain)
        .whole_job()
        .short('J')
        .takes("name")
        .env(&[(Sbatch, "SBATCH_JOB_NAME"), (Srun, "SLURM_JOB_NAME")])
        .job(|job, name| text(&mut job.name, name)),
    option("mcs-label", "Label the job for multi-category security.")
        .json("mcs_label", Form::Plain)
        .whole_job()
        .takes("label")
        .job(|job, label| text(&mut job.rare_mut().mcs_label, label)),
    option("priority", "Set the job's priority, or TOP; for administrators and operators.")
        .json("priority", Form::Number)
        .whole_job()
        .takes("number")
        .job(super::lifecycle::set_priority),
    option("qos", "Use this quality of service.")
        .json("qos", Form::Plain)
        .whole_job()
        .short('q')
        .takes("name")
        .env(&[(Sbatch, "SBATCH_QOS"), (Srun, "SLURM_QOS"), (Salloc, "SALLOC_QOS")])
        .job(|job, name| text(&mut job.qos, name)),
    option("uid", "Run the job as this user; for administrators.")
        .json("user_id", Form::Plain)
        .whole_job()
        .takes("user")
        .tool(|tool, user| text(&mut tool.uid, some(user)?)),
    option("wckey", "Count the job's use under this key.")
        .json("wckey", Form::Plain)
        .whole_job()
        .takes("key")
        .env(&[(Sbatch, "SBATCH_WCKEY"), (Srun, "SLURM_WCKEY"), (Salloc, "SALLOC_WCKEY")])
        .job(|job, key| text(&mut job.rare_mut().wckey, key)),
];

/// Nobody is no answer to whose a job is.
fn some(name: &str) -> Result<&str, Refusal> {
    if name.is_empty() { Err(Refusal::Specification) } else { Ok(name) }
}
