//! The columns of associations: `sacctmgr show assoc`.

use serde_json::json;

use super::short::*;
use super::value::tres_list;
use super::{Field, Value};
use crate::limit::Limit;
use crate::tres::{self, Tres};
use crate::views::AssociationView;

/// `sacctmgr show assoc`
pub const DEFAULT: &str = "Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmit,\
GrpWall,GrpTRESMins,MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmit,MaxWall,MaxTRESMins,QOS,DefaultQOS,\
GrpTRESRunMins";

/// `sacctmgr load`, behind the names.
pub const LOADED: &str = "Share,GrpTRESMins,GrpTRESRunMins,GrpTRES,GrpJobs,GrpJobsAccrue,GrpMem,GrpNodes,\
GrpSubmitJobs,GrpWall,MaxTRESMins,MaxTRES,MaxTRESPerNode,MaxJobs,MaxSubmitJobs,MaxNodes,MaxWall,QOS,DefaultQOS";

const fn field(
    name: &'static str,
    header: &'static str,
    width: usize,
    get: fn(&AssociationView) -> Value,
) -> Field<AssociationView> {
    Field::new(name, header, get).width(width)
}

const fn json(json: &'static str, get: fn(&AssociationView) -> Value) -> Field<AssociationView> {
    Field::json_only(json, get)
}

/// Every column and every member of the JSON object. Earlier rows win when a name is shortened.
#[rustfmt::skip]
pub static ASSOCIATION_FIELDS: &[Field<AssociationView>] = &[
    field("Account", "Account", 10, |a| text(&a.account)).json("account"),
    field("Cluster", "Cluster", 10, |a| text(&a.cluster)).json("cluster"),
    field("DefaultQOS", "Def QOS", 9, |a| text(&a.default_qos)).json("default.qos"),
    field("Fairshare", "Share", 9, shares),
    field("Share", "Share", 9, shares).json("shares_raw"),
    field("GrpCPUMins", "GrpCPUMins", 11, |a| part(&a.grp_tres_mins, "cpu")),
    field("GrpCPURunMins", "GrpCPURunMins", 13, |a| part(&a.grp_tres_run_mins, "cpu")),
    field("GrpCPUs", "GrpCPUs", 8, |a| part(&a.grp_tres, "cpu")),
    field("GrpJobs", "GrpJobs", 7, |a| limit(a.grp_jobs)).json("max.jobs.active"),
    field("GrpJobsAccrue", "GrpJobsAccrue", 13, |a| limit(a.grp_jobs_accrue)).json("max.jobs.accruing"),
    field("GrpMem", "GrpMem", 7, |a| megabytes(&a.grp_tres)),
    field("GrpNodes", "GrpNodes", 8, |a| part(&a.grp_tres, "node")),
    field("GrpSubmitJobs", "GrpSubmit", 9, |a| limit(a.grp_submit)).json("max.jobs.total"),
    field("GrpTRES", "GrpTRES", 13, |a| tres(&a.grp_tres)).json("max.tres.total"),
    field("GrpTRESMins", "GrpTRESMins", 13, |a| tres(&a.grp_tres_mins)).json("max.tres.group.minutes"),
    field("GrpTRESRunMins", "GrpTRESRunMins", 13, |a| tres(&a.grp_tres_run_mins)).json("max.tres.group.active"),
    field("GrpWall", "GrpWall", 11, |a| wall(a.grp_wall)).json("max.per.account.wall_clock"),
    field("ID", "ID", 6, |a| number(a.id)).json("id"),
    field("LFT", "LFT", 6, |a| number(a.left)),
    field("MaxCPUMins", "MaxCPUMins", 11, |a| part(&a.max_tres_mins_per_job, "cpu")),
    field("MaxCPUs", "MaxCPUs", 8, |a| part(&a.max_tres_per_job, "cpu")),
    field("MaxJobs", "MaxJobs", 7, |a| limit(a.max_jobs)).json("max.jobs.per.count"),
    field("MaxJobsAccrue", "MaxJobsAccrue", 13, |a| limit(a.max_jobs_accrue)).json("max.jobs.per.accruing"),
    field("MaxNodes", "MaxNodes", 8, |a| part(&a.max_tres_per_job, "node")),
    field("MaxSubmitJobs", "MaxSubmit", 9, |a| limit(a.max_submit)).json("max.jobs.per.submitted"),
    field("MaxTRES", "MaxTRES", 13, |a| tres(&a.max_tres_per_job)).json("max.tres.per.job"),
    field("MaxTRESPerJob", "MaxTRES", 13, |a| tres(&a.max_tres_per_job)),
    field("MaxTRESMins", "MaxTRESMins", 13, |a| tres(&a.max_tres_mins_per_job)).json("max.tres.minutes.per.job"),
    field("MaxTRESMinsPerJob", "MaxTRESMins", 13, |a| tres(&a.max_tres_mins_per_job)),
    field("MaxTRESPerNode", "MaxTRESPerNode", 14, |a| tres(&a.max_tres_per_node)).json("max.tres.per.node"),
    field("MaxWall", "MaxWall", 11, |a| wall(a.max_wall)).json("max.jobs.per.wall_clock"),
    field("MaxWallDurationPerJob", "MaxWall", 11, |a| wall(a.max_wall)),
    field("MinPrioThreshold", "MinPrioThres", 12, |a| limit(a.min_priority_threshold.map(|n| Limit::Is(n.into())))).json("min.priority_threshold"),
    field("ParentID", "ParentID", 8, |a| number(a.parent_id)),
    field("ParentName", "ParentName", 10, |a| text(&a.parent)).json("parent_account"),
    field("Partition", "Partition", 10, |a| text(&a.partition)).json("partition"),
    field("Priority", "Priority", 10, |a| limit(a.priority.map(|n| Limit::Is(n.into())))).json("priority"),
    field("QOS", "QOS", 20, |a| list(&a.qos)).json("qos"),
    field("QosRaw", "QOS_RAW", 10, |a| text(&a.qos_ids)),
    field("RGT", "RGT", 6, |a| number(a.right)),
    field("User", "User", 10, |a| text(&a.user_name)).json("user"),
    field("MaxCPURunMins", "MaxCPURunMinsPU", 15, |_| text("")),
    field("MaxJobsPU", "MaxJobsPU", 9, |a| limit(a.max_jobs)),
    field("MaxSubmitPU", "MaxSubmitPU", 11, |a| limit(a.max_submit)),
    json("accounting", |_| Value::Json(json!([]))),
    json("comment", |a| text(&a.comment)),
    json("flags", |_| Value::Json(json!([]))),
    json("max.tres.minutes.total", |_| Value::Json(json!([]))),
    json("is_default", |a| Value::Bit(a.is_default)),
    json("lineage", |a| Value::Text(lineage(a))),
];

