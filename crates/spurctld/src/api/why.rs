//! Why jobs wait, when they are expected to start, and when others would.

use spur_core::auth::Actor;
use spur_core::blob::BlobHash;
use spur_core::errors::SlurmError;
use spur_core::hostlist;
use spur_core::ids::{JobId, NodeName};
use spur_core::job::{JobSpec, Owner, Reason, RequestId};
use spur_core::state::{Blob, Command, Entry, JobAction, Origin, Reply, State, Submit, apply};
use spur_core::views::JobView;
use spur_proto::slurm::{
    Advice, Blocker, ExpectedStart, ExplainJobReply, ExplainJobRequest, Explanation, LimitUse,
    NodeRejection, PlanReply, PlanRequest, ResourceNeed, TryJobReply, TryJobRequest,
};
use spur_proto::status::to_status;
use spur_sched::Promised;
use tonic::Status;

use super::read::job_view;
use super::service::Service;

/// Jobs that are told of where nobody says how many.
pub(super) const USUAL: u32 = 500;

/// The most that are.
const MOST: u32 = 10_000;

impl Service {
    pub(super) async fn explain(
        &self,
        request: ExplainJobRequest,
    ) -> Result<ExplainJobReply, Status> {
        let published = self.latest().await?;
        let id = JobId(request.job_id);
        let job = published.state.jobs.get(&id).ok_or(to_status(SlurmError::InvalidJobId))?;
        let view = job_view(&published, job);
        let told = self.inbox.adviser().explain(published.state.clone(), id, request.advice).await;
        let (told, advice) = match told {
            Some((told, advice)) => (Some(explanation(&told, &view)), advice),
            None => (None, Vec::new()),
        };
        let advice = advice.iter().map(|it| Advice { change: in_words(&it.action) }).collect();
        Ok(ExplainJobReply { job: Some(view), explanation: told, advice })
    }

    pub(super) async fn planned(&self, request: PlanRequest) -> Result<PlanReply, Status> {
        let published = self.latest().await?;
        let jobs = if request.jobs == 0 { USUAL } else { request.jobs.min(MOST) };
        let forecast = self.inbox.adviser().forecast(published.state.clone(), jobs as usize).await;
        let mut starts: Vec<ExpectedStart> =
            forecast.iter().map(|(job, promised)| expected(*job, promised)).collect();
        starts.sort_by_key(|start| (start.start_time, start.job_id));
        Ok(PlanReply { starts, now: published.state.now.0 })
    }

    /// Submits the job to a copy of the state, and asks about that.
    pub(super) async fn tried(
        &self,
        actor: Actor,
        request: TryJobRequest,
    ) -> Result<TryJobReply, Status> {
        let Actor::User { uid, gid, .. } = actor else {
            return Err(to_status(SlurmError::AccessDenied));
        };
        let mut spec = request.spec.unwrap_or_default();
        let mut others = request.others;
        let published = self.latest().await?;
        let mut copy = published.state.clone();
        std::iter::once(&mut spec).chain(&mut others).for_each(|spec| suppose(&copy, spec));
        let nothing = BlobHash::of(&[]);
        let submit = Submit {
            request: RequestId(u128::MAX),
            owner: Owner { uid, gid, name: self.names.of(uid).await },
            spec,
            others,
            script: nothing,
            environment: nothing,
            blobs: vec![Blob { bytes: Vec::new() }],
        };
        let command = Command::Submit(Box::new(submit));
        let entry = Entry { at: crate::clock::now().wall, origin: Origin::default(), command };
        let job = match apply(&mut copy, &entry).reply {
            Ok(Reply::Job(job)) => job,
            Ok(_) => return Err(Status::internal("a submission made no job")),
            Err(error) => return Err(to_status(error)),
        };
        let told = self.inbox.adviser().explain(copy, job, false).await;
        let (told, _) = told.ok_or(to_status(SlurmError::InvalidJobId))?;
        let reason = told.wait.map_or(Reason::None, |wait| wait.reason);
        match &told.expected {
            Some(promised) => Ok(TryJobReply {
                expected: Some(expected(job, promised)),
                explanation: Some(explanation(&told, &JobView::default())),
            }),
            None => Err(to_status(never(reason))),
        }
    }
}

/// A start is told as if nobody held the job, it waited for no other, and its limit were in order.
fn suppose(state: &State, spec: &mut JobSpec) {
    spec.hold = false;
    spec.priority = spec.priority.filter(|priority| *priority > 0);
    spec.dependency.clear();
    let named = spec.partition.split(',').find(|name| !name.is_empty());
    let partition = named.map_or(state.default_partition(), |name| state.partition(name));
    if let (Some(asked), Some(partition)) = (spec.time_limit, partition) {
        spec.time_limit = Some(asked.min(partition.max_time));
    }
}

/// The error of a job that cannot be told a start.
fn never(reason: Reason) -> SlurmError {
    match reason {
        Reason::PartitionTimeLimit => SlurmError::InvalidTimeLimit,
        Reason::Licenses => SlurmError::InvalidLicenses,
        _ => SlurmError::RequestedNodeConfigUnavailable,
    }
}

fn expected(job: JobId, promised: &Promised) -> ExpectedStart {
    ExpectedStart {
        start_time: promised.at.0,
        partition: promised.partition.to_string(),
        nodes: compress(&promised.nodes),
        cpus: promised.cpus,
        job_id: job.0,
        node_count: promised.nodes.len() as u32,
    }
}

fn compress(nodes: &[NodeName]) -> String {
    hostlist::compress(nodes.iter().map(NodeName::as_str))
}

fn explanation(told: &spur_sched::Explanation, view: &JobView) -> Explanation {
    Explanation {
        reason: told.wait.map(|wait| wait.reason.name().to_string()).unwrap_or_default(),
        partition: told.partition.to_string(),
        nodes_min: told.nodes_wanted.0,
        nodes_max: told.nodes_wanted.1,
        needs: told
            .needs
            .iter()
            .map(|need| ResourceNeed {
                name: need.name.clone(),
                needed: need.needed,
                free: need.free,
                most_on_a_node: need.most_on_a_node,
                total: need.total,
            })
            .collect(),
        fitting_nodes: compress(&told.fitting),
        fitting_count: told.fitting.len() as u32,
        rejections: told
            .rejected
            .iter()
            .map(|(test, nodes)| NodeRejection {
                test: test.words().0.to_string(),
                text: test.words().1.to_string(),
                count: nodes.len() as u32,
                nodes: compress(nodes),
            })
            .collect(),
        limits: told
            .limits
            .iter()
            .map(|limit| LimitUse {
                name: limit.name.to_string(),
                needed: limit.needed,
                used: limit.used,
                max: limit.max,
                reason: limit.reason.name().to_string(),
            })
            .collect(),
        ahead: told.ahead,
        first_ahead: told.first_ahead.iter().map(|job| job.0).collect(),
        blockers: told
            .blockers
            .iter()
            .map(|(job, end)| Blocker { job_id: job.0, end_time: end.0 })
            .collect(),
        expected: told.expected.as_ref().map(|it| expected(JobId(view.job_id), it)),
        eligible_time: view.eligible_time,
        priority: view.priority,
    }
}

/// A change as `scontrol` would be told.
fn in_words(action: &JobAction) -> String {
    match action {
        JobAction::Release => "release".to_string(),
        JobAction::Update(assignments) => {
            let words = assignments.iter().map(|it| format!("{}={}", it.key, it.value));
            words.collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}").to_lowercase(),
    }
}
