//! The service, one line a method.

use std::sync::Arc;
use std::time::Duration;

use spur_core::auth::{Actor, Level};
use spur_core::config::words::Private;
use spur_core::errors::SlurmError;
use spur_core::views::RulesView;
use spur_proto::door::caller_of;
use spur_proto::entrance;
use spur_proto::slurm::accounting_server::Accounting;
use spur_proto::slurm::{
    AmendJobsReply, AmendJobsRequest, ChangeRulesReply, ChangeRulesRequest, GetRulesRequest,
    HistoryPoint, IngestReply, IngestRequest, ListEventsReply, ListEventsRequest,
    ListJobHistoryReply, ListJobHistoryRequest, ListTransactionsReply, ListTransactionsRequest,
    PingAccountingReply, PingAccountingRequest, SumUsageReply, SumUsageRequest, TellRevokedReply,
    TellRevokedRequest,
};
use spur_proto::status::{to_status, worded};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status};

use crate::db::{Connection, Error};
use crate::history::Reader;
use crate::pool::Pool;
use crate::revoked::Revoked;
use crate::rules::{Author, Outcome};
use crate::{amend, events, history, ingest, rules, usage};

/// Everything a method needs.
#[derive(Clone)]
pub struct Service {
    pub pool: Pool,
    pub engine: &'static str,
    /// The version of the rules, for those who wait for another.
    pub rules_version: watch::Sender<u64>,
    /// What other users are not shown.
    pub private: Vec<Private>,
    /// What the daemon goes by, in Slurm's words.
    pub settings: Arc<Vec<String>>,
    /// Seconds that one question of a user may be about at most.
    pub max_span: Option<i64>,
    /// Whose tokens are worthless.
    pub revoked: Arc<Revoked>,
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
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);

/// How long an answer about the rules waits for a change.
const RULES_PATIENCE: Duration = Duration::from_secs(5);

impl Service {
    fn tell_version(&self, version: u64) {
        self.rules_version.send_if_modified(|known| std::mem::replace(known, version) != version);
    }

    /// Returns when the rules have another version than this, or after a while.
    async fn wait_for_rules(&self, known: u64) -> Result<(), Status> {
        let mut changes = self.rules_version.subscribe();
        let version = self.pool.with(rules::version).await.map_err(trouble)?;
        if version == known {
            // Another daemon on the same database may change them too: whoever waits looks again.
            let _ = tokio::time::timeout(RULES_PATIENCE, changes.changed()).await;
        }
        Ok(())
    }

