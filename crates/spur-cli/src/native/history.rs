//! `spur history`: jobs of the past as `sacct` shows them, as a file for other programs, or by how well they
//! used what they had.

use std::fs;

use serde_json::Value as Json;
use spur_core::fields::accounting::{JOB_JSON, shown_id};
use spur_core::fields::render::Layout;
use spur_core::fields::{RenderContext, clock, render};
use spur_core::job::JobStatus;
use spur_core::tres;
use spur_core::views::AccountingView;

use crate::accounting::Trouble;
use crate::commands::sacct::{self, query::Query, show};
use crate::commands::seff::{Use, bytes};
use crate::output::{complain, print};
use crate::{accounting, cluster, zone};

const HELP: &str = "Usage: spur history [FILTERS]                 as sacct
       spur history --efficiency [FILTERS]    what each job had, and what of it was used
       spur history export [--csv | --json] [--output FILE] [FILTERS]

FILTERS are those of sacct: -j, -u, -a, -A, -S, -E, -s, --name, -r, -q, -X, -D …; -o FIELDS picks the columns
of a CSV, which has all of them otherwise.
";

/// In what an export is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Csv,
    Json,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match args.first().map(String::as_str) {
        Some("--help" | "-h") => {
            print(HELP);
            0
        }
        Some("export") => export(&args[1..]),
        _ if args.iter().any(|word| word == "--efficiency") => {
            let rest: Vec<String> =
                args.iter().filter(|word| *word != "--efficiency").cloned().collect();
            answer(&rest, |_, jobs| Ok(efficiency(&jobs)))
        }
        _ => sacct::run(args),
    }
}

fn export(args: &[String]) -> u8 {
    let (mut form, mut file, mut rest, mut has_fields) = (Form::Csv, None, Vec::new(), false);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--csv" | "--format=csv" => form = Form::Csv,
            "--json" | "--format=json" => form = Form::Json,
            "--format" => match words.next().map(String::as_str) {
                Some("json") => form = Form::Json,
                Some("csv") | None => form = Form::Csv,
                Some(fields) => {
                    has_fields = true;
                    rest.push(format!("--format={fields}"));
                }
            },
            "--output" => file = words.next().cloned(),
            "--help" | "-h" => {
                print(HELP);
                return 0;
            }
            word => {
                if let Some(name) = word.strip_prefix("--output=") {
                    file = Some(name.to_string());
                    continue;
                }
                has_fields |= word.starts_with("-o") || word.starts_with("--format=");
                rest.push(word.to_string());
            }
        }
    }
    if !has_fields {
        rest.push("--format=ALL".to_string());
    }
    answer(&rest, |query, jobs| {
        let text = match form {
            Form::Csv => csv(&query, &jobs),
            Form::Json => json(&jobs),
        };
        match &file {
            None => Ok(text),
            Some(name) => {
                fs::write(name, text)
                    .map_err(|error| format!("could not write {name}: {error}"))?;
                Ok(String::new())
            }
        }
    })
}

/// Asks for the jobs and prints what is made of them.
fn answer(
    words: &[String],
    make: impl FnOnce(Query, Vec<AccountingView>) -> Result<String, String>,
) -> u8 {
    let query = match sacct::query::read(words) {
        Ok(query) => query,
        Err(status) => return status,
    };
    let made = match cluster::block_on(accounting::history(query.request.clone())) {
        Ok(jobs) => {
            let jobs = show::chosen(&query, jobs);
            make(query, jobs)
        }
        Err(Trouble::Disabled) => Err(Trouble::Disabled.to_string()),
        Err(trouble) => Err(trouble.to_string()),
    };
    match made {
        Ok(text) => {
            print(&text);
            0
        }
        Err(text) => {
            complain("spur history", text);
            1
        }
    }
}

