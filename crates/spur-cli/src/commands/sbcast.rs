//! `sbcast`: copies a file to every node of a job. It goes as the input of a step with one task on each node.

use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::unistd::getuid;
use spur_core::errors::SlurmError;
use spur_core::job::reference::JobReference;
use spur_core::tools::sbcast::TOOL;
use spur_proto::slurm::{JobView, ListJobsRequest};

use super::{Ended, allocation, srun};
use crate::cluster::Controller;
use crate::output::{complain, note, stay_loud};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match copy(args) {
        Ok(status) => status,
        Err(Ended(status)) => status,
    }
}

fn copy(args: &[String]) -> Result<u8, Ended> {
    let words = super::read_tool(&TOOL, args)?;
    let mut force = false;
    let mut preserve = false;
    let mut verbose = false;
    let mut job = None;
    let variables = TOOL.read_variables(|name| std::env::var(name).ok());
    for (flag, value) in variables.iter().chain(&words.options) {
        match flag.long {
            "force" => force = true,
            "preserve" => preserve = true,
            "verbose" => verbose = true,
            "jobid" => job = Some(value.clone()),
            _ => {}
        }
    }
    let [source, target] = &words.rest[..] else {
        note(format!("Need two file names, have {} names", words.rest.len()));
        note("Try \"sbcast --help\" for more information");
        return Err(Ended(1));
    };
    let Some(job) = job else {
        complain(
            "sbcast",
            "Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.",
        );
        return Err(Ended(1));
    };
    let about = std::fs::metadata(source).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        complain("sbcast", format!("Can't open `{source}`: {reason}"));
        Ended(255)
    })?;
    if target.ends_with('/') {
        complain("sbcast", "Target filename cannot be a directory.");
        return Err(Ended(1));
    }
    let nodes = nodes_of(&job)?;
    if verbose {
        note(format!("sbcast: file = {source}, {} bytes, to {nodes} nodes", about.len()));
    }
    let script = receiver(force, about.mode() & 0o7777, preserve.then_some(about.mtime()));
    let count = nodes.to_string();
    let source = std::path::absolute(source).unwrap_or_else(|_| source.into());
    let input = format!("--input={}", source.display());
    let id = format!("--jobid={job}");
    let line = [
        "-QQ",
        &id,
        "--overlap",
        "-N",
        &count,
        "-n",
        &count,
        "--ntasks-per-node=1",
        "-J",
        "sbcast",
        &input,
        "/bin/sh",
        "-c",
        &script,
        "sbcast",
        target,
    ];
    stay_loud();
    Ok(srun::run(&line.map(str::to_string)))
}

/// What may be in the way of a copy: told by its text, and by its number as exit status.
const OBSTACLES: [Errno; 11] = [
    Errno::EACCES,
    Errno::EDQUOT,
    Errno::EEXIST,
    Errno::EFBIG,
    Errno::EISDIR,
    Errno::ENAMETOOLONG,
    Errno::ENOENT,
    Errno::ENOSPC,
    Errno::ENOTDIR,
    Errno::EPERM,
    Errno::EROFS,
];

/// What each node runs: the file appears whole or not at all.
fn receiver(force: bool, mode: u32, modified: Option<i64>) -> String {
    let statuses: String =
        OBSTACLES.iter().map(|it| format!("'{}') exit {};; ", it.desc(), *it as i32)).collect();
    let guard = match force {
        true => String::new(),
        false => format!("[ ! -e \"$1\" ] || fail '{}'; ", Errno::EEXIST.desc()),
    };
    let touch = modified.map_or(String::new(), |at| format!(" && touch -d @{at} \"$part\""));
    format!(
        "export LC_ALL=C; \
         fail() {{ echo \"sbcast: error: REQUEST_FILE_BCAST($SLURMD_NODENAME): $1\" >&2; \
         case \"$1\" in {statuses}esac; exit 1; }}; \
         {guard}part=\"$1.$$\"; \
         said=$({{ tee \"$part\" >/dev/null && chmod {mode:o} \"$part\"{touch} && mv -fT \"$part\" \"$1\"; }} 2>&1) || \
         {{ rm -f \"$part\"; fail \"${{said##*: }}\"; }}"
    )
}

/// How many nodes the job has.
fn nodes_of(job: &str) -> Result<u32, Ended> {
    let refuse = |why: SlurmError| {
        complain("sbcast", format!("Slurm job {job} lookup error: {why}"));
        Ended(255)
    };
    let unknown = || refuse(SlurmError::InvalidJobId);
    let reference = JobReference::parse(job).ok_or_else(unknown)?;
    let job_ids = vec![reference.job];
    let request = ListJobsRequest { job_ids, ended: true, ..Default::default() };
    let mut found = Controller::find().jobs(&request).map_err(|_| unknown())?;
    found.retain(|job| reference.names(job));
    let is_ours = |job: &JobView| getuid().is_root() || job.uid == getuid().as_raw();
    match allocation::lack(&found) {
        Some(why) => Err(refuse(why)),
        None if !found.iter().all(is_ours) => Err(refuse(SlurmError::UserIdMissing)),
        None => {
            let found = found.iter().find(|job| !job.nodes.is_empty());
            found.map(|job| job.num_nodes).ok_or_else(unknown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_replaced_only_by_force() {
        let guard = "[ ! -e \"$1\" ] || fail 'File exists'";
        assert!(receiver(false, 0o755, None).contains(guard));
        let forced = receiver(true, 0o755, Some(7));
        assert!(
            !forced.contains(guard)
                && forced.contains("chmod 755")
                && forced.contains("touch -d @7")
        );
    }
}
