//! `sreport`: what clusters, accounts and users have used.

mod idle;
pub(super) mod query;
mod report;

use spur_core::fields::render::Layout;
use spur_core::tools::sreport::TOOL;
use spur_core::tres;
use spur_core::views::{EventView, RulesView, UsageView};
use spur_proto::slurm::{GetRulesRequest, ListEventsRequest, SumUsageRequest};

use self::query::{Kind, Query};
use self::report::{Report, Table};
use crate::accounting::{self, Trouble};
use crate::cluster;
use crate::commands::lines;
use crate::output::{complain, print};
use crate::zone;

/// Everything reports are made from.
pub struct Facts {
    pub usage: Vec<UsageView>,
    pub events: Vec<EventView>,
    pub rules: RulesView,
    /// Reservations, each with what jobs used in it.
    pub reservations: Vec<(EventView, Vec<UsageView>)>,
    /// What they kept and nobody used, by whom it is charged to.
    pub idle: Vec<UsageView>,
}

impl Facts {
    /// What was used, and what is charged as if it had been.
    pub fn charged(&self) -> impl Iterator<Item = &UsageView> {
        self.usage
            .iter()
            .filter(|row| row.seconds.iter().any(|it| it.seconds > 0))
            .chain(&self.idle)
    }
}

/// Runs the command; without words the commands come line by line.
pub fn run(args: &[String]) -> u8 {
    match crate::commands::read(&TOOL, args) {
        Ok(words) => {
            let asks = |flag: &str| words.options.iter().any(|(it, _)| it.long == flag);
            let tells = asks("help") || asks("usage") || asks("version");
            match words.rest.is_empty() && !tells {
                true => interactive(args),
                false => one(args),
            }
        }
        Err(status) => status,
    }
}

fn interactive(options: &[String]) -> u8 {
    let mut status = 0;
    lines::each("sreport: ", |words| {
        let command = words.first().map(|word| word.to_lowercase()).unwrap_or_default();
        if command == "quit" || "exit".starts_with(&command) {
            return false;
        }
        let args: Vec<String> = options.iter().cloned().chain(words.iter().cloned()).collect();
        status = one(&args);
        true
    });
    status
}

