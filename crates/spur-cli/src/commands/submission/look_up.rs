//! What a request leaves for this side to look up: files that are named, the user to be, the cluster.

use std::collections::BTreeSet;
use std::ffi::CString;

use nix::unistd::{Gid, Group, Uid, User, geteuid, initgroups, setgid, setuid};
use spur_core::errors::SlurmError;
use spur_core::hostlist;
use spur_core::options::{BAD_VALUE, JobOption, OptionError, Request, Tool, report};
use spur_proto::slurm::ListNodesRequest;

use crate::cluster::Controller;
use crate::output::{print, reason};
use crate::zone;

/// Looks up what only this side can: files that are named, the user to be, the cluster that is meant. Then
/// tells what was understood, if that was asked.
pub fn look_up(tool: Tool, request: &mut Request) -> Result<(), OptionError> {
    become_user(&request.tool.uid, &request.tool.gid)?;
    if request.tool.verbose > 0 {
        for line in report::defined_options(request, &zone::Local) {
            eprintln!("{}: {line}", tool.name());
        }
    }
    if request.said("x11") && std::env::var_os("DISPLAY").is_none_or(|display| display.is_empty()) {
        let missing = "No DISPLAY variable set, cannot setup x11 forwarding.";
        return Err(OptionError::error(missing.to_string(), BAD_VALUE));
    }
    if request.said("x11") {
        // As where Slurm is not configured for it.
        let refused = super::failed(tool, &SlurmError::X11NotAvail);
        return Err(OptionError::error(refused, super::error_status().into()));
    }
    if request.job.gres == "help" {
        tell_resources(tool)?;
        return Err(OptionError::silent(0));
    }
    if request.said("partition") && request.job.partition.split(',').all(str::is_empty) {
        return Err(no_partition(tool, "(null)"));
    }
    if request.values.get("gres").is_some_and(String::is_empty) {
        let refused = super::failed(tool, &SlurmError::InvalidTres);
        return Err(OptionError::error(refused, super::error_status().into()));
    }
    match request.job.placement().clusters.as_str() {
        "" if !request.said("clusters") => Ok(()),
        wanted => {
            let found =
                crate::commands::check_cluster(tool.name(), wanted, &mut Controller::find());
            let own =
                found.map_err(|crate::commands::Ended(exit)| OptionError::silent(exit.into()))?;
            request.job.placement_mut().clusters = own;
            Ok(())
        }
    }
}

/// The answer to `--gres=help`: what some node has.
fn tell_resources(tool: Tool) -> Result<(), OptionError> {
    let request = ListNodesRequest { members: vec!["gres".into()], ..Default::default() };
    let nodes = Controller::find().nodes_of(request);
    let nodes = nodes.map_err(|error| OptionError::error(super::failed(tool, &error), 1))?;
    let named = nodes.iter().flat_map(|node| node.gres.split(','));
    let names = named.filter_map(|gres| gres.split(':').next()).filter(|name| !name.is_empty());
    let names: BTreeSet<&str> = names.collect();
    let lines: String = names.iter().map(|name| format!("{name}[[:type]:count]\n")).collect();
    print(&format!("Valid gres options are:\n{lines}"));
    Ok(())
}

/// What Slurm says before everything else about a partition that is not there.
fn no_partition(tool: Tool, name: &str) -> OptionError {
    let failed = super::failed(tool, &SlurmError::InvalidPartitionName);
    OptionError::error(format!("invalid partition specified: {name}\n{failed}"), 1)
}

/// Puts what files say in the place of their names, before anything follows from it.
pub fn read_files(request: &mut Request) -> Result<(), OptionError> {
    if request.said("nodefile") {
        let refused = |problem: String| {
            OptionError::error(format!("{problem}\nInvalid --nodefile node file"), BAD_VALUE)
        };
        if request.tool.nodefile.is_empty() {
            return Err(OptionError::error("Invalid --nodefile node file", BAD_VALUE));
        }
        let names = node_names(&request.tool.nodefile).map_err(refused)?;
        request.job.placement_mut().nodelist = names;
    }
    // What has a slash in it is the name of a file.
    let place = request.job.placement();
    let (wanted, unwanted) = (place.nodelist.clone(), place.exclude.clone());
    let refused = |problem: String| OptionError::error(problem, 1);
    if wanted.contains('/') {
        request.job.placement_mut().nodelist = node_names(&wanted).map_err(refused)?;
    }
    if let Some(range) = backward_range(&wanted) {
        let problem = format!("_parse_single_range: Invalid range: `{range}'");
        return Err(refused(format!("{problem}\nmemory allocation failure")));
    }
    if unwanted.contains('/') {
        request.job.placement_mut().exclude = node_names(&unwanted).map_err(refused)?;
    }
    if request.said("bbf") {
        if request.said("bb") {
            return Err(refused("Cannot specify both --burst-buffer and --bbf".to_string()));
        }
        let text = std::fs::read_to_string(&request.tool.burst_buffer_file).unwrap_or_default();
        if text.is_empty() {
            return Err(refused("Invalid --bbf specification".to_string()));
        }
        request.job.rare_mut().burst_buffer = text;
    }
    read_hostfile(request)
}

/// A range that goes down, as in `n[2-1]`: what Slurm finds wrong with a list before it sends it.
fn backward_range(list: &str) -> Option<&str> {
    let inside = list.split('[').skip(1).filter_map(|part| part.split_once(']'));
    inside.flat_map(|(ranges, _)| ranges.split(',')).find(|range| {
        let number = |end: &str| end.parse::<u64>().ok();
        let ends = range.split_once('-').map(|(low, high)| (number(low), number(high)));
        matches!(ends, Some((Some(low), Some(high))) if low > high)
    })
}

