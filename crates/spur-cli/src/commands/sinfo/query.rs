//! What `sinfo`'s words and variables ask for.

use spur_core::fields::sinfo;
use spur_core::hostlist;
use spur_core::node::filter::{NodeFilter, VALID_STATES};
use spur_core::tools::sinfo::TOOL;

use crate::commands::{Ended, Notation};
use crate::output::complain;

/// What is asked for.
pub struct Query {
    pub header: bool,
    pub by_node: bool,
    pub long: bool,
    pub summary: bool,
    pub exact: bool,
    pub reasons: bool,
    pub reservations: bool,
    /// Only nodes that do not respond.
    pub dead: bool,
    /// Only nodes that respond.
    pub responding: bool,
    pub hidden: bool,
    pub no_convert: bool,
    pub notation: Notation,
    /// The format, and whether it is one of names.
    pub format: Option<(String, bool)>,
    pub order: Option<String>,
    pub partitions: Option<Vec<String>>,
    pub nodes: Option<Vec<String>>,
    pub states: Option<NodeFilter>,
    pub with_cluster: Option<String>,
    pub repeat_secs: Option<u64>,
}

impl Query {
    /// Reads words and variables.
    pub fn read(args: &[String]) -> Result<Query, Ended> {
        let words = crate::commands::read_tool(&TOOL, args)?;
        let said = |name: &str| words.options.iter().any(|(flag, _)| flag.long == name);
        if said("format") && said("long") {
            eprintln!(
                "sinfo: fatal: Options -o(--format) and -l(--long) are mutually exclusive. \
                 Please remove one and retry."
            );
            return Err(Ended(1));
        }
        let mut query = Query::default();
        let layouts = ["format", "Format", "Node", "long", "list-reasons", "summarize"];
        for (flag, value) in TOOL.read_variables(|name| std::env::var(name).ok()) {
            let laid_out = flag.long == "format" && layouts.iter().any(|name| said(name));
            if !said(flag.long) && !laid_out {
                query.take(flag.long, &value)?;
            }
        }
        for (flag, value) in &words.options {
            query.take(flag.long, value)?;
        }
        let said = |name: &str| words.options.iter().any(|(flag, _)| flag.long == name);
        if said("all") && said("partition") {
            let text = "Conflicting options, -a and -p, specified. Please choose one or the other.";
            complain("sinfo", text);
            return Err(Ended(1));
        }
        let loud = words.options.iter().filter(|(flag, _)| flag.long == "verbose").count();
        if loud > 0 {
            crate::output::print(&query.told(loud, |name, unsaid| {
                let last = words.options.iter().rev().find(|(flag, _)| flag.long == name);
                last.map_or_else(|| unsaid.to_string(), |(_, value)| value.clone())
            }));
        }
        Ok(query)
    }

    /// What `-v` prints first: what was understood.
    fn told(&self, loud: usize, last: impl Fn(&str, &str) -> String) -> String {
        let filters = self.dead
            || self.responding
            || self.nodes.is_some()
            || self.partitions.is_some()
            || self.states.is_some();
        let rows: [(&str, String); 17] = [
            ("dead", self.dead.to_string()),
            ("exact", u8::from(self.exact).to_string()),
            ("filtering", filters.to_string()),
            ("format", self.layout().0.to_string()),
            ("iterate", self.repeat_secs.unwrap_or(0).to_string()),
            ("long", self.long.to_string()),
            ("no_header", (!self.header).to_string()),
            ("node_field", self.by_node.to_string()),
            ("node_format", self.by_node.to_string()),
            ("nodes", last("nodes", "n/a")),
            ("part_field", "true".to_string()),
            ("partition", last("partition", "n/a")),
            ("responding", self.responding.to_string()),
            ("states", last("states", "(null)")),
            ("sort", last("sort", "(null)")),
            ("summarize", self.summary.to_string()),
            ("verbose", loud.to_string()),
        ];
        let rule = "-----------------------------\n";
        let rows: String =
            rows.iter().map(|(key, value)| format!("{key:<11} = {value}\n")).collect();
        format!("{rule}{rows}{rule}\n")
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), Ended> {
        let list = |words: &str| words.split(',').map(str::to_string).collect();
        match name {
            "all" => self.hidden = true,
            "clusters" => self.with_cluster = Some(value.to_string()),
            "dead" => self.dead = true,
            "exact" => self.exact = true,
            "format" => self.format = Some((value.to_string(), false)),
            "Format" => self.format = Some((value.to_string(), true)),
            "hide" => self.hidden = false,
            "iterate" => self.repeat_secs = Some(seconds(value)?),
            "json" => self.notation = Notation::Json,
            "list-reasons" => self.reasons = true,
            "long" => self.long = true,
            "Node" => self.by_node = true,
            "nodes" => self.nodes = Some(hosts(value)?),
            "noconvert" => self.no_convert = true,
            "noheader" => self.header = false,
            "partition" => self.partitions = Some(list(value)),
            "reservation" => self.reservations = true,
            "responding" => self.responding = true,
            "sort" => self.order = Some(value.to_string()),
            "states" => self.states = Some(states(value)?),
            "summarize" => self.summary = true,
            "yaml" => self.notation = Notation::Yaml,
            _ => {}
        }
        Ok(())
    }

    /// The layout, and whether it is one of names.
    pub fn layout(&self) -> (&str, bool) {
        if let Some((format, by_name)) = &self.format {
            return (format, *by_name);
        }
        let layout = match self {
            Query { summary: true, .. } => sinfo::SUMMARY,
            Query { by_node: true, long: true, .. } => sinfo::NODES_LONG,
            Query { by_node: true, .. } => sinfo::NODES,
            Query { reasons: true, long: true, .. } => sinfo::REASONS_LONG,
            Query { reasons: true, .. } => sinfo::REASONS,
            Query { long: true, .. } => sinfo::LONG,
            _ => sinfo::DEFAULT,
        };
        (layout, false)
    }
}

impl Default for Query {
    fn default() -> Query {
        Query {
            header: true,
            by_node: false,
            long: false,
            summary: false,
            exact: false,
            reasons: false,
            reservations: false,
            dead: false,
            responding: false,
            hidden: false,
            no_convert: false,
            notation: Notation::Table,
            format: None,
            order: None,
            partitions: None,
            nodes: None,
            states: None,
            with_cluster: None,
            repeat_secs: None,
        }
    }
}

fn seconds(word: &str) -> Result<u64, Ended> {
    word.parse().ok().filter(|secs| *secs > 0).ok_or_else(|| {
        complain("sinfo", format!("Error: invalid entry for --iterate={word}"));
        Ended(1)
    })
}

fn hosts(list: &str) -> Result<Vec<String>, Ended> {
    hostlist::expand(list).map_err(|_| {
        complain("sinfo", format!("Invalid node name {list}"));
        Ended(1)
    })
}

fn states(list: &str) -> Result<NodeFilter, Ended> {
    NodeFilter::parse(list).map_err(|word| {
        complain("sinfo", format!("Bad state string: \"{word}\""));
        complain("sinfo", format!("valid states: {VALID_STATES}"));
        Ended(1)
    })
}
