//! `scontrol update`, `create` and `delete`: Slurm's `Key=value` words.

use spur_core::errors::SlurmError;
use spur_core::job::reference::JobReference;
use spur_core::limit::Limit;
use spur_core::state::Assignment;
use spur_core::time::duration;
use spur_core::time::moment::{self, Toward};
use spur_core::update::{self, NodeChange, NodeVerb};
use spur_proto::caller::CallError;
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::{AdministerRequest, ListJobsRequest, Noun, UpdateJob, Verb};

use super::Session;
use crate::output::{complain, print};
use crate::{cluster, zone};

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entity {
    Job,
    Node,
    Partition,
    Reservation,
    Step,
}

/// Names of things, and how much of each must be said.
const ENTITIES: &[(&str, usize, Entity)] = &[
    ("jobid", 3, Entity::Job),
    ("nodename", 3, Entity::Node),
    ("partitionname", 3, Entity::Partition),
    ("reservationname", 3, Entity::Reservation),
    ("stepid", 3, Entity::Step),
];

fn entity(key: &str) -> Option<Entity> {
    let key = key.to_ascii_lowercase();
    let fits = |(name, least, _): &&(&str, usize, Entity)| {
        key.len() >= *least && name.starts_with(key.as_str())
    };
    ENTITIES.iter().find(fits).map(|(_, _, entity)| *entity)
}

/// `update JobId=7 TimeLimit=5:00`, also `update job 7 TimeLimit=5:00`.
pub fn update(session: &mut Session, words: &[&str]) -> u8 {
    let words = joined(words);
    let named = words.iter().find_map(|word| Some((entity(key_of(word))?, word.as_str())));
    // A job may go by its name alone; beside a number that is what it is to be called.
    let by_name = || {
        let mut names = words.iter().filter_map(|word| word.split_once('='));
        names.find(|(key, _)| key.eq_ignore_ascii_case("jobname")).map(|(_, name)| name.to_string())
    };
    if let (None, Some(name)) = (named, by_name()) {
        return update_named(session, &name, &words);
    }
    let Some((what, name)) = named else {
        session.refuse("No valid entity in update command");
        return session.refuse(
            "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", \
             or \"SlurmctldDebug\"",
        );
    };
    let mut assignments = Vec::new();
    for word in words.iter().filter(|word| word.as_str() != name) {
        match update::split(word).or_else(|| bare(what, word)) {
            Some(assignment) => assignments.push(assignment),
            None => {
                session.refuse(format!("Invalid input: {word}"));
                return session.refuse("Request aborted");
            }
        }
    }
    let Some((_, name)) = name.split_once('=') else {
        session.refuse(format!("Invalid input: {name}"));
        return session.refuse("Request aborted");
    };
    match what {
        Entity::Job => update_jobs(session, name, assignments),
        Entity::Node => update_node(session, name, assignments),
        Entity::Partition => update_partition(session, name, assignments),
        Entity::Reservation => update_reservation(session, name, assignments),
        Entity::Step => super::steps::update(session, name, &assignments),
    }
}

/// Words that mean something without a value.
fn bare(what: Entity, word: &str) -> Option<Assignment> {
    let (key, value) = match (what, word.to_ascii_lowercase().as_str()) {
        (Entity::Job, "nice") => ("Nice", "100"),
        (Entity::Job, "resetaccruetime") => ("ResetAccrueTime", "1"),
        (Entity::Reservation, "skip") => ("Skip", "1"),
        _ => return None,
    };
    Some(Assignment { key: key.into(), value: value.into() })
}

/// `update JobName=a Comment=b`: every job of that name.
fn update_named(session: &mut Session, name: &str, words: &[String]) -> u8 {
    let request = ListJobsRequest { names: vec![name.to_string()], ..ListJobsRequest::default() };
    let found = session.controller().jobs(&request).unwrap_or_default();
    if found.is_empty() {
        complain("scontrol", format!("No jobs with name '{name}'"));
        return 1;
    }
    let is_name = |word: &&String| !key_of(word).eq_ignore_ascii_case("jobname");
    let mut line = words.iter().filter(is_name).map(String::as_str).collect::<Vec<_>>();
    let ids = found.iter().map(|job| job.job_id.to_string()).collect::<Vec<_>>().join(",");
    let ids = format!("JobId={ids}");
    line.push(&ids);
    update(session, &line)
}

