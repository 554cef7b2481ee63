//! The words of `spur why`: a sentence, then the numbers.

use spur_core::fields::clock;
use spur_core::fields::job::shown_id;
use spur_core::job::{ExitStatus, JobState, JobStatus, Reason};
use spur_core::limit::Limit;
use spur_core::time::{Timestamp, display};
use spur_core::views::JobView;
use spur_proto::slurm::{ExplainJobReply, Explanation, LimitUse, ResourceNeed};

/// What a reason means, where Slurm's word needs one.
const MEANINGS: &[(Reason, &str)] = &[
    (Reason::None, "the scheduler is about to look at it"),
    (Reason::JobHeldUser, "its owner holds it"),
    (Reason::JobHeldAdmin, "an administrator holds it"),
    (Reason::Dependency, "it waits for other jobs"),
    (Reason::DependencyNeverSatisfied, "what it waits for can no longer happen"),
    (Reason::BeginTime, "it is not to begin yet"),
    (Reason::Licenses, "it waits for licences"),
    (Reason::Priority, "others are before it"),
    (Reason::JobArrayTaskLimit, "its array runs as many tasks at once as it may"),
    (Reason::PartitionDown, "its partition starts no jobs now"),
    (Reason::PartitionInactive, "its partition takes no jobs now"),
    (Reason::PartitionTimeLimit, "its time limit is above the partition's"),
    (Reason::PartitionNodeLimit, "it asks for more or fewer nodes than its partition allows"),
    (Reason::ReqNodeNotAvail, "nodes it could use are down, drained, or kept for others"),
    (Reason::PartitionConfig, "it asks for more than its partition has"),
    (Reason::BadConstraints, "no nodes are as it asks for"),
    (Reason::MaxMemPerLimit, "it asks for more memory on a node than its partition allows"),
    (Reason::AccountNotAllowed, "its partition is not for its account"),
    (Reason::QOSNotAllowed, "its partition is not for its QOS"),
    (Reason::Reservation, "it waits for its reservation"),
    (Reason::QOSMaxWallDurationPerJobLimit, "its QOS lets no job run for so long"),
    (Reason::AssocMaxWallDurationPerJobLimit, "its account lets no job run for so long"),
];

/// What takes a reason away, where no change would start the job at once; `ID` is the job.
const REMEDIES: &[(Reason, &str)] = &[
    (Reason::JobHeldUser, "scontrol release ID"),
    (Reason::JobHeldAdmin, "an administrator's: scontrol release ID"),
    (Reason::Dependency, "scontrol update jobid=ID dependency="),
    (Reason::DependencyNeverSatisfied, "scontrol update jobid=ID dependency=, or: scancel ID"),
    (Reason::BeginTime, "scontrol update jobid=ID starttime=now"),
    (Reason::PartitionTimeLimit, "scontrol update jobid=ID timelimit=MINUTES"),
    (Reason::QOSMaxWallDurationPerJobLimit, "scontrol update jobid=ID timelimit=MINUTES"),
    (Reason::AssocMaxWallDurationPerJobLimit, "scontrol update jobid=ID timelimit=MINUTES"),
    (Reason::PartitionNodeLimit, "scontrol update jobid=ID numnodes=N"),
    (Reason::ReqNodeNotAvail, "scontrol update jobid=ID reqnodelist="),
    (Reason::MaxMemPerLimit, "scontrol update jobid=ID minmemorynode=MB"),
    (Reason::AccountNotAllowed, "scontrol update jobid=ID account=NAME, or partition=NAME"),
    (Reason::QOSNotAllowed, "scontrol update jobid=ID qos=NAME, or partition=NAME"),
];

/// Who named no node is helped by nodes that come back alone.
const WITHOUT_NODES: &str = "bring nodes back; why they are out is told by: sinfo -R";

fn remedy(job: &JobView, told: &Explanation) -> Option<&'static str> {
    if job.reason == Reason::ReqNodeNotAvail.number() && job.required_nodes.is_empty() {
        let is_out = told.rejections.iter().any(|it| it.test == "unavailable");
        return is_out.then_some(WITHOUT_NODES);
    }
    REMEDIES.iter().find(|(known, _)| known.number() == job.reason).map(|(_, remedy)| *remedy)
}

type Offset = fn(Timestamp) -> i32;

