//! `scontrol show ENTITY [ID]`

use serde_json::Value as Json;
use spur_core::fields::job::JOB_FIELDS;
use spur_core::fields::node::NODE_FIELDS;
use spur_core::fields::partition::PARTITION_FIELDS;
use spur_core::fields::reservation::RESERVATION_FIELDS;
use spur_core::fields::{RenderContext, render};
use spur_core::hostlist;
use spur_core::job::reference::{JobReference, Part};
use spur_core::show::{self, Item, Scene};
use spur_core::views::{JobView, NodeView, PartitionView, StepView};
use spur_proto::slurm::{ListJobsRequest, ListNodesRequest, ListStepsRequest};

use super::{Session, about, assoc_mgr, hosts};
use crate::commands::squeue::arrays::Standing;
use crate::commands::{Notation, answer};
use crate::output::{complain, note, print};
use crate::zone;

/// What can be shown: its name, how much of it must be said, and how.
type Entity = (&'static str, usize, fn(&mut Session, Option<&str>) -> u8);

const ENTITIES: &[Entity] = &[
    ("aliases", 3, aliases),
    ("bbstat", 2, |_, _| 0),
    ("burstbuffer", 2, |_, _| 0),
    ("config", 1, about::config),
    ("daemons", 3, daemons),
    ("dwstat", 2, |_, _| 0),
    ("federation", 3, |_, _| 0),
    ("frontend", 1, |_, _| {
        print("No nodes in the system\n");
        0
    }),
    ("hostnames", 5, |_, list| hosts::names(list)),
    ("hostlistsorted", 9, |_, list| hosts::sorted(list)),
    ("hostlist", 5, |_, list| hosts::list(list)),
    ("jobid", 1, jobs),
    ("jobs", 1, jobs),
    ("licenses", 3, about::licenses),
    ("nodes", 1, nodes),
    ("partitions", 2, partitions),
    ("partitionname", 2, partitions),
    ("reservations", 1, reservations),
    ("reservationname", 1, reservations),
    ("slurmd", 3, slurmd),
    ("steps", 2, steps),
    ("topology", 1, topology),
];

/// Runs `show`.
pub fn run(session: &mut Session, words: &[&str]) -> u8 {
    if is_assoc_mgr(words[0]) {
        return assoc_mgr::show(session, &words[1..]);
    }
    let (entity, id) = match words[0].split_once('=') {
        Some((entity, id)) => (entity, Some(id)),
        None => (words[0], words.get(1).copied()),
    };
    if words.len() > 2 {
        return session.refuse("too many arguments for keyword:show");
    }
    let lower = entity.to_ascii_lowercase();
    let fits = |(name, least, _): &&Entity| lower.len() >= *least && name.starts_with(&lower);
    match ENTITIES.iter().find(fits) {
        Some((_, _, run)) => run(session, id),
        None => session.refuse(format!("invalid entity:{} for keyword:show ", words[0])),
    }
}

/// The only one that is told in several words what to show.
fn is_assoc_mgr(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    lower.len() >= 3 && "assoc_mgr".starts_with(&lower)
}

/// Switches or blocks: all of them, one by name, or those above a node.
fn topology(session: &mut Session, name: Option<&str>) -> u8 {
    let lines = match session.controller().config() {
        Ok(config) => config.topology,
        Err(error) => return session.refuse(format!("slurm_load_topo error: {error}")),
    };
    let is_meant = |line: &&spur_proto::slurm::TopologyLine| {
        name.is_none_or(|name| line.name == name || line.nodes.iter().any(|node| node == name))
    };
    let found: Vec<&str> = lines.iter().filter(is_meant).map(|line| line.text.as_str()).collect();
    match (found.is_empty(), name) {
        (false, _) => print(&found.iter().map(|line| format!("{line}\n")).collect::<String>()),
        (true, None) => complain("scontrol", "No topology information available"),
        (true, Some(name)) => complain(
            "scontrol",
            format!("Topology information contains no switch or node named {name}"),
        ),
    }
    0
}

/// What an agent knows of itself, as the controller has it.
fn slurmd(session: &mut Session, name: Option<&str>) -> u8 {
    let nodes = match session.controller().nodes() {
        Ok(nodes) => nodes,
        Err(error) => return session.refuse(format!("slurm_load_node error: {error}")),
    };
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned());
    let wanted = name.map_or_else(|| host.unwrap_or_default(), str::to_string);
    let Some(node) = nodes.iter().find(|node| node.name == wanted || node.hostname == wanted)
    else {
        complain("scontrol", "slurm_slurmd_info: Connection refused");
        return session.refuse("slurm_load_slurmd_status: Connection refused");
    };
    let moment = |at: i64| {
        let at = spur_core::time::Timestamp(at);
        spur_core::fields::clock::moment(at.0, zone::offset_at(at))
    };
    print(&format!(
        "Active Steps             = {}\nActual CPUs              = {}\nActual Boards            = {}\n\
         Actual sockets           = {}\nActual cores             = {}\nActual threads per core  = {}\n\
         Actual real memory       = {} MB\nActual temp disk space   = {} MB\n\
         Boot time                = {}\nHostname                 = {}\n\
         Last slurmctld msg time  = {}\nVersion                  = {}\n\n",
        "NONE",
        node.cpus,
        1,
        node.sockets,
        node.cores,
        node.threads,
        node.memory_mb,
        node.temporary_disk_mb,
        moment(node.agent_start_time),
        node.name,
        moment(zone::now().0),
        node.version,
    ));
    0
}

