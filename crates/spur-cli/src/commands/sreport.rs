//! `sreport`: what clusters, accounts and users have used.

mod query;
mod report;

use spur_core::fields::render::Layout;
use spur_core::views::{EventView, RulesView, UsageView};
use spur_proto::slurm::{GetRulesRequest, ListEventsRequest, SumUsageRequest};

use self::query::Query;
use self::report::{Report, Table};
use crate::accounting::{self, Trouble};
use crate::cluster;
use crate::output::{complain, print};

/// Everything reports are made from.
pub struct Facts {
    pub usage: Vec<UsageView>,
    pub events: Vec<EventView>,
    pub rules: RulesView,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let query = match Query::read(args) {
        Ok(query) => query,
        Err(status) => return status,
    };
    match cluster::block_on(facts(&query)) {
        Ok(facts) => {
            print(&shown(&query, &report::make(&query, &facts)));
            0
        }
        Err(Trouble::Disabled) => {
            eprintln!("You are not running a supported accounting_storage plugin");
            eprintln!("{}", Trouble::Disabled);
            1
        }
        Err(trouble) => {
            complain("sreport", trouble);
            1
        }
    }
}

async fn facts(query: &Query) -> Result<Facts, Trouble> {
    let mut client = accounting::connect().await?;
    let own = accounting::glance().await.map(|controller| controller.cluster_name);
    let mut clusters = query.clusters.clone();
    if clusters.is_empty() && !query.all_clusters {
        clusters.extend(own);
    }
    let (start, end) = (query.start, query.end);
    let request = SumUsageRequest { start, end, clusters: clusters.clone() };
    let usage = client.sum_usage(request).await.map_err(accounting::refused)?.into_inner().usage;
    let request = ListEventsRequest { start, end, clusters, ..ListEventsRequest::default() };
    let events = client.list_events(request).await.map_err(accounting::refused)?;
    let rules = client.get_rules(GetRulesRequest::default()).await.map_err(accounting::refused)?;
    Ok(Facts { usage, events: events.into_inner().events, rules: rules.into_inner() })
}

fn shown(query: &Query, report: &Report) -> String {
    let mut text = String::new();
    if query.header {
        let line = "-".repeat(80);
        text.push_str(&format!("{line}\n{}\n{}\n{line}\n", report.title, report.unit));
    }
    let Table { columns, rows } = &report.table;
    match &query.layout {
        Layout::Fixed => {
            let cut = |word: &str, width: usize| word.chars().take(width).collect::<String>();
            if query.header {
                for (name, width) in columns {
                    text.push_str(&format!("{:>width$} ", cut(name, *width)));
                }
                text.push('\n');
                for (_, width) in columns {
                    text.push_str(&format!("{} ", "-".repeat(*width)));
                }
                text.push('\n');
            }
            for row in rows {
                for (word, (_, width)) in row.iter().zip(columns) {
                    let shown = match word.chars().count() > *width {
                        true => format!("{}+", cut(word, width.saturating_sub(1))),
                        false => word.clone(),
                    };
                    text.push_str(&format!("{shown:>width$} "));
                }
                text.push('\n');
            }
        }
        Layout::Parsable { delimiter, ends } => {
            let end = if *ends { delimiter.as_str() } else { "" };
            if query.header {
                let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
                text.push_str(&format!("{}{end}\n", names.join(delimiter)));
            }
            for row in rows {
                text.push_str(&format!("{}{end}\n", row.join(delimiter)));
            }
        }
    }
    text
}
