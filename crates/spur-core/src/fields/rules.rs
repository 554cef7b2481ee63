//! The columns of clusters, accounts, users, wckeys, TRES and transactions: `sacctmgr show`.

use super::short::*;
use super::{Field, Value};
use crate::accounts::rules::{ADMIN_ADMINISTRATOR, ADMIN_OPERATOR};
use crate::views::{AccountView, ClusterView, TransactionView, UserView, WckeyView};

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
/// `sacctmgr show user withassoc`
pub const USER_WITH: &str = "User,DefaultAccount,AdminLevel,Cluster,Account,Partition,Share,Priority,\
MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS";
/// `sacctmgr show wckey`
pub const WCKEY: &str = "WCKey,Cluster,User";
/// `sacctmgr show tres`
pub const TRES: &str = "Type,Name,ID";
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

/// Clusters.
pub static CLUSTER_FIELDS: &[Field<ClusterView>] = &[
    field("Cluster", "Cluster", 10, |c| text(&c.name)),
    field("Classification", "Class", 9, |c| text(&c.classification)),
    field("ControlHost", "ControlHost", 15, |c| text(&c.control_host)),
    field("ControlPort", "ControlPort", 12, |c| number(c.control_port)),
    field("RPC", "RPC", 5, |c| number(c.rpc_version)),
    field("TRES", "TRES", 20, |c| text(&c.tres)),
];

/// Accounts.
pub static ACCOUNT_FIELDS: &[Field<AccountView>] = &[
    field("Account", "Account", 10, |a| text(&a.name)),
    field("Description", "Descr", 20, |a| text(&a.description)),
    field("Organization", "Org", 20, |a| text(&a.organization)),
    field("Coordinators", "Coord Accounts", 20, |a| list(&a.coordinators)),
];

/// Users.
pub static USER_FIELDS: &[Field<UserView>] = &[
    field("User", "User", 10, |u| text(&u.name)),
    field("DefaultAccount", "Def Acct", 10, |u| text(&u.default_account)),
    field("DefaultWCKey", "Def WCKey", 10, |u| text(&u.default_wckey)),
    field("AdminLevel", "Admin", 9, |u| text(admin(u.admin_level))),
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
    field("Name", "Name", 15, |t| text(&t.name)),
    field("ID", "ID", 6, |t| number(t.id)),
];

/// The word for an admin level.
pub fn admin(level: u32) -> &'static str {
    match level {
        ADMIN_ADMINISTRATOR => "Administrator",
        ADMIN_OPERATOR => "Operator",
        _ => "None",
    }
}