/// Makes one report.
fn one(args: &[String]) -> u8 {
    let query = match Query::read(args) {
        Ok(query) => query,
        Err(status) => return status,
    };
    match cluster::block_on(facts(&query)) {
        Ok(facts) => {
            let mut query = query;
            if query.tres.iter().any(|name| name == "all") {
                query.tres = every_tres(&facts);
            }
            let mut report = report::make(&query, &facts);
            let refusal = choose(&query, &mut report.table).err();
            if let Some(field) = &refusal {
                eprintln!(" Unknown field '{field}'");
            }
            print(&shown(&query, &report));
            if refusal.is_some() { 1 } else { query.status }
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
    let request = SumUsageRequest {
        start,
        end,
        clusters: clusters.clone(),
        partitions: query.partitions.clone(),
        nodes: query.nodes.clone(),
        jobs: query.jobs.clone(),
        reservations: Vec::new(),
    };
    let usage = client.sum_usage(request).await.map_err(accounting::refused)?.into_inner().usage;
    let request =
        ListEventsRequest { start, end, clusters: clusters.clone(), ..Default::default() };
    let events = client.list_events(request).await.map_err(accounting::refused)?;
    // What was used is told also of those who are no longer there.
    let request = GetRulesRequest { with_deleted: true, ..Default::default() };
    let rules = client.get_rules(request).await.map_err(accounting::refused)?;
    let mut reservations = Vec::new();
    // A reservation is told of as a whole; what it left unused is charged within the time that is asked about.
    let as_whole = query.kind == Kind::Reservations;
    if as_whole || query.charges_reservations() {
        let request =
            ListEventsRequest { start, end, clusters, reservations: true, ..Default::default() };
        let all = client.list_events(request).await.map_err(accounting::refused)?;
        for it in all.into_inner().events {
            let request = SumUsageRequest {
                start: if as_whole { it.start_time } else { it.start_time.max(start) },
                end: if as_whole { it.end_time } else { it.end_time.min(end) },
                clusters: vec![it.cluster.clone()],
                reservations: vec![it.reservation.clone()],
                ..SumUsageRequest::default()
            };
            if request.start < request.end {
                let used = client.sum_usage(request).await.map_err(accounting::refused)?;
                reservations.push((it, used.into_inner().usage));
            }
        }
    }
    let (events, rules) = (events.into_inner().events, rules.into_inner());
    let idle = match as_whole {
        true => Vec::new(),
        false => idle::charged(&reservations, &rules, (start, end.min(zone::now().0))),
    };
    Ok(Facts { usage, events, rules, reservations, idle })
}

/// Everything that clusters have had, with what is always counted.
fn every_tres(facts: &Facts) -> Vec<String> {
    let always = ["cpu", "mem", "energy", "billing", "fs/disk", "vmem", "pages"];
    let had = facts.events.iter().flat_map(|event| tres::read(&event.tres));
    let had: std::collections::BTreeSet<String> = had
        .map(|(tres, _)| tres.to_string())
        .filter(|name| !always.contains(&name.as_str()) && name != "node")
        .collect();
    always.iter().map(|name| name.to_string()).chain(had).collect()
}

/// `format=`: the columns that are asked for, in that order; the error is one that nobody knows.
fn choose(query: &Query, table: &mut Table) -> Result<(), String> {
    if query.format.is_empty() {
        return Ok(());
    }
    let plain = |name: &str| -> String {
        let name = name.to_lowercase().replace("plnd down", "planneddown");
        name.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect()
    };
    let (mut places, mut columns, mut unknown) = (Vec::new(), Vec::new(), None);
    // Those of the sizes are no columns to choose: they stand behind what is chosen.
    let chosen = table.columns.len() - table.fixed;
    for word in &query.format {
        let (name, width) = word.split_once('%').unwrap_or((word.as_str(), ""));
        let is = |name: &str| {
            table.columns[..chosen].iter().position(|(known, _)| plain(known).starts_with(name))
        };
        // One may be called many: `accounts`.
        let place = is(name).or_else(|| is(name.strip_suffix('s')?));
        let Some(place) = place else {
            unknown.get_or_insert_with(|| name.to_string());
            continue;
        };
        let (known, own) = table.columns[place];
        let width = width.trim_start_matches('-').parse().unwrap_or(own);
        places.push(place);
        columns.push((known, width));
    }
    places.extend(chosen..table.columns.len());
    columns.extend_from_slice(&table.columns[chosen..]);
    let pick = |row: &Vec<String>| places.iter().map(|place| row[*place].clone()).collect();
    table.rows = table.rows.iter().map(pick).collect();
    table.columns = columns;
    unknown.map_or(Ok(()), Err)
}

fn shown(query: &Query, report: &Report) -> String {
    let mut text = String::new();
    if query.header {
        let line = "-".repeat(80);
        text.push_str(&format!("{line}\n{}\n{}\n{line}\n", report.title, report.unit));
    }
    let Table { columns, rows, .. } = &report.table;
    match &query.layout {
        Layout::Fixed => {
            let cut = |word: &str, width: usize| word.chars().take(width).collect::<String>();
            // A tree is seen from the left.
            let is_left =
                |name: &str, width: usize| name == "Account" && (query.tree || width == 20);
            let columns: Vec<(&str, usize)> = columns
                .iter()
                .map(|(name, width)| match *name == "Account" && query.tree {
                    true => (*name, 20),
                    false => (*name, *width),
                })
                .collect();
            let put = |text: &mut String, word: &str, name: &str, width: usize| {
                let cell = match is_left(name, width) {
                    true => format!("{word:<width$} "),
                    false => format!("{word:>width$} "),
                };
                text.push_str(&cell);
            };
            if query.header {
                for (name, width) in &columns {
                    put(&mut text, &cut(name, *width), name, *width);
                }
                text.push('\n');
                for (_, width) in &columns {
                    text.push_str(&format!("{} ", "-".repeat(*width)));
                }
                text.push('\n');
            }
            for row in rows {
                for (word, (name, width)) in row.iter().zip(&columns) {
                    let shown = match word.chars().count() > *width {
                        true => format!("{}+", cut(word, width.saturating_sub(1))),
                        false => word.clone(),
                    };
                    put(&mut text, &shown, name, *width);
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

#[cfg(test)]
mod tests {
    use spur_core::views::TresSeconds;

    use super::*;

    fn chosen(line: &str) -> (Result<(), String>, String) {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let query = Query::read(&words).expect("a query");
        let facts = Facts {
            usage: vec![UsageView {
                cluster: "c".to_string(),
                account: "a".to_string(),
                cpus: 2,
                jobs: 3,
                seconds: vec![TresSeconds { name: "cpu".to_string(), seconds: 60 }],
                ..UsageView::default()
            }],
            events: Vec::new(),
            rules: RulesView::default(),
            reservations: Vec::new(),
            idle: Vec::new(),
        };
        let mut report = report::make(&query, &facts);
        let outcome = choose(&query, &mut report.table);
        let names: Vec<&str> = report.table.columns.iter().map(|(name, _)| *name).collect();
        let row = report.table.rows.first().map(|row| row.join("|")).unwrap_or_default();
        (outcome, format!("{} {row}", names.join("|")))
    }

    #[test]
    fn sizes_stand_behind_whatever_is_chosen() {
        let sizes = "0-49 CPUs|50-249 CPUs|250-499 CPUs|500-999 CPUs|>= 1000 CPUs|% of cluster";
        let row = "1|0|0|0|0|100.00%";
        for (format, refusal, names, values) in [
            ("account", None, "Account|", "a|"),
            ("jobcount,account", None, "Job Count|Account|", "3|a|"),
            ("bogus,account", Some("bogus"), "Account|", "a|"),
            ("bogus", Some("bogus"), "", ""),
        ] {
            let (outcome, told) = chosen(&format!("job sizesbyaccount format={format}"));
            assert_eq!(outcome.err().as_deref(), refusal, "{format}");
            assert_eq!(told, format!("{names}{sizes} {values}{row}"), "{format}");
        }
    }
}
