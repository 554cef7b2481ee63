//! Why jobs wait, when they are expected to start, and when others would.

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::auth::Actor;
use spur_core::blob::BlobHash;
use spur_core::config::words::PartitionState;
use spur_core::errors::SlurmError;
use spur_core::hostlist;
use spur_core::ids::{JobId, NodeName};
use spur_core::job::{Job, JobSpec, Owner, Reason, RequestId, dependency};
use spur_core::state::{Blob, Command, Entry, JobAction, Origin, Reply, State, Submit, apply};
use spur_core::views::JobView;
use spur_proto::slurm::{
    Advice, Blocker, ExpectedStart, ExplainJobReply, ExplainJobRequest, Explanation, LimitUse,
    NodeReason, NodeRejection, PlanReply, PlanRequest, PriorityTerm, ResourceNeed, TryJobReply,
    TryJobRequest,
};
use spur_proto::status::to_status;
use spur_sched::priority::{self, Terms};
use spur_sched::{Promised, Test};
use tonic::Status;

use super::jobs::asked_by;
use super::limits;
use super::read::job_view;
use super::service::Service;
use super::sight::Sight;
use crate::shell::Published;

/// Jobs that are told of where nobody says how many.
pub(super) const USUAL: u32 = 500;

/// The most that are.
const MOST: u32 = 10_000;

impl Service {
    pub(super) async fn explain(
        &self,
        actor: Actor,
        request: ExplainJobRequest,
    ) -> Result<ExplainJobReply, Status> {
        let published = self.latest().await?;
        let id = JobId(request.job_id);
        let sight = Sight::of(&actor, &published.state);
        let job = published.state.jobs.get(&id).filter(|job| sight.job(job));
        let job = job.ok_or(to_status(SlurmError::InvalidJobId))?;
        let view = job_view(&published, job);
        let told = self.inbox.adviser().explain(as_of_now(&published), id, request.advice).await;
        let (told, advice) = match told {
            Some((told, advice)) => {
                let mut explained = explanation(&published.state, &told, &view);
                explained.priority_terms = priority_terms(&published, job);
                for limit in &mut explained.limits {
                    limit.name = limit_in_words(&published.state, &limit.name);
                }
                (Some(explained), advice)
            }
            None => (None, Vec::new()),
        };
        let advice = advice.iter().map(|it| Advice { change: in_words(&it.action) }).collect();
        Ok(ExplainJobReply { job: Some(view), explanation: told, advice })
    }

    pub(super) async fn planned(
        &self,
        actor: Actor,
        request: PlanRequest,
    ) -> Result<PlanReply, Status> {
        let published = self.latest().await?;
        let sight = Sight::of(&actor, &published.state);
        let is_seen = |id: &JobId| published.state.jobs.get(id).is_some_and(|job| sight.job(job));
        let jobs = if request.jobs == 0 { USUAL } else { request.jobs.min(MOST) };
        let forecast = self.inbox.adviser().forecast(as_of_now(&published), jobs as usize).await;
        let seen = forecast.iter().filter(|(job, _)| is_seen(job));
        let mut starts: Vec<ExpectedStart> =
            seen.map(|(job, promised)| expected(*job, promised)).collect();
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
        limits::components(std::iter::once(&spec).chain(&others))?;
        std::iter::once(&mut spec).chain(&mut others).try_for_each(|it| asked_by(&actor, it))?;
        let waits = |spec: &JobSpec| dependency::parse(&spec.dependency).map(|_| ());
        let waits = std::iter::once(&spec).chain(&others).try_for_each(waits);
        waits.map_err(|_| to_status(SlurmError::Dependency))?;
        let published = self.latest().await?;
        let mut copy = published.state.clone();
        if !request.as_asked {
            open_partitions(&mut copy);
        }
        std::iter::once(&mut spec)
            .chain(&mut others)
            .for_each(|spec| suppose(&copy, spec, request.as_asked));
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
        if told.expected.is_none() && !request.as_asked {
            return Err(to_status(never(reason)));
        }
        Ok(TryJobReply {
            expected: told.expected.as_ref().map(|promised| expected(job, promised)),
            explanation: Some(explanation(&published.state, &told, &JobView::default())),
        })
    }
}

