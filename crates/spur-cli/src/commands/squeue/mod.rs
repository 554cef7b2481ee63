//! `squeue`: jobs in the queue.

pub mod arrays;
pub mod order;
mod query;
mod select;
mod show;

use std::collections::BTreeSet;

use spur_core::fields::job::JOB_FIELDS;
use spur_core::fields::step::STEP_FIELDS;
use spur_core::fields::{Field, RenderContext, format, render};
use spur_core::job::state::StateFilter;
use spur_core::views::{JOB_MEMBERS, JobView, Rows, StepView};
use spur_proto::caller::CallError;
use spur_proto::slurm::{ListJobsRequest, ListNodesRequest, ListStepsRequest};

use self::query::{Format, Query};
use super::{Ended, Notation};
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
        return show::objects(query, &jobs, controller);
    }
    let spell = zone::spelling("squeue");
    let context = RenderContext {
        now: zone::now(),
        offset_at: &zone::offset_at,
        no_convert: query.no_convert,
        spell: spell.as_deref(),
        unit: None,
    };
    let dated = query.dated || query.verbose;
    if (dated && query.header) || query.repeat_secs.is_some() {
        print(&format!("{}\n", zone::date(context.now)));
    }
    if query.verbose {
        print(&format!("last_update_time={} records={}\n", context.now.0, jobs.len()));
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
            let columns = header(query, JOB_FIELDS, "Invalid job format specification");
            let order = checked_order(query)?;
            show::lines(query, &jobs, &columns, &order, &context);
        }
    }
    // The system takes everything back at once, and sooner than it could be tidied up.
    std::mem::forget(jobs);
    Ok(())
}

/// Every node that is named must be there.
fn check_nodes(query: &Query, controller: &mut Controller) -> Result<(), Ended> {
    let Some(wanted) = &query.nodes else { return Ok(()) };
    let request = ListNodesRequest {
        names: wanted.join(","),
        members: vec!["name".into()],
        ..Default::default()
    };
    let known = controller.nodes_of(request).map_err(|error| {
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

fn load(query: &Query, controller: &mut Controller) -> Result<Rows<JobView>, Ended> {
    let refused = |error: CallError| {
        note(format!("slurm_load_jobs error: {error}"));
        Ended(1)
    };
    if query.uids.as_ref().is_some_and(Vec::is_empty) {
        return Ok(Rows::new(JOB_MEMBERS));
    }
    let request = ListJobsRequest {
        job_ids: query.jobs.iter().map(|reference| reference.job).collect(),
        estimates: query.start,
        members: members(query),
        ..ListJobsRequest::default()
    };
    // A single job that is not known is refused; an ended one is known.
    let single = is_single(query);
    let request = match single {
        true => ListJobsRequest { ended: true, ..request },
        false => ListJobsRequest {
            uids: query.uids.clone().unwrap_or_default(),
            ended: query.states() != StateFilter::default_for_squeue(),
            partitions: query.partitions.clone(),
            ..request
        },
    };
    let jobs = controller.job_rows(&request).map_err(refused)?;
    if single && query.steps.is_none() && jobs.is_empty() {
        note("slurm_load_jobs error: Invalid job id specified");
        return Err(Ended(1));
    }
    Ok(jobs)
}

fn is_single(query: &Query) -> bool {
    matches!(query.jobs[..], [_])
}

/// The members by which each job is chosen, ordered and shown; none where all of them are.
fn members(query: &Query) -> Vec<String> {
    if query.notation != Notation::Table {
        return Vec::new();
    }
    let columns = layout(query, JOB_FIELDS).columns;
    let shown = columns.iter().filter_map(|column| column.field).map(|field| field.reads);
    let order = query.order();
    let names = shown.chain(order.reads()).chain(select::reads(query));
    let mut names: BTreeSet<&str> = names.flat_map(str::split_whitespace).collect();
    // The names of groups are this machine's to tell.
    if names.remove("group_name") {
        names.insert("gid");
    }
    names.into_iter().map(str::to_string).collect()
}

/// The steps of these jobs.
fn load_steps(jobs: &Rows<JobView>, controller: &mut Controller) -> Result<Vec<StepView>, Ended> {
    let steps = controller.steps(&ListStepsRequest::default()).map_err(|error| {
        note(format!("slurm_get_job_steps error: {error}"));
        Ended(1)
    })?;
    let mut known = BTreeSet::new();
    let mut cursor = jobs.cursor();
    for place in 0..jobs.len() {
        cursor.go(place);
        known.insert(cursor.row.job_id);
    }
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
