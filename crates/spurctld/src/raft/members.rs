//! Who the controllers are, and how that changes while they run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use openraft::error::{ChangeMembershipError, ClientWriteError, RaftError};
use openraft::{BasicNode, ChangeMembers, Membership};
use spur_proto::client::Address;
use spur_proto::internal::LeaveRequest;
use tokio::sync::Mutex;

use super::{Raft, network};

/// Why the members did not change.
#[derive(Debug)]
pub enum Trouble {
    /// Another controller leads.
    NotLeading,
    /// Another change is under way, or a majority is away; it may work later.
    Busy(String),
    /// It will not work.
    Refused(String),
    /// The controller was a member and is none any more.
    Removed,
}

type Change = ChangeMembers<u64, BasicNode>;

/// One change after the other: each begins with the members the last one left.
static CHANGING: Mutex<()> = Mutex::const_new(());

/// A controller as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub id: u64,
    /// Where it listens.
    pub address: String,
    /// Whether it votes; it does once it has caught up.
    pub votes: bool,
    /// Whether it leads.
    pub leads: bool,
    /// How many entries it lacks, where the leader knows.
    pub behind: Option<u64>,
}

/// Every member, as the leader knows them.
pub fn list(raft: &Raft) -> Vec<Listed> {
    let metrics = raft.metrics().borrow().clone();
    let members = metrics.membership_config.membership();
    let voters: BTreeSet<u64> = members.voter_ids().collect();
    let last = metrics.last_log_index.unwrap_or(0);
    let listed = |(id, node): (&u64, &BasicNode)| {
        let matched = metrics.replication.as_ref().and_then(|known| known.get(id));
        let behind = match metrics.id == *id {
            true => Some(0),
            false => matched.map(|at| last.saturating_sub(at.as_ref().map_or(0, |at| at.index))),
        };
        Listed {
            id: *id,
            address: node.addr.clone(),
            votes: voters.contains(id),
            leads: metrics.current_leader == Some(*id),
            behind,
        }
    };
    members.nodes().map(listed).collect()
}

/// Whether this controller is the only one that votes.
pub fn is_alone(raft: &Raft) -> bool {
    let metrics = raft.metrics();
    let metrics = metrics.borrow();
    metrics.membership_config.membership().voter_ids().eq([metrics.id])
}

/// Where the leader listens, if there is one and it is another.
pub fn leader_address(raft: &Raft) -> Option<String> {
    let metrics = raft.metrics();
    let metrics = metrics.borrow();
    let leader = metrics.current_leader.filter(|leader| *leader != metrics.id)?;
    let node = metrics.membership_config.membership().get_node(&leader)?;
    (!node.addr.is_empty()).then(|| node.addr.clone())
}

/// Makes a controller a voter, in place of an earlier one at the same address: first it catches up, then
/// it counts. Done again, it does nothing.
pub async fn admit(raft: &Raft, id: u64, address: &str, joined: bool) -> Result<(), Trouble> {
    let _one = CHANGING.lock().await;
    if Address::parse(address).is_none() {
        return Err(Trouble::Refused(format!("{address} is no address of a controller")));
    }
    let members = leading(raft)?;
    let node = BasicNode::new(address);
    match members.get_node(&id) {
        None if joined => return Err(Trouble::Removed),
        None => {
            tracing::info!(id, address, "a controller joins");
            raft.add_learner(id, node, true).await.map_err(trouble)?;
        }
        Some(known) if *known != node => {
            tracing::info!(id, address, "a controller has moved");
            let moved = Change::SetNodes(BTreeMap::from([(id, node)]));
            raft.change_membership(moved, true).await.map_err(trouble)?;
        }
        Some(_) => {}
    }
    let members = leading(raft)?;
    let replaced = members.nodes().filter(|(other, node)| **other != id && node.addr == address);
    let replaced: BTreeSet<u64> = replaced.map(|(other, _)| *other).collect();
    let mut voters: BTreeSet<u64> = members.voter_ids().collect();
    let as_it_was = voters.contains(&id) && members.get_joint_config().len() == 1;
    if as_it_was && replaced.is_empty() {
        return Ok(());
    }
    voters.retain(|voter| !replaced.contains(voter));
    voters.insert(id);
    raft.change_membership(voters, false).await.map_err(trouble)?;
    // One that never caught up was no voter.
    let left: BTreeSet<u64> = leading(raft)?.nodes().map(|(id, _)| *id).collect();
    let left: BTreeSet<u64> = left.intersection(&replaced).copied().collect();
    if !left.is_empty() {
        raft.change_membership(Change::RemoveNodes(left), false).await.map_err(trouble)?;
    }
    tracing::info!(id, address, "a controller votes now");
    Ok(())
}

