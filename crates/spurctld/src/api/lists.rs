//! Lists of jobs: those that are asked for, with the members that are asked for, page by page.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use spur_core::auth::Actor;
use spur_core::ids::JobId;
use spur_core::job::Job;
use spur_core::views::{JOB_MEMBERS, JobView, Table, TableWriter};
use spur_proto::slurm::{ListJobsReply, ListJobsRequest};
use spur_sched::Promised;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::limits;
use super::read::{expect, job_part};
use super::service::Service;
use super::sight::Sight;
use super::wanted::Wanted;
use super::why::USUAL;
use crate::shell::Published;

/// Rows that are made and sent together; the first ones are few, so that there is something to read at once.
const ROWS: u32 = 4096;
const FIRST_ROWS: u32 = 512;
/// Pages that wait for their reader.
const PAGES: usize = 4;

/// Who asks for what, of which state.
struct Question {
    actor: Actor,
    request: ListJobsRequest,
    published: Arc<Published>,
    wanted: Wanted,
    forecast: BTreeMap<JobId, Promised>,
}

impl Service {
    pub(super) async fn jobs(
        &self,
        actor: Actor,
        request: ListJobsRequest,
    ) -> Result<ListJobsReply, Status> {
        let question = self.question(actor, request).await?;
        // One more than asked for tells whether there is another page.
        let page = match question.request.page_size as usize {
            0 => limits::PAGE,
            size => size.min(limits::PAGE),
        };
        let (mut jobs, mut next_after) = (Vec::new(), 0);
        question.each(|view| {
            jobs.push(view);
            jobs.len() <= page || !question.request.job_ids.is_empty()
        });
        if jobs.len() > page && question.request.job_ids.is_empty() {
            jobs.truncate(page);
            next_after = jobs.last().map_or(0, |job| job.job_id);
        }
        Ok(ListJobsReply { jobs, next_after })
    }

    /// The same column by column, all of it: a page is made while the reader has the one before.
    pub(super) async fn job_table(
        &self,
        actor: Actor,
        request: ListJobsRequest,
    ) -> Result<ReceiverStream<Result<Table, Status>>, Status> {
        let question = self.question(actor, request).await?;
        let (pages, stream) = mpsc::channel(PAGES);
        tokio::task::spawn_blocking(move || {
            let mut table = TableWriter::new(JOB_MEMBERS, question.wanted.members);
            let mut rows = FIRST_ROWS;
            question.each(|view| {
                table.add(&view);
                if !table.is_full(rows) {
                    return true;
                }
                rows = ROWS;
                pages.blocking_send(Ok(table.page())).is_ok()
            });
            let _ = pages.blocking_send(Ok(table.page()));
        });
        Ok(ReceiverStream::new(stream))
    }

    async fn question(
        &self,
        actor: Actor,
        mut request: ListJobsRequest,
    ) -> Result<Question, Status> {
        limits::named(&request.job_ids)?;
        let ListJobsRequest { uids, names, partitions, members, .. } = &mut request;
        limits::listed(&[uids.len(), names.len(), partitions.len(), members.len()])?;
        // Each is looked for among them with every job.
        uids.sort_unstable();
        names.sort_unstable();
        partitions.sort_unstable();
        let wanted = Wanted::named(&request.members).map_err(Status::invalid_argument)?;
        let published = self.latest().await?;
        let forecast = match request.estimates {
            true => {
                let state = published.state.clone();
                self.inbox.adviser().forecast(state, USUAL as usize).await
            }
            false => BTreeMap::new(),
        };
        Ok(Question { actor, request, published, wanted, forecast })
    }
}

impl Question {
    /// Shows the jobs that are meant, by their numbers, while there is an eye for them.
    fn each(&self, mut show: impl FnMut(JobView) -> bool) {
        let Question { request, published, .. } = self;
        let state = &published.state;
        let sight = Sight::of(&self.actor, state);
        let partition = |job: &Job| state.partition_of(job).map(|partition| &partition.name);
        let mut take = |job: &Job| {
            let is_meant = sight.job(job)
                && (request.uids.is_empty()
                    || request.uids.binary_search(&job.owner.uid.0).is_ok())
                && (request.ended || !job.phase.is_over())
                && (request.names.is_empty()
                    || request.names.binary_search(&job.spec.name).is_ok())
                && (request.partitions.is_empty()
                    || partition(job)
                        .is_some_and(|name| request.partitions.binary_search(name).is_ok()));
            !is_meant || show(self.view(job))
        };
        if request.job_ids.is_empty() {
            let behind = (Bound::Excluded(JobId(request.after)), Bound::Unbounded);
            let _ = state.jobs.range(behind).all(|(_, job)| take(job));
            return;
        }
        // An array's number names its tasks too, a heterogeneous job's its components.
        let mut named: Vec<JobId> = request.job_ids.iter().map(|id| JobId(*id)).collect();
        let tasks = named.iter().flat_map(|id| state.array(*id)).map(|job| job.id);
        let of_job = |id: &JobId| state.jobs.get(id)?.component.filter(|it| it.leads());
        let parts = named.iter().filter_map(of_job).flat_map(|it| it.ids());
        let more: Vec<JobId> = tasks.chain(parts).collect();
        named.extend(more);
        named.sort();
        named.dedup();
        let _ = named.iter().filter_map(|id| state.jobs.get(id)).all(|job| take(job));
    }

    fn view(&self, job: &Job) -> JobView {
        let mut view = job_part(&self.published, job, &self.wanted);
        if let Some(promised) = self.forecast.get(&job.id)
            && self.published.waits_for_nodes(job.id)
        {
            expect(&mut view, promised);
        }
        view
    }
}
