//! The columns of clusters, accounts, users, wckeys, TRES and transactions: `sacctmgr show`.

use super::short::*;
use super::value::Elapsed;
use super::{Field, Value};
use crate::accounts::rules::{ADMIN_ADMINISTRATOR, ADMIN_OPERATOR};
use crate::job::JobStatus;
use crate::tres::{self, Tres};
use crate::views::rules::ResourceView;
use crate::views::{
    AccountView, AccountingView, ClusterView, EventView, TransactionView, UserView, WckeyView,
};

/// `sacctmgr show cluster`; what clusters do not have is their first association's.
pub const CLUSTER: &str = "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,\
MaxTRES,MaxSubmit,MaxWall,QOS,DefaultQOS";
/// `sacctmgr show account`
pub const ACCOUNT: &str = "Account,Description,Organization";
/// `sacctmgr show account withassoc`
pub const ACCOUNT_WITH: &str = "Account,Description,Organization,Cluster,ParentName,User,Share,Priority,\
GrpJobs,GrpNodes,GrpCPUs,GrpMem,GrpSubmit,GrpWall,GrpCPUMins,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,\
MaxCPUMins,QOS,DefaultQOS";
/// `sacctmgr show user`
pub const USER: &str = "User,DefaultAccount,AdminLevel";
/// What comes before the key by default, where jobs carry one.
pub const USER_FIRST: &str = "User,DefaultAccount";
/// `sacctmgr show user withassoc`
pub const USER_WITH: &str = "User,DefaultAccount,AdminLevel,Cluster,Account,Partition,Share,Priority,\
MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS";
/// `sacctmgr show wckey`
pub const WCKEY: &str = "WCKey,Cluster,User";
/// `sacctmgr show tres`
pub const TRES: &str = "Type,Name%15,ID";
/// `sacctmgr show transactions`
pub const TRANSACTION: &str = "Time,Action,Actor,Where,Info";

const fn field<Row>(
    name: &'static str,
    header: &'static str,
    width: usize,
    get: fn(&Row) -> Value,
) -> Field<Row> {
    Field::new(name, header, get).width(width)
}

/// The number that Slurm's clients know `select/cons_tres` by.
const SELECT_CONS_TRES: u32 = 109;

/// Clusters.
pub static CLUSTER_FIELDS: &[Field<ClusterView>] = &[
    field("Cluster", "Cluster", 10, |c| text(&c.name)),
    field("Classification", "Class", 9, |c| text(&c.classification)),
    field("ControlHost", "ControlHost", 15, |c| text(&c.control_host)),
    field("ControlPort", "ControlPort", 12, |c| number(c.control_port)),
    field("RPC", "RPC", 5, |c| number(c.rpc_version)),
    field("TRES", "TRES", 20, |c| text(&whole(&c.tres))),
    field("NodeCount", "NodeCount", 9, |c| {
        let node = |(tres, count): (Tres, Option<u64>)| (tres == Tres::Node).then_some(count?);
        number(tres::read(&c.tres).into_iter().find_map(node).unwrap_or(0))
    }),
    // Nobody keeps them, as in Slurm.
    field("NodeNames", "NodeName", 15, |_: &ClusterView| text("")).left(),
    field("PluginIDSelect", "PluginIDSelect", 14, |_| number(SELECT_CONS_TRES)),
    field("Flags", "Flags", 20, |_| text("None")),
    field("Federation", "Federation", 10, |c| text(&c.federation)),
    field("FedState", "FedState", 12, |c| match c.federation_state.as_str() {
        "" => text("NA"),
        state => text(state),
    }),
    field("Features", "Features", 20, |c| list(&c.features)),
    field("ID", "ID", 6, |c| number(c.federation_id)),
];

/// `sacctmgr show federation`
pub const FEDERATION: &str = "Federation,Cluster,ID%2,Features,FedState";

/// Federations, a row for each of their clusters.
pub static FEDERATION_FIELDS: &[Field<ClusterView>] = &[
    field("Federation", "Federation", 10, |c| text(&c.federation)),
    field("Cluster", "Cluster", 10, |c| text(&c.name)),
    field("ID", "ID", 6, |c| if c.name.is_empty() { text("") } else { number(c.federation_id) }),
    field("Features", "Features", 20, |c| list(&c.features)),
    field("FedState", "FedState", 12, |c| text(&c.federation_state)),
];

/// Accounts.
pub static ACCOUNT_FIELDS: &[Field<AccountView>] = &[
    field("Account", "Account", 10, |a| text(&a.name)),
    field("Description", "Descr", 20, |a| text(&a.description)),
    field("Organization", "Org", 20, |a| text(&a.organization)),
    field("Coordinators", "Coord Accounts", 20, |a| list(&a.coordinators)),
];

/// A user, and the accounts that they look after.
#[derive(Clone)]
pub struct PersonRow {
    /// The user.
    pub user: UserView,
    /// The accounts, by name.
    pub looks_after: Vec<String>,
}

