//! `sinfo`: partitions and nodes.

mod order;
mod query;

use std::sync::Arc;

use spur_core::fields::clock;
use spur_core::fields::reservation::state;
use spur_core::fields::sinfo::{NodeGroup, SINFO_FIELDS, fill_widths, group};
use spur_core::fields::{Column, RenderContext, format, render};
use spur_core::node::{NodeFlag, NodeState, NodeStatus};
use spur_core::time::{Timestamp, display};
use spur_core::views::{NodeView, PartitionView, ReservationView};

use self::query::Query;
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
    if let Some(wanted) = &query.with_cluster {
        super::name_cluster("sinfo", wanted, query.header, &mut controller)?;
    }
    super::answer_each(query.repeat_secs, || one_answer(&query, &mut controller))
}

fn one_answer(query: &Query, controller: &mut Controller) -> Result<(), Ended> {
    let shown = load(query, controller).map_err(|error| {
        note(format!("slurm_load_partitions: {error}"));
        Ended(1)
    })?;
    let spell = zone::spelling("sinfo");
    let context = RenderContext {
        now: zone::now(),
        offset_at: &zone::offset_at,
        no_convert: query.no_convert,
        spell: spell.as_deref(),
        unit: None,
    };
    if query.notation != Notation::Table {
        let columns = format::letters(SINFO_FIELDS, query.layout().0).columns;
        let lines = lines(query, &columns, &shown, &context);
        let list = lines.iter().map(|line| render::json(SINFO_FIELDS, line)).collect();
        let whole = answer::envelope(controller, "sinfo", list, &[], &["sinfo"]);
        print(&answer::written(&whole, query.notation));
        return Ok(());
    }
    if (query.long && query.header) || query.repeat_secs.is_some() {
        print(&format!("{}\n", zone::date(context.now)));
    }
    if query.reservations {
        let all = controller.reservations().map_err(|error| {
            note(format!("slurm_load_reservations: {error}"));
            Ended(1)
        })?;
        print(&match all.is_empty() {
            true => "No reservations in the system\n".to_string(),
            false => reservations(query, &all, &context),
        });
        return Ok(());
    }
    print(&table(query, &shown, &context));
    Ok(())
}

/// `sinfo -T`
fn reservations(query: &Query, all: &[ReservationView], context: &RenderContext<'_>) -> String {
    let width = all.iter().map(|it| it.name.len()).max().unwrap_or(0).max("RESV_NAME".len());
    let line = |name: &str, state: &str, start: &str, end: &str, span: &str, nodes: &str| {
        format!("{name:<width$}  {state:>8}  {start:>19}  {end:>19}  {span:>11}  {nodes}\n")
    };
    let mut text = match query.header {
        false => String::new(),
        true => line("RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST"),
    };
    for it in all {
        let moment = |at: i64| display::moment(Timestamp(at), &zone::Local);
        let span = clock::span_padded(it.end_time - it.start_time);
        let (start, end) = (moment(it.start_time), moment(it.end_time));
        let nodes = if it.nodes.is_empty() { "(null)" } else { &it.nodes };
        text += &line(&it.name, state(it, context.now), &start, &end, &span, nodes);
    }
    text
}

/// Partitions and nodes that pass the filters.
struct Shown {
    partitions: Vec<Arc<PartitionView>>,
    nodes: Vec<Arc<NodeView>>,
    /// Among all partitions, since columns do not shrink with the choice.
    widths: (usize, usize),
}

fn load(
    query: &Query,
    controller: &mut Controller,
) -> Result<Shown, spur_proto::caller::CallError> {
    let mut partitions = controller.partitions()?;
    let mut nodes = controller.nodes()?;
    if let Some(wanted) = &query.partitions {
        partitions.retain(|partition| wanted.contains(&partition.name));
    } else if !query.hidden && !nix::unistd::getuid().is_root() {
        partitions.retain(|partition| !partition.hidden);
    }
    nodes.retain(|node| is_wanted(query, node));
    // Which cluster it is is told to those who ask for one.
    if query.with_cluster.is_none() && query.notation == Notation::Table {
        nodes.iter_mut().for_each(|node| node.cluster.clear());
    }
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    // The default partition carries a star.
    let widths = (
        longest(&mut partitions.iter().map(|p| p.name.len() + usize::from(p.is_default))),
        longest(&mut nodes.iter().map(|node| node.name.len())),
    );
    let partitions = partitions.into_iter().map(Arc::new).collect();
    Ok(Shown { partitions, nodes: nodes.into_iter().map(Arc::new).collect(), widths })
}

fn is_wanted(query: &Query, node: &NodeView) -> bool {
    let status = NodeStatus(node.state);
    let silent = status.has(NodeFlag::NotResponding);
    let told = status.has(NodeFlag::Drain)
        || status.has(NodeFlag::Fail)
        || status.base() == NodeState::Down;
    query.nodes.as_ref().is_none_or(|names| names.contains(&node.name))
        && query.states.as_ref().is_none_or(|states| states.lets_through(status))
        && (!query.dead || silent)
        && !(query.responding && silent)
        && (!query.reasons || told)
}

fn table(query: &Query, shown: &Shown, context: &RenderContext<'_>) -> String {
    let (layout, by_name) = query.layout();
    let layout = fill_widths(layout, shown.widths.0, shown.widths.1);
    let format = match by_name {
        true if layout.eq_ignore_ascii_case("all") => format::letters(SINFO_FIELDS, "%all"),
        true => format::names(SINFO_FIELDS, &layout),
        false => format::letters(SINFO_FIELDS, &layout),
    };
    for problem in &format.problems {
        match by_name {
            true => complain("sinfo", format!("Invalid job format specification: {problem}")),
            false => note(format!("Invalid node format specification: {problem}")),
        }
    }
    let mut text = String::new();
    if query.header {
        text.push_str(&render::header(&format.columns));
        text.push('\n');
    }
    for line in lines(query, &format.columns, shown, context) {
        text.push_str(&render::row(&format.columns, &line, context));
        text.push('\n');
    }
    text
}

fn lines(
    query: &Query,
    columns: &[Column<NodeGroup>],
    shown: &Shown,
    context: &RenderContext<'_>,
) -> Vec<NodeGroup> {
    let mut lines = match query.by_node {
        false => group(columns, &shown.partitions, &shown.nodes, query.exact, context),
        true => by_node(shown),
    };
    if query.reasons {
        lines.retain(|line| !line.nodes.is_empty());
    }
    let usual = match query {
        Query { by_node: true, .. } => "N",
        Query { reasons: true, .. } => "-H",
        _ => "#P,-t",
    };
    let names: Vec<&str> = shown.partitions.iter().map(|p| p.name.as_str()).collect();
    order::sort(&mut lines, query.order.as_deref().unwrap_or(usual), &names);
    lines
}

/// `-N`: a line for each node and partition.
fn by_node(shown: &Shown) -> Vec<NodeGroup> {
    let mut lines = Vec::new();
    for node in &shown.nodes {
        for partition in shown.partitions.iter().filter(|p| node.partitions.contains(&p.name)) {
            lines.push(NodeGroup { partition: Some(partition.clone()), nodes: vec![node.clone()] });
        }
    }
    lines
}
