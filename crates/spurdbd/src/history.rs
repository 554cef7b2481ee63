//! Finds jobs of the past: what `sacct` asks.

use std::collections::BTreeMap;

use prost::Message;
use spur_core::hostlist;
use spur_core::job::{JobFlag, JobState, JobStatus};
use spur_core::views::AccountingView;
use spur_proto::slurm::{JobSelector, ListJobHistoryRequest};

use crate::amend;
use crate::db::{Connection, Error, Row, Value};
use crate::ingest::OPEN;

/// Who reads, as far as that matters.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Whose jobs are their own.
    pub uid: u32,
    /// Whether they look after all jobs.
    pub sees_all: bool,
    /// Accounts they look after.
    pub coordinates: Vec<String>,
    /// Whether jobs of others are nobody's business.
    pub private: bool,
}

impl Reader {
    /// Whether they may know of a job.
    pub fn may_see(&self, uid: u32, account: &str) -> bool {
        !self.private
            || self.sees_all
            || uid == self.uid
            || self.coordinates.iter().any(|one| one == account)
    }

    /// Whether they may look into a job: its script and its variables are the owner's.
    fn may_read(&self, job: &AccountingView) -> bool {
        self.sees_all || job.uid == self.uid
    }
}

/// Jobs handed over at a time.
const PAGE: usize = 1000;

/// Hands over the jobs that are asked for, in pages, in the order they came; one that was sent back came again.
pub fn find(
    connection: &mut Connection,
    request: &ListJobHistoryRequest,
    reader: &Reader,
    mut hand_over: impl FnMut(Vec<AccountingView>) -> bool,
) -> Result<(), Error> {
    let (sql, values) = question(request, connection.unindexed());
    let rows = connection.query(&sql, &values)?;
    let mut jobs: Vec<(i64, AccountingView)> = Vec::new();
    let mut left = match request.limit {
        0 => usize::MAX,
        limit => limit as usize,
    };
    let seen = last_runs(rows, request)?.into_iter();
    let seen = seen.filter(|(_, job)| reader.may_see(job.uid, &job.account));
    for (id, mut job) in seen {
        if request.texts && reader.may_read(&job) {
            job.script = text(connection, &job.script_hash)?;
            job.environment = text(connection, &job.environment_hash)?;
        }
        jobs.push((id, job));
        left -= 1;
        if (jobs.len() == PAGE || left == 0)
            && !hand_over(complete(connection, request, std::mem::take(&mut jobs))?)
        {
            return Ok(());
        }
        if left == 0 {
            return Ok(());
        }
    }
    if !jobs.is_empty() {
        hand_over(complete(connection, request, jobs)?);
    }
    Ok(())
}

/// The query for the rows of jobs, and the values in it.
fn question(request: &ListJobHistoryRequest, unindexed: &str) -> (String, Vec<Value>) {
    let mut wanted = Conditions::of(request, unindexed);
    let sql = format!(
        "SELECT id, record, reason, amended FROM jobs WHERE {} \
         ORDER BY {unindexed}cluster, job_id, submit_time, run",
        wanted.text()
    );
    (sql, wanted.values)
}

/// Decodes rows and leaves only the last run of each job, unless all are wanted.
fn last_runs(
    rows: Vec<Row>,
    request: &ListJobHistoryRequest,
) -> Result<Vec<(i64, AccountingView)>, Error> {
    let mut jobs: Vec<(i64, AccountingView)> = Vec::new();
    for row in rows {
        let id = row.int(0)?;
        let mut job = amend::read(&row, 1)?;
        if !ran_on(&job, &request.nodes) {
            continue;
        }
        job.database_index = id as u64;
        if let Some((_, before)) = jobs.last()
            && !request.duplicates
            && (&before.cluster, before.job_id) == (&job.cluster, job.job_id)
        {
            jobs.pop();
        }
        jobs.push((id, job));
    }
    jobs.sort_by(|(_, a), (_, b)| {
        (&a.cluster, a.submit_time, a.job_id).cmp(&(&b.cluster, b.submit_time, b.job_id))
    });
    Ok(jobs)
}

fn text(connection: &mut Connection, hash: &str) -> Result<Vec<u8>, Error> {
    if hash.is_empty() {
        return Ok(Vec::new());
    }
    let rows =
        connection.query("SELECT content FROM texts WHERE hash = $1", &[Value::from(hash)])?;
    rows.first().map_or(Ok(Vec::new()), |row| row.bytes(0).map(<[u8]>::to_vec))
}