/// A line for each job and step, with a line of names in front; quotes as RFC 4180 has them.
fn csv(query: &Query, jobs: &[AccountingView]) -> String {
    let context =
        RenderContext { now: zone::now(), offset_at: &zone::offset_at, ..RenderContext::default() };
    // A separator that no text has, so that every text stays whole.
    let layout = Layout::Parsable { delimiter: "\u{1f}".to_string(), ends: false };
    let mut lines = render::accounting_header(&query.columns, &layout);
    for job in jobs {
        for row in show::rows(query, job) {
            lines.push(render::accounting_row(&query.columns, row, &layout, &context));
        }
    }
    let quoted = |line: String| {
        let cells: Vec<String> = line.split('\u{1f}').map(quoted).collect();
        cells.join(",") + "\r\n"
    };
    lines.into_iter().map(quoted).collect()
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_string(),
    }
}

/// The same members as `sacct --json` has, as one list.
fn json(jobs: &[AccountingView]) -> String {
    let list = jobs.iter().map(|job| render::json(JOB_JSON, job)).collect();
    format!("{:#}\n", Json::Array(list))
}

fn efficiency(jobs: &[AccountingView]) -> String {
    let heads =
        ["JOBID", "NAME", "USER", "STATE", "ELAPSED", "CPUS", "CPU%", "MEMORY", "MEM%", "GPUS"];
    let mut rows = vec![heads.map(str::to_string)];
    for job in jobs.iter().filter(|job| job.start_time > 0) {
        let all = Use::of(job);
        let gpus = tres::read(&job.tres_allocated);
        let gpus = gpus.iter().find(|(tres, _)| tres.to_string() == "gres/gpu");
        rows.push([
            shown_id(job),
            job.name.clone(),
            job.user_name.clone(),
            JobStatus(job.state).name().to_string(),
            clock::span_padded(all.wall as i64),
            job.cpus_allocated.to_string(),
            format!("{:.1}", all.cpu_percent()),
            bytes(all.memory.0),
            format!("{:.1}", all.memory_percent()),
            gpus.and_then(|(_, count)| *count).unwrap_or(0).to_string(),
        ]);
    }
    let width = |place: usize| rows.iter().map(|row| row[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(place, (cell, width))| match place {
            0..=3 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use spur_core::fields::accounting::ACCOUNTING_FIELDS;
    use spur_core::fields::format;

    use super::*;

    fn job() -> AccountingView {
        AccountingView {
            job_id: 7,
            name: "a \"b\", c".to_string(),
            user_name: "ann".to_string(),
            state: 3,
            start_time: 100,
            end_time: 200,
            cpus_allocated: 2,
            tres_allocated: "cpu=2,gres/gpu=1,mem=2G".to_string(),
            steps: vec![AccountingView {
                job_id: 7,
                step_id: "batch".to_string(),
                user_cpu_micros: 50_000_000,
                ..AccountingView::default()
            }],
            ..AccountingView::default()
        }
    }

    #[test]
    fn names_with_commas_and_quotes_stay_one_cell() {
        let mut query = sacct::query::read(&["-X".to_string()]).expect("a query");
        query.columns = format::accounting(ACCOUNTING_FIELDS, "JobID,JobName").expect("columns");
        query.request.no_steps = true;
        let lines = csv(&query, &[AccountingView { steps: Vec::new(), ..job() }]);
        assert_eq!(lines, "JobID,JobName\r\n7,\"a \"\"b\"\", c\"\r\n");
    }

    #[test]
    fn efficiency_is_what_was_used_of_what_there_was() {
        let text = efficiency(&[job()]);
        let line = text.lines().nth(1).expect("a line");
        let cells: Vec<&str> =
            line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
        assert_eq!(&cells[4..], ["00:01:40", "2", "25.0", "0.00 B", "0.0", "1"]);
    }

    #[test]
    fn an_export_is_a_list_of_jobs() {
        let list: Json = serde_json::from_str(&json(&[job()])).expect("JSON");
        assert_eq!(list[0]["job_id"], 7);
        assert_eq!(list[0]["steps"].as_array().map(Vec::len), Some(1));
    }
}