/// Keys are told where the site keeps account of them.
fn hide_wckeys(session: &mut Session, jobs: &mut [JobView]) {
    let entries = session.controller().config().map(|config| config.entries).unwrap_or_default();
    let tracked = entries.iter().any(|entry| entry.key == "TrackWCKey" && entry.value == "Yes");
    if !tracked {
        jobs.iter_mut().for_each(|job| job.wckey.clear());
    }
}

fn jobs(session: &mut Session, id: Option<&str>) -> u8 {
    // A whole range of tasks is nothing that Slurm shows.
    let range = id.is_some_and(|id| id.contains('['));
    let reference = match id.filter(|_| !range).map(JobReference::parse) {
        None if range => {
            return session.refuse("scontrol_print_job error: Invalid job id specified");
        }
        Some(None) => {
            return session.refuse("scontrol_print_job error: Invalid job id specified");
        }
        Some(Some(reference)) => Some(reference),
        None => None,
    };
    let asked = reference.as_ref().map(|reference| reference.job);
    let request = ListJobsRequest {
        job_ids: asked.into_iter().collect(),
        ended: true,
        ..ListJobsRequest::default()
    };
    let mut jobs = match session.controller().jobs(&request) {
        Ok(jobs) => jobs,
        Err(error) => return session.refuse(format!("slurm_load_jobs error: {error}")),
    };
    if let Some(reference) = &reference {
        if jobs.is_empty() {
            return session.refuse("slurm_load_jobs error: Invalid job id specified");
        }
        jobs.retain(|job| reference.names(job));
        split_named(&mut jobs, reference);
        // What is left of an array comes first, then its tasks, the latest first; components come in order.
        jobs.sort_by_key(|job| {
            let component = (job.het_job_id != 0).then_some(job.job_id);
            (job.job_id != reference.job, component, std::cmp::Reverse(job.job_id))
        });
    } else if !session.hidden {
        hide(session, &mut jobs);
    }
    if reference.is_none() {
        jobs = in_order(jobs);
    }
    if session.notation == Notation::Table && jobs.iter().any(|job| !job.wckey.is_empty()) {
        hide_wckeys(session, &mut jobs);
    }
    if session.notation != Notation::Table {
        let list = jobs.iter().map(|job| render::json(JOB_FIELDS, job)).collect();
        return tell(session, "jobs", list, &["last_backfill", "last_update"]);
    }
    match (jobs.is_empty(), id) {
        (false, _) => print_all(session, show::job::JOB, &jobs),
        (true, Some(id)) => {
            session.miss(format!("Job {id} not found"));
            return 1;
        }
        (true, None) => print("No jobs in the system\n"),
    }
    0
}