/// `-m arbitrary` without a list of nodes: a task for each name in the file that SLURM_HOSTFILE says.
fn read_hostfile(request: &mut Request) -> Result<(), OptionError> {
    let is_arbitrary = request.job.layout().distribution.eq_ignore_ascii_case("arbitrary");
    let path = std::env::var("SLURM_HOSTFILE").unwrap_or_default();
    if !is_arbitrary || path.is_empty() || !request.job.placement().nodelist.is_empty() {
        return Ok(());
    }
    let failed = |problem: &str| {
        OptionError::error(format!("{problem}Failure getting NodeNames from hostfile"), 1)
    };
    let text = std::fs::read_to_string(&path).map_err(|_| failed(""))?;
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut names = Vec::new();
    for line in lines {
        names.extend(hostlist::expand(line).map_err(|_| failed(""))?);
    }
    let tasks = request.job.ntasks.map_or(names.len(), |tasks| tasks as usize);
    if names.len() < tasks {
        return Err(failed("Too few NodeNames in Slurm Hostfile\n"));
    }
    names.truncate(tasks);
    if request.asked_by == Tool::Srun {
        request.job.ntasks = u32::try_from(tasks).ok();
    }
    request.job.placement_mut().nodelist = names.join(",");
    Ok(())
}

/// The nodes that a file names, a host list on each line.
fn node_names(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        format!("slurm_allocate_resources error opening file {path}, {}", reason(&error))
    })?;
    let mut names = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |_| format!("Invalid hostfile {path} contents on line {}", number + 1);
        names.extend(hostlist::expand(line).map_err(wrong)?);
    }
    match names.is_empty() {
        true => Err("Hostlist is empty!".to_string()),
        false => Ok(names.join(",")),
    }
}

/// Refuses a user or a group that is not there as soon as it is read, as Slurm does.
pub fn judge(option: &JobOption, value: &str) -> Result<(), OptionError> {
    match option.long {
        "uid" | "gid" if value.is_empty() => Ok(()),
        "uid" => allowed("uid").and_then(|()| user(value).map(drop)),
        "gid" => allowed("gid").and_then(|()| group(value).map(drop)),
        _ => Ok(()),
    }
}

/// Whether the caller may be somebody else.
fn allowed(option: &str) -> Result<(), OptionError> {
    let refused = |problem: &str| OptionError::error(format!("--{option} {problem}"), BAD_VALUE);
    if !geteuid().is_root() {
        return Err(refused("only permitted by root user"));
    }
    // The token would speak for whoever it was made for, and not for the user named.
    if std::env::var_os("SLURM_JWT").is_some() {
        return Err(refused("cannot be used together with SLURM_JWT"));
    }
    Ok(())
}

fn user(named: &str) -> Result<User, OptionError> {
    let by_number = || named.parse().ok().and_then(|id| User::from_uid(Uid::from_raw(id)).ok());
    let found = User::from_name(named).ok().flatten().or_else(|| by_number().flatten());
    found.ok_or_else(|| OptionError::error("Invalid --uid specification", BAD_VALUE))
}

fn group(named: &str) -> Result<Group, OptionError> {
    let by_number = || named.parse().ok().and_then(|id| Group::from_gid(Gid::from_raw(id)).ok());
    let found = Group::from_name(named).ok().flatten().or_else(|| by_number().flatten());
    found.ok_or_else(|| OptionError::error("Invalid --gid specification", BAD_VALUE))
}

/// `--uid` and `--gid`: root hands in a job for somebody else by being that user from here on, so that the
/// controller sees nobody else.
fn become_user(named: &str, in_group: &str) -> Result<(), OptionError> {
    // Components of a job are all the same user's.
    if !named.is_empty() && user(named)?.uid == geteuid() && !geteuid().is_root() {
        return Ok(());
    }
    for (option, value) in [("uid", named), ("gid", in_group)] {
        if !value.is_empty() {
            allowed(option)?;
        }
    }
    let user = if named.is_empty() { None } else { Some(user(named)?) };
    let group = match in_group {
        "" => user.as_ref().map(|user| user.gid),
        in_group => Some(group(in_group)?.gid),
    };
    let failed =
        |error: nix::Error| OptionError::error(format!("cannot become that user: {error}"), 1);
    if let (Some(user), Some(group)) = (&user, group) {
        let name = CString::new(user.name.as_str())
            .map_err(|_| OptionError::error("Invalid --uid specification", BAD_VALUE))?;
        initgroups(&name, group).map_err(failed)?;
    }
    if let Some(group) = group {
        setgid(group).map_err(failed)?;
    }
    user.map_or(Ok(()), |user| setuid(user.uid).map_err(failed))
}

/// The variables of `--export-file`: a file, or the number of one that is open; `NAME=value` each ended by
/// a NUL byte.
pub fn exported_file(path: &str) -> Result<Vec<u8>, OptionError> {
    let place = match path.parse::<u32>() {
        // The standard ones carry no variables.
        Ok(0..=2) => String::new(),
        Ok(descriptor) => format!("/proc/self/fd/{descriptor}"),
        Err(_) => path.to_string(),
    };
    let mut bytes = std::fs::read(place).map_err(|_| {
        OptionError::error(format!("Could not open user environment file {path}"), 1)
    })?;
    if !bytes.is_empty() && bytes.last() != Some(&0) {
        bytes.push(0);
    }
    Ok(bytes)
}