/// `create PartitionName=new Nodes=n1`
pub fn create(session: &mut Session, words: &[&str]) -> u8 {
    let what = entity(key_of(words[0]));
    if what == Some(Entity::Node) {
        let known = |word: &&&str| {
            let said = word.to_ascii_lowercase();
            ["state=future", "state=cloud"].contains(&said.as_str())
        };
        if !words[0].contains('=') {
            complain("scontrol", format!("Failed to parse nodeline '{}'", words.join(" ")));
            return session.refuse("Error creating the node(s): Unspecified error");
        }
        if !words.iter().any(|word| known(&word)) {
            let which = "Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol";
            complain("scontrol", which);
            return session.refuse("Error creating the node(s): Invalid node state specified");
        }
    }
    let (Some(Entity::Partition | Entity::Reservation), Some(what)) = (what, what) else {
        complain("scontrol", format!("Invalid creation entity: {}", words[0]));
        return 1;
    };
    let mut assignments = Vec::new();
    for word in &words[1..] {
        match update::split(word) {
            Some(assignment) => assignments.push(assignment),
            None if what == Entity::Reservation => {
                complain(
                    "scontrol",
                    format!(
                        "Misformatted parameter '{word}', most options have a parameter after '='.  No reservation created."
                    ),
                );
                return 1;
            }
            None => {
                complain("scontrol", format!("Invalid input: {word}  Request aborted"));
                return 1;
            }
        }
    }
    let name = words[0].split_once('=').map(|(_, name)| name.to_string());
    if what == Entity::Partition && name.is_none() {
        complain("scontrol", format!("Invalid input: {}  Request aborted", words[0]));
        return 1;
    }
    if what == Entity::Partition
        && let Some(lines) =
            assignments.iter().find_map(|it| update::partition::complaint(&it.key, &it.value))
    {
        lines.iter().for_each(|line| complain("scontrol", line));
        return 1;
    }
    if what == Entity::Reservation {
        let said = assignments.clone();
        if !moments(&mut assignments, RESERVATION_MOMENTS) {
            return misdated(&said, &assignments, "No reservation created.");
        }
        if let Some(complaint) = update::reservation::complaint(&assignments) {
            complain("scontrol", complaint);
            return 1;
        }
    }
    let noun = if what == Entity::Partition { Noun::Partition } else { Noun::Reservation };
    let name = name.unwrap_or_default();
    let word = if what == Entity::Partition { "partition" } else { "reservation" };
    match administer(session, noun, Verb::Create, &name, assignments) {
        Ok(name) if what == Entity::Reservation => {
            print(&format!("Reservation created: {name}\n"));
            0
        }
        Ok(_) => 0,
        Err(error) => {
            let refused = session.refuse(format!("Error creating the {word}: {error}"));
            // Slurm's hint, where it found no nodes for it.
            if what == Entity::Reservation
                && error.to_string().starts_with(SlurmError::NodesBusy.text())
            {
                print(
                    "Note, unless nodes are directly requested a reservation must exist in a single \
                     partition.\nIf no partition is requested the default partition is assumed.\n",
                );
            }
            refused
        }
    }
}