/// Users.
pub static USER_FIELDS: &[Field<PersonRow>] = &[
    field("User", "User", 10, |u| text(&u.user.name)),
    field("DefaultAccount", "Def Acct", 10, |u| text(&u.user.default_account)),
    field("DefaultWCKey", "Def WCKey", 10, |u| text(&u.user.default_wckey)),
    field("AdminLevel", "Admin", 9, |u| text(admin(u.user.admin_level))),
    field("Coordinators", "Coord Accounts", 20, |u| list(&u.looks_after)),
];

/// Words that mark jobs.
pub static WCKEY_FIELDS: &[Field<WckeyView>] = &[
    field("WCKey", "WCKey", 10, |w| text(&w.name)),
    field("Cluster", "Cluster", 10, |w| text(&w.cluster)),
    field("User", "User", 10, |w| text(&w.user_name)),
    field("ID", "ID", 6, |w| number(w.id)),
];

/// Changes.
pub static TRANSACTION_FIELDS: &[Field<TransactionView>] = &[
    field("Time", "Time", 19, |t| Value::Moment(t.time, "Unknown")),
    field("TimeStamp", "Time", 19, |t| Value::Moment(t.time, "Unknown")),
    field("Action", "Action", 20, |t| text(&t.action)),
    field("Actor", "Actor", 10, |t| text(&t.actor)),
    field("Where", "Where", 20, |t| text(&t.object)),
    field("Info", "Info", 20, |t| text(&t.info)),
];

/// `sacctmgr show event`
pub const EVENT: &str = "Cluster,NodeName,TimeStart,TimeEnd,State,Reason,User";

/// Events.
pub static EVENT_FIELDS: &[Field<EventView>] = &[
    field("Cluster", "Cluster", 10, |e| text(&e.cluster)),
    field("ClusterNodes", "Cluster Nodes", 20, |e| text(&e.nodes)),
    field("NodeName", "NodeName", 15, |e: &EventView| text(&e.node)).left(),
    field("TimeStart", "TimeStart", 19, |e| Value::Moment(e.start_time, "Unknown")),
    field("Start", "TimeStart", 19, |e| Value::Moment(e.start_time, "Unknown")),
    field("TimeEnd", "TimeEnd", 19, |e| Value::Moment(e.end_time, "Unknown")),
    field("End", "TimeEnd", 19, |e| Value::Moment(e.end_time, "Unknown")),
    field("Duration", "Duration", 13, |e| {
        let since = (e.end_time == 0).then_some(e.start_time);
        let counted = if e.end_time > 0 { e.end_time - e.start_time } else { 0 };
        Value::PaddedElapsed(Elapsed { counted, since }, 1)
    }),
    field("Event", "Event", 7, |e| text(if e.node.is_empty() { "Cluster" } else { "Node" })),
    field("EventRaw", "EventRaw", 8, |e| number(if e.node.is_empty() { 1_u64 } else { 2 })),
    field("State", "State", 6, |e| text(&e.state)),
    field("Reason", "Reason", 30, |e| text(&e.reason)),
    field("TRES", "TRES", 20, |e| match e.node.is_empty() {
        true => text(&whole(&e.tres)),
        // That a node is one node goes without saying.
        false => Value::Text(by_name(e.tres.split(',').filter(|one| !one.starts_with("node=")))),
    }),
    field("User", "User", 10, |e| match (e.uid, e.node.is_empty()) {
        (Some(0), false) => text("root(0)"),
        (Some(uid), false) => Value::Text(format!("({uid})")),
        _ => text(""),
    }),
];

/// What a cluster has: what is always counted stands there even where there is none of it.
fn whole(amounts: &str) -> String {
    let said = |one: &&str| amounts.split(',').any(|amount| amount.starts_with(one));
    let none = ["energy=0", "fs/disk=0", "pages=0", "vmem=0"];
    let missing = none.into_iter().filter(|one| !said(&one.trim_end_matches('0')));
    match amounts {
        "" => String::new(),
        amounts => by_name(amounts.split(',').chain(missing)),
    }
}

fn by_name<'a>(amounts: impl Iterator<Item = &'a str>) -> String {
    let mut amounts: Vec<&str> = amounts.collect();
    amounts.sort_unstable();
    amounts.join(",")
}

/// A reservation of the past or the present.
pub struct ReservationRow {
    /// What it kept, and when.
    pub kept: EventView,
    /// For how many seconds of it nobody used it.
    pub unused_secs: f64,
}

/// `sacctmgr show reservation`
pub const RESERVATION: &str = "Cluster,Name%15,TRES%30,TimeStart,TimeEnd,UnusedWall";

