//! Reservations in snapshots.

use prost::Message;

use crate::ids::NodeName;
use crate::reservation::{Flags, Reservation};
use crate::time::Timestamp;

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredReservation {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int64, tag = "2")]
    start: i64,
    #[prost(int64, tag = "3")]
    end: i64,
    #[prost(string, repeated, tag = "4")]
    nodes: Vec<String>,
    #[prost(string, tag = "5")]
    partition: String,
    #[prost(string, tag = "6")]
    features: String,
    /// Bits as `reservation.rs` numbers them.
    #[prost(uint32, tag = "7")]
    flags: u32,
    #[prost(string, repeated, tag = "8")]
    users: Vec<String>,
    #[prost(string, repeated, tag = "9")]
    accounts: Vec<String>,
    #[prost(uint32, tag = "10")]
    max_start_delay_secs: u32,
    #[prost(uint32, optional, tag = "11")]
    purge_secs: Option<u32>,
    #[prost(string, tag = "12")]
    comment: String,
    #[prost(string, repeated, tag = "13")]
    groups: Vec<String>,
    #[prost(uint32, repeated, tag = "14")]
    cores: Vec<u32>,
    /// `name:count`
    #[prost(string, repeated, tag = "15")]
    licenses: Vec<String>,
    #[prost(int64, optional, tag = "16")]
    idle_since: Option<i64>,
    #[prost(int64, optional, tag = "17")]
    float_secs: Option<i64>,
    #[prost(uint32, tag = "18")]
    number: u32,
}

impl From<&Reservation> for StoredReservation {
    fn from(it: &Reservation) -> StoredReservation {
        StoredReservation {
            name: it.name.clone(),
            start: it.start.0,
            end: it.end.0,
            nodes: it.nodes.iter().map(ToString::to_string).collect(),
            partition: it.partition.clone(),
            features: it.features.clone(),
            flags: it.flags.0,
            users: it.users.clone(),
            accounts: it.accounts.clone(),
            max_start_delay_secs: it.max_start_delay_secs,
            purge_secs: it.purge_secs,
            comment: it.comment.clone(),
            groups: it.groups.clone(),
            cores: it.cores.clone(),
            licenses: it.licenses.iter().map(|(name, count)| format!("{name}:{count}")).collect(),
            idle_since: it.idle_since.map(|at| at.0),
            float_secs: it.float_secs,
            number: it.number,
        }
    }
}

impl From<StoredReservation> for Reservation {
    fn from(stored: StoredReservation) -> Reservation {
        Reservation {
            name: stored.name,
            start: Timestamp(stored.start),
            end: Timestamp(stored.end),
            nodes: stored.nodes.into_iter().map(NodeName::from).collect(),
            partition: stored.partition,
            features: stored.features,
            flags: Flags(stored.flags),
            users: stored.users,
            accounts: stored.accounts,
            max_start_delay_secs: stored.max_start_delay_secs,
            purge_secs: stored.purge_secs,
            comment: stored.comment,
            groups: stored.groups,
            cores: stored.cores,
            licenses: stored
                .licenses
                .iter()
                .filter_map(|text| {
                    let (name, count) = text.rsplit_once(':')?;
                    Some((name.to_string(), count.parse().ok()?))
                })
                .collect(),
            idle_since: stored.idle_since.map(Timestamp),
            float_secs: stored.float_secs,
            number: stored.number,
        }
    }
}
