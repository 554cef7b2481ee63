//! What becomes of jobs, told to their owners by mail: who wants to know what is `--mail-type`.

use std::collections::BTreeSet;

use imbl::ordmap::DiffItem;

use crate::accounts::record::ending;
use crate::ids::{Epoch, JobId};
use crate::job::mail::{MailTypes, is_address};
use crate::job::{Job, JobState, Phase};
use crate::state::State;
use crate::time::{Timestamp, display};

/// A mail. It has no body: the subject says it all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Whom to tell.
    pub to: String,
    /// What.
    pub subject: String,
    /// What the mail program finds in its environment.
    pub variables: Vec<(&'static str, String)>,
}

/// What is to be told once one state has become the other.
pub fn between(before: &State, after: &State) -> Vec<Letter> {
    let mut letters = Vec::new();
    for change in before.jobs.diff(&after.jobs) {
        let (was, is) = match change {
            DiffItem::Add(_, is) => (None, is),
            DiffItem::Update { old: (_, was), new: (_, is) } => (Some(&**was), is),
            DiffItem::Remove(..) => continue,
        };
        let wanted = MailTypes(is.spec.lifecycle().mail_type);
        if wanted == MailTypes::NONE {
            continue;
        }
        let Some((event, word)) = event(was, is) else { continue };
        if !wanted.contains(event) {
            continue;
        }
        let told = match is.array_id() {
            Some(array) if !wanted.contains(MailTypes::ARRAY_TASKS) => {
                summary(before, after, array, is, word)
            }
            _ => Some(format!("{}{}", named(is, word), details(was, is, after.now))),
        };
        letters.extend(told.map(|subject| letter(after, is, word, subject)));
    }
    letters
}

/// Parts of the time limit that are told, in percent.
const PARTS: &[(MailTypes, i64)] = &[
    (MailTypes::TIME_LIMIT_50, 50),
    (MailTypes::TIME_LIMIT_80, 80),
    (MailTypes::TIME_LIMIT_90, 90),
    (MailTypes::TIME_LIMIT, 100),
];

/// Which part of which run was told already.
pub type Told = BTreeSet<(JobId, Epoch, i64)>;

/// What is to be told as time passes.
pub fn as_time_passes(state: &State, now: Timestamp, told: &mut Told) -> Vec<Letter> {
    let running = |job: JobId, epoch: Epoch| {
        let found = state.jobs.get(&job).filter(|it| it.epoch == epoch);
        found.is_some_and(|it| matches!(it.phase, Phase::Running { .. }))
    };
    told.retain(|(job, epoch, _)| running(*job, *epoch));
    let mut letters = Vec::new();
    for job in state.index.active.iter().filter_map(|id| state.jobs.get(id)) {
        let wanted = MailTypes(job.spec.lifecycle().mail_type);
        let Phase::Running { since, .. } = &job.phase else { continue };
        let limit = job.time_limit(state.partition_of(job)).number();
        let Some(limit) = limit.filter(|_| wanted != MailTypes::NONE) else { continue };
        let secs = i64::try_from(limit).unwrap_or(i64::MAX).saturating_mul(60);
        let ran = now.0 - since.0 - job.pause.secs;
        // Who hears that the job failed hears of its time limit.
        let told_anyway =
            |event: MailTypes| event == MailTypes::TIME_LIMIT && wanted.contains(MailTypes::FAIL);
        let parts = PARTS.iter().filter(|(event, _)| wanted.contains(*event));
        for (event, part) in parts.filter(|(event, _)| !told_anyway(*event)) {
            let due = ran.saturating_mul(100) >= secs.saturating_mul(*part);
            if due && told.insert((job.id, job.epoch, *part)) {
                let word = match *event {
                    MailTypes::TIME_LIMIT => "Reached time limit".to_string(),
                    _ => format!("Reached {part}% of time limit"),
                };
                let ran = display::long(ran.max(0) as u64);
                let subject = format!("{}, Run time {ran}", named(job, &word));
                letters.push(letter(state, job, &word, subject));
            }
        }
    }
    letters
}

fn event(was: Option<&Job>, is: &Job) -> Option<(MailTypes, &'static str)> {
    let had = |holds: fn(&Job) -> bool| was.is_some_and(holds);
    let runs = |job: &Job| matches!(job.phase, Phase::Running { .. });
    match &is.phase {
        Phase::Running { .. } if !had(runs) => Some((MailTypes::BEGIN, "Began")),
        Phase::Ended { cause, exit, .. } if !had(|was| was.phase.is_over()) => {
            match ending(*cause, *exit).0 {
                JobState::Completed | JobState::Cancelled => Some((MailTypes::END, "Ended")),
                _ => Some((MailTypes::FAIL, "Failed")),
            }
        }
        Phase::Pending if had(|was| was.phase.holds().is_some()) => {
            Some((MailTypes::REQUEUE, "Requeued"))
        }
        Phase::Pending => {
            let never = |job: &Job| job.waits.as_deref().is_some_and(|waits| waits.never);
            let newly = never(is) && !had(never);
            newly.then_some((MailTypes::INVALID_DEPEND, "Invalid dependency"))
        }
        _ => None,
    }
}

