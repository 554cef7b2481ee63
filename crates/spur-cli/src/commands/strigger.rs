//! `strigger`: programs that are run when something happens.

use spur_core::tools::strigger::TOOL;
use spur_core::trigger::{self, EVENTS, Kind};
use spur_proto::slurm::{ClearTriggersRequest, Trigger};

use super::Ended;
use crate::cluster::Controller;
use crate::output::{complain, note, print};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match read(args).and_then(|asked| obey(&asked)) {
        Ok(()) => 0,
        Err(Ended(status)) => status,
    }
}

/// What was asked for.
#[derive(Default)]
struct Asked {
    action: &'static str,
    id: Option<u32>,
    job: Option<u32>,
    uid: Option<u32>,
    /// Said, and perhaps which.
    nodes: Option<String>,
    events: u32,
    offset_secs: i32,
    program: String,
    permanent: bool,
    no_header: bool,
    quiet: bool,
    verbose: bool,
    clusters: String,
}

fn refuse<T>(message: impl std::fmt::Display) -> Result<T, Ended> {
    complain("strigger", message);
    Err(Ended(1))
}

fn read(args: &[String]) -> Result<Asked, Ended> {
    let words = super::read_tool(&TOOL, args)?;
    let mut asked = Asked::default();
    let mut actions = 0;
    for (flag, value) in &words.options {
        // As C reads a number: what is none is 0, and what follows it does not matter.
        let number = || {
            let text = value.trim();
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '-' && c != '+');
            text[..end.unwrap_or(text.len())].parse::<i64>().unwrap_or(0)
        };
        match flag.long {
            action @ ("set" | "get" | "clear") => {
                actions += u32::from(asked.action != action);
                asked.action = action;
            }
            // None has the number 0: nobody is named by it.
            "id" => asked.id = Some(number().max(0) as u32).filter(|id| *id > 0),
            "jobid" => match u32::try_from(number()) {
                Ok(job @ 1..) => asked.job = Some(job),
                _ => return refuse(format!("Invalid jobid {value}")),
            },
            "user" => match super::user(value) {
                Some(uid) => asked.uid = Some(uid),
                None => return refuse(format!("Invalid user {value}")),
            },
            "node" => asked.nodes = Some(value.clone()),
            "offset" => match i32::try_from(number()) {
                Ok(secs @ -32_000..=32_000) => asked.offset_secs = secs,
                _ => return refuse("The --offset parameter must be between +/-32000"),
            },
            "program" => asked.program = value.clone(),
            "flags" if value.eq_ignore_ascii_case("perm") => asked.permanent = true,
            "flags" => return refuse(format!("Invalid flags {value}")),
            "noheader" => asked.no_header = true,
            "quiet" => asked.quiet = true,
            "verbose" => asked.verbose = true,
            "clusters" => asked.clusters = value.clone(),
            event => asked.events |= trigger::bit(event).unwrap_or(0),
        }
    }
    if actions != 1 {
        return refuse(
            "You must use exactly one of the following options: --set, --get or --clear",
        );
    }
    Ok(asked)
}

fn obey(asked: &Asked) -> Result<(), Ended> {
    if asked.action == "set" {
        check(asked)?;
    }
    let mut controller = Controller::find();
    if !asked.clusters.is_empty() {
        super::check_cluster("strigger", &asked.clusters, &mut controller)?;
    }
    match asked.action {
        "set" => set(asked, &mut controller),
        "get" => get(asked, &mut controller),
        _ => clear(asked, &mut controller),
    }
}

/// What must be said to set one.
fn check(asked: &Asked) -> Result<(), Ended> {
    if asked.events == 0 {
        return refuse(NO_EVENT);
    }
    if asked.program.is_empty() {
        return refuse("You must specify a --program value");
    }
    if !asked.program.starts_with('/') {
        return refuse("The --program value must start with \"/\"");
    }
    let file = asked.program.split_ascii_whitespace().next().unwrap_or_default();
    if !std::path::Path::new(file).exists() {
        return refuse("Invalid --program value, file not found");
    }
    let of_job = trigger::events(asked.events).any(|event| event.kind == Kind::Job);
    if of_job && asked.job.is_none() {
        return refuse("You must specify a --jobid value");
    }
    Ok(())
}

const NO_EVENT: &str = "\
You must specify a trigger (--down, --up, --reconfig, --time, --fini, --burst_buffer,
--primary_slurmctld_failure,
--primary_slurmctld_resumed_operation,
--primary_slurmctld_resumed_control,
--primary_slurmctld_acct_buffer_full,
--backup_slurmctld_failure,
--backup_slurmctld_resumed_operation,
--backup_slurmctld_as_ctrl,
--primary_slurmdbd_failure,
--primary_slurmdbd_resumed_operation,
--primary_database_failure, or 
--primary_database_resumed_operation)
";

fn set(asked: &Asked, controller: &mut Controller) -> Result<(), Ended> {
    let trigger = Trigger {
        job_id: asked.job,
        nodes: asked.nodes.clone().unwrap_or_default(),
        events: trigger::events(asked.events).map(|event| event.name.to_string()).collect(),
        offset_secs: asked.offset_secs,
        program: asked.program.clone(),
        permanent: asked.permanent,
        ..Trigger::default()
    };
    controller.set_trigger(trigger).map_err(|error| {
        note(format!("slurm_set_trigger: {error}"));
        Ended(1)
    })
}