fn shares(association: &AssociationView) -> Value {
    let json = number(association.shares);
    if association.shares_from_parent { Value::both(text("parent"), json) } else { json }
}

/// A limit: nothing in a table and `infinite` in JSON where there is none.
pub(super) fn limit(limit: Option<Limit>) -> Value {
    Value::Limited(Some(limit.unwrap_or(Limit::Unlimited)), "", "")
}

/// Minutes with two digits everywhere; nothing where there is no limit.
pub(super) fn wall(minutes: Option<Limit>) -> Value {
    let said = match minutes.and_then(Limit::number) {
        Some(minutes) => {
            Value::PaddedSpan(i64::try_from(minutes.saturating_mul(60)).unwrap_or(i64::MAX))
        }
        None => text(""),
    };
    Value::both(said, limit(minutes))
}

/// `cpu=2,gres/gpu=4`: as it stands in a table, taken apart in JSON.
pub(super) fn tres(amounts: &str) -> Value {
    Value::both(text(amounts), Value::Json(tres_list(amounts)))
}

/// One amount of a list, for the columns of old.
pub(super) fn part(amounts: &str, name: &str) -> Value {
    let mut parts = amounts.split(',').filter_map(|part| part.split_once('='));
    text(parts.find(|(of, _)| *of == name).map_or("", |(_, amount)| amount))
}

/// The memory, as a bare number.
pub(super) fn megabytes(amounts: &str) -> Value {
    let memory = |(tres, amount): (Tres, Option<u64>)| amount.filter(|_| tres == Tres::Memory);
    let found = tres::read(amounts).into_iter().find_map(memory);
    found.map_or_else(|| text(""), number)
}

fn lineage(association: &AssociationView) -> String {
    let mut path = String::from("/");
    if association.depth > 0 || association.account != "root" {
        path.push_str(&association.account);
        path.push('/');
    }
    if !association.user_name.is_empty() {
        path.push_str(&format!("0-{}/", association.user_name));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::format::accounting;
    use crate::fields::render::{self, Layout, accounting_header, accounting_row};
    use crate::fields::{RenderContext, check_table};

    fn chem() -> AssociationView {
        AssociationView {
            cluster: "oracle".into(),
            account: "chem".into(),
            shares: 1,
            grp_tres: "cpu=2".into(),
            qos: vec!["normal".into()],
            ..AssociationView::default()
        }
    }

    #[test]
    fn the_table_is_sound() {
        check_table(ASSOCIATION_FIELDS);
    }

    #[test]
    fn layouts_of_sacctmgr() {
        let columns = accounting(ASSOCIATION_FIELDS, DEFAULT).unwrap();
        let parsable = Layout::Parsable { delimiter: "|".into(), ends: false };
        let context = RenderContext::default();
        assert_eq!(
            accounting_header(&columns, &parsable),
            [
                "Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|GrpSubmit|GrpWall|GrpTRESMins|MaxJobs|MaxTRES|MaxTRESPerNode|MaxSubmit|MaxWall|MaxTRESMins|QOS|Def QOS|GrpTRESRunMins"
            ]
        );
        assert_eq!(
            accounting_row(&columns, &chem(), &parsable, &context),
            "oracle|chem|||1|||cpu=2||||||||||normal||"
        );
        let columns = accounting(ASSOCIATION_FIELDS, "account%-20,user,share,grptresrun").unwrap();
        assert_eq!(
            accounting_header(&columns, &Layout::Fixed),
            [
                "Account                    User     Share GrpTRESRunMin ",
                "-------------------- ---------- --------- ------------- ",
            ]
        );
    }

    #[test]
    fn memory_alone_is_a_bare_number() {
        let columns = accounting(ASSOCIATION_FIELDS, "GrpCPUs,GrpMem").unwrap();
        let one = AssociationView { grp_tres: "cpu=2,mem=10G".to_string(), ..chem() };
        let row = accounting_row(&columns, &one, &Layout::Fixed, &RenderContext::default());
        assert_eq!(row, "       2   10240 ");
    }

    #[test]
    fn json_has_limits() {
        let told = render::json(ASSOCIATION_FIELDS, &chem());
        let none = json!({"set": false, "infinite": true, "number": 0});
        assert_eq!(told["max"]["jobs"]["per"]["wall_clock"], none);
        assert_eq!(
            told["max"]["tres"]["total"],
            json!([{"type": "cpu", "name": "", "id": 1, "count": 2}])
        );
        assert_eq!(told["priority"], none);
    }
}