/// `delete PartitionName=old`
pub fn delete(session: &mut Session, words: &[&str]) -> u8 {
    if words.len() == 1 && !words[0].contains('=') {
        let format = "Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'";
        complain("scontrol", format);
        return 1;
    }
    let name = words[0].split_once('=').map(|(_, name)| name);
    let name = name.or(words.get(1).copied()).unwrap_or_default();
    let (noun, word) = match entity(key_of(words[0])) {
        Some(Entity::Partition) => (Noun::Partition, "delete_partition"),
        Some(Entity::Reservation) => (Noun::Reservation, "delete_reservation"),
        Some(Entity::Node) => (Noun::Node, "delete_node"),
        _ => return session.refuse(format!("Invalid deletion entity: {}", words[0])),
    };
    match administer(session, noun, Verb::Delete, name, Vec::new()) {
        Ok(_) => 0,
        Err(error) => {
            if noun == Noun::Node {
                complain("scontrol", format!("failed to delete nodes {name}"));
            }
            session.refuse(format!("{word} {}: {error}", words[0]))
        }
    }
}

/// A thing's name may follow its kind: `job 7` is `job=7`.
fn joined(words: &[&str]) -> Vec<String> {
    match words {
        [kind, name, rest @ ..] if !kind.contains('=') && entity(kind).is_some() => {
            let rest = rest.iter().map(|word| word.to_string());
            std::iter::once(format!("{kind}={name}")).chain(rest).collect()
        }
        words => words.iter().map(|word| word.to_string()).collect(),
    }
}