    /// What the caller may see, of what the site keeps private.
    async fn reader(&self, actor: &Actor, what: Private) -> Result<Reader, Status> {
        let author = author(actor).await;
        let uid = actor.uid().map_or(u32::MAX, |uid| uid.0);
        let private = self.private.contains(&what);
        let look = move |connection: &mut Connection| {
            let rules = rules::load(connection)?;
            let sees_all = author.level.max(rules.level(&author.name)) >= Level::Operator;
            let looks_after = |account: &str| {
                let mut clusters = rules.clusters.iter();
                clusters.any(|it| rules.coordinates(&author.name, &it.name, account))
            };
            let accounts = rules.accounts.iter().map(|account| account.name.clone());
            let coordinates = accounts.filter(|account| looks_after(account)).collect();
            Ok(Reader { uid, sees_all, coordinates, private })
        };
        // Root needs no rules, and most sites keep nothing private.
        if let Actor::User { level: Level::Administrator, .. } | Actor::Controller = actor {
            return Ok(Reader { uid, sees_all: true, coordinates: Vec::new(), private });
        }
        self.pool.with(look).await.map_err(trouble)
    }

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
        let (engine, settings) = (self.engine.to_string(), self.settings.to_vec());
        Ok(Response::new(PingAccountingReply { version, engine, settings }))
    }

    async fn ingest(&self, request: Request<IngestRequest>) -> Answer<IngestReply> {
        let request = request.into_inner();
        let take_in = move |connection: &mut Connection| {
            let acknowledged = ingest::ingest(connection, &request)?;
            Ok(IngestReply { acknowledged, rules_version: rules::version(connection)? })
        };
        let reply = self.pool.with(take_in).await.map_err(trouble)?;
        self.tell_version(reply.rules_version);
        Ok(Response::new(reply))
    }

    async fn list_job_history(
        &self,
        request: Request<ListJobHistoryRequest>,
    ) -> Answer<Self::ListJobHistoryStream> {
        let looks = self.reader(&caller_of(&request), Private::Jobs).await?;
        let request = request.into_inner();
        // Whoever names jobs asks about little, however long ago they were.
        let end = if request.end > 0 { request.end } else { entrance::now() };
        let is_wide = self.max_span.is_some_and(|most| end - request.start > most);
        if is_wide && request.jobs.is_empty() && !looks.sees_all {
            return Err(to_status(SlurmError::DbQueryTooWide));
        }
        if let Some(point) = request.reached.clone() {
            self.wait_for(point).await?;
        }
        let (pages, reader) = mpsc::channel(PAGES);
        let (pool, failures) = (self.pool.clone(), pages.clone());
        let find = move |connection: &mut _| {
            let hand_over = |jobs| pages.blocking_send(Ok(ListJobHistoryReply { jobs })).is_ok();
            history::find(connection, &request, &looks, hand_over)
        };
        tokio::spawn(async move {
            if let Err(error) = pool.with(find).await {
                let _ = failures.send(Err(trouble(error))).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(reader)))
    }

    async fn amend_jobs(&self, request: Request<AmendJobsRequest>) -> Answer<AmendJobsReply> {
        let actor = caller_of(&request);
        let (reader, author) = (self.reader(&actor, Private::Jobs).await?, author(&actor).await);
        let request = request.into_inner();
        let amend = move |connection: &mut _| amend::amend(connection, &author, &reader, &request);
        match self.pool.with(amend).await.map_err(trouble)? {
            amend::Outcome::Amended(jobs) => Ok(Response::new(AmendJobsReply { jobs })),
            amend::Outcome::Denied => Err(to_status(SlurmError::AccessDenied)),
        }
    }

    async fn get_rules(&self, request: Request<GetRulesRequest>) -> Answer<RulesView> {
        let author = author(&caller_of(&request)).await;
        let GetRulesRequest { other_than, with_deleted } = request.into_inner();
        if let Some(known) = other_than {
            self.wait_for_rules(known).await?;
        }
        let load = if with_deleted { rules::load_with_deleted } else { rules::load };
        let mut rules = self.pool.with(load).await.map_err(trouble)?;
        let of_all = author.level.max(rules.level(&author.name)) >= Level::Operator;
        if !of_all {
            let users = self.private.contains(&Private::Users);
            let accounts = self.private.contains(&Private::Accounts);
            rules.only_for(&author.name, users, accounts);
        }
        Ok(Response::new(rules))
    }

    async fn change_rules(&self, request: Request<ChangeRulesRequest>) -> Answer<ChangeRulesReply> {
        let author = author(&caller_of(&request)).await;
        let request = request.into_inner();
        let ask_only = request.ask_only;
        let change = move |connection: &mut _| rules::change(connection, &author, request);
        match self.pool.with(change).await.map_err(trouble)? {
            Outcome::Changed(version) => {
                if !ask_only {
                    self.tell_version(version);
                }
                Ok(Response::new(ChangeRulesReply { version }))
            }
            Outcome::Stale => Err(Status::new(Code::Aborted, "the rules have changed meanwhile")),
            Outcome::Denied => Err(to_status(SlurmError::AccessDenied)),
            Outcome::Active(jobs) => Err(worded(SlurmError::JobsRunningOnAssoc, jobs)),
            Outcome::Refused(why) => Err(Status::new(Code::InvalidArgument, why)),
        }
    }

    async fn list_events(&self, request: Request<ListEventsRequest>) -> Answer<ListEventsReply> {
        let reader = self.reader(&caller_of(&request), Private::Events).await?;
        if reader.private && !reader.sees_all {
            return Err(to_status(SlurmError::AccessDenied));
        }
        let request = request.into_inner();
        let find = move |connection: &mut _| events::find(connection, &request);
        let events = self.pool.with(find).await.map_err(trouble)?;
        Ok(Response::new(ListEventsReply { events }))
    }

    async fn sum_usage(&self, request: Request<SumUsageRequest>) -> Answer<SumUsageReply> {
        let reader = self.reader(&caller_of(&request), Private::Usage).await?;
        let request = request.into_inner();
        let sum = move |connection: &mut _| usage::sum(connection, &request);
        let mut usage = self.pool.with(sum).await.map_err(trouble)?;
        usage.retain(|row| reader.may_see(row.uid, &row.account));
        Ok(Response::new(SumUsageReply { usage }))
    }

    async fn list_transactions(
        &self,
        request: Request<ListTransactionsRequest>,
    ) -> Answer<ListTransactionsReply> {
        let request = request.into_inner();
        let find = move |connection: &mut _| rules::transactions(connection, &request);
        let transactions = self.pool.with(find).await.map_err(trouble)?;
        Ok(Response::new(ListTransactionsReply { transactions }))
    }

    async fn tell_revoked(&self, request: Request<TellRevokedRequest>) -> Answer<TellRevokedReply> {
        let learnt = self.revoked.learn(&request.into_inner().revoked);
        learnt.map_err(|error| Status::new(Code::Unavailable, format!("{error:#}")))?;
        Ok(Response::new(TellRevokedReply {}))
    }
}

/// The caller's name, as this machine knows it. Asking may take long.
async fn author(actor: &Actor) -> Author {
    let uid = actor.uid().map_or(u32::MAX, |uid| uid.0);
    let look_up = move || match nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => uid.to_string(),
    };
    let name = tokio::task::spawn_blocking(look_up).await.unwrap_or_default();
    let level = match actor {
        Actor::User { level, .. } => *level,
        Actor::Controller => Level::Administrator,
        Actor::Anonymous | Actor::Node(_) => Level::None,
    };
    Author { name, level }
}