/// A start is told as if nobody held the job, it waited for no other, and its limit were in order. Of a job that is
/// told as it stands the limit stays, and it is of age now.
fn suppose(state: &State, spec: &mut JobSpec, as_asked: bool) {
    spec.hold = false;
    spec.priority = spec.priority.filter(|priority| *priority > 0);
    spec.dependency.clear();
    if as_asked {
        spec.begin = None;
        return;
    }
    let named = spec.partition.split(',').find(|name| !name.is_empty());
    let partition = named.map_or(state.default_partition(), |name| state.partition(name));
    if let (Some(asked), Some(partition)) = (spec.time_limit, partition) {
        spec.time_limit = Some(asked.min(partition.max_time));
    }
}

/// What is published may be from a while ago, where nothing happens.
fn as_of_now(published: &Published) -> State {
    let mut state = published.state.clone();
    state.now = state.now.max(crate::clock::now().wall);
    state
}

/// A start is told as if partitions that are down were up.
fn open_partitions(state: &mut State) {
    let all = Arc::make_mut(&mut state.partitions).iter_mut();
    for partition in all.filter(|it| it.rules.state == PartitionState::Down) {
        Arc::make_mut(&mut partition.rules).state = PartitionState::Up;
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

/// What was said of nodes that are out of service, and of how many; most often said first.
fn reasons(state: &State, nodes: &[NodeName]) -> Vec<NodeReason> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let notes = nodes.iter().filter_map(|node| state.nodes.get(node)?.service.reason.as_ref());
    notes.for_each(|note| *counts.entry(note.text.as_str()).or_default() += 1);
    let mut found: Vec<NodeReason> = (counts.into_iter())
        .map(|(reason, count)| NodeReason { reason: reason.to_string(), count })
        .collect();
    found.sort_by_key(|it| std::cmp::Reverse(it.count));
    found
}

fn explanation(state: &State, told: &spur_sched::Explanation, view: &JobView) -> Explanation {
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
                reasons: match test {
                    Test::Unavailable => reasons(state, nodes),
                    _ => Vec::new(),
                },
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
        priority_terms: Vec::new(),
    }
}

/// What a job's priority is made of, as `sprio` shows it; terms of nothing are left out.
fn priority_terms(published: &Published, job: &Job) -> Vec<PriorityTerm> {
    let state = &published.state;
    let rules = &state.settings.config.priority;
    if job.spec.priority.is_some() || !priority::is_multifactor(rules) {
        return Vec::new();
    }
    let partition = state.partition_of(job);
    let facts = priority::facts(state, job, partition, &published.waits.basis);
    let terms = Terms::of(&facts, rules);
    let all = [
        ("age", terms.age),
        ("fair-share", terms.fair_share),
        ("job-size", terms.job_size),
        ("partition", terms.partition),
        ("qos", terms.qos),
        ("association", terms.association),
        ("tres", terms.tres),
        ("site", terms.site),
        ("nice", -terms.nice),
    ];
    let some = all.into_iter().filter(|(_, value)| value.abs() >= 0.5);
    some.map(|(name, value)| PriorityTerm { name: name.to_string(), value }).collect()
}

/// `qos/4/MaxJobsPU/alice` as people know it.
fn limit_in_words(state: &State, name: &str) -> String {
    let mut parts = name.split('/');
    let (Some(kind), Some(id), Some(limit)) = (parts.next(), parts.next(), parts.next()) else {
        return name.to_string();
    };
    let Ok(id) = id.parse::<u32>() else { return name.to_string() };
    let rest: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let of = match rest.is_empty() {
        true => String::new(),
        false => format!(" ({})", rest.join(", ")),
    };
    let whose = match kind {
        "qos" => {
            state.rules.all_qos().find(|qos| qos.id == id).map(|it| format!("QOS {}", it.name))
        }
        "assoc" => state.rules.associations().find(|one| one.id == id).map(|it| {
            match it.user_name.as_str() {
                "" => format!("account {}", it.account),
                user => format!("user {user} in account {}", it.account),
            }
        }),
        _ => None,
    };
    whose.map_or_else(|| name.to_string(), |whose| format!("{limit} of {whose}{of}"))
}

/// A change as `scontrol` would be told.
fn in_words(action: &JobAction) -> String {
    match action {
        JobAction::Release => "release".to_string(),
        JobAction::Update(assignments) => {
            let words = assignments.iter().map(|it| match it.key.as_str() {
                // The moment is over by the time it is read.
                "StartTime" => "StartTime=now".to_string(),
                key => format!("{key}={}", it.value),
            });
            words.collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}").to_lowercase(),
    }
}