/// As Slurm begins them all.
fn named(job: &Job, word: &str) -> String {
    let (id, name) = (job.id, &job.spec.name);
    match (job.array_id(), job.task()) {
        (Some(array), Some(task)) => {
            format!("Slurm Array Task Job_id={array}_{task} ({id}) Name={name} {word}")
        }
        _ => format!("Slurm Job_id={id} Name={name} {word}"),
    }
}

fn details(was: Option<&Job>, is: &Job, now: Timestamp) -> String {
    let time = |from: Timestamp, to: Timestamp| display::long((to.0 - from.0).max(0) as u64);
    match &is.phase {
        Phase::Running { since, .. } => {
            let begin = is.begin.unwrap_or(is.submitted).max(is.submitted);
            format!(", Queued time {}", time(begin, *since))
        }
        Phase::Ended { started, at, cause, exit, .. } => {
            let ran = time(started.unwrap_or(*at), *at);
            let state = ending(*cause, *exit).0.name();
            format!(", Run time {ran}, {state}, ExitCode {}", exit.code)
        }
        Phase::Pending => match was.map(|was| &was.phase) {
            Some(Phase::Running { since: started, .. } | Phase::Completing { started, .. }) => {
                format!(", Run time {}", time(*started, now))
            }
            _ => String::new(),
        },
        Phase::Completing { .. } => String::new(),
    }
}

/// An array as one: told when its first task begins and when its last is over.
fn summary(
    before: &State,
    after: &State,
    array: JobId,
    task: &Job,
    word: &'static str,
) -> Option<String> {
    let tasks = |state: &State| -> Vec<std::sync::Arc<Job>> {
        let ids = state.index.arrays.get(&array).into_iter().flatten();
        ids.filter_map(|id| state.jobs.get(id)).cloned().collect()
    };
    let name = &task.spec.name;
    let begun =
        |word: &str| format!("Slurm Array Summary Job_id={array}_* ({array}) Name={name} {word}");
    let all = tasks(after);
    // Several may begin or end at once; one of them tells it.
    if matches!(task.phase, Phase::Running { .. }) {
        let runs = |job: &&std::sync::Arc<Job>| matches!(job.phase, Phase::Running { .. });
        let first = tasks(before).iter().all(|it| it.phase == Phase::Pending)
            && all.iter().find(runs).is_none_or(|it| it.id == task.id);
        return first.then(|| begun(word));
    }
    let was_over = |id: JobId| before.jobs.get(&id).is_some_and(|it| it.phase.is_over());
    let last = all.iter().rfind(|it| !was_over(it.id)).is_none_or(|it| it.id == task.id);
    if !last || !all.iter().all(|it| it.phase.is_over()) {
        return None;
    }
    let ends = all.iter().filter_map(|it| match &it.phase {
        Phase::Ended { cause, exit, .. } => Some((ending(*cause, *exit).0, exit.code)),
        _ => None,
    });
    let ends: Vec<(JobState, u8)> = ends.collect();
    let states: BTreeSet<&str> = ends.iter().map(|(state, _)| state.name()).collect();
    let state = if states.len() == 1 { states.first().copied()? } else { "Mixed" };
    let codes = ends.iter().map(|(_, code)| *code);
    let (least, most) = (codes.clone().min()?, codes.max()?);
    let fine = |state: &JobState| matches!(state, JobState::Completed | JobState::Cancelled);
    let word = if ends.iter().all(|(state, _)| fine(state)) { "Ended" } else { "Failed" };
    Some(format!("{}, {state}, ExitCode [{least}-{most}]", begun(word)))
}

fn letter(state: &State, job: &Job, word: &str, subject: String) -> Letter {
    let said = &job.spec.lifecycle().mail_user;
    let owner = &job.owner.name;
    let to = match (&state.settings.config.jobs.mail_domain, said.as_str()) {
        (_, said) if is_address(said) => said.to_string(),
        (Some(domain), _) => format!("{owner}@{domain}"),
        (None, _) => owner.clone(),
    };
    let variables = vec![
        ("SLURM_CLUSTER_NAME", state.settings.cluster_name.clone()),
        ("SLURM_JOB_ID", job.id.to_string()),
        ("SLURM_JOBID", job.id.to_string()),
        ("SLURM_JOB_NAME", job.spec.name.clone()),
        ("SLURM_JOB_USER", owner.clone()),
        ("SLURM_JOB_UID", job.owner.uid.0.to_string()),
        ("SLURM_JOB_WORK_DIR", job.spec.work_dir.clone()),
        ("SLURM_JOB_MAIL_TYPE", word.to_string()),
    ];
    // A name may have anything in it, and a subject is one line.
    let subject = subject.replace(char::is_control, " ");
    Letter { to, subject, variables }
}