/// The whole answer for people.
pub fn told(reply: &ExplainJobReply, now: Timestamp, offset: Offset) -> String {
    let job = reply.job.clone().unwrap_or_default();
    let mut text = format!("{}\n", headline(reply, &job, now));
    let Some(told) = &reply.explanation else { return text };
    for line in lines(reply, told, &job, now, offset) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// Why it waits, in half a sentence.
pub fn sentence(reply: &ExplainJobReply) -> String {
    let Some(told) = &reply.explanation else { return String::new() };
    let job = reply.job.clone().unwrap_or_default();
    let reason = Reason::word(job.reason);
    let known = MEANINGS.iter().find(|(known, _)| known.number() == job.reason);
    match (known, short_of(told)) {
        (Some((Reason::Dependency | Reason::DependencyNeverSatisfied, means)), _) => {
            format!("{means}: {}", job.dependency)
        }
        (Some((_, means)), _) => (*means).to_string(),
        (None, Some(need)) if reason == "Resources" => format!("waiting for {}", noun(&need.name)),
        (None, None) if reason == "Resources" => "waiting for nodes".to_string(),
        (None, _) => match told.limits.iter().filter(is_over).find(|it| it.reason == reason) {
            Some(limit) if limit.needed > limit.max => {
                format!("it asks for more than {} allows ({reason})", limit.name)
            }
            Some(limit) => format!("{} has reached its limit ({reason})", limit.name),
            None if reason.starts_with("QOSMin") => {
                format!("it asks for less than its QOS wants of a job ({reason})")
            }
            None if reason.starts_with("QOS") => {
                format!("it asks for more than its QOS allows a job ({reason})")
            }
            None if reason.starts_with("Assoc") => {
                format!("it asks for more than its account allows a job ({reason})")
            }
            None => reason.to_string(),
        },
    }
}

/// Whether a limit leaves too little for the job.
fn is_over(limit: &&LimitUse) -> bool {
    limit.used.saturating_add(limit.needed) > limit.max
}

fn headline(reply: &ExplainJobReply, job: &JobView, now: Timestamp) -> String {
    let id = shown_id(job);
    let who = match job.account.as_str() {
        "" => job.user_name.clone(),
        account => format!("{}/{account}", job.user_name),
    };
    let limit = match job.time_limit {
        Some(Limit::Is(minutes)) => display::short(minutes.saturating_mul(60)),
        _ => "no time limit".to_string(),
    };
    let size = format!(
        "{}, {}",
        counted(job.num_nodes.into(), "node"),
        counted(job.num_cpus.into(), "CPU")
    );
    let about = format!("Job {id} ({}, {who}, {size}, {limit})", job.name);
    let state = JobStatus(job.state);
    let waited = span(now.0 - job.submit_time);
    match state.base() {
        JobState::Pending if reply.explanation.is_some() => {
            format!("{about} has been PENDING for {waited}: {}.", sentence(reply))
        }
        JobState::Pending => format!("{about} is about to start."),
        JobState::Running => format!(
            "{about} has been RUNNING for {} on {}.",
            span(now.0 - job.start_time),
            job.nodes
        ),
        _ => {
            let exit = ExitStatus::from_wait(job.exit_status);
            format!("{about} is over: {} {}:{}.", state.name(), exit.code, exit.signal)
        }
    }
}

fn lines(
    reply: &ExplainJobReply,
    told: &Explanation,
    job: &JobView,
    now: Timestamp,
    offset: Offset,
) -> Vec<String> {
    let mut lines = vec![needs(told)];
    lines.extend(too_much(told));
    let rejected: Vec<String> = told
        .rejections
        .iter()
        .map(|it| {
            let said = it.reasons.iter().map(|it| format!("{} \"{}\"", it.count, it.reason));
            let about: Vec<String> = std::iter::once(shortened(&it.nodes)).chain(said).collect();
            format!("{} {} ({})", it.count, it.text, about.join(", "))
        })
        .collect();
    if !rejected.is_empty() {
        lines.push(rejected.join(" · "));
    }
    lines.extend(told.limits.iter().filter(is_over).map(limit));
    let ahead = match (told.ahead, &told.first_ahead[..]) {
        (0, _) => "No job is ahead of it".to_string(),
        (count, first) => {
            let first: Vec<String> = first.iter().take(5).map(u32::to_string).collect();
            let more = if count as usize > first.len() { ", …" } else { "" };
            let are = if count == 1 { "is" } else { "are" };
            format!("{} {are} ahead of it ({}{more})", counted(count, "job"), first.join(", "))
        }
    };
    lines.push(format!("{ahead}; its priority is {}{}.", told.priority, terms(told)));
    if let Some(last) = told.blockers.iter().max_by_key(|it| it.end_time) {
        let ids: Vec<String> =
            told.blockers.iter().take(5).map(|it| it.job_id.to_string()).collect();
        let more = if told.blockers.len() > 5 { ", …" } else { "" };
        let by = moment(last.end_time, now, offset);
        let plural = if told.blockers.len() == 1 { "Job" } else { "Jobs" };
        let must = if told.blockers.len() == 1 { "has" } else { "have" };
        lines.push(format!(
            "{plural} {}{more} {must} to end first, by {by} at the latest.",
            ids.join(", ")
        ));
    }
    lines.push(match (&told.expected, job.start_time) {
        (Some(start), _) => format!(
            "Estimated start: {} on {}.",
            moment(start.start_time, now, offset),
            shortened(&start.nodes)
        ),
        (None, begin) if begin > now.0 => {
            format!("Begins at {} at the earliest.", moment(begin, now, offset))
        }
        (None, _) => "Estimated start: nobody can tell.".to_string(),
    });
    let id = shown_id(job);
    // Tasks that wait are changed by the number of their array.
    let id = id.split("_[").next().unwrap_or_default();
    if let (true, Some(remedy)) = (reply.advice.is_empty(), remedy(job, told)) {
        lines.push(format!("To change that: {}", remedy.replace("ID", id)));
    }
    if !reply.advice.is_empty() {
        let changes = reply.advice.iter().map(|it| match it.change.contains('=') {
            true => format!("scontrol update jobid={id} {}", it.change),
            false => format!("scontrol {} {id}", it.change),
        });
        lines.push(format!(
            "Would start now with: {}",
            changes.collect::<Vec<_>>().join("\n                    or: ")
        ));
    }
    lines
}

/// ` = age 1200 + fair-share 9012 + qos 200`, where it is made of several.
fn terms(told: &Explanation) -> String {
    let terms = told.priority_terms.iter().enumerate();
    let words = terms.map(|(place, term)| {
        let sign = match (place, term.value < 0.0) {
            (0, false) => " = ",
            (0, true) => " = -",
            (_, false) => " + ",
            (_, true) => " - ",
        };
        format!("{sign}{} {}", term.name, term.value.abs().round())
    });
    words.collect()
}

fn needs(told: &Explanation) -> String {
    // The nodes are told of by themselves.
    let needs = || told.needs.iter().filter(|it| it.name != "node");
    let asked: Vec<String> = needs().map(|it| amount(&it.name, it.needed)).collect();
    let free: Vec<String> = needs().map(|it| amount(&it.name, it.free)).collect();
    let nodes = match told.fitting_count {
        0 => "no node would do now".to_string(),
        count => format!(
            "{} would do now ({})",
            counted(count.into(), "node"),
            shortened(&told.fitting_nodes)
        ),
    };
    match asked.is_empty() {
        true => format!(
            "Needs {} in partition {}; {nodes}.",
            counted(told.nodes_min.into(), "node"),
            told.partition
        ),
        false => format!(
            "Needs {} on {} in partition {}. Free now: {}; {nodes}.",
            asked.join(", "),
            counted(told.nodes_min.into(), "node"),
            told.partition,
            free.join(", ")
        ),
    }
}

/// What the partition does not have even when nothing runs.
fn too_much(told: &Explanation) -> Option<String> {
    let lacking = told.needs.iter().filter(|need| need.needed > need.total);
    let has: Vec<String> = lacking.map(|need| amount(&need.name, need.total)).collect();
    let has = Some(has.join(", ")).filter(|has| !has.is_empty())?;
    Some(format!("That is more than there is: partition {} has {has} in all.", told.partition))
}

fn limit(limit: &LimitUse) -> String {
    let LimitUse { name, used, max, needed, reason } = limit;
    if *used == 0 && needed > max {
        let asked = match *needed {
            u64::MAX => "it sets itself no limit".to_string(),
            needed => format!("it asks for {needed}"),
        };
        return format!("{name}: {max} at most, {asked} ({reason})");
    }
    format!("{}: {} of {} in use, {} more needed ({})", name, used, max, needed, reason)
}

/// What there is too little of.
fn short_of(told: &Explanation) -> Option<&ResourceNeed> {
    // Too few nodes follow from too little of something else.
    let short = told.needs.iter().filter(|need| need.free < need.needed);
    short.max_by_key(|need| need.name != "node")
}

fn noun(name: &str) -> String {
    match name {
        "cpu" => "processors".into(),
        "mem" => "memory".into(),
        "node" => "nodes".into(),
        name => name.strip_prefix("gres/").unwrap_or(name).to_string(),
    }
}

fn amount(name: &str, count: u64) -> String {
    match name {
        "cpu" => counted(count, "CPU"),
        "node" => counted(count, "node"),
        "mem" if count >= 1024 => format!("{:.1} GiB", count as f64 / 1024.0),
        "mem" => format!("{count} MiB"),
        name => format!("{count} {}", name.strip_prefix("gres/").unwrap_or(name)),
    }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn shortened(nodes: &str) -> String {
    const MOST: usize = 60;
    match nodes.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &nodes[..end]),
        None => nodes.to_string(),
    }
}

