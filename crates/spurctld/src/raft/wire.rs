//! openraft's messages as the wire has them, and back.

use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{LogId, SnapshotMeta, Vote};
use spur_proto::internal::append_reply::Outcome;
use spur_proto::internal::{self as proto, Ballot, Place};

use super::{TypeConfig, encode};
use crate::store::{self, Position};

/// What was sent cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a message between controllers cannot be read: {0}")]
pub struct Unreadable(String);

impl From<spur_core::state::stored::Error> for Unreadable {
    fn from(error: spur_core::state::stored::Error) -> Unreadable {
        Unreadable(error.to_string())
    }
}

impl From<prost::DecodeError> for Unreadable {
    fn from(error: prost::DecodeError) -> Unreadable {
        Unreadable(error.to_string())
    }
}

pub(super) fn ballot(vote: &Vote<u64>) -> Ballot {
    let leader = &vote.leader_id;
    Ballot { term: leader.term, candidate: leader.node_id, committed: vote.committed }
}

pub(super) fn vote(ballot: Option<Ballot>) -> Result<Vote<u64>, Unreadable> {
    let ballot = ballot.ok_or_else(|| Unreadable("it has no ballot".to_string()))?;
    let mut vote = Vote::new(ballot.term, ballot.candidate);
    vote.committed = ballot.committed;
    Ok(vote)
}

pub(super) fn place(id: &LogId<u64>) -> Place {
    let Position { term, leader, index } = encode::position(id);
    Place { term, leader, index }
}

pub(super) fn log_id(place: Place) -> LogId<u64> {
    encode::log_id(Position { term: place.term, leader: place.leader, index: place.index })
}

pub(super) fn append(to: u64, rpc: &AppendEntriesRequest<TypeConfig>) -> proto::AppendRequest {
    let record = |entry| store::encode_record(&encode::record(entry));
    proto::AppendRequest {
        to,
        ballot: Some(ballot(&rpc.vote)),
        previous: rpc.prev_log_id.as_ref().map(place),
        committed: rpc.leader_commit.as_ref().map(place),
        records: rpc.entries.iter().map(record).collect(),
    }
}

pub(super) fn appended(
    request: proto::AppendRequest,
) -> Result<AppendEntriesRequest<TypeConfig>, Unreadable> {
    let entry = |bytes: &Vec<u8>| Ok(encode::entry(store::decode_record(bytes)?)?);
    Ok(AppendEntriesRequest {
        vote: vote(request.ballot)?,
        prev_log_id: request.previous.map(log_id),
        leader_commit: request.committed.map(log_id),
        entries: request.records.iter().map(entry).collect::<Result<_, Unreadable>>()?,
    })
}

pub(super) fn append_reply(response: AppendEntriesResponse<u64>) -> proto::AppendReply {
    let outcome = match response {
        AppendEntriesResponse::Success => Outcome::Taken(proto::Taken { all: true }),
        AppendEntriesResponse::PartialSuccess(Some(upto)) => Outcome::TakenUpto(place(&upto)),
        AppendEntriesResponse::PartialSuccess(None) => Outcome::Taken(proto::Taken { all: false }),
        AppendEntriesResponse::Conflict => Outcome::Conflict(proto::Conflict {}),
        AppendEntriesResponse::HigherVote(vote) => Outcome::Higher(ballot(&vote)),
    };
    proto::AppendReply { outcome: Some(outcome) }
}

pub(super) fn append_response(
    reply: proto::AppendReply,
) -> Result<AppendEntriesResponse<u64>, Unreadable> {
    Ok(match reply.outcome {
        Some(Outcome::Taken(proto::Taken { all: true })) => AppendEntriesResponse::Success,
        Some(Outcome::Taken(_)) => AppendEntriesResponse::PartialSuccess(None),
        Some(Outcome::TakenUpto(upto)) => AppendEntriesResponse::PartialSuccess(Some(log_id(upto))),
        Some(Outcome::Conflict(_)) => AppendEntriesResponse::Conflict,
        Some(Outcome::Higher(ballot)) => AppendEntriesResponse::HigherVote(vote(Some(ballot))?),
        None => return Err(Unreadable("it has no outcome".to_string())),
    })
}

