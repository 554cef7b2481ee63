//! How changes of the rules are told in transactions: in the words of Slurm's tables.

use spur_core::accounts::rules::Kind;
use spur_core::limit::Limit;
use spur_core::views::{
    AccountView, AssociationView, ClusterView, QosView, ResourceShare, ResourceView, RuleRow,
    RulesView,
};

/// One transaction.
#[derive(Debug, PartialEq, Eq)]
pub struct Told {
    /// `Add Accounts`
    pub action: String,
    /// Which.
    pub object: String,
    /// What of it.
    pub info: String,
}

/// A row that is put, over its former self if there is one.
pub fn change(former: Option<&RuleRow>, row: &RuleRow, kind: Kind, name: &str) -> Vec<Told> {
    let was = former.map(members).unwrap_or_default();
    let is = members(row);
    let mut told = Vec::new();
    match former {
        None => told.push(Told {
            action: format!("Add {}", kind.plural()),
            object: object(row, name),
            info: listed(&is),
        }),
        Some(_) => {
            let changed: Vec<Member> =
                is.iter().filter(|member| !was.contains(member)).cloned().collect();
            if !changed.is_empty() {
                told.push(Told {
                    action: format!("Modify {}", kind.plural()),
                    object: condition(row, name),
                    info: listed(&changed),
                });
            }
        }
    }
    if let Some(account) = &row.account {
        told.extend(coordinators(former.and_then(|row| row.account.as_ref()), account));
    }
    if let Some(resource) = &row.resource {
        told.extend(shares(former.and_then(|row| row.resource.as_ref()), resource));
    }
    told
}

/// A row that is taken out.
pub fn removal(before: &RulesView, row: &RuleRow, kind: Kind, name: &str) -> Told {
    let known = before.current(row);
    let object = condition(known.as_ref().unwrap_or(row), name);
    Told { action: format!("Remove {}", kind.plural()), object, info: String::new() }
}

fn coordinators(former: Option<&AccountView>, account: &AccountView) -> Vec<Told> {
    let had = former.map(|account| account.coordinators.clone()).unwrap_or_default();
    let has = &account.coordinators;
    let added = has.iter().filter(|user| !had.contains(user)).map(|user| Told {
        action: "Add Account Coord".to_string(),
        object: user.clone(),
        info: account.name.clone(),
    });
    let gone = had.iter().filter(|user| !has.contains(user)).map(|user| Told {
        action: "Remove Account Coords".to_string(),
        object: format!("(user='{user}') && (acct='{}')", account.name),
        info: String::new(),
    });
    added.chain(gone).collect()
}

/// What clusters are given of a resource, each told by itself.
fn shares(former: Option<&ResourceView>, resource: &ResourceView) -> Vec<Told> {
    let had = former.map(|resource| resource.shares.as_slice()).unwrap_or_default();
    let of = |shares: &[ResourceShare], cluster: &str| {
        shares.iter().find(|share| share.cluster == cluster).map(|share| share.percent)
    };
    let told = |action: &str, object: String, percent: Option<u32>| Told {
        action: format!("{action} Resources"),
        object,
        info: percent.map(|it| format!("percent_allowed={it}")).unwrap_or_default(),
    };
    let condition = |cluster: &str| format!("(name='{}' && cluster='{cluster}')", resource.key());
    let has = resource.shares.iter().filter_map(|share| match of(had, &share.cluster) {
        None => {
            let object = format!("{}@{}", resource.key(), share.cluster);
            Some(told("Add", object, Some(share.percent)))
        }
        Some(percent) if percent != share.percent => {
            Some(told("Modify", condition(&share.cluster), Some(share.percent)))
        }
        Some(_) => None,
    });
    let gone = had.iter().filter(|share| of(&resource.shares, &share.cluster).is_none());
    has.chain(gone.map(|share| told("Remove", condition(&share.cluster), None))).collect()
}

fn object(row: &RuleRow, name: &str) -> String {
    match row {
        RuleRow { association: Some(one), .. } => format!("id_assoc={}", one.id),
        RuleRow { wckey: Some(one), .. } => format!("id_wckey={}", one.id),
        _ => name.to_string(),
    }
}

fn condition(row: &RuleRow, name: &str) -> String {
    match row {
        RuleRow { association: Some(one), .. } => format!("(id_assoc={})", one.id),
        RuleRow { wckey: Some(one), .. } => format!("(wckey_name='{}')", one.name),
        _ => format!("(name='{name}')"),
    }
}