fn key_of(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn update_jobs(session: &mut Session, names: &str, mut assignments: Vec<Assignment>) -> u8 {
    for assignment in &assignments {
        if let Some(status) = judge(session, assignment) {
            return status;
        }
    }
    // Whose job it is says which one of several is meant; it is nothing to change.
    assignments.retain(|said| !said.key.eq_ignore_ascii_case("userid"));
    if !moments(&mut assignments, JOB_MOMENTS) || assignments.is_empty() {
        return session.refuse("No changes specified");
    }
    let mut status = 0;
    for name in crate::commands::ids(names).into_iter().filter(|name| !name.is_empty()) {
        let outcome = match JobReference::parse(name) {
            Some(reference) => {
                let assignments = with_limits(session, &reference, &assignments);
                let change = UpdateJob { assignments };
                session.controller().control(&reference, Action::Update(change))
            }
            None => Err(CallError::Refused(SlurmError::InvalidJobId)),
        };
        if let Err(error) = outcome {
            status = session.refuse(super::jobs::refusal(name, &error));
        }
    }
    status
}

/// What is said of a value before anybody is asked; the exit status where that is the end.
fn judge(session: &Session, said: &Assignment) -> Option<u8> {
    let Assignment { key, value } = said;
    let lower = key.trim_end_matches(['+', '-']).to_ascii_lowercase();
    if lower == "userid" {
        if value.parse::<u32>().is_ok() || crate::names::uid(value).is_some() {
            return None;
        }
        session.refuse(format!("Invalid UserID: {value}"));
        return Some(session.refuse("Request aborted"));
    }
    let Some(row) = update::job::find(key) else { return Some(unsupported(session, said)) };
    let number = |text: &str| text.parse::<u32>().is_ok();
    match row.names[0] {
        // Slurm also takes a limit that is added or taken away: `TimeLimit=+30`.
        "TimeLimit" => {
            let limit = duration::parse_limit(value.trim_start_matches(['+', '-']));
            if limit.is_err() {
                complain("scontrol", "Invalid TimeLimit value");
                return Some(1);
            }
        }
        // This one is told and passed over.
        "NumNodes" if !value.split('-').all(number) => {
            let text = format!("Invalid numeric value \"{value}\" for requested node count.");
            complain("scontrol", text);
            return Some(0);
        }
        "MailType" if row.set(&mut Default::default(), value).is_err() => {
            return Some(session.refuse(format!("Invalid MailType: {value}")));
        }
        "NumCPUs" if !value.split('-').all(number) => {
            complain("scontrol", format!("Invalid numeric value \"{value}\" for NumCPUs."));
        }
        _ => {}
    }
    let complaint = row.complaint(value)?;
    complain("scontrol", complaint);
    Some(1)
}

/// A limit that is added to or taken from what a job has becomes the whole: `TimeLimit+=30`, `TimeLimit=-5`.
fn with_limits(
    session: &mut Session,
    reference: &JobReference,
    assignments: &[Assignment],
) -> Vec<Assignment> {
    let mut assignments = assignments.to_vec();
    for said in &mut assignments {
        let is_limit = update::job::find(&said.key).is_some_and(|row| row.names[0] == "TimeLimit");
        let sign = said.key.chars().last().filter(|sign| "+-".contains(*sign));
        let sign = sign.or_else(|| said.value.chars().next().filter(|sign| "+-".contains(*sign)));
        let by = duration::parse_limit(said.value.trim_start_matches(['+', '-']));
        let (true, Some(sign), Ok(Limit::Is(by))) = (is_limit, sign, by) else { continue };
        let request = ListJobsRequest { job_ids: vec![reference.job], ..Default::default() };
        let jobs = session.controller().jobs(&request).unwrap_or_default();
        let job = jobs.iter().find(|job| reference.names(job));
        let Some(Limit::Is(now)) = job.and_then(|job| job.time_limit) else { continue };
        let minutes = if sign == '+' { now.saturating_add(by) } else { now.saturating_sub(by) };
        *said = Assignment { key: "TimeLimit".into(), value: minutes.to_string() };
    }
    assignments
}

fn update_node(session: &mut Session, name: &str, assignments: Vec<Assignment>) -> u8 {
    if assignments.is_empty() {
        return session.refuse("No changes specified");
    }
    let mut change = NodeChange::default();
    for assignment in &assignments {
        let set = update::node::set(&mut change, &assignment.key, &assignment.value);
        // How `scontrol reboot` says it.
        let set = match &change {
            NodeChange { verb: Some(NodeVerb::Reboot { .. }), .. } => {
                Some(Err(SlurmError::InvalidNodeState))
            }
            NodeChange { next_state: Some(_), .. } => None,
            _ => set,
        };
        match set {
            // What a node has is for the controller to say.
            Some(Ok(()) | Err(SlurmError::InvalidGres)) => {}
            None => return unsupported(session, assignment),
            Some(Err(_)) if "weight".starts_with(&assignment.key.to_ascii_lowercase()) => {
                let value = &assignment.value;
                complain("scontrol", format!("Weight value ({value}) is not a valid number"));
                return session.refuse("No changes specified");
            }
            Some(Err(_)) => {
                session.refuse(format!("Invalid input: {}", written(assignment)));
                session.refuse("Request aborted");
                if "state".starts_with(&assignment.key.to_ascii_lowercase()) {
                    session.refuse(
                        "Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN",
                    );
                    session.refuse("Not all states are valid given a node's prior state");
                }
                return 1;
            }
        }
    }
    let closes = matches!(change.verb, Some(NodeVerb::Drain | NodeVerb::Down | NodeVerb::Fail));
    if closes && change.reason.as_ref().is_none_or(String::is_empty) {
        return session
            .refuse("You must specify a reason when DOWNING or DRAINING a node. Request denied");
    }
    answered(session, Noun::Node, name, assignments)
}

fn update_partition(session: &mut Session, name: &str, assignments: Vec<Assignment>) -> u8 {
    if assignments.is_empty() {
        complain("scontrol", "No changes specified");
        return 1;
    }
    for said in &assignments {
        if let Some(lines) = update::partition::complaint(&said.key, &said.value) {
            lines.iter().for_each(|line| complain("scontrol", line));
            return session.refuse("slurm_update error: No error");
        }
    }
    answered(session, Noun::Partition, name, assignments)
}

fn update_reservation(session: &mut Session, name: &str, mut assignments: Vec<Assignment>) -> u8 {
    let said = assignments.clone();
    if !moments(&mut assignments, RESERVATION_MOMENTS) {
        misdated(&said, &assignments, "No reservation update.");
        return session.refuse("slurm_update error: No error");
    }
    let odd = |said: &Assignment| update::reservation::misspelt(said, "No reservation update.");
    if let Some(complaint) = assignments.iter().find_map(odd) {
        complain("scontrol", complaint);
        return session.refuse("slurm_update error: No error");
    }
    match administer(session, Noun::Reservation, Verb::Update, name, assignments) {
        Ok(_) => {
            print("Reservation updated.\n");
            0
        }
        Err(error) => {
            session.refuse(format!("Error updating the reservation: {error}"));
            session.refuse(format!("slurm_update error: {error}"))
        }
    }
}

pub(super) fn answered(
    session: &mut Session,
    noun: Noun,
    name: &str,
    assignments: Vec<Assignment>,
) -> u8 {
    match administer(session, noun, Verb::Update, name, assignments) {
        Ok(_) => 0,
        Err(error) => session.refuse(format!("slurm_update error: {error}")),
    }
}

pub(super) fn administer(
    session: &mut Session,
    noun: Noun,
    verb: Verb,
    name: &str,
    assignments: Vec<Assignment>,
) -> Result<String, CallError> {
    let request = AdministerRequest {
        noun: noun.into(),
        verb: verb.into(),
        name: name.to_string(),
        assignments,
        request_id: cluster::request_id(),
    };
    session.controller().administer(&request)
}

const JOB_MOMENTS: &[&str] = &["starttime", "eligibletime", "endtime", "deadline"];
const RESERVATION_MOMENTS: &[&str] = &["starttime", "endtime"];

/// Turns moments into seconds since the epoch, since only this side knows the zone.
fn moments(assignments: &mut [Assignment], keys: &[&str]) -> bool {
    for assignment in assignments {
        if !is_of(keys, &assignment.key) {
            continue;
        }
        match moment::parse(&assignment.value, Toward::Future, zone::now(), &zone::Local) {
            Ok(at) => assignment.value = at.0.to_string(),
            Err(_) => {
                eprintln!("Invalid time specification (pos=0): {}", assignment.value);
                return false;
            }
        }
    }
    true
}

/// Says which moment of a reservation could not be read: the first that is as it was.
fn misdated(said: &[Assignment], read: &[Assignment], end: &str) -> u8 {
    let is_moment = |it: &&Assignment| is_of(RESERVATION_MOMENTS, &it.key);
    let mut both = said.iter().filter(is_moment).zip(read.iter().filter(is_moment));
    if let Some((odd, _)) = both.find(|(said, read)| said.value == read.value) {
        let which = if is_of(&["starttime"], &odd.key) { "start" } else { "end" };
        complain("scontrol", format!("Invalid {which} time {}.  {end}", written(odd)));
    }
    1
}

fn is_of(keys: &[&str], key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.len() >= 3 && keys.iter().any(|name| name.starts_with(&key))
}

pub(super) fn unsupported(session: &Session, assignment: &Assignment) -> u8 {
    let written = written(assignment);
    session.refuse(format!("Update of this parameter is not supported: {written}"));
    session.refuse("Request aborted")
}

fn written(assignment: &Assignment) -> String {
    format!("{}={}", assignment.key, assignment.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_named_by_beginnings() {
        let kind = |key: &str| entity(key).map(|entity| entity as u8);
        assert_eq!(kind("JobId"), Some(Entity::Job as u8));
        assert_eq!(kind("job"), kind("jobid"));
        assert_eq!(kind("part"), kind("PartitionName"));
        assert_eq!(kind("res"), kind("reservation"));
        assert_eq!((kind("jo"), kind("jobname"), kind("foo")), (None, None, None));
        assert_eq!(joined(&["job", "13", "nice=2"]), ["job=13", "nice=2"]);
        assert_eq!(joined(&["nodename=n1", "state=resume"]), ["nodename=n1", "state=resume"]);
    }

    #[test]
    fn moments_become_seconds() {
        let mut said = vec![update::split("StartTime=2030-01-01T00:00:00Z").unwrap_or_default()];
        said[0].value = "2030-01-01T00:00:00".into();
        assert!(moments(&mut said, JOB_MOMENTS));
        assert!(said[0].value.parse::<i64>().is_ok_and(|secs| secs > 1_800_000_000));
        said[0].value = "bogus".into();
        assert!(!moments(&mut said, JOB_MOMENTS));
    }
}