/// Reservations.
pub static RESERVATION_FIELDS: &[Field<ReservationRow>] = &[
    field("Cluster", "Cluster", 10, |r| text(&r.kept.cluster)),
    field("Name", "Name", 10, |r| text(&r.kept.reservation)),
    field("Nodes", "Nodes", 20, |r| text(&r.kept.nodes)),
    field("TRES", "TRES", 20, |r| text(&r.kept.tres)),
    field("TimeStart", "TimeStart", 19, |r| Value::Moment(r.kept.start_time, "Unknown")),
    field("Start", "TimeStart", 19, |r| Value::Moment(r.kept.start_time, "Unknown")),
    field("TimeEnd", "TimeEnd", 19, |r| Value::Moment(r.kept.end_time, "Unknown")),
    field("End", "TimeEnd", 19, |r| Value::Moment(r.kept.end_time, "Unknown")),
    field("UnusedWall", "UnusedWall", 10, |r| Value::Fraction(r.unused_secs, 6)),
];

/// A resource, or a cluster's part of it.
pub struct ResourceRow {
    /// The resource.
    pub one: ResourceView,
    /// Whose part, and how much in percent.
    pub share: Option<(String, u32)>,
}

/// `sacctmgr show resource`
pub const RESOURCE: &str = "Name,Server,Type,Count,Allocated,ServerType";
/// `sacctmgr show resource withclusters`
pub const RESOURCE_WITH: &str = "Name,Server,Type,Count,Allocated,ServerType,Cluster,Allowed";

/// Resources.
pub static RESOURCE_FIELDS: &[Field<ResourceRow>] = &[
    field("Name", "Name", 10, |r| text(&r.one.name)),
    field("Server", "Server", 10, |r| text(&r.one.server)),
    field("Type", "Type", 8, |_| text("License")),
    field("Count", "Count", 6, |r| number(r.one.count)),
    field("Allocated", "% Allocated", 11, |r| number(r.one.promised())),
    field("ServerType", "ServerType", 10, |r| text(&r.one.server_type)),
    field("Cluster", "Cluster", 10, |r| text(r.share.as_ref().map_or("", |(cluster, _)| cluster))),
    field("Allowed", "% Allowed", 10, |r| {
        number(r.share.as_ref().map_or(0, |(_, percent)| *percent))
    }),
    field("Description", "Descr", 20, |r| text(&r.one.description)),
];

/// An event for an archive.
pub fn event_json(event: &EventView) -> serde_json::Value {
    serde_json::json!({
        "cluster": event.cluster,
        "node": event.node,
        "start": event.start_time,
        "end": event.end_time,
        "state": event.state,
        "reason": event.reason,
        "uid": event.uid,
        "tres": event.tres,
        "nodes": event.nodes,
    })
}

/// What is wrong with the rules.
pub struct ProblemRow {
    /// Where.
    pub cluster: String,
    /// Of which account.
    pub account: String,
    /// Of whom.
    pub user: String,
    /// What.
    pub problem: &'static str,
}

/// `sacctmgr show problem`
pub const PROBLEM: &str = "Cluster,Account,User,Problem";

/// Problems.
pub static PROBLEM_FIELDS: &[Field<ProblemRow>] = &[
    field("Cluster", "Cluster", 10, |p| text(&p.cluster)),
    field("Account", "Account", 10, |p| text(&p.account)),
    field("User", "User", 10, |p| text(&p.user)),
    field("Problem", "Problem", 40, |p| text(p.problem)),
];

/// `sacctmgr show runawayjobs`
pub const RUNAWAY: &str = "ID,Name,Partition,Cluster,State,TimeSubmit,TimeStart,TimeEnd";

/// Jobs that nobody will end.
pub static RUNAWAY_FIELDS: &[Field<AccountingView>] = &[
    field("ID", "ID", 12, |j: &AccountingView| number(j.job_id)).left(),
    field("Name", "Name", 10, |j| text(&j.name)),
    field("Partition", "Partition", 10, |j| text(&j.partition)),
    field("Cluster", "Cluster", 10, |j| text(&j.cluster)),
    field("State", "State", 10, |j| text(JobStatus(j.state).name())),
    field("TimeSubmit", "TimeSubmit", 19, |j| Value::Moment(j.submit_time, "Unknown")),
    field("TimeStart", "TimeStart", 19, |j| Value::Moment(j.start_time, "Unknown")),
    field("TimeEnd", "TimeEnd", 19, |j| Value::Moment(j.end_time, "Unknown")),
];

/// A resource that is counted.
pub struct TresRow {
    /// `gres`
    pub kind: String,
    /// `gpu`
    pub name: String,
    /// Slurm's number.
    pub id: u32,
}

/// Resources.
pub static TRES_FIELDS: &[Field<TresRow>] = &[
    field("Type", "Type", 8, |t| text(&t.kind)),
    field("Name", "Name", 10, |t| text(&t.name)),
    field("ID", "ID", 6, |t| number(t.id)),
    // Known to Slurm, which has nothing to tell there.
    field("Time", "Time", 19, |_| text("")),
];

/// The word for an admin level.
pub fn admin(level: u32) -> &'static str {
    match level {
        ADMIN_ADMINISTRATOR => "Administrator",
        ADMIN_OPERATOR => "Operator",
        _ => "None",
    }
}
