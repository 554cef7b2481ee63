//! Removes what is older than the site wants to keep; what is removed is written to files first, if it says where.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use prost::Message;
use spur_core::fields::accounting::JOB_JSON;
use spur_core::fields::render;
use spur_core::views::{AccountingView, EventView};

use crate::amend;
use crate::db::{Connection, Error, Value};
use crate::rollup::{self, DAY};

/// How long what is kept, in seconds; nothing is for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    pub jobs: Option<i64>,
    pub steps: Option<i64>,
    pub events: Option<i64>,
    pub transactions: Option<i64>,
    pub usage: Option<i64>,
    /// Where removed records are written first.
    pub archive: Option<PathBuf>,
}

/// Rows removed in one transaction.
const PAGE: i64 = 1000;

/// Removes a page of what is too old; how much that was.
pub fn purge(connection: &mut Connection, keep: &Keep, now: i64) -> Result<u64, Failure> {
    let mut gone = 0;
    if let Some(age) = keep.jobs {
        gone += jobs(connection, keep.archive.as_deref(), now - age)?;
    }
    if let Some(age) = keep.events {
        gone += events(connection, keep.archive.as_deref(), now - age)?;
    }
    for (table, column, age) in [
        ("steps", "closed_time", keep.steps),
        ("transactions", "time", keep.transactions),
        ("rollups", "start_time", keep.usage),
    ] {
        if let Some(age) = age {
            let sql = format!("DELETE FROM {table} WHERE {column} < $1");
            connection.execute(&sql, &[(now - age).into()])?;
        }
    }
    Ok(gone)
}

/// Why something stays.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Database(#[from] Error),
    #[error("could not write the archive {0}: {1}")]
    Archive(String, std::io::Error),
}

/// Jobs that ended before a moment, with their steps.
fn jobs(connection: &mut Connection, archive: Option<&Path>, before: i64) -> Result<u64, Failure> {
    // Usage is summed before its runs go.
    let before = before.min(rollup::marked(connection)?.unwrap_or(0));
    let sql = "SELECT id, record, reason, amended FROM jobs WHERE closed_time < $1 \
               ORDER BY closed_time LIMIT $2";
    let rows = connection.query(sql, &[before.into(), Value::Int(PAGE)])?;
    let mut ids = Vec::new();
    let mut lines = Vec::new();
    for row in &rows {
        let id = row.int(0)?;
        ids.push(id);
        if archive.is_some() {
            let mut job = amend::read(row, 1)?;
            let sql = "SELECT record FROM steps WHERE job = $1 ORDER BY place, step";
            for step in connection.query(sql, &[id.into()])? {
                job.steps.push(AccountingView::decode(step.bytes(0)?).map_err(Error::from)?);
            }
            lines.push((
                job.cluster.clone(),
                job.end_time,
                render::json(JOB_JSON, &job).to_string(),
            ));
        }
    }
    if let Some(dir) = archive {
        write(dir, "job", &lines)?;
    }
    connection.transaction(|connection| {
        if !ids.is_empty() {
            rollup::removed(connection, before)?;
        }
        for id in &ids {
            connection.execute("DELETE FROM steps WHERE job = $1", &[(*id).into()])?;
            connection.execute("DELETE FROM jobs WHERE id = $1", &[(*id).into()])?;
        }
        Ok(())
    })?;
    Ok(ids.len() as u64)
}

fn events(
    connection: &mut Connection,
    archive: Option<&Path>,
    before: i64,
) -> Result<u64, Failure> {
    let sql = "SELECT record FROM events WHERE closed_time < $1 ORDER BY closed_time LIMIT $2";
    let rows = connection.query(sql, &[before.into(), Value::Int(PAGE)])?;
    let mut gone = Vec::new();
    for row in &rows {
        gone.push(EventView::decode(row.bytes(0)?).map_err(Error::from)?);
    }
    if let Some(dir) = archive {
        let line = |event: &EventView| {
            let text = spur_core::fields::rules::event_json(event).to_string();
            (event.cluster.clone(), event.end_time, text)
        };
        write(dir, "event", &gone.iter().map(line).collect::<Vec<_>>())?;
    }
    connection.transaction(|connection| {
        for event in &gone {
            connection.execute(
                "DELETE FROM events WHERE cluster = $1 AND node = $2 AND start_time = $3",
                &[Value::from(&event.cluster), Value::from(&event.node), event.start_time.into()],
            )?;
        }
        Ok(())
    })?;
    Ok(gone.len() as u64)
}

/// Appends lines to a file for each cluster and day: JSON, one object a line. They are on the disk before anything
/// is removed; a repetition after a crash may be there twice.
fn write(dir: &Path, kind: &str, lines: &[(String, i64, String)]) -> Result<(), Failure> {
    for (cluster, end, line) in lines {
        // Names never become parts of paths as they are.
        let safe: String = cluster
            .chars()
            .map(
                |letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' },
            )
            .collect();
        let file = dir.join(format!("{safe}_{kind}_archive_{}.jsonl", end.div_euclid(DAY)));
        let failed = |error| Failure::Archive(file.display().to_string(), error);
        fs::create_dir_all(dir).map_err(failed)?;
        let mut open = fs::File::options();
        std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
        let mut opened = open.create(true).append(true).open(&file).map_err(failed)?;
        opened.write_all(format!("{line}\n").as_bytes()).map_err(failed)?;
        opened.sync_data().map_err(failed)?;
    }
    Ok(())
}
