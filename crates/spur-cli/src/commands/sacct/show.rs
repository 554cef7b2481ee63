//! How `sacct` shows what was found: tables, texts, JSON.

use std::collections::BTreeMap;

use spur_core::fields::accounting::JOB_JSON;
use spur_core::fields::{RenderContext, render};
use spur_core::job::Reason;
use spur_core::views::AccountingView;
use spur_proto::slurm::JobSelector;

use super::query::{Query, Text};
use crate::commands::answer;
use crate::zone;

/// What of the answer is asked for, made ready.
pub fn chosen(query: &Query, jobs: Vec<AccountingView>) -> Vec<AccountingView> {
    let running = running_tasks(&jobs);
    let mut jobs = jobs;
    // Tasks stand where their array does, one after the other, whichever of them keeps its number; what is left of
    // it comes last.
    jobs.sort_by(|a, b| place(a).cmp(&place(b)));
    jobs.into_iter()
        .filter(|job| is_wanted(query, job) && !is_held_back(query, job, &running))
        .map(|job| prepared(query, job))
        .collect()
}

fn place(job: &AccountingView) -> (&str, u32, u32) {
    let lead = if job.array_job_id > 0 { job.array_job_id } else { job.job_id };
    let task = if job.array_job_id > 0 { job.array_task_id.unwrap_or(u32::MAX) } else { 0 };
    (&job.cluster, lead, task)
}