fn ran_on(job: &AccountingView, nodes: &[String]) -> bool {
    if nodes.is_empty() {
        return true;
    }
    let held = hostlist::expand(&job.nodes).unwrap_or_default();
    nodes.iter().any(|node| held.contains(node))
}

/// Puts the steps into their jobs.
fn complete(
    connection: &mut Connection,
    request: &ListJobHistoryRequest,
    mut jobs: Vec<(i64, AccountingView)>,
) -> Result<Vec<AccountingView>, Error> {
    if !request.no_steps {
        let mut steps: BTreeMap<i64, Vec<AccountingView>> = BTreeMap::new();
        for chunk in jobs.chunks(500) {
            let ids: Vec<Value> = chunk.iter().map(|(id, _)| Value::Int(*id)).collect();
            let places: Vec<String> = (1..=ids.len()).map(|number| format!("${number}")).collect();
            let sql = format!(
                "SELECT job, record FROM steps WHERE job IN ({}) ORDER BY job, place, step",
                places.join(", ")
            );
            for row in connection.query(&sql, &ids)? {
                let step = AccountingView::decode(row.bytes(1)?)?;
                steps.entry(row.int(0)?).or_default().push(step);
            }
        }
        for (id, job) in &mut jobs {
            job.steps = steps.remove(id).unwrap_or_default();
        }
    }
    Ok(jobs.into_iter().map(|(_, job)| job).collect())
}

/// The WHERE clause, and the values in it.
struct Conditions {
    all: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    fn of(request: &ListJobHistoryRequest, unindexed: &str) -> Conditions {
        let mut wanted = Conditions { all: Vec::new(), values: Vec::new() };
        wanted.any_of(&format!("{unindexed}cluster"), request.clusters.iter());
        wanted.users(request);
        wanted.any_of("gid", request.gids.iter().copied());
        wanted.any_of("account", request.accounts.iter());
        wanted.any_of("partition_name", request.partitions.iter());
        wanted.any_of("name", request.names.iter());
        wanted.any_of("qos", request.qos.iter());
        wanted.any_of("wckey", request.wckeys.iter());
        wanted.any_of("reservation", request.reservations.iter());
        wanted.at_least("node_count", request.nodes_min);
        wanted.at_most("node_count", request.nodes_max);
        wanted.at_least("cpus", request.cpus_min);
        wanted.at_most("cpus", request.cpus_max);
        wanted.at_least("time_limit", request.time_limit_min);
        wanted.at_most("time_limit", request.time_limit_max);
        wanted.jobs(&request.jobs);
        wanted.time(request);
        wanted
    }

    fn text(&mut self) -> String {
        match self.all.is_empty() {
            true => "1 = 1".to_string(),
            false => self.all.join(" AND "),
        }
    }

