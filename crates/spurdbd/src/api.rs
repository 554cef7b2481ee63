//! The service, one line a method.

use std::time::Duration;

use spur_proto::slurm::accounting_server::Accounting;
use spur_proto::slurm::{
    HistoryPoint, IngestReply, IngestRequest, ListJobHistoryReply, ListJobHistoryRequest,
    PingAccountingReply, PingAccountingRequest,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status};

use crate::db::{Connection, Error};
use crate::pool::Pool;
use crate::{history, ingest};

/// Everything a method needs.
#[derive(Clone)]
pub struct Service {
    pub pool: Pool,
    pub engine: &'static str,
}

type Answer<T> = Result<Response<T>, Status>;

/// The database's trouble is ours; whoever called asks again.
fn trouble(error: Error) -> Status {
    tracing::warn!("{error}");
    Status::new(Code::Unavailable, error.to_string())
}

/// Pages that wait for a slow reader.
const PAGES: usize = 4;

/// How long a reader waits for what has just happened, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);

impl Service {
    /// Returns when the database has come this far, or after a moment: late news is better than none.
    async fn wait_for(&self, point: HistoryPoint) -> Result<(), Status> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let asked = point.clone();
            let look = move |connection: &mut Connection| {
                ingest::reached(connection, &asked.cluster, asked.birth)
            };
            let reached = self.pool.with(look).await.map_err(trouble)?;
            if reached >= point.number || Instant::now() > deadline {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

#[tonic::async_trait]
impl Accounting for Service {
    type ListJobHistoryStream = ReceiverStream<Result<ListJobHistoryReply, Status>>;

    async fn ping_accounting(
        &self,
        _: Request<PingAccountingRequest>,
    ) -> Answer<PingAccountingReply> {
        let alive = |connection: &mut Connection| connection.query("SELECT 1", &[]);
        self.pool.with(alive).await.map_err(trouble)?;
        let version = env!("CARGO_PKG_VERSION").to_string();
        Ok(Response::new(PingAccountingReply { version, engine: self.engine.to_string() }))
    }

    async fn ingest(&self, request: Request<IngestRequest>) -> Answer<IngestReply> {
        let request = request.into_inner();
        let take_in = move |connection: &mut _| ingest::ingest(connection, &request);
        let acknowledged = self.pool.with(take_in).await.map_err(trouble)?;
        Ok(Response::new(IngestReply { acknowledged }))
    }

    async fn list_job_history(
        &self,
        request: Request<ListJobHistoryRequest>,
    ) -> Answer<Self::ListJobHistoryStream> {
        let request = request.into_inner();
        if let Some(point) = request.reached.clone() {
            self.wait_for(point).await?;
        }
        let (pages, reader) = mpsc::channel(PAGES);
        let (pool, failures) = (self.pool.clone(), pages.clone());
        let find = move |connection: &mut _| {
            let hand_over = |jobs| pages.blocking_send(Ok(ListJobHistoryReply { jobs })).is_ok();
            history::find(connection, &request, hand_over)
        };
        tokio::spawn(async move {
            if let Err(error) = pool.with(find).await {
                let _ = failures.send(Err(trouble(error))).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(reader)))
    }
}
