//! What other controllers ask of this one.

use std::io::Cursor;
use std::sync::Arc;

use spur_proto::internal::consensus_server::Consensus;
use spur_proto::internal::{
    AppendReply, AppendRequest, InstallReply, JoinReply, JoinRequest, LeaveReply, LeaveRequest,
    SnapshotPart, StatusReply, StatusRequest, VoteReply, VoteRequest,
};
use spur_proto::status::standby;
use tokio::sync::Notify;
use tonic::{Request, Response, Status, Streaming};

use super::members::{self, leader_address};
use super::{Raft, wire};
use crate::trust::Trusted;

/// This controller, as the others see it.
#[derive(Clone)]
pub struct Member {
    /// Its consensus.
    pub raft: Raft,
    /// Its number.
    pub id: u64,
    /// Told when it is no longer one of them.
    pub left: Arc<Notify>,
    /// The authority, for those who join.
    pub trusted: Arc<Trusted>,
}

type Answer<T> = Result<Response<T>, Status>;

impl Member {
    /// An address may have passed to another controller: what is not for this one is not its business.
    #[allow(clippy::result_large_err)]
    fn is_me(&self, to: u64) -> Result<(), Status> {
        match to == self.id {
            true => Ok(()),
            false => Err(Status::not_found(format!("this is controller {}", self.id))),
        }
    }
}

fn failed<E: std::error::Error>(error: E) -> Status {
    Status::internal(error.to_string())
}

fn unreadable(error: wire::Unreadable) -> Status {
    Status::invalid_argument(error.to_string())
}

#[tonic::async_trait]
impl Consensus for Member {
    async fn append(&self, request: Request<AppendRequest>) -> Answer<AppendReply> {
        let request = request.into_inner();
        self.is_me(request.to)?;
        let rpc = wire::appended(request).map_err(unreadable)?;
        let response = self.raft.append_entries(rpc).await.map_err(failed)?;
        Ok(Response::new(wire::append_reply(response)))
    }

    async fn vote(&self, request: Request<VoteRequest>) -> Answer<VoteReply> {
        let request = request.into_inner();
        self.is_me(request.to)?;
        let rpc = wire::asked_vote(request).map_err(unreadable)?;
        let response = self.raft.vote(rpc).await.map_err(failed)?;
        Ok(Response::new(wire::vote_reply(&response)))
    }

    async fn install(&self, request: Request<Streaming<SnapshotPart>>) -> Answer<InstallReply> {
        let mut parts = request.into_inner();
        let first = parts.message().await?;
        let Some(head) = first.and_then(|part| part.head) else {
            return Err(Status::invalid_argument("a snapshot begins with its head"));
        };
        self.is_me(head.to)?;
        let mut bytes = Vec::new();
        while let Some(part) = parts.message().await? {
            if (bytes.len() + part.bytes.len()) as u64 > head.length {
                return Err(Status::invalid_argument("a snapshot is longer than its head says"));
            }
            bytes.extend_from_slice(&part.bytes);
        }
        if bytes.len() as u64 != head.length {
            return Err(Status::invalid_argument("a snapshot is shorter than its head says"));
        }
        let meta = wire::snapshot_meta(&head).map_err(unreadable)?;
        let vote = wire::vote(head.ballot).map_err(unreadable)?;
        let snapshot = openraft::Snapshot { meta, snapshot: Box::new(Cursor::new(bytes)) };
        tracing::info!(bytes = head.length, "catching up by a snapshot from the leader");
        let response = self.raft.install_full_snapshot(vote, snapshot).await.map_err(failed)?;
        Ok(Response::new(InstallReply { ballot: Some(wire::ballot(&response.vote)) }))
    }

    async fn join(&self, request: Request<JoinRequest>) -> Answer<JoinReply> {
        let JoinRequest { id, address, joined } = request.into_inner();
        members::admit(&self.raft, id, &address, joined).await.map_err(
            |trouble| match trouble {
                members::Trouble::NotLeading => standby(leader_address(&self.raft).as_deref()),
                members::Trouble::Busy(reason) => Status::aborted(reason),
                members::Trouble::Refused(reason) => Status::failed_precondition(reason),
                members::Trouble::Removed => Status::not_found("it was removed from the cluster"),
            },
        )?;
        Ok(Response::new(self.trusted.for_controllers()))
    }

    async fn leave(&self, request: Request<LeaveRequest>) -> Answer<LeaveReply> {
        self.is_me(request.into_inner().to)?;
        self.left.notify_one();
        Ok(Response::new(LeaveReply {}))
    }

    async fn status(&self, _: Request<StatusRequest>) -> Answer<StatusReply> {
        // Asks a majority.
        let leads = self.raft.get_read_log_id().await.is_ok();
        let metrics = self.raft.metrics().borrow().clone();
        let members = metrics.membership_config.membership();
        Ok(Response::new(StatusReply {
            id: self.id,
            has_state: metrics.last_log_index.is_some(),
            leads,
            leader_address: leader_address(&self.raft).unwrap_or_default(),
            members: members.nodes().map(|(id, _)| *id).collect(),
        }))
    }
}
