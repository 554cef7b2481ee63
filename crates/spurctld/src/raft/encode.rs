//! openraft's types as our own records, and back.

use std::collections::{BTreeMap, BTreeSet};

use openraft::{
    BasicNode, CommittedLeaderId, EntryPayload, LogId, Membership, StoredMembership, Vote,
};
use prost::Message;

use super::{Batch, TypeConfig};
use crate::store::{Payload, Position, Record};

pub(super) fn position(id: &LogId<u64>) -> Position {
    Position { term: id.leader_id.term, leader: id.leader_id.node_id, index: id.index }
}

pub(super) fn log_id(position: Position) -> LogId<u64> {
    LogId::new(CommittedLeaderId::new(position.term, position.leader), position.index)
}

pub(super) fn record(entry: &openraft::Entry<TypeConfig>) -> Record {
    let payload = match &entry.payload {
        EntryPayload::Blank => Payload::Blank,
        EntryPayload::Normal(Batch(entries)) => Payload::Entries(entries.clone()),
        EntryPayload::Membership(members) => Payload::Membership(members_bytes(members)),
    };
    Record { position: position(&entry.log_id), payload }
}

pub(super) fn entry(record: Record) -> Result<openraft::Entry<TypeConfig>, prost::DecodeError> {
    let payload = match record.payload {
        Payload::Blank => EntryPayload::Blank,
        Payload::Entries(entries) => EntryPayload::Normal(Batch(entries)),
        Payload::Membership(bytes) => EntryPayload::Membership(members(&bytes)?),
    };
    Ok(openraft::Entry { log_id: log_id(record.position), payload })
}

pub(super) fn vote_bytes(vote: &Vote<u64>) -> Vec<u8> {
    let leader = &vote.leader_id;
    StoredVote { term: leader.term, node: leader.node_id, committed: vote.committed }
        .encode_to_vec()
}

pub(super) fn vote(bytes: &[u8]) -> Result<Vote<u64>, prost::DecodeError> {
    let stored = StoredVote::decode(bytes)?;
    let mut vote = Vote::new(stored.term, stored.node);
    vote.committed = stored.committed;
    Ok(vote)
}

pub(super) fn stored_members_bytes(stored: &StoredMembership<u64, BasicNode>) -> Vec<u8> {
    let id = stored.log_id().as_ref().map(position);
    StoredMembers {
        term: id.map(|id| id.term),
        leader: id.map(|id| id.leader),
        index: id.map(|id| id.index),
        ..to_stored(stored.membership())
    }
    .encode_to_vec()
}

pub(super) fn stored_members(
    bytes: &[u8],
) -> Result<StoredMembership<u64, BasicNode>, prost::DecodeError> {
    let stored = StoredMembers::decode(bytes)?;
    let id = match (stored.term, stored.leader, stored.index) {
        (Some(term), Some(leader), Some(index)) => Some(log_id(Position { term, leader, index })),
        _ => None,
    };
    Ok(StoredMembership::new(id, from_stored(stored)))
}

fn members_bytes(members: &Membership<u64, BasicNode>) -> Vec<u8> {
    to_stored(members).encode_to_vec()
}

fn members(bytes: &[u8]) -> Result<Membership<u64, BasicNode>, prost::DecodeError> {
    Ok(from_stored(StoredMembers::decode(bytes)?))
}

fn to_stored(members: &Membership<u64, BasicNode>) -> StoredMembers {
    let config = |ids: &BTreeSet<u64>| StoredConfig { ids: ids.iter().copied().collect() };
    let node = |(id, node): (&u64, &BasicNode)| StoredNode { id: *id, address: node.addr.clone() };
    StoredMembers {
        configs: members.get_joint_config().iter().map(config).collect(),
        nodes: members.nodes().map(node).collect(),
        ..StoredMembers::default()
    }
}

fn from_stored(stored: StoredMembers) -> Membership<u64, BasicNode> {
    let configs =
        stored.configs.into_iter().map(|config| config.ids.into_iter().collect()).collect();
    let nodes: BTreeMap<u64, BasicNode> =
        stored.nodes.into_iter().map(|node| (node.id, BasicNode::new(node.address))).collect();
    Membership::new(configs, nodes)
}

#[derive(Clone, PartialEq, Message)]
struct StoredVote {
    #[prost(uint64, tag = "1")]
    term: u64,
    #[prost(uint64, tag = "2")]
    node: u64,
    #[prost(bool, tag = "3")]
    committed: bool,
}

#[derive(Clone, PartialEq, Message)]
struct StoredMembers {
    #[prost(message, repeated, tag = "1")]
    configs: Vec<StoredConfig>,
    #[prost(message, repeated, tag = "2")]
    nodes: Vec<StoredNode>,
    /// Where in the log they were agreed on; only in snapshots.
    #[prost(uint64, optional, tag = "3")]
    term: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    leader: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    index: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredConfig {
    #[prost(uint64, repeated, tag = "1")]
    ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredNode {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    address: String,
}
