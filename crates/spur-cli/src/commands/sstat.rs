//! `sstat`: what running steps use at this moment, asked of their nodes.

use spur_core::accounts::Used;
use spur_core::errors::SlurmError;
use spur_core::fields::accounting::STEP_JSON;
use spur_core::fields::render::Layout;
use spur_core::fields::{Column, RenderContext, render, statistics};
use spur_core::hostlist;
use spur_core::ids::StepId;
use spur_core::tools::sstat::TOOL;
use spur_core::views::{AccountingView, StepView};
use spur_proto::caller::CallError;
use spur_proto::internal::StepUsage;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{ListStepsRequest, StepAccess, StepAccessRequest};

use super::srun::nodes;
use super::{Ended, Notation, allocation, answer};
use crate::output::{complain, print};
use crate::{cluster, zone};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match Query::read(args) {
        Ok(query) => cluster::block_on(show(&query)),
        Err(Ended(status)) => status,
    }
}

/// What is asked for, and how to show it.
struct Query {
    steps: Vec<(u32, Option<StepId>)>,
    all_steps: bool,
    columns: Vec<Column<AccountingView>>,
    /// A line for each node.
    by_node: bool,
    layout: Layout,
    header: bool,
    no_convert: bool,
    notation: Option<Notation>,
}

const PIDS: &str = "JobID,Nodelist,Pids";

impl Query {
    fn read(args: &[String]) -> Result<Query, Ended> {
        let words = super::read_tool(&TOOL, args)?;
        let refuse = |message: String| {
            complain("sstat", message);
            Ended(1)
        };
        let mut query = Query {
            steps: Vec::new(),
            all_steps: false,
            columns: Vec::new(),
            by_node: false,
            layout: Layout::Fixed,
            header: true,
            no_convert: false,
            notation: None,
        };
        let mut format = statistics::DEFAULT.to_string();
        for (flag, value) in &words.options {
            let delimiter = "|".to_string();
            match flag.long {
                "allsteps" => query.all_steps = true,
                "format" | "fields" => format = value.clone(),
                "helpformat" => {
                    print(&statistics::names());
                    return Err(Ended(0));
                }
                "jobs" => query.steps.extend(steps(value)?),
                "json" => query.notation = Some(Notation::Json),
                "yaml" => query.notation = Some(Notation::Yaml),
                "noconvert" => query.no_convert = true,
                "noheader" => query.header = false,
                "parsable" => query.layout = Layout::Parsable { delimiter, ends: true },
                "parsable2" => query.layout = Layout::Parsable { delimiter, ends: false },
                "pidformat" => (format, query.by_node) = (PIDS.to_string(), true),
                _ => {}
            }
        }
        // What is behind all options is meant, too.
        for word in &words.rest {
            query.steps.extend(steps(word)?);
        }
        query.columns = statistics::columns(&format)
            .map_err(|unknown| refuse(format!("Invalid field requested: \"{unknown}\"")))?;
        if query.steps.is_empty() {
            return Err(refuse("You didn't give me any jobs to stat.".to_string()));
        }
        Ok(query)
    }
}

/// `12,13.0`
fn steps(list: &str) -> Result<Vec<(u32, Option<StepId>)>, Ended> {
    let words = list.split(',').filter(|word| !word.is_empty());
    let read = words.map(|word| {
        step(word).ok_or_else(|| {
            eprintln!("sstat: fatal: Bad job/step specified: {word}");
            Ended(1)
        })
    });
    read.collect()
}

/// `12`, `12.0`, `12.batch`.
fn step(word: &str) -> Option<(u32, Option<StepId>)> {
    match word.split_once('.') {
        Some((job, step)) => Some((job.parse().ok()?, Some(StepId::parse(step)?))),
        None => Some((word.parse().ok()?, None)),
    }
}