pub(super) fn ask_vote(to: u64, rpc: &VoteRequest<u64>) -> proto::VoteRequest {
    let last = rpc.last_log_id.as_ref().map(place);
    proto::VoteRequest { to, ballot: Some(ballot(&rpc.vote)), last }
}

pub(super) fn asked_vote(request: proto::VoteRequest) -> Result<VoteRequest<u64>, Unreadable> {
    Ok(VoteRequest { vote: vote(request.ballot)?, last_log_id: request.last.map(log_id) })
}

pub(super) fn vote_reply(response: &VoteResponse<u64>) -> proto::VoteReply {
    proto::VoteReply {
        ballot: Some(ballot(&response.vote)),
        granted: response.vote_granted,
        last: response.last_log_id.as_ref().map(place),
    }
}

pub(super) fn vote_response(reply: proto::VoteReply) -> Result<VoteResponse<u64>, Unreadable> {
    Ok(VoteResponse {
        vote: vote(reply.ballot)?,
        vote_granted: reply.granted,
        last_log_id: reply.last.map(log_id),
    })
}

pub(super) fn snapshot_head(
    to: u64,
    vote: &Vote<u64>,
    meta: &SnapshotMeta<u64, openraft::BasicNode>,
    length: u64,
) -> proto::SnapshotHead {
    proto::SnapshotHead {
        to,
        ballot: Some(ballot(vote)),
        last: meta.last_log_id.as_ref().map(place),
        members: encode::stored_members_bytes(&meta.last_membership),
        id: meta.snapshot_id.clone(),
        length,
    }
}

pub(super) fn snapshot_meta(
    head: &proto::SnapshotHead,
) -> Result<SnapshotMeta<u64, openraft::BasicNode>, Unreadable> {
    Ok(SnapshotMeta {
        last_log_id: head.last.map(log_id),
        last_membership: encode::stored_members(&head.members)?,
        snapshot_id: head.id.clone(),
    })
}

pub(super) fn snapshot_response(
    reply: proto::InstallReply,
) -> Result<SnapshotResponse<u64>, Unreadable> {
    Ok(SnapshotResponse::new(vote(reply.ballot)?))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use openraft::{BasicNode, EntryPayload, Membership};

    use super::*;

    #[test]
    fn every_answer_survives_the_wire() {
        let at = log_id(Place { term: 3, leader: 2, index: 9 });
        for response in [
            AppendEntriesResponse::Success,
            AppendEntriesResponse::PartialSuccess(None),
            AppendEntriesResponse::PartialSuccess(Some(at)),
            AppendEntriesResponse::Conflict,
            AppendEntriesResponse::HigherVote(Vote::new_committed(4, 7)),
        ] {
            let here = format!("{response:?}");
            let there = append_response(append_reply(response)).expect("is read");
            assert_eq!(format!("{there:?}"), here);
        }
    }

    #[test]
    fn entries_survive_the_wire() {
        let node = |address: &str| BasicNode::new(address);
        let nodes = BTreeMap::from([(1, node("unix:/a")), (7, node("unix:/b"))]);
        let members = Membership::new(vec![BTreeSet::from([1])], nodes);
        let entry = openraft::Entry {
            log_id: log_id(Place { term: 3, leader: 2, index: 9 }),
            payload: EntryPayload::Membership(members),
        };
        let rpc = AppendEntriesRequest::<TypeConfig> {
            vote: Vote::new_committed(3, 2),
            prev_log_id: None,
            entries: vec![entry],
            leader_commit: Some(log_id(Place { term: 2, leader: 1, index: 8 })),
        };
        let there = appended(append(7, &rpc)).expect("is read");
        assert_eq!(format!("{there:?}"), format!("{rpc:?}"));
    }
}
