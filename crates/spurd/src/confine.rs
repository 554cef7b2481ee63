//! Which groups the runs of a spool are put into: settled by the agent once a boot, read by shepherds.

use std::fs;
use std::io;
use std::path::Path;

use spur_core::ids::{Epoch, JobId};
use tracing::{info, warn};

use crate::agent::RunFile;
use crate::machine::cgroup::{Group, Host};

/// In the spool: the boot, then [`Host::to_text`].
const FILE: &str = "cgroup";

/// Looks where groups can be made and writes it down. Within one boot the place stays the same, since
/// runs of an earlier life are there. Says once what cannot be had.
pub fn settle(spool: &Path, boot_id: &str) -> Option<Host> {
    // The spool's own number is the last word: two agents of one machine never share a place.
    let name = format!("spur-{}", boot_id.rsplit(' ').next().unwrap_or_default());
    let before = read(spool).filter(|(boot, host)| boot == boot_id && host.prepare().is_ok());
    let found = match before {
        Some((_, host)) => Ok(host),
        None => Host::find(&name),
    };
    let host = match found {
        Ok(host) => host,
        Err(why) => {
            warn!("jobs run without control groups, held together by their session only: {why}");
            let _ = fs::remove_file(spool.join(FILE));
            return None;
        }
    };
    let lacks = host.lacks();
    if lacks.is_empty() {
        info!("jobs run in control groups of version {}", host.version());
    } else {
        warn!("control groups here have no {}: jobs are not held to those", lacks.join(", "));
    }
    if let Err(error) = write(spool, boot_id, &host) {
        warn!("jobs run without control groups: could not write {FILE}: {error}");
        host.remove_if_unused();
        return None;
    }
    Some(host)
}

/// What the agent has settled.
pub fn host(spool: &Path) -> Option<Host> {
    read(spool).map(|(_, host)| host)
}

/// The groups of a run that are still there, its steps' included.
pub fn groups_of(host: &Host, job: JobId, epoch: Epoch) -> Vec<Group> {
    let of_run = host.groups().into_iter().filter(|(of, run, _)| (*of, *run) == (job, epoch));
    of_run.map(|(job, epoch, step)| host.group(job, epoch, &step)).collect()
}

/// Ends and removes what belongs to no run that the spool knows.
pub fn sweep(spool: &Path, host: &Host) {
    for (job, epoch, step) in host.groups() {
        if spool.join(RunFile::Launch.name(job, epoch)).exists() {
            continue;
        }
        warn!(%job, %epoch, step, "a forgotten group is ended");
        let group = host.group(job, epoch, &step);
        if let Err(error) = group.kill().and_then(|()| group.remove()) {
            warn!(%job, %epoch, step, "{:#}", anyhow::Error::from(error));
        }
    }
}

fn write(spool: &Path, boot_id: &str, host: &Host) -> io::Result<()> {
    let temporary = spool.join("cgroup-new");
    fs::write(&temporary, format!("{boot_id}\n{}", host.to_text()))?;
    fs::rename(temporary, spool.join(FILE))
}

fn read(spool: &Path) -> Option<(String, Host)> {
    let text = fs::read_to_string(spool.join(FILE)).ok()?;
    let (boot, host) = text.split_once('\n')?;
    Some((boot.to_string(), Host::parse(host)?))
}
