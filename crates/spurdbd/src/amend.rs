//! Sets what may be said of jobs afterwards: comments, and how they are said to have ended. It is kept beside what the
//! controller told.

use prost::Message;
use spur_core::views::AccountingView;
use spur_proto::slurm::{AmendJobsRequest, AmendedJob, Amendment, ListJobHistoryRequest};

use crate::db::{Connection, Error, Row};
use crate::history::{self, Reader};
use crate::rules::{self, Author};

/// What becomes of it.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// These jobs have it, or would have it.
    Amended(Vec<AmendedJob>),
    /// By the rights.
    Denied,
}

/// A job as its row has it, with what was said later. Columns are the record, the reason, the amendment.
pub fn read(row: &Row, first: usize) -> Result<AccountingView, Error> {
    let mut job = AccountingView::decode(row.bytes(first)?)?;
    job.reason = row.int(first + 1)? as u32;
    let Some(said) = row.some_bytes(first + 2)? else { return Ok(job) };
    let said = Amendment::decode(said)?;
    let texts = [
        (&mut job.comment, said.comment),
        (&mut job.admin_comment, said.admin_comment),
        (&mut job.system_comment, said.system_comment),
    ];
    for (place, text) in texts {
        if let Some(text) = text {
            *place = text;
        }
    }
    job.derived_exit_status = said.derived_exit_status.unwrap_or(job.derived_exit_status);
    Ok(job)
}

/// Amends the jobs that are asked for.
pub fn amend(
    connection: &mut Connection,
    author: &Author,
    reader: &Reader,
    request: &AmendJobsRequest,
) -> Result<Outcome, Error> {
    let set = request.set.clone().unwrap_or_default();
    let wanted = ListJobHistoryRequest {
        jobs: request.jobs.clone(),
        user_names: request.user_names.clone(),
        clusters: request.clusters.clone(),
        duplicates: true,
        no_steps: true,
        ..ListJobHistoryRequest::default()
    };
    connection.transaction(|connection| {
        let mut found = Vec::new();
        let all = Reader { sees_all: true, ..reader.clone() };
        history::find(connection, &wanted, &all, |page| {
            found.extend(page);
            true
        })?;
        // Users say something of their own jobs, others of those they look after.
        let of_site = set.admin_comment.is_some() || set.system_comment.is_some();
        let may = |job: &AccountingView| {
            let is_own = job.uid == reader.uid && !of_site;
            is_own || reader.sees_all || reader.coordinates.contains(&job.account)
        };
        if !found.iter().all(may) {
            return Ok(Outcome::Denied);
        }
        if !request.only_look {
            for job in &found {
                write(connection, author, job, &set)?;
            }
        }
        let told =
            |job: &AccountingView| AmendedJob { job_id: job.job_id, submit_time: job.submit_time };
        Ok(Outcome::Amended(found.iter().map(told).collect()))
    })
}

fn write(
    connection: &mut Connection,
    author: &Author,
    job: &AccountingView,
    set: &Amendment,
) -> Result<(), Error> {
    let id = job.database_index as i64;
    let rows = connection.query("SELECT amended FROM jobs WHERE id = $1", &[id.into()])?;
    let before = match rows.first().map(|row| row.some_bytes(0)).transpose()?.flatten() {
        Some(bytes) => Amendment::decode(bytes)?,
        None => Amendment::default(),
    };
    let now = Amendment {
        comment: set.comment.clone().or(before.comment),
        admin_comment: set.admin_comment.clone().or(before.admin_comment),
        system_comment: set.system_comment.clone().or(before.system_comment),
        derived_exit_status: set.derived_exit_status.or(before.derived_exit_status),
    };
    let values = [now.encode_to_vec().into(), id.into()];
    connection.execute("UPDATE jobs SET amended = $1 WHERE id = $2", &values)?;
    let texts = [
        ("admin_comment", &set.admin_comment),
        ("derived_es", &set.comment),
        ("system_comment", &set.system_comment),
    ];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
    let mut said: Vec<String> = texts.map(|(name, text)| format!("{name}='{text}'")).collect();
    said.extend(set.derived_exit_status.map(|status| format!("derived_ec={status}")));
    let object = format!("job_db_inx={id}");
    rules::remember(connection, author, "Modify Job", &object, &said.join(", "))
}