async fn show(query: &Query) -> u8 {
    let mut rows = Vec::new();
    let mut complaints = Vec::new();
    for (job, named) in &query.steps {
        let steps = match named {
            Some(step) => vec![*step],
            None => chosen(&living(*job).await, query.all_steps),
        };
        if steps.is_empty() {
            complaints.push(match allocation::not_running(*job).await {
                Some(SlurmError::InvalidJobId) => format!("couldn't get steps for job {job}"),
                _ => format!("No steps running for job {job}"),
            });
        }
        for step in steps {
            match measured(*job, step).await {
                Ok(nodes) if query.by_node => rows
                    .extend(nodes.iter().map(|node| row(*job, step, std::slice::from_ref(node)))),
                Ok(nodes) => rows.push(row(*job, step, &nodes)),
                Err(CallError::Refused(SlurmError::InvalidJobId)) => {
                    complaints.push(match allocation::not_running(*job).await {
                        Some(SlurmError::InvalidJobId) => {
                            format!("couldn't get steps for job {job}")
                        }
                        _ => format!("StepId={job}.{step} not found running."),
                    });
                }
                Err(error) => {
                    complaints
                        .push(format!("problem getting step_layout for {job}.{step}: {error}"));
                }
            }
        }
    }
    if let Some(notation) = query.notation {
        let rows = rows.iter().map(|row| render::json(STEP_JSON, row)).collect();
        print(&answer::written(&answer::enclosed("", "steps", rows, &[], &["sstat"]), notation));
    } else {
        print(&table(query, &rows));
    }
    complaints.iter().for_each(|complaint| complain("sstat", complaint));
    0
}

fn table(query: &Query, rows: &[AccountingView]) -> String {
    let context = RenderContext {
        now: zone::now(),
        offset_at: &zone::offset_at,
        no_convert: query.no_convert,
        unit: None,
        spell: None,
    };
    let mut lines = Vec::new();
    if query.header {
        lines.extend(render::accounting_header(&query.columns, &query.layout));
    }
    let row = |row| render::accounting_row(&query.columns, row, &query.layout, &context);
    lines.extend(rows.iter().map(row));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The steps of a job that have processes.
async fn living(job: u32) -> Vec<StepView> {
    let request = ListStepsRequest { job_ids: vec![job], ..ListStepsRequest::default() };
    let ask = |mut client: ControllerClient<_>| {
        let request = request.clone();
        async move { client.list_steps(request).await }
    };
    allocation::caller().call(ask).await.map(|reply| reply.steps).unwrap_or_default()
}

/// All of them with the job's own first, or the lowest numbered that `srun` made.
fn chosen(steps: &[StepView], all: bool) -> Vec<StepId> {
    let mut ids: Vec<StepId> =
        steps.iter().filter_map(|step| StepId::parse(&step.step_id)).collect();
    ids.sort_by_key(|id| (*id <= StepId::MAX, *id));
    if !all {
        ids.retain(|id| *id <= StepId::MAX);
        ids.truncate(1);
    }
    ids
}

/// What each node of a step says.
async fn measured(job: u32, step: StepId) -> Result<Vec<(String, StepUsage)>, CallError> {
    let request = StepAccessRequest { job_id: job, step_id: step.0, measure: true };
    let ask = |mut client: ControllerClient<_>| async move { client.access_step(request).await };
    let access: StepAccess = match allocation::caller().call(ask).await {
        Err(CallError::Refused(SlurmError::AlreadyDone)) => {
            return Err(CallError::Refused(SlurmError::InvalidJobId));
        }
        access => access?,
    };
    Ok(nodes::measure(&access).await)
}

fn row(job: u32, step: StepId, nodes: &[(String, StepUsage)]) -> AccountingView {
    let used = nodes.iter().filter_map(|(node, it)| Some((node.as_str(), it.usage.as_ref()?)));
    let used = Used::of(used);
    let pids = nodes.iter().flat_map(|(_, it)| &it.pids).map(u32::to_string);
    AccountingView {
        job_id: job,
        step_id: step.to_string(),
        nodes: hostlist::compress(nodes.iter().map(|(node, _)| node)),
        pids: pids.collect::<Vec<_>>().join(","),
        tasks: used.tasks,
        user_cpu_micros: used.user_micros,
        system_cpu_micros: used.system_micros,
        usage_in: used.taken_in,
        usage_out: used.put_out,
        consumed_energy_joules: Some(0),
        ..AccountingView::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_job_is_its_first_step() {
        let named = |id: &str| StepView { step_id: id.to_string(), ..StepView::default() };
        let steps = ["3", "batch", "1", "extern"].map(named);
        assert_eq!(chosen(&steps, false), [StepId(1)]);
        let all = [StepId::BATCH, StepId::EXTERN, StepId(1), StepId(3)];
        assert_eq!(chosen(&steps, true), all);
        assert_eq!(chosen(&steps[1..2], false), []);
        assert_eq!(step("7.batch"), Some((7, Some(StepId::BATCH))));
        assert_eq!((step("7"), step("x.0"), step("7.x")), (Some((7, None)), None, None));
    }
}
