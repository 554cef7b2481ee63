//! Tells what becomes of jobs and nodes, as it happens: two published states are compared, and only what
//! differs is looked at.

use std::convert::Infallible;
use std::sync::Arc;

use imbl::ordmap::DiffItem;
use spur_core::auth::Actor;
use spur_core::config::words::Private;
use spur_core::errors::SlurmError;
use spur_core::ids::Uid;
use spur_core::job::Job;
use spur_proto::slurm::watch_reply::Event;
use spur_proto::slurm::{SnapshotEnd, WatchReply, WatchRequest};
use spur_proto::status::to_status;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::limits;
use super::nodes::node_view;
use super::read::job_view;
use super::service::Service;
use super::sight::Sight;
use crate::shell::{Inbox, Published};

/// Events that may wait for a reader; behind them the states are compared later, and further apart.
const DEPTH: usize = 256;

type Replies = mpsc::Sender<Result<WatchReply, Status>>;

impl Service {
    pub(super) async fn start_watch(
        &self,
        actor: Actor,
        request: WatchRequest,
    ) -> Result<ReceiverStream<Result<WatchReply, Status>>, Status> {
        limits::listed(&[request.job_ids.len(), request.uids.len()])?;
        let mut changes = self.inbox.changes();
        changes.borrow_and_update();
        let seen = self.latest().await?;
        if request.nodes {
            let sight = Sight::of(&actor, &seen.state);
            sight.open(Private::Nodes).map_err(to_status)?;
        }
        let (replies, stream) = mpsc::channel(DEPTH);
        tokio::spawn(follow(self.inbox.clone(), changes, seen, (actor, request), replies));
        Ok(ReceiverStream::new(stream))
    }
}

/// Sends until nobody listens.
async fn follow(
    inbox: Inbox,
    mut changes: watch::Receiver<u64>,
    mut seen: Arc<Published>,
    (actor, request): (Actor, WatchRequest),
    replies: Replies,
) -> Option<Infallible> {
    if request.snapshot {
        send(&replies, events(&Published::default(), &seen, &actor, &request)).await?;
        send(&replies, vec![Event::SnapshotEnd(SnapshotEnd {})]).await?;
    }
    loop {
        tokio::select! {
            changed = changes.changed() => changed.ok()?,
            () = replies.closed() => return None,
        }
        let present = inbox.published();
        if !present.leads {
            let _ = replies.send(Err(to_status(SlurmError::InStandbyMode))).await;
            return None;
        }
        send(&replies, events(&seen, &present, &actor, &request)).await?;
        seen = present;
    }
}

/// Nothing when the reader has gone.
async fn send(replies: &Replies, events: Vec<Event>) -> Option<()> {
    for event in events {
        replies.send(Ok(WatchReply { event: Some(event) })).await.ok()?;
    }
    Some(())
}

/// What a reader of `before` has to be told to know `after`.
fn events(
    before: &Published,
    after: &Published,
    actor: &Actor,
    request: &WatchRequest,
) -> Vec<Event> {
    let sight = Sight::of(actor, &after.state);
    let wanted = |job: &Job| {
        sight.job(job)
            && (request.job_ids.is_empty() || request.job_ids.contains(&job.id.0))
            && (request.uids.is_empty()
                || request.uids.iter().any(|uid| Uid(*uid) == job.owner.uid))
    };
    let mut events = Vec::new();
    for change in before.state.jobs.diff(&after.state.jobs) {
        match change {
            DiffItem::Add(_, job) | DiffItem::Update { new: (_, job), .. } if wanted(job) => {
                events.push(Event::Job(job_view(after, job)));
            }
            DiffItem::Remove(_, job) if wanted(job) => events.push(Event::JobGone(job.id.0)),
            _ => {}
        }
    }
    if request.nodes {
        for change in before.state.nodes.diff(&after.state.nodes) {
            if let DiffItem::Add(_, node) | DiffItem::Update { new: (_, node), .. } = change {
                events.push(Event::Node(node_view(after, node)));
            }
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::state::{Command, Entry, Origin, RegisterNode, Settings, apply};
    use spur_core::time::Timestamp;

    fn after(state: &Published, command: Command) -> Published {
        let mut next = state.clone();
        let entry = Entry { at: Timestamp(1), origin: Origin::default(), command };
        apply(&mut next.state, &entry).reply.expect("is accepted");
        next
    }

    #[test]
    fn only_what_changed_is_told() {
        let register = |name: &str| {
            Command::RegisterNode(RegisterNode {
                name: name.into(),
                inventory: Default::default(),
                boot_id: String::new(),
            })
        };
        let request = WatchRequest { nodes: true, ..WatchRequest::default() };
        let empty = Published::default();
        let one = after(&after(&empty, Command::Configure(Settings::default())), register("n1"));
        let two = after(&one, register("n2"));
        let names = |before, after| -> Vec<String> {
            let node = |event| match event {
                Event::Node(node) => Some(node.name),
                _ => None,
            };
            events(before, after, &Actor::Anonymous, &request)
                .into_iter()
                .filter_map(node)
                .collect()
        };
        assert_eq!(names(&empty, &two), ["n1", "n2"]);
        assert_eq!(names(&one, &two), ["n2"]);
        assert_eq!(names(&two, &two), Vec::<String>::new());
    }
}