/// `2h10m`, `45s`
fn span(secs: i64) -> String {
    let secs = secs.max(0);
    let (days, hours, minutes) = (secs / 86_400, secs / 3_600 % 24, secs / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{secs}s"),
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h{minutes:02}m"),
        (days, hours, _) => format!("{days}d{hours:02}h"),
    }
}

/// `today 16:40`, or a whole date.
fn moment(at: i64, now: Timestamp, offset: Offset) -> String {
    let here = |secs: i64| clock::moment(secs, offset(Timestamp(secs)));
    let (then, today) = (here(at), here(now.0));
    match (at <= now.0, then.split_once('T'), today.split_once('T')) {
        (true, ..) => "now".to_string(),
        (_, Some((day, time)), Some((today, _))) if day == today => {
            format!("today {}", time.get(..5).unwrap_or(time))
        }
        _ => then,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_proto::slurm::{Advice, Blocker, ExpectedStart, NodeRejection, PriorityTerm};

    fn waiting() -> ExplainJobReply {
        let job = JobView {
            job_id: 4711,
            name: "train".into(),
            user_name: "alice".into(),
            account: "vision".into(),
            num_nodes: 4,
            num_cpus: 64,
            reason: Reason::Resources.number(),
            time_limit: Some(Limit::Is(1440)),
            submit_time: 1_800_000_000,
            ..JobView::default()
        };
        let need = |name: &str, needed, free| ResourceNeed {
            name: name.into(),
            needed,
            free,
            total: 512,
            ..ResourceNeed::default()
        };
        let told = Explanation {
            reason: "Resources".into(),
            partition: "gpu".into(),
            nodes_min: 4,
            needs: vec![need("cpu", 64, 500), need("gres/gpu:mi300x", 32, 16)],
            fitting_nodes: "gpu[017,044]".into(),
            fitting_count: 2,
            rejections: vec![NodeRejection {
                text: "with too few free devices".into(),
                count: 52,
                nodes: "gpu[001-016]".into(),
                ..NodeRejection::default()
            }],
            ahead: 3,
            first_ahead: vec![4698, 4700, 4701],
            blockers: vec![Blocker { job_id: 4600, end_time: 1_800_010_000 }],
            expected: Some(ExpectedStart {
                start_time: 1_800_010_000,
                nodes: "gpu[001-004]".into(),
                ..ExpectedStart::default()
            }),
            priority: 10_412,
            priority_terms: [("age", 1500.2), ("fair-share", 9012.4), ("nice", -100.0)]
                .map(|(name, value)| PriorityTerm { name: name.into(), value })
                .to_vec(),
            ..Explanation::default()
        };
        let advice = vec![Advice { change: "NumNodes=2".into() }];
        ExplainJobReply { job: Some(job), explanation: Some(told), advice }
    }

    #[test]
    fn a_sentence_comes_first_and_the_numbers_behind_it() {
        let text = told(&waiting(), Timestamp(1_800_007_800), |_| 0);
        let expected = "\
Job 4711 (train, alice/vision, 4 nodes, 64 CPUs, 1-00:00:00) has been PENDING for 2h10m: waiting for gpu:mi300x.
  Needs 64 CPUs, 32 gpu:mi300x on 4 nodes in partition gpu. Free now: 500 CPUs, 16 gpu:mi300x; 2 nodes would do now (gpu[017,044]).
  52 with too few free devices (gpu[001-016])
  3 jobs are ahead of it (4698, 4700, 4701); its priority is 10412 = age 1500 + fair-share 9012 - nice 100.
  Job 4600 has to end first, by today 10:46 at the latest.
  Estimated start: today 10:46 on gpu[001-004].
  Would start now with: scontrol update jobid=4711 NumNodes=2
";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_a_partition_never_has_is_told() {
        let mut reply = waiting();
        if let Some(told) = &mut reply.explanation {
            told.needs[0].needed = 513;
        }
        let text = told(&reply, Timestamp(1_800_007_800), |_| 0);
        let said = "  That is more than there is: partition gpu has 512 CPUs in all.\n";
        assert!(text.contains(said), "{text}");
    }

    #[test]
    fn tasks_that_wait_are_changed_by_the_number_of_their_array() {
        let mut reply = waiting();
        if let Some(job) = &mut reply.job {
            (job.array_job_id, job.array_task_string) = (4711, "2-4%1".into());
        }
        let text = told(&reply, Timestamp(1_800_007_800), |_| 0);
        assert!(text.starts_with("Job 4711_[2-4%1] "), "{text}");
        assert!(text.contains(" scontrol update jobid=4711 NumNodes=2\n"), "{text}");
    }

    #[test]
    fn who_named_no_node_is_not_told_to_name_another() {
        let mut reply = waiting();
        reply.advice.clear();
        let mut advised = |nodes: &str, test: &str| {
            let job = reply.job.as_mut().expect("is there");
            (job.reason, job.required_nodes) = (Reason::ReqNodeNotAvail.number(), nodes.into());
            let told_of = reply.explanation.as_mut().expect("is there");
            told_of.rejections[0].test = test.into();
            told(&reply, Timestamp(1_800_007_800), |_| 0)
        };
        assert!(advised("", "unavailable").ends_with("is told by: sinfo -R\n"));
        assert!(!advised("", "busy_cpu").contains("sinfo"), "they are kept for others");
        assert!(advised("n1", "busy_cpu").ends_with("scontrol update jobid=4711 reqnodelist=\n"));
    }

    #[test]
    fn of_several_limits_the_one_that_is_reached_is_named() {
        let mut reply = waiting();
        let limit = |name: &str, reason: &str, used| LimitUse {
            name: name.into(),
            reason: reason.into(),
            used,
            needed: 1,
            max: 6,
        };
        let told = reply.explanation.as_mut().expect("is there");
        let jobs = limit("GrpJobs of account vision", "AssocGrpJobsLimit", 1);
        told.limits = vec![jobs, limit("GrpTRES of account vision", "AssocGrpCpuLimit", 6)];
        let mut said = |reason: Reason| {
            reply.job.as_mut().expect("is there").reason = reason.number();
            sentence(&reply)
        };
        let reached = "GrpTRES of account vision has reached its limit (AssocGrpCpuLimit)";
        assert_eq!(said(Reason::AssocGrpCpuLimit), reached);
        let own = "it asks for more than its QOS allows a job (QOSMaxCpuPerJobLimit)";
        assert_eq!(said(Reason::QOSMaxCpuPerJobLimit), own);
    }

    #[test]
    fn every_reason_says_something() {
        for number in 0..220 {
            let mut reply = waiting();
            if let Some(job) = &mut reply.job {
                job.reason = number;
            }
            assert!(!sentence(&reply).is_empty(), "{number}");
        }
    }

    #[test]
    fn a_job_that_does_not_wait_is_told_of_in_one_line() {
        let job = JobView {
            job_id: 7,
            state: JobState::Running.number(),
            nodes: "n1".into(),
            ..JobView::default()
        };
        let reply = ExplainJobReply { job: Some(job), ..ExplainJobReply::default() };
        let text = told(&reply, Timestamp(90), |_| 0);
        assert!(text.ends_with("has been RUNNING for 1m on n1.\n"), "{text}");
    }
}
