//! `scontrol listpids` and `pidinfo`: which processes of this machine belong to which job. A job's processes
//! are known by the variables they were started with.

use std::collections::BTreeMap;
use std::path::Path;

use spur_core::fields::clock;
use spur_core::job::reference::JobReference;
use spur_core::time::Timestamp;
use spur_proto::slurm::ListJobsRequest;

use super::Session;
use crate::output::{note, print};
use crate::zone;

/// A process that a job started.
#[derive(Debug, PartialEq, Eq)]
struct Member {
    pid: u32,
    job: u32,
    step: String,
    node: String,
    local: Option<u32>,
    global: Option<u32>,
}

/// `listpids [ID[.STEP]] [NODE]`
pub fn list(session: &mut Session, words: &[&str]) -> u8 {
    let wanted = words.first().and_then(|word| JobReference::parse(word));
    if !words.is_empty() && wanted.is_none() {
        return session.refuse(format!("\"{}\" does not look like a jobid", words[0]));
    }
    let node = words.get(1);
    print("PID      JOBID    STEPID   LOCALID GLOBALID\n");
    let mut found = members();
    found.retain(|member| {
        node.is_none_or(|node| member.node == **node)
            && wanted.as_ref().is_none_or(|wanted| {
                member.job == wanted.job && wanted.step.as_ref().is_none_or(|s| *s == member.step)
            })
    });
    let shown = |number: Option<u32>| number.map_or("-".to_string(), |n| n.to_string());
    for member in &found {
        print(&format!(
            "{:<8} {:<8} {:<8} {:<7} {:<8}\n",
            member.pid,
            member.job,
            member.step,
            shown(member.local),
            shown(member.global)
        ));
    }
    match (found.is_empty(), wanted) {
        (false, _) => 0,
        (true, Some(wanted)) => {
            let host = nix::unistd::gethostname().unwrap_or_default();
            let host = host.to_string_lossy().into_owned();
            let what = match &wanted.step {
                Some(step) => format!("StepId={}.{step}", wanted.job),
                None => format!("JobId={}", wanted.job),
            };
            session.refuse(format!("{what} does not exist on node {host}."))
        }
        (true, None) => session.refuse("No job steps exist on this node."),
    }
}

/// `pidinfo PID`: the job of a process, and how long it may still run.
pub fn info(session: &mut Session, words: &[&str]) -> u8 {
    let Ok(pid) = words[0].parse::<u32>() else {
        return session.refuse("Failed to locate job for requested pid");
    };
    let member = read(&Path::new("/proc").join(pid.to_string()), pid);
    let Some(member) = member else {
        return session.refuse("Failed to locate job for requested pid");
    };
    let request = ListJobsRequest { job_ids: vec![member.job], ..Default::default() };
    let job = session.controller().jobs(&request).ok().and_then(|jobs| jobs.into_iter().next());
    let Some(job) = job else {
        note("Failed to get job end time");
        return 1;
    };
    let end = clock::moment(job.end_time, zone::offset_at(Timestamp(job.end_time)));
    print(&format!("Slurm job id {} ends at {end}\n", member.job));
    print(&format!("slurm_get_rem_time is {}\n", (job.end_time - zone::now().0).max(0)));
    0
}

/// Processes of this machine that a job started, as far as we may look.
fn members() -> Vec<Member> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pid = |name: std::ffi::OsString| name.to_str()?.parse::<u32>().ok();
    let mut found: Vec<Member> = entries
        .flatten()
        .filter_map(|entry| read(&entry.path(), pid(entry.file_name())?))
        .collect();
    found.sort_by_key(|member| (member.job, member.pid));
    found
}

fn read(dir: &Path, pid: u32) -> Option<Member> {
    member(pid, &std::fs::read(dir.join("environ")).ok()?)
}

fn member(pid: u32, environment: &[u8]) -> Option<Member> {
    let variables: BTreeMap<&str, &str> = environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| std::str::from_utf8(variable).ok()?.split_once('='))
        .filter(|(name, _)| name.starts_with("SLURM"))
        .collect();
    let number = |name: &str| variables.get(name).and_then(|value| value.parse().ok());
    // Only processes on the job's nodes have this, not the shell that asked for an allocation.
    let node = variables.get("SLURMD_NODENAME")?.to_string();
    let step = variables.get("SLURM_STEP_ID").map_or("batch", |step| step).to_string();
    Some(Member {
        pid,
        job: number("SLURM_JOB_ID")?,
        step,
        node,
        local: number("SLURM_LOCALID"),
        global: number("SLURM_PROCID"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_variables() {
        let of_task = b"A=b\0SLURM_JOB_ID=7\0SLURM_STEP_ID=0\0SLURMD_NODENAME=n1\0SLURM_LOCALID=1\0SLURM_PROCID=3\0";
        let member = member(12, of_task).expect("belongs to a job");
        assert_eq!((member.job, member.step.as_str(), member.global), (7, "0", Some(3)));
        assert_eq!(super::member(12, b"SLURM_JOB_ID=7\0"), None, "a shell of salloc");
    }
}