type Member = (&'static str, String);

fn listed(members: &[Member]) -> String {
    members.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

fn members(row: &RuleRow) -> Vec<Member> {
    match row {
        RuleRow { account: Some(one), .. } => vec![
            ("description", quoted(&one.description)),
            ("organization", quoted(&one.organization)),
        ],
        RuleRow { user: Some(one), .. } => {
            vec![("admin_level", one.admin_level.max(1).to_string())]
        }
        RuleRow { association: Some(one), .. } => of_association(one),
        RuleRow { qos: Some(one), .. } => of_qos(one),
        RuleRow { cluster: Some(one), .. } => of_cluster(one),
        RuleRow { resource: Some(one), .. } => {
            vec![("count", one.count.to_string()), ("description", quoted(&one.description))]
        }
        RuleRow { wckey: Some(one), .. } => {
            vec![("wckey_name", quoted(&one.name)), ("user", quoted(&one.user_name))]
        }
        _ => Vec::new(),
    }
}

fn of_cluster(one: &ClusterView) -> Vec<Member> {
    let mut members = Vec::new();
    if !one.control_host.is_empty() {
        members.push(("control_host", quoted(&one.control_host)));
        members.push(("control_port", one.control_port.to_string()));
    }
    if one.federation_id > 0 || !one.federation.is_empty() || !one.features.is_empty() {
        members.push(("federation", quoted(&one.federation)));
        members.push(("fed_state", quoted(&one.federation_state)));
        members.push(("features", quoted(&one.features.join(","))));
    }
    members
}

fn quoted(text: &str) -> String {
    format!("'{text}'")
}

fn limit(limit: Option<Limit>) -> String {
    let number = limit.and_then(Limit::number);
    number.map_or_else(|| "NULL".to_string(), |number| number.to_string())
}

fn number(number: Option<u32>) -> String {
    number.map_or_else(|| "NULL".to_string(), |number| number.to_string())
}

fn of_association(one: &AssociationView) -> Vec<Member> {
    let mut members = vec![("acct", quoted(&one.account))];
    if one.user_name.is_empty() && !one.parent.is_empty() {
        members.push(("parent_acct", quoted(&one.parent)));
    }
    members.push(("user", quoted(&one.user_name)));
    if !one.user_name.is_empty() {
        members.push(("`partition`", quoted(&one.partition)));
    }
    members.extend([
        ("shares", one.shares.to_string()),
        ("grp_jobs", limit(one.grp_jobs)),
        ("grp_jobs_accrue", limit(one.grp_jobs_accrue)),
        ("grp_submit_jobs", limit(one.grp_submit)),
        ("grp_wall", limit(one.grp_wall)),
    ]);
    if one.is_default {
        members.push(("is_def", "1".to_string()));
    }
    members.extend([
        ("max_jobs", limit(one.max_jobs)),
        ("max_jobs_accrue", limit(one.max_jobs_accrue)),
        ("min_prio_thresh", number(one.min_priority_threshold)),
        ("max_submit_jobs", limit(one.max_submit)),
        ("max_wall_pj", limit(one.max_wall)),
        ("priority", number(one.priority)),
        ("def_qos", quoted(&one.default_qos)),
    ]);
    amounts(
        &mut members,
        &[
            ("grp_tres", &one.grp_tres),
            ("grp_tres_mins", &one.grp_tres_mins),
            ("grp_tres_run_mins", &one.grp_tres_run_mins),
            ("max_tres_mins_pj", &one.max_tres_mins_per_job),
            ("max_tres_pj", &one.max_tres_per_job),
            ("max_tres_pn", &one.max_tres_per_node),
        ],
    );
    members.push(("qos", quoted(&one.qos.join(","))));
    resets(&mut members, one.usage_resets);
    members
}

/// Slurm does not tell it; who did it is worth knowing.
fn resets(members: &mut Vec<Member>, times: u32) {
    if times > 0 {
        members.push(("raw_usage_resets", times.to_string()));
    }
}

fn of_qos(one: &QosView) -> Vec<Member> {
    let factor = |it: Option<f64>| it.map_or_else(|| "NULL".to_string(), |it| format!("{it:.6}"));
    let mut members = vec![
        ("description", quoted(&one.description)),
        ("flags", quoted(&one.flags.join(","))),
        ("grace_time", one.grace_secs.to_string()),
        ("grp_jobs", limit(one.grp_jobs)),
        ("grp_jobs_accrue", limit(one.grp_jobs_accrue)),
        ("grp_submit_jobs", limit(one.grp_submit)),
        ("grp_wall", limit(one.grp_wall)),
        ("max_jobs_pa", limit(one.max_jobs_per_account)),
        ("max_jobs_per_user", limit(one.max_jobs_per_user)),
        ("max_jobs_accrue_pa", limit(one.max_jobs_accrue_per_account)),
        ("max_jobs_accrue_pu", limit(one.max_jobs_accrue_per_user)),
        ("min_prio_thresh", number(one.min_priority_threshold)),
        ("max_submit_jobs_pa", limit(one.max_submit_per_account)),
        ("max_submit_jobs_per_user", limit(one.max_submit_per_user)),
        ("max_wall_duration_per_job", limit(one.max_wall)),
        ("preempt", quoted(&one.preempt.join(","))),
        ("preempt_mode", quoted(&one.preempt_mode)),
        ("priority", one.priority.to_string()),
        ("usage_factor", format!("{:.6}", one.usage_factor)),
        ("usage_thres", factor(one.usage_threshold)),
        ("limit_factor", factor(one.limit_factor)),
    ];
    amounts(
        &mut members,
        &[
            ("grp_tres", &one.grp_tres),
            ("grp_tres_mins", &one.grp_tres_mins),
            ("grp_tres_run_mins", &one.grp_tres_run_mins),
            ("max_tres_pa", &one.max_tres_per_account),
            ("max_tres_pj", &one.max_tres_per_job),
            ("max_tres_pn", &one.max_tres_per_node),
            ("max_tres_pu", &one.max_tres_per_user),
            ("max_tres_mins_pj", &one.max_tres_mins_per_job),
            ("min_tres_pj", &one.min_tres_per_job),
        ],
    );
    resets(&mut members, one.usage_resets);
    members
}

/// Limits of resources are told where they are or were.
fn amounts(members: &mut Vec<Member>, all: &[(&'static str, &String)]) {
    members
        .extend(all.iter().filter(|(_, it)| !it.is_empty()).map(|(name, it)| (*name, quoted(it))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_tells_what_is_different_and_who_looks_after_an_account() {
        let account = |description: &str, coordinators: &[&str]| -> RuleRow {
            AccountView {
                name: "physics".to_string(),
                description: description.to_string(),
                organization: "science".to_string(),
                coordinators: coordinators.iter().map(|name| name.to_string()).collect(),
            }
            .into()
        };
        let (old, new) = (account("a", &["ann"]), account("b", &["bob"]));
        let told: Vec<String> = change(Some(&old), &new, Kind::Account, "physics")
            .into_iter()
            .map(|told| format!("{}|{}|{}", told.action, told.object, told.info))
            .collect();
        assert_eq!(
            told,
            [
                "Modify Accounts|(name='physics')|description='b'",
                "Add Account Coord|bob|physics",
                "Remove Account Coords|(user='ann') && (acct='physics')|",
            ]
        );
        let added = change(None, &old, Kind::Account, "physics");
        assert_eq!(added[0].info, "description='a', organization='science'");
    }

    #[test]
    fn what_a_cluster_is_given_of_a_resource_is_told_by_itself() {
        let resource = |shares: &[(&str, u32)]| -> RuleRow {
            let share = |(cluster, percent): &(&str, u32)| ResourceShare {
                cluster: cluster.to_string(),
                percent: *percent,
            };
            ResourceView {
                name: "matlab".to_string(),
                server: "flex".to_string(),
                description: "matlab".to_string(),
                count: 100,
                shares: shares.iter().map(share).collect(),
                ..ResourceView::default()
            }
            .into()
        };
        let told = |former: Option<&RuleRow>, row: &RuleRow| -> Vec<String> {
            change(former, row, Kind::Resource, "matlab@flex")
                .into_iter()
                .map(|told| format!("{}|{}|{}", told.action, told.object, told.info))
                .collect()
        };
        let (none, half) = (resource(&[]), resource(&[("a", 50)]));
        let (more, other) = (resource(&[("a", 60)]), resource(&[("b", 60)]));
        assert_eq!(
            told(None, &none),
            ["Add Resources|matlab@flex|count=100, description='matlab'"]
        );
        assert_eq!(told(Some(&none), &half), ["Add Resources|matlab@flex@a|percent_allowed=50"]);
        assert_eq!(
            told(Some(&half), &more),
            ["Modify Resources|(name='matlab@flex' && cluster='a')|percent_allowed=60"]
        );
        assert_eq!(
            told(Some(&more), &other),
            [
                "Add Resources|matlab@flex@b|percent_allowed=60",
                "Remove Resources|(name='matlab@flex' && cluster='a')|",
            ]
        );
    }
}