/// The whole answer.
pub fn table(query: &Query, jobs: Vec<AccountingView>, cluster: &str) -> String {
    let jobs = chosen(query, jobs);
    if let Some(notation) = query.notation {
        let rows = jobs.iter().map(|job| render::json(JOB_JSON, job)).collect();
        let whole = answer::enclosed(cluster, "jobs", rows, &[], &["sacct"]);
        return answer::written(&whole, notation);
    }
    if let Some(text) = query.texts {
        return jobs.iter().map(|job| kept_text(text, job)).collect();
    }
    let spell = zone::spelling("sacct");
    let context = RenderContext {
        now: zone::now(),
        offset_at: &zone::offset_at,
        no_convert: query.no_convert,
        unit: query.unit,
        spell: spell.as_deref(),
    };
    let mut lines = Vec::new();
    if query.header {
        lines.extend(render::accounting_header(&query.columns, &query.layout));
    }
    for job in &jobs {
        for row in rows(query, job) {
            lines.push(render::accounting_row(&query.columns, row, &query.layout, &context));
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// How many tasks of each array run.
fn running_tasks(jobs: &[AccountingView]) -> BTreeMap<u32, u32> {
    let mut running = BTreeMap::new();
    let is_running = |job: &&AccountingView| job.start_time > 0 && job.end_time == 0;
    for job in jobs.iter().filter(|job| job.array_task_id.is_some()).filter(is_running) {
        *running.entry(job.array_job_id).or_insert(0) += 1;
    }
    running
}

/// What is left of an array whose tasks may not all run at once may not run yet, so it is told only where
/// it is asked for by number.
fn is_held_back(query: &Query, job: &AccountingView, running: &BTreeMap<u32, u32>) -> bool {
    let most = job.array_max_tasks;
    query.request.jobs.is_empty()
        && job.start_time == 0
        && job.end_time == 0
        && !job.array_task_string.is_empty()
        && most > 0
        && running.get(&job.array_job_id).is_some_and(|running| *running >= most)
}

/// The lines of a job: itself and its steps, or only the step that was named.
pub fn rows<'a>(query: &'a Query, job: &'a AccountingView) -> Vec<&'a AccountingView> {
    let named: Vec<&JobSelector> =
        query.request.jobs.iter().filter(|selector| selects(selector, job)).collect();
    let whole = named.is_empty() || named.iter().any(|selector| selector.step.is_empty());
    let mut rows = Vec::new();
    if whole {
        rows.push(job);
    }
    let steps = job.steps.iter();
    rows.extend(steps.filter(|step| whole || named.iter().any(|one| one.step == step.step_id)));
    rows
}

fn selects(selector: &JobSelector, job: &AccountingView) -> bool {
    let ids = [job.job_id, job.array_job_id, job.het_job_id];
    ids.contains(&selector.job_id)
        && selector.array_task_id.is_none_or(|task| job.array_task_id == Some(task))
        && selector.het_offset.is_none_or(|offset| job.het_job_offset == offset)
}

/// Whether a job was named itself, and not with others of its kind.
fn is_named(query: &Query, job: &AccountingView) -> bool {
    let by_itself = |it: &JobSelector| it.job_id == job.job_id || it.het_offset.is_some();
    query.request.jobs.iter().any(|it| selects(it, job) && by_itself(it))
}

fn is_wanted(query: &Query, job: &AccountingView) -> bool {
    let names_jobs = !query.request.jobs.is_empty();
    if query.whole == Some(false) && names_jobs && job.het_job_id > 0 && !is_named(query, job) {
        return false;
    }
    let is = |list: &[String], word: &str| list.iter().any(|one| one.eq_ignore_ascii_case(word));
    (query.reasons.is_empty() || is(&query.reasons, &Reason::word(job.reason)))
        && (query.flags.is_empty() || job.flags.iter().any(|flag| is(&query.flags, flag)))
        && (query.associations.is_empty() || query.associations.contains(&job.association_id))
        && query.constraints.iter().all(|wanted| {
            job.constraints.split(['&', '|', ',']).any(|constraint| constraint == wanted)
        })
}

/// Adds what only this machine knows, sums what the steps used, and cuts times to the window.
fn prepared(query: &Query, mut job: AccountingView) -> AccountingView {
    if job.group_name.is_empty() {
        job.group_name = group(job.gid);
    }
    // What a job's own steps have used, not its script.
    let numbered = job.steps.iter().filter(|step| step.step_id.parse::<u32>().is_ok());
    let energy = numbered.filter_map(|step| step.consumed_energy_joules).reduce(|a, b| a + b);
    job.consumed_energy_joules = job.consumed_energy_joules.or(energy);
    job.user_cpu_micros += job.steps.iter().map(|step| step.user_cpu_micros).sum::<u64>();
    job.system_cpu_micros += job.steps.iter().map(|step| step.system_cpu_micros).sum::<u64>();
    if query.no_convert || query.unit.is_some() {
        let unit = query.unit.filter(|_| !query.no_convert).unwrap_or('M');
        in_unit(&mut job, unit);
        job.steps.iter_mut().for_each(|step| in_unit(step, unit));
    }
    if let Some((start, end)) = query.cut {
        cut(&mut job, start, end);
        job.steps.iter_mut().for_each(|step| cut(step, start, end));
    }
    job
}

/// Memory among resources, in the unit that is asked for.
fn in_unit(row: &mut AccountingView, unit: char) {
    for list in [&mut row.tres_allocated, &mut row.tres_requested] {
        let parts = list.split(',').map(|part| match part.split_once('=') {
            Some((name @ ("mem" | "vmem"), amount)) => {
                format!("{name}={}", converted(amount, unit))
            }
            _ => part.to_string(),
        });
        *list = parts.collect::<Vec<_>>().join(",");
    }
}

/// `4G` as `4096M`, `4194304K`; with two digits behind the point where it does not come out even.
fn converted(amount: &str, unit: char) -> String {
    const UNITS: &str = "KMGTP";
    let power = |letter: char| UNITS.find(letter.to_ascii_uppercase()).unwrap_or(1) as i32;
    let number = amount.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let from = amount[number.len()..].chars().next().unwrap_or('M');
    let Ok(number) = number.parse::<f64>() else { return amount.to_string() };
    let number = number * 1024f64.powi(power(from) - power(unit));
    match number.fract() == 0.0 {
        true => format!("{number:.0}{unit}"),
        false => format!("{number:.2}{unit}"),
    }
}

fn cut(row: &mut AccountingView, start: i64, end: i64) {
    if row.start_time > 0 && row.start_time < start {
        row.start_time = start;
    }
    if end > 0 && row.start_time > 0 && (row.end_time == 0 || row.end_time > end) {
        row.end_time = end;
    }
}

fn group(gid: u32) -> String {
    thread_local! {
        static KNOWN: std::cell::RefCell<BTreeMap<u32, String>> = const {
            std::cell::RefCell::new(BTreeMap::new())
        };
    }
    let look_up = || {
        let found = nix::unistd::Group::from_gid(nix::unistd::Gid::from_raw(gid));
        found.ok().flatten().map_or_else(|| gid.to_string(), |group| group.name)
    };
    KNOWN.with_borrow_mut(|known| known.entry(gid).or_insert_with(look_up).clone())
}

/// What is not kept, or is not the caller's to read, is NONE.
fn kept_text(text: Text, job: &AccountingView) -> String {
    let title = match text {
        Text::Script => "Batch Script for",
        Text::Environment => "Environment used for",
    };
    let hint = match text {
        Text::Script => "",
        Text::Environment => " (must be batch to display)",
    };
    let kept = match text {
        Text::Script => String::from_utf8_lossy(&job.script).into_owned(),
        Text::Environment => String::from_utf8_lossy(&job.environment).replace('\0', "\n"),
    };
    let kept = if kept.is_empty() { "NONE".to_string() } else { kept.trim_end().to_string() };
    format!("{title} {}{hint}\n{}\n{kept}\n\n", job.job_id, "-".repeat(80))
}
