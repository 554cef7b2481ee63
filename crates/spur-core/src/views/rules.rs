//! The rules of accounting: who is who, in which accounts, under which limits.

use crate::views::{AssociationView, QosView};

/// A cluster that accounting knows.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ClusterView {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub control_host: String,
    #[prost(uint32, tag = "3")]
    pub control_port: u32,
    #[prost(uint32, tag = "4")]
    pub rpc_version: u32,
    #[prost(string, tag = "5")]
    pub tres: String,
    #[prost(string, tag = "6")]
    pub classification: String,
    /// The federation it is in.
    #[prost(string, tag = "7")]
    pub federation: String,
    /// Its number there.
    #[prost(uint32, tag = "8")]
    pub federation_id: u32,
    /// What it has that others may lack.
    #[prost(string, repeated, tag = "9")]
    pub features: Vec<String>,
    /// `ACTIVE`, `DRAIN` …
    #[prost(string, tag = "10")]
    pub federation_state: String,
}

/// A name that clusters go by together.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct FederationView {
    #[prost(string, tag = "1")]
    pub name: String,
}

/// An account: a node of the tree that work is charged to.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct AccountView {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub description: String,
    #[prost(string, tag = "3")]
    pub organization: String,
    /// Users who look after it and everything below it.
    #[prost(string, repeated, tag = "4")]
    pub coordinators: Vec<String>,
}

/// A user that accounting knows.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct UserView {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub default_account: String,
    /// 1 none, 2 operator, 3 administrator.
    #[prost(uint32, tag = "3")]
    pub admin_level: u32,
    #[prost(string, tag = "4")]
    pub default_wckey: String,
}

/// A word that users mark jobs with, beside the account.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct WckeyView {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub cluster: String,
    #[prost(string, tag = "3")]
    pub user_name: String,
    #[prost(uint32, tag = "4")]
    pub id: u32,
}

/// Something that clusters share, licences for one, and what part of it each may use.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResourceView {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub server: String,
    #[prost(string, tag = "3")]
    pub description: String,
    /// `flexlm`
    #[prost(string, tag = "4")]
    pub server_type: String,
    #[prost(uint32, tag = "5")]
    pub count: u32,
    #[prost(message, repeated, tag = "6")]
    pub shares: Vec<ResourceShare>,
}

/// A cluster's part of a resource.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResourceShare {
    #[prost(string, tag = "1")]
    pub cluster: String,
    #[prost(uint32, tag = "2")]
    pub percent: u32,
}

/// All rules, as of one version.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RulesView {
    /// Grows with every change.
    #[prost(uint64, tag = "1")]
    pub version: u64,
    #[prost(message, repeated, tag = "2")]
    pub clusters: Vec<ClusterView>,
    #[prost(message, repeated, tag = "3")]
    pub accounts: Vec<AccountView>,
    #[prost(message, repeated, tag = "4")]
    pub users: Vec<UserView>,
    #[prost(message, repeated, tag = "5")]
    pub associations: Vec<AssociationView>,
    #[prost(message, repeated, tag = "6")]
    pub qos: Vec<QosView>,
    #[prost(message, repeated, tag = "7")]
    pub wckeys: Vec<WckeyView>,
    #[prost(message, repeated, tag = "8")]
    pub resources: Vec<ResourceView>,
    #[prost(message, repeated, tag = "9")]
    pub federations: Vec<FederationView>,
}

/// One row of the rules; exactly one member is there.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RuleRow {
    #[prost(message, optional, tag = "1")]
    pub cluster: Option<ClusterView>,
    #[prost(message, optional, tag = "2")]
    pub account: Option<AccountView>,
    #[prost(message, optional, tag = "3")]
    pub user: Option<UserView>,
    #[prost(message, optional, tag = "4")]
    pub association: Option<AssociationView>,
    #[prost(message, optional, tag = "5")]
    pub qos: Option<QosView>,
    #[prost(message, optional, tag = "6")]
    pub wckey: Option<WckeyView>,
    #[prost(message, optional, tag = "7")]
    pub resource: Option<ResourceView>,
    #[prost(message, optional, tag = "8")]
    pub federation: Option<FederationView>,
}

/// An administrative change, as it is remembered.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct TransactionView {
    #[prost(int64, tag = "1")]
    pub time: i64,
    #[prost(string, tag = "2")]
    pub action: String,
    #[prost(string, tag = "3")]
    pub actor: String,
    #[prost(string, tag = "4")]
    pub object: String,
    #[prost(string, tag = "5")]
    pub info: String,
}