fn clear(asked: &Asked, controller: &mut Controller) -> Result<(), Ended> {
    let (id, job_id, uid) = (asked.id, asked.job, asked.uid);
    let request = ClearTriggersRequest { id, job_id, uid, ..ClearTriggersRequest::default() };
    if request == ClearTriggersRequest::default() {
        return refuse("You must specify a --id, --jobid, or --user to clear");
    }
    let cleared = controller.clear_triggers(request);
    match cleared {
        Ok(0) if asked.quiet => Ok(()),
        Ok(0) => {
            note("slurm_clear_trigger: No such process");
            Err(Ended(1))
        }
        Ok(_) => {
            if let (true, Some(job)) = (asked.verbose, asked.job) {
                note(format!("strigger: triggers for job {job} cleared"));
            } else if let (true, Some(id)) = (asked.verbose, asked.id) {
                note(format!("strigger: trigger {id} cleared"));
            }
            Ok(())
        }
        Err(_) if asked.quiet => Ok(()),
        Err(error) => {
            note(format!("slurm_clear_trigger: {error}"));
            Err(Ended(1))
        }
    }
}

fn get(asked: &Asked, controller: &mut Controller) -> Result<(), Ended> {
    let all = controller.triggers().map_err(|error| {
        note(format!("slurm_get_triggers: {error}"));
        Ended(1)
    })?;
    if asked.verbose {
        note(format!("strigger: Read {} trigger records", all.len()));
    }
    let shown: Vec<String> = all.iter().filter(|it| asked.wants(it)).map(row).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let header = HEADER.to_string();
    let header = (!asked.no_header).then_some(header);
    print(&header.into_iter().chain(shown).collect::<String>());
    Ok(())
}

const HEADER: &str =
    "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM\n";

impl Asked {
    fn wants(&self, it: &Trigger) -> bool {
        let of_nodes = it.job_id.is_none() && kind(it) == Kind::Node;
        let names = |list: &str| spur_core::hostlist::expand(list).unwrap_or_default();
        let nodes = self.nodes.as_ref().is_none_or(|wanted| {
            let (wanted, there) = (names(wanted), names(&it.nodes));
            let meets = wanted.iter().any(|name| there.contains(name));
            of_nodes && (wanted.is_empty() || there.is_empty() || meets)
        });
        self.id.is_none_or(|id| it.id == id)
            && self.uid.is_none_or(|uid| it.uid == uid)
            && (self.job.is_none() || it.job_id == self.job)
            && nodes
            && (self.events == 0 || bits(it) & self.events != 0)
    }
}

fn bits(it: &Trigger) -> u32 {
    it.events.iter().filter_map(|name| trigger::bit(name)).fold(0, |bits, bit| bits | bit)
}

/// What its events happen to.
fn kind(it: &Trigger) -> Kind {
    let named = |event: &&trigger::Event| it.events.iter().any(|name| name == event.name);
    match it.job_id {
        Some(_) => Kind::Job,
        None => EVENTS.iter().find(named).map_or(Kind::Other, |event| event.kind),
    }
}

fn row(it: &Trigger) -> String {
    let about = match (it.job_id, kind(it), it.nodes.as_str()) {
        (Some(job), _, _) => job.to_string(),
        (None, Kind::Node, nodes) if !nodes.is_empty() => nodes.to_string(),
        _ => "*".to_string(),
    };
    let flags = if it.permanent { "PERM" } else { "" };
    format!(
        "{:>7} {:<9} {:>7} {:<35} {:>6} {:<8} {:<5} {}\n",
        it.id,
        kind(it).name(),
        about,
        trigger::word(bits(it)),
        it.offset_secs,
        it.user_name,
        flags,
        it.program
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_slurms() {
        let node = Trigger {
            id: 4,
            user_name: "slurm".to_string(),
            nodes: "n[1-2]".to_string(),
            events: vec!["idle".to_string()],
            offset_secs: 600,
            program: "/bin/true x".to_string(),
            ..Trigger::default()
        };
        let job =
            Trigger { id: 6, job_id: Some(1), permanent: true, offset_secs: -30, ..node.clone() };
        let job = Trigger { events: vec!["time".to_string()], ..job };
        let both = Trigger { events: vec!["up".to_string(), "down".to_string()], ..job.clone() };
        let leader = Trigger {
            nodes: String::new(),
            events: vec!["primary_slurmctld_failure".to_string()],
            ..node.clone()
        };
        assert_eq!(
            row(&node),
            "      4 node       n[1-2] idle                                   600 slurm          /bin/true x\n"
        );
        assert_eq!(
            row(&job),
            "      6 job             1 time                                   -30 slurm    PERM  /bin/true x\n"
        );
        assert_eq!(
            row(&both),
            "      6 job             1 unknown                                -30 slurm    PERM  /bin/true x\n"
        );
        assert_eq!(
            row(&leader),
            "      4 slurmctld       * primary_slurmctld_failure              600 slurm          /bin/true x\n"
        );
    }

    #[test]
    fn triggers_are_chosen_by_what_is_said() {
        let any = Trigger { id: 1, events: vec!["down".to_string()], ..Trigger::default() };
        let job = Trigger { id: 2, job_id: Some(7), ..any.clone() };
        let leader =
            Trigger { id: 3, events: vec!["primary_slurmctld_failure".to_string()], ..any.clone() };
        let all = [any, job, leader];
        let ids = |asked: Asked| -> Vec<u32> {
            all.iter().filter(|it| asked.wants(it)).map(|it| it.id).collect()
        };
        assert_eq!(ids(Asked::default()), [1, 2, 3]);
        assert_eq!(ids(Asked { nodes: Some("n1".to_string()), ..Asked::default() }), [1]);
        assert_eq!(ids(Asked { job: Some(7), ..Asked::default() }), [2]);
        let down = trigger::bit("down").expect("there is one");
        assert_eq!(ids(Asked { events: down, ..Asked::default() }), [1, 2]);
    }
}