/// Takes a controller out, by number or address, and tells it so.
pub async fn remove(raft: &Raft, name: &str) -> Result<(), Trouble> {
    let _one = CHANGING.lock().await;
    let members = leading(raft)?;
    let socket = |node: &BasicNode| {
        let stem = Path::new(&node.addr).file_stem();
        stem.is_some_and(|stem| stem == name)
    };
    // The port may be left out.
    let host = |node: &BasicNode| node.addr.rsplit_once(':').is_some_and(|(host, _)| host == name);
    let named = |id: &u64, node: &BasicNode| {
        id.to_string() == name || node.addr == name || socket(node) || host(node)
    };
    let mut found = members.nodes().filter(|(id, node)| named(id, node));
    let Some((id, node)) = found.next().map(|(id, node)| (*id, node.clone())) else {
        return Err(Trouble::Refused(format!("there is no controller {name}")));
    };
    if found.next().is_some() {
        let why = format!("{name} names several controllers; say which by number");
        return Err(Trouble::Refused(why));
    }
    let voters: BTreeSet<u64> = members.voter_ids().collect();
    if voters == BTreeSet::from([id]) {
        return Err(Trouble::Refused("the last controller cannot be removed".to_string()));
    }
    let change = match voters.contains(&id) {
        true => Change::RemoveVoters(BTreeSet::from([id])),
        false => Change::RemoveNodes(BTreeSet::from([id])),
    };
    raft.change_membership(change, false).await.map_err(trouble)?;
    tracing::info!(id, address = node.addr, "a controller was removed");
    // One that is away hears of it when it asks.
    if let Some(address) = Address::parse(&node.addr) {
        let _ = network::dial(&address).leave(LeaveRequest { to: id }).await;
    }
    Ok(())
}

/// Ends what a leader that died left half done, and makes known where this one listens.
pub async fn settle(raft: &Raft, id: u64, address: &str) -> Result<(), Trouble> {
    let _one = CHANGING.lock().await;
    let members = leading(raft)?;
    if let [.., last] = members.get_joint_config().as_slice()
        && members.get_joint_config().len() > 1
    {
        raft.change_membership(last.clone(), false).await.map_err(trouble)?;
    }
    let known = members.get_node(&id).map(|node| node.addr.clone());
    if known.is_some_and(|known| known != address) {
        let here = Change::SetNodes(BTreeMap::from([(id, BasicNode::new(address))]));
        raft.change_membership(here, true).await.map_err(trouble)?;
    }
    Ok(())
}

/// The members, if this controller leads.
fn leading(raft: &Raft) -> Result<Membership<u64, BasicNode>, Trouble> {
    let metrics = raft.metrics();
    let metrics = metrics.borrow();
    match metrics.current_leader == Some(metrics.id) {
        true => Ok(metrics.membership_config.membership().clone()),
        false => Err(Trouble::NotLeading),
    }
}

fn trouble(error: RaftError<u64, ClientWriteError<u64, BasicNode>>) -> Trouble {
    match error {
        RaftError::APIError(ClientWriteError::ForwardToLeader(_)) => Trouble::NotLeading,
        RaftError::APIError(ClientWriteError::ChangeMembershipError(
            error @ ChangeMembershipError::InProgress(_),
        )) => Trouble::Busy(error.to_string()),
        RaftError::APIError(error) => Trouble::Refused(error.to_string()),
        RaftError::Fatal(error) => Trouble::Busy(error.to_string()),
    }
}