/// Jobs in the order in which Slurm lists them all.
fn in_order(jobs: Vec<JobView>) -> Vec<JobView> {
    let mut standing = Standing::default();
    jobs.iter().enumerate().for_each(|(place, job)| standing.look(place, job));
    let Some(order) = standing.order() else { return jobs };
    let mut jobs: Vec<Option<JobView>> = jobs.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| jobs[place].take()).collect()
}

/// A task that still waits with its array is shown by itself where it was named.
fn split_named(jobs: &mut [JobView], reference: &JobReference) {
    if let Part::Task(task) = reference.part {
        for job in jobs.iter_mut().filter(|job| job.array_task_id.is_none()) {
            job.array_task_id = Some(task);
            job.array_task_string.clear();
        }
    }
}

/// Leaves out jobs in partitions that are hidden from this user.
fn hide(session: &mut Session, jobs: &mut Vec<JobView>) {
    if nix::unistd::getuid().is_root() {
        return;
    }
    let partitions = session.controller().partitions().unwrap_or_default();
    let hidden = |name: &str| partitions.iter().any(|p| p.hidden && p.name == name);
    jobs.retain(|job| !hidden(&job.partition));
}

fn nodes(session: &mut Session, list: Option<&str>) -> u8 {
    // A list that cannot be read names one node that nobody knows.
    let names = list.filter(|list| hostlist::expand(list).is_ok()).unwrap_or_default();
    let request = ListNodesRequest { names: names.to_string(), ..Default::default() };
    let all = match session.controller().nodes_of(request) {
        Ok(nodes) => nodes,
        Err(error) => return session.refuse(format!("slurm_load_node error: {error}")),
    };
    let (shown, missing) = match list {
        None => (all, Vec::new()),
        Some(list) => choose_nodes(&all, list),
    };
    if session.notation != Notation::Table {
        let list = shown.iter().map(|node| render::json(NODE_FIELDS, node)).collect();
        return tell(session, "nodes", list, &["last_update"]);
    }
    if shown.is_empty() && missing.is_empty() {
        print("No nodes in the system\n");
    }
    print_all(session, show::node::NODE, &shown);
    for name in &missing {
        session.miss(format!("Node {name} not found"));
    }
    u8::from(!missing.is_empty())
}

fn choose_nodes(all: &[NodeView], list: &str) -> (Vec<NodeView>, Vec<String>) {
    let names = hostlist::expand(list).unwrap_or_else(|_| vec![list.to_string()]);
    let (mut shown, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match all.iter().find(|node| node.name == name) {
            Some(node) => shown.push(node.clone()),
            None => missing.push(name),
        }
    }
    (shown, missing)
}

fn partitions(session: &mut Session, name: Option<&str>) -> u8 {
    let mut all: Vec<PartitionView> = match session.controller().partitions() {
        Ok(partitions) => partitions,
        Err(error) => return session.refuse(format!("slurm_load_partitions error: {error}")),
    };
    match name {
        Some(name) => all.retain(|partition| partition.name == name),
        None if session.hidden || nix::unistd::getuid().is_root() => {}
        None => all.retain(|partition| !partition.hidden),
    }
    if session.notation != Notation::Table {
        let list = all.iter().map(|partition| render::json(PARTITION_FIELDS, partition)).collect();
        return tell(session, "partitions", list, &["last_update"]);
    }
    match (all.is_empty(), name) {
        (false, _) => print_all(session, show::partition::PARTITION, &all),
        (true, Some(name)) => {
            session.miss(format!("Partition {name} not found"));
            return 1;
        }
        (true, None) => print("No partitions in the system\n"),
    }
    0
}

