//! `sinfo`: partitions and nodes.

use std::sync::Arc;

use spur_core::fields::sinfo::{
    DEFAULT, LONG, NODES, NODES_LONG, SINFO_FIELDS, SUMMARY, fill_widths, group,
};
use spur_core::fields::{RenderContext, format, render};
use spur_core::getopt::{Flag, flag, option};
use spur_core::views::{NodeView, PartitionView};
use spur_proto::caller::CallError;
use spur_proto::slurm::{ListNodesRequest, ListPartitionsRequest};

use crate::output::{complain, print};
use crate::{cluster, zone};

const FLAGS: &[Flag] = &[
    flag("noheader", Some('h')),
    flag("Node", Some('N')),
    flag("long", Some('l')),
    flag("summarize", Some('s')),
    flag("all", Some('a')),
    flag("exact", Some('e')),
    flag("version", Some('V')),
    flag("help", None),
    flag("usage", None),
    option("format", Some('o')),
    option("Format", Some('O')),
    option("partition", Some('p')),
];

const USAGE: &str =
    "Usage: sinfo [-h] [-N] [-l] [-s] [-a] [-e] [-p PARTITION,…] [-o FORMAT | -O FIELD,…]\n";

#[derive(Default)]
struct Query {
    no_header: bool,
    by_node: bool,
    long: bool,
    summary: bool,
    exact: bool,
    format: Option<(String, bool)>,
    partitions: Option<Vec<String>>,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let query = match read(args) {
        Ok(query) => query,
        Err(status) => return status,
    };
    match load() {
        Ok((partitions, nodes)) => {
            print(&table(&query, partitions, nodes));
            0
        }
        Err(error) => {
            eprintln!("slurm_load_partitions: {error}");
            1
        }
    }
}

fn read(args: &[String]) -> Result<Query, u8> {
    let words = super::read("sinfo", FLAGS, args)?;
    let format = std::env::var("SINFO_FORMAT").ok().map(|format| (format, false));
    let mut query = Query { format, ..Query::default() };
    for (flag, value) in &words.options {
        match flag.long {
            "noheader" => query.no_header = true,
            "Node" => query.by_node = true,
            "long" => query.long = true,
            "summarize" => query.summary = true,
            "exact" => query.exact = true,
            "format" => query.format = Some((value.clone(), false)),
            "Format" => query.format = Some((value.clone(), true)),
            "partition" => {
                query.partitions = Some(value.split(',').map(str::to_string).collect());
            }
            "version" => {
                print(&format!("{}\n", super::VERSION));
                return Err(0);
            }
            "help" | "usage" => {
                print(USAGE);
                return Err(0);
            }
            _ => {}
        }
    }
    Ok(query)
}

type Shown = (Vec<Arc<PartitionView>>, Vec<Arc<NodeView>>);

fn load() -> Result<Shown, CallError> {
    let mut caller = cluster::caller();
    cluster::block_on(async {
        let partitions = caller
            .call(
                |mut client| async move { client.list_partitions(ListPartitionsRequest {}).await },
            )
            .await?;
        let nodes = caller
            .call(|mut client| async move { client.list_nodes(ListNodesRequest {}).await })
            .await?;
        let partitions = partitions.partitions.into_iter().map(Arc::new).collect();
        Ok((partitions, nodes.nodes.into_iter().map(Arc::new).collect()))
    })
}

fn table(
    query: &Query,
    mut partitions: Vec<Arc<PartitionView>>,
    mut nodes: Vec<Arc<NodeView>>,
) -> String {
    if let Some(wanted) = &query.partitions {
        partitions.retain(|partition| wanted.contains(&partition.name));
    }
    nodes.sort_by(|a, b| spur_core::hostlist::natural(&a.name, &b.name));
    let longest = |names: &mut dyn Iterator<Item = usize>| names.max().unwrap_or(0);
    // The default partition carries a star.
    let partition_width = longest(
        &mut partitions
            .iter()
            .map(|partition| partition.name.len() + usize::from(partition.is_default)),
    );
    let node_width = longest(&mut nodes.iter().map(|node| node.name.len()));
    let (layout, by_name) = match (&query.format, query.by_node, query.long, query.summary) {
        (Some((format, by_name)), ..) => (format.clone(), *by_name),
        (None, true, true, _) => (NODES_LONG.to_string(), false),
        (None, true, false, _) => (NODES.to_string(), false),
        (None, false, _, true) => (SUMMARY.to_string(), false),
        (None, false, true, false) => (LONG.to_string(), false),
        (None, false, false, false) => (DEFAULT.to_string(), false),
    };
    let layout = fill_widths(&layout, partition_width, node_width);
    let format = match by_name {
        true => format::names(SINFO_FIELDS, &layout),
        false => format::letters(SINFO_FIELDS, &layout),
    };
    for problem in &format.problems {
        complain("sinfo", format!("Invalid node format specification: {problem}"));
    }
    let context =
        RenderContext { now: zone::now(), offset_at: &zone::offset_at, ..RenderContext::default() };
    let mut text = String::new();
    if query.long {
        text.push_str(&format!("{}\n", zone::date(context.now)));
    }
    if !query.no_header {
        text.push_str(&render::header(&format.columns));
        text.push('\n');
    }
    let groups = match query.by_node {
        false => group(&format.columns, &partitions, &nodes, query.exact, &context),
        true => by_node(&partitions, &nodes),
    };
    for line in groups {
        text.push_str(&render::row(&format.columns, &line, &context));
        text.push('\n');
    }
    text
}

/// `-N`: a line for each node and partition.
fn by_node(
    partitions: &[Arc<PartitionView>],
    nodes: &[Arc<NodeView>],
) -> Vec<spur_core::fields::sinfo::NodeGroup> {
    let mut lines = Vec::new();
    for node in nodes {
        for partition in partitions.iter().filter(|p| node.partitions.contains(&p.name)) {
            lines.push(spur_core::fields::sinfo::NodeGroup {
                partition: Some(partition.clone()),
                nodes: vec![node.clone()],
            });
        }
    }
    lines
}