    /// A place for a value.
    fn value(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    fn list<T: Into<Value>>(&mut self, column: &str, values: impl Iterator<Item = T>) -> String {
        let places: Vec<String> = values.map(|value| self.value(value)).collect();
        format!("{column} IN ({})", places.join(", "))
    }

    fn any_of<T: Into<Value>>(&mut self, column: &str, values: impl Iterator<Item = T>) {
        let mut values = values.peekable();
        if values.peek().is_some() {
            let condition = self.list(column, values);
            self.all.push(condition);
        }
    }

    fn users(&mut self, request: &ListJobHistoryRequest) {
        let mut either = Vec::new();
        if !request.uids.is_empty() {
            either.push(self.list("uid", request.uids.iter().copied()));
        }
        if !request.user_names.is_empty() {
            either.push(self.list("user_name", request.user_names.iter()));
        }
        if !either.is_empty() {
            self.all.push(format!("({})", either.join(" OR ")));
        }
    }

    fn at_least(&mut self, column: &str, bound: Option<u32>) {
        if let Some(bound) = bound {
            let place = self.value(bound);
            self.all.push(format!("{column} >= {place}"));
        }
    }

    fn at_most(&mut self, column: &str, bound: Option<u32>) {
        if let Some(bound) = bound {
            let place = self.value(bound);
            self.all.push(format!("{column} <= {place}"));
        }
    }

    fn jobs(&mut self, selectors: &[JobSelector]) {
        let mut either = Vec::new();
        for selector in selectors {
            let job = self.value(selector.job_id);
            either.push(match (selector.array_task_id, selector.het_offset) {
                (Some(task), _) => {
                    let task = self.value(task);
                    format!("(array_job_id = {job} AND array_task_id = {task})")
                }
                (None, Some(offset)) => {
                    let offset = self.value(offset);
                    format!("(het_job_id = {job} AND het_job_offset = {offset})")
                }
                (None, None) => {
                    format!("job_id = {job} OR array_job_id = {job} OR het_job_id = {job}")
                }
            });
        }
        if !either.is_empty() {
            self.all.push(format!("({})", either.join(" OR ")));
        }
    }

    /// With states, jobs that were in one of them within the time; without, jobs that were there at all.
    fn time(&mut self, request: &ListJobHistoryRequest) {
        let end = if request.end > 0 { request.end } else { OPEN - 1 };
        if request.states.is_empty() {
            if request.start > 0 {
                let start = self.value(request.start);
                self.all.push(format!("closed_time >= {start}"));
            }
            // A job that nobody knows the turn of is shown to those who ask for it by number.
            if request.jobs.is_empty() {
                self.all.push("eligible_time > 0".to_string());
            }
            if request.end > 0 {
                let end = self.value(end);
                self.all.push(format!("eligible_time <= {end}"));
            }
            return;
        }
        let mut either = Vec::new();
        for state in &request.states {
            let (start, end) = (self.value(request.start), self.value(end));
            // A run that went back to the queue is over, and yet its job waits.
            if JobStatus(*state).has(JobFlag::Requeued) {
                let waits = self.value(JobState::Pending.number());
                either.push(format!(
                    "(state = {waits} AND closed_time >= {start} AND closed_time <= {end})"
                ));
                continue;
            }
            either.push(match JobState::from_number(*state) {
                Some(JobState::Pending) => format!(
                    "(eligible_time > 0 AND eligible_time <= {end} AND closed_time >= {start} \
                     AND (start_time = 0 OR start_time > {start}))"
                ),
                Some(JobState::Running) => {
                    format!("(start_time > 0 AND start_time <= {end} AND closed_time >= {start})")
                }
                Some(JobState::Suspended) | None => {
                    let state = self.value(*state);
                    format!("(state = {state} AND start_time <= {end} AND closed_time >= {start})")
                }
                Some(_) => {
                    let state = self.value(*state);
                    format!("(state = {state} AND closed_time >= {start} AND closed_time <= {end})")
                }
            });
        }
        self.all.push(format!("({})", either.join(" OR ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Location;
    use crate::migrate;

    #[test]
    fn rows_are_looked_up_by_what_is_rare() {
        let mut connection = Connection::open(&Location::Sqlite(":memory:".into())).expect("it");
        migrate::migrate(&mut connection).expect("tables");
        let clusters = vec!["c".to_string()];
        let request = |jobs: Vec<JobSelector>, uids: Vec<u32>, start| ListJobHistoryRequest {
            jobs,
            uids,
            start,
            clusters: clusters.clone(),
            ..ListJobHistoryRequest::default()
        };
        let job = JobSelector { job_id: 1, ..JobSelector::default() };
        for (index, request) in [
            ("jobs_by_id", request(vec![job], Vec::new(), 0)),
            ("jobs_by_user", request(Vec::new(), vec![7], 5)),
            ("jobs_by_time", request(Vec::new(), Vec::new(), 5)),
        ] {
            let (sql, values) = question(&request, connection.unindexed());
            let rows = connection.query(&format!("EXPLAIN QUERY PLAN {sql}"), &values);
            let rows = rows.expect("a plan");
            let plan: Vec<&str> = rows.iter().filter_map(|row| row.text(3).ok()).collect();
            assert!(plan.iter().any(|line| line.contains(index)), "{index}: {plan:?}");
        }
    }

    #[test]
    fn others_jobs_are_private_where_the_site_says_so_and_scripts_always() {
        let reader = Reader {
            uid: 1000,
            sees_all: false,
            coordinates: vec!["physics".to_string()],
            private: true,
        };
        assert!(reader.may_see(1000, "chem") && reader.may_see(1001, "physics"));
        assert!(!reader.may_see(1001, "chem"));
        let of = |uid| AccountingView { uid, ..AccountingView::default() };
        assert!(reader.may_read(&of(1000)) && !reader.may_read(&of(1001)));
        let open = Reader { private: false, ..reader };
        assert!(open.may_see(1001, "chem") && !open.may_read(&of(1001)));
        assert!(Reader { sees_all: true, ..open }.may_read(&of(1001)));
    }
}