fn steps(session: &mut Session, id: Option<&str>) -> u8 {
    let reference = id.and_then(JobReference::parse);
    let request = ListJobsRequest {
        job_ids: reference.iter().map(|reference| reference.job).collect(),
        ended: reference.is_some(),
        ..ListJobsRequest::default()
    };
    let mut jobs = match session.controller().jobs(&request) {
        Ok(jobs) => jobs,
        Err(error) => return session.refuse(format!("slurm_get_job_steps error: {error}")),
    };
    if let Some(reference) = &reference {
        if jobs.is_empty() {
            return session.refuse("slurm_get_job_steps error: Invalid job id specified");
        }
        jobs.retain(|job| reference.names(job));
    }
    let mut steps: Vec<StepView> = match session.controller().steps(&ListStepsRequest::default()) {
        Ok(steps) => steps,
        Err(error) => return session.refuse(format!("slurm_get_job_steps error: {error}")),
    };
    steps.retain(|step| jobs.iter().any(|job| job.job_id == step.job_id));
    if let Some(step) = reference.as_ref().and_then(|reference| reference.step.as_ref()) {
        steps.retain(|found| found.step_id == *step);
    }
    match (steps.is_empty(), id) {
        (false, _) => print_all(session, show::step::STEP, &steps),
        (true, Some(id)) => {
            let id = if reference.is_none() { "0.Invalid" } else { id };
            let id = if id.contains('.') { id.to_string() } else { format!("{id}.") };
            session.miss(format!("Job step {id} not found"));
            return 1;
        }
        (true, None) => print("No job steps in the system\n"),
    }
    0
}

/// The name each host goes by in the cluster.
fn aliases(session: &mut Session, list: Option<&str>) -> u8 {
    let Some(list) = list else { return 0 };
    let nodes = match session.controller().nodes() {
        Ok(nodes) => nodes,
        Err(error) => return session.refuse(format!("slurm_load_node error: {error}")),
    };
    let names = hostlist::expand(list).unwrap_or_default();
    let known = |host: &String| {
        let found = nodes.iter().find(|node| node.hostname == *host || node.name == *host);
        found.map(|node| node.name.clone())
    };
    let found: Vec<String> = names.iter().filter_map(known).collect();
    match found.is_empty() {
        true => note(format!("scontrol: error: no alias found for {list}")),
        false => print(&format!("{}\n", found.join(" "))),
    }
    u8::from(found.is_empty())
}

/// Which daemons belong on this machine.
fn daemons(session: &mut Session, _: Option<&str>) -> u8 {
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned());
    let host = host.unwrap_or_default();
    let nodes = session.controller().nodes().unwrap_or_default();
    let here = nodes.iter().any(|node| node.hostname == host || node.name == host);
    print(if here { "slurmctld slurmd \n" } else { "slurmctld \n" });
    0
}

fn reservations(session: &mut Session, name: Option<&str>) -> u8 {
    let mut all = match session.controller().reservations() {
        Ok(reservations) => reservations,
        Err(error) => {
            return session.refuse(format!("slurm_load_reservations error: {error}"));
        }
    };
    all.retain(|it| name.is_none_or(|name| it.name == name));
    if session.notation != Notation::Table {
        let list = all.iter().map(|it| render::json(RESERVATION_FIELDS, it)).collect();
        return tell(session, "reservations", list, &["last_update"]);
    }
    match (all.is_empty(), name) {
        (false, _) => print_all(session, show::reservation::RESERVATION, &all),
        (true, Some(name)) => {
            session.miss(format!("Reservation {name} not found"));
            return 1;
        }
        (true, None) => print("No reservations in the system\n"),
    }
    0
}

fn print_all<Row>(session: &Session, items: &[Item<Row>], rows: &[Row]) {
    let spell = zone::spelling("scontrol");
    let context = RenderContext {
        now: zone::now(),
        offset_at: &zone::offset_at,
        spell: spell.as_deref(),
        ..RenderContext::default()
    };
    let scene = Scene { context, details: session.details };
    let mut text = String::new();
    for row in rows {
        text.push_str(&show::text(items, row, &scene, session.one_line));
        text.push_str(if session.one_line { "\n" } else { "\n\n" });
    }
    print(&text);
}

/// The same for programs.
fn tell(session: &mut Session, name: &str, list: Vec<Json>, moments: &[&str]) -> u8 {
    let now = answer::moment(zone::now().0);
    let more: Vec<(&str, Json)> = moments.iter().map(|name| (*name, now.clone())).collect();
    let notation = session.notation;
    let whole = answer::envelope(session.controller(), name, list, &more, &["show"]);
    print(&answer::written(&whole, notation));
    0
}
