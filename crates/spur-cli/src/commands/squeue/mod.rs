//! `squeue`: jobs in the queue.

pub mod order;
mod query;
mod select;

use std::collections::BTreeSet;

use spur_core::fields::job::JOB_FIELDS;
use spur_core::fields::step::STEP_FIELDS;
use spur_core::fields::{Field, RenderContext, format, render};
use spur_core::job::state::StateFilter;
use spur_core::views::{JobView, StepView};
use spur_proto::caller::CallError;
use spur_proto::slurm::{ListJobsRequest, ListStepsRequest};

use self::query::{Format, Query};
use super::{Ended, Notation, answer};
use crate::cluster::Controller;
use crate::output::{complain, note, print};
use crate::zone;

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match answers(args) {
        Ok(()) => 0,
        Err(Ended(status)) => status,
    }
}

fn answers(args: &[String]) -> Result<(), Ended> {
    let query = Query::read(args)?;
    let mut controller = Controller::find();
    check_nodes(&query, &mut controller)?;
    if let Some(wanted) = &query.with_cluster {
        super::name_cluster("squeue", wanted, query.header, &mut controller)?;
    }
    super::answer_each(query.repeat_secs, || one_answer(&query, &mut controller))
}

fn one_answer(query: &Query, controller: &mut Controller) -> Result<(), Ended> {
    let jobs = load(query, controller)?;
    if query.notation != Notation::Table {
        let jobs = select::jobs(query, jobs);
        let jobs = jobs.iter().flat_map(|job| select::lines(query, job).into_owned());
        let jobs: Vec<JobView> = jobs.collect();
        let list = jobs.iter().map(|job| render::json(JOB_FIELDS, job)).collect();
        let now = zone::now().0;
        let more = [("last_backfill", answer::moment(now)), ("last_update", answer::moment(now))];
        let whole = answer::envelope(controller, "jobs", list, &more, &["squeue"]);
        print(&answer::written(&whole, query.notation));
        return Ok(());
    }
    let spell = zone::spelling("squeue");
    let context = RenderContext {
        now: zone::now(),
        offset_at: &zone::offset_at,
        no_convert: query.no_convert,
        spell: spell.as_deref(),
        unit: None,
    };
    if (query.dated && query.header) || query.repeat_secs.is_some() {
        print(&format!("{}\n", zone::date(context.now)));
    }
    match query.steps {
        Some(_) => {
            let steps = select::steps(query, load_steps(&jobs, controller)?);
            let kind = "Invalid job step format specification";
            let columns = header(query, STEP_FIELDS, kind);
            let order = checked_order(query)?;
            print(&lines(&columns, order.steps(&steps, &context), &context));
        }
        None => {
            let jobs = select::jobs(query, jobs);
            let columns = header(query, JOB_FIELDS, "Invalid job format specification");
            let order = checked_order(query)?;
            let jobs = order.jobs(&jobs, &context);
            let mut text = String::new();
            for job in jobs {
                select::each_line(query, job, |line| {
                    text.push_str(&render::row(&columns, line, &context));
                    text.push('\n');
                });
            }
            print(&text);
        }
    }
    Ok(())
}

/// Every node that is named must be there.
fn check_nodes(query: &Query, controller: &mut Controller) -> Result<(), Ended> {
    let Some(wanted) = &query.nodes else { return Ok(()) };
    let known = controller.nodes().map_err(|error| {
        note(format!("slurm_load_node error: {error}"));
        Ended(1)
    })?;
    match wanted.iter().find(|name| !known.iter().any(|node| node.name == **name)) {
        None => Ok(()),
        Some(name) => {
            complain("squeue", format!("Invalid node name {name}"));
            Err(Ended(1))
        }
    }
}

fn load(query: &Query, controller: &mut Controller) -> Result<Vec<JobView>, Ended> {
    let refused = |error: CallError| {
        note(format!("slurm_load_jobs error: {error}"));
        Ended(1)
    };
    let ids: Vec<u32> = query.jobs.iter().map(|reference| reference.job).collect();
    // A single job that is not known is refused; an ended one is known.
    let single = matches!(query.jobs[..], [_]);
    let request = ListJobsRequest {
        job_ids: ids,
        uids: query.uids.clone().unwrap_or_default(),
        ended: single || query.states() != StateFilter::default_for_squeue(),
        partitions: query.partitions.clone(),
        estimates: query.start,
        outline: tells_by_outline(query),
        ..ListJobsRequest::default()
    };
    if query.uids.as_ref().is_some_and(Vec::is_empty) {
        return Ok(Vec::new());
    }
    let request = match single {
        true => ListJobsRequest {
            job_ids: request.job_ids,
            ended: true,
            estimates: query.start,
            outline: request.outline,
            ..Default::default()
        },
        false => request,
    };
    let mut jobs = controller.jobs(&request).map_err(refused)?;
    if single && jobs.is_empty() {
        note("slurm_load_jobs error: Invalid job id specified");
        return Err(Ended(1));
    }
    if single {
        // The tasks of one array come latest first.
        jobs.sort_by_key(|job| std::cmp::Reverse(job.job_id));
    }
    Ok(jobs)
}

/// Whether the outline of each job is enough to choose, order and show it.
fn tells_by_outline(query: &Query) -> bool {
    let chosen_by_more = query.reservation.is_some() || !query.licenses.is_empty();
    query.notation == Notation::Table
        && !chosen_by_more
        && query.order().by_outline()
        && layout(query, JOB_FIELDS).columns.iter().all(|column| match column.field {
            Some(field) => field.outline,
            None => true,
        })
}

/// The steps of these jobs.
pub fn load_steps(jobs: &[JobView], controller: &mut Controller) -> Result<Vec<StepView>, Ended> {
    let steps = controller.steps(&ListStepsRequest::default()).map_err(|error| {
        note(format!("slurm_get_job_steps error: {error}"));
        Ended(1)
    })?;
    let known: BTreeSet<u32> = jobs.iter().map(|job| job.job_id).collect();
    Ok(steps.into_iter().filter(|step| known.contains(&step.job_id)).collect())
}

/// Prints the header, complaints about columns first.
fn header<Row>(
    query: &Query,
    fields: &'static [Field<Row>],
    complaint: &str,
) -> Vec<spur_core::fields::Column<Row>> {
    let format = layout(query, fields);
    for problem in &format.problems {
        complain("squeue", format!("{complaint}: {problem}"));
    }
    if query.header {
        print(&format!("{}\n", render::header(&format.columns)));
    }
    format.columns
}

fn layout<Row>(query: &Query, fields: &'static [Field<Row>]) -> format::Format<Row> {
    match &query.format {
        Format::Names(names) => format::names(fields, names),
        _ => format::letters(fields, query.letters()),
    }
}

fn checked_order(query: &Query) -> Result<order::Order, Ended> {
    let order = query.order();
    for letter in order.ignored.iter().filter(|_| order.unknown.is_none()) {
        note(format!("squeue: Invalid sort specification: {letter}"));
    }
    match order.unknown {
        None => Ok(order),
        Some(letter) => {
            complain("squeue", format!("Invalid sort specification: {letter}"));
            Err(Ended(1))
        }
    }
}

fn lines<'a, Row: 'a>(
    columns: &[spur_core::fields::Column<Row>],
    rows: impl IntoIterator<Item = &'a Row>,
    context: &RenderContext<'_>,
) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&render::row(columns, row, context));
        text.push('\n');
    }
    text
}
