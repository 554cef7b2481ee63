//! `scontrol show assoc_mgr [users=…] [accounts=…] [qos=…] [flags=users,assoc,qos]`: the rules of accounting, and
//! what counts against each.

use std::collections::BTreeMap;
use std::fmt::Write;

use spur_core::limit::Limit;
use spur_core::views::{AssociationView, QosView, ShareView, UserView};
use spur_proto::slurm::{Holding, ListHoldingsReply};

use super::Session;
use crate::names;
use crate::output::{note, print};

/// What of it is asked for; nothing said is everything.
#[derive(Default)]
struct Asked {
    users: Vec<String>,
    accounts: Vec<String>,
    qos: Vec<String>,
    flags: Vec<&'static str>,
}

const FLAGS: &[&str] = &["users", "assoc", "qos"];

impl Asked {
    /// Reads the words; the error is said, and what the command ends with.
    fn read(session: &Session, words: &[&str]) -> Result<Asked, u8> {
        let mut asked = Asked::default();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if value.is_empty() {
                note(format!("No value given for option {word}"));
                return Err(0);
            }
            let list = value.split(',').map(str::to_string);
            match key.to_ascii_lowercase().as_str() {
                "user" | "users" => asked.users.extend(list),
                "account" | "accounts" => asked.accounts.extend(list),
                "qos" => asked.qos.extend(list),
                "flag" | "flags" => {
                    for flag in list {
                        let lower = flag.to_ascii_lowercase();
                        let Some(known) = FLAGS.iter().find(|known| lower.starts_with(**known))
                        else {
                            note(format!(
                                "invalid flag '{flag}', valid options are 'Assoc, QOS, and/or Users'"
                            ));
                            return Err(0);
                        };
                        asked.flags.push(*known);
                    }
                }
                _ => {
                    let which = format!("invalid entity: {word} for keyword:show assoc_mgr");
                    return Err(session.refuse(which));
                }
            }
        }
        Ok(asked)
    }

    fn wants(&self, section: &str) -> bool {
        self.flags.is_empty() || self.flags.contains(&section)
    }
}

fn among(list: &[String], word: &str) -> bool {
    list.is_empty() || list.iter().any(|one| one.eq_ignore_ascii_case(word))
}

/// Runs it.
pub fn show(session: &mut Session, words: &[&str]) -> u8 {
    let asked = match Asked::read(session, words) {
        Ok(asked) => asked,
        Err(status) => return status,
    };
    let told = match session.controller().holdings() {
        Ok(told) => told,
        Err(error) => return session.refuse(format!("slurm_load_assoc_mgr_info error: {error}")),
    };
    let mut text = whole(&asked, &told);
    if session.one_line {
        text = text.replace("\n    ", " ").replace("\n\n", "\n");
    }
    print(&text);
    0
}

fn whole(asked: &Asked, told: &ListHoldingsReply) -> String {
    let rules = told.rules.clone().unwrap_or_default();
    let mut text = "Current Association Manager state\n".to_string();
    let mut section = |name: &str, what: &str, rows: Vec<String>| {
        if !asked.wants(name) {
            return;
        }
        if rows.is_empty() {
            let _ = write!(text, "\nNo {what} currently cached in Slurm.\n\n");
        } else {
            let title = match name {
                "users" => "User",
                "assoc" => "Association",
                _ => "QOS",
            };
            let _ = write!(text, "\n{title} Records\n\n{}", rows.concat());
        }
    };
    let users = rules.users.iter().filter(|user| among(&asked.users, &user.name));
    section("users", "users", users.map(user_line).collect());
    let clusters = rules.clusters.iter();
    let all = clusters.flat_map(|cluster| rules.tree(&cluster.name)).map(|(one, _)| one);
    let tree = Tree { all: all.collect(), told };
    let rows = tree.all.iter().filter(|one| {
        among(&asked.accounts, &one.account)
            && (one.user_name.is_empty() || among(&asked.users, &one.user_name))
    });
    section("assoc", "associations", rows.map(|one| tree.lines(one)).collect());
    let qos = rules.qos.iter().filter(|qos| among(&asked.qos, &qos.name));
    section("qos", "QOS", qos.map(|qos| qos_lines(qos, &told.holdings)).collect());
    text
}

fn user_line(user: &UserView) -> String {
    let level = match user.admin_level {
        0 => "Not Set",
        1 => "None",
        2 => "Operator",
        _ => "Administrator",
    };
    format!(
        "UserName={} DefAccount={} DefWckey={} AdminLevel={level}\n",
        numbered(&user.name),
        user.default_account,
        user.default_wckey
    )
}

/// `root(0)`; whom this machine does not know has Slurm's number for nobody.
fn numbered(user: &str) -> String {
    format!("{user}({})", names::uid(user).unwrap_or(u32::MAX - 1))
}

/// Associations in the order of the tree.
struct Tree<'a> {
    all: Vec<&'a AssociationView>,
    told: &'a ListHoldingsReply,
}

impl Tree<'_> {
    fn lines(&self, one: &AssociationView) -> String {
        let nothing = Holding::default();
        let held = self.told.holdings.iter().find(|it| it.association_id == one.id);
        let held = held.unwrap_or(&nothing);
        let none = ShareView::default();
        let share = self.told.shares.iter().find(|share| share.id == one.id).unwrap_or(&none);
        let is_user = !one.user_name.is_empty();
        let is_root = !is_user && one.parent.is_empty();
        let user = if is_user { numbered(&one.user_name) } else { String::new() };
        let parent = self.all.iter().find(|it| it.account == one.parent && it.user_name.is_empty());
        let parent = match parent {
            Some(parent) if !is_user => format!("{}({})", parent.account, parent.id),
            _ => String::new(),
        };
        let raw_shares = if one.shares_from_parent { i32::MAX as u32 } else { one.shares };
        let usage = match is_root {
            true => (1.0, 1.0),
            false => (share.norm_usage.unwrap_or(0.0), share.effective_usage),
        };
        let used = |limit: Option<Limit>, used: u64| match limit {
            Some(Limit::Is(most)) => format!("{most}({used})"),
            _ => String::new(),
        };
        let fields = [
            format!(
                "ClusterName={} Account={} UserName={user} Partition={} Priority={} ID={}",
                one.cluster,
                one.account,
                one.partition,
                one.priority.unwrap_or(0),
                one.id
            ),
            format!(
                "SharesRaw/Norm/Level/Factor={raw_shares}/{:.2}/{}/{:.2}",
                if is_root { 0.0 } else { share.norm_shares },
                self.level(one),
                share.fairshare.unwrap_or(0.0)
            ),
            format!("UsageRaw/Norm/Efctv={:.2}/{:.2}/{:.2}", held.raw_usage, usage.0, usage.1),
            format!(
                "ParentAccount={parent} Lft={} DefAssoc={}",
                self.left(one),
                if one.is_default { "Yes" } else { "No" }
            ),
            format!(
                "GrpJobs={} GrpJobsAccrue={}",
                counted(one.grp_jobs, held.jobs),
                counted(one.grp_jobs_accrue, held.accruing)
            ),
            format!(
                "GrpSubmitJobs={} GrpWall={}",
                counted(one.grp_submit, held.submitted),
                counted(one.grp_wall, format!("{:.2}", held.wall_minutes))
            ),
            format!("GrpTRES={}", amounts(&one.grp_tres, &held.tres)),
            format!("GrpTRESMins={}", amounts(&one.grp_tres_mins, &held.tres_minutes)),
            format!("GrpTRESRunMins={}", amounts(&one.grp_tres_run_mins, &held.tres_run_minutes)),
            format!(
                "MaxJobs={} MaxJobsAccrue={} MaxSubmitJobs={} MaxWallPJ={}",
                used(one.max_jobs, held.jobs),
                used(one.max_jobs_accrue, held.accruing),
                used(one.max_submit, held.submitted),
                plain(one.max_wall)
            ),
            format!("MaxTRESPJ={}", one.max_tres_per_job),
            format!("MaxTRESPN={}", one.max_tres_per_node),
            format!("MaxTRESMinsPJ={}", one.max_tres_mins_per_job),
            format!("MinPrioThresh={}", threshold(one.min_priority_threshold)),
        ];
        fields.join("\n    ") + "\n"
    }

    /// The shares of all that stand beside it. Whoever has the parent's shares stands aside for those below.
    fn level(&self, one: &AssociationView) -> u32 {
        match (one.user_name.is_empty(), one.parent.is_empty()) {
            (true, true) => one.shares,
            (true, false) => self.below(&one.parent),
            (false, _) => self.below(&one.account),
        }
    }

    fn below(&self, account: &str) -> u32 {
        let parent = self.all.iter().find(|it| it.account == account && it.user_name.is_empty());
        if let Some(parent) = parent.filter(|it| it.shares_from_parent && !it.parent.is_empty()) {
            return self.below(&parent.parent);
        }
        self.sum(account)
    }

    fn sum(&self, account: &str) -> u32 {
        let users = self.all.iter().filter(|it| it.account == account && !it.user_name.is_empty());
        let accounts = self.all.iter().filter(|it| it.parent == account && it.user_name.is_empty());
        let own: u32 = users.filter(|it| !it.shares_from_parent).map(|it| it.shares).sum();
        let shares = accounts.map(|it| match it.shares_from_parent {
            true => self.sum(&it.account),
            false => it.shares,
        });
        own + shares.sum::<u32>()
    }

    /// Its place as the database counts: one number for going in, one for coming out.
    fn left(&self, one: &AssociationView) -> u32 {
        if one.left > 0 {
            return one.left;
        }
        let depth = |it: &AssociationView| {
            let mut depth = u32::from(!it.user_name.is_empty());
            let mut next =
                self.all.iter().find(|a| a.account == it.account && a.user_name.is_empty());
            while let Some(account) = next.filter(|account| !account.parent.is_empty()) {
                depth += 1;
                let parent = &account.parent;
                next = self.all.iter().find(|a| a.account == *parent && a.user_name.is_empty());
            }
            depth
        };
        let place = self.all.iter().position(|it| it.id == one.id).unwrap_or(0) as u32;
        2 * place + 1 - depth(one).min(2 * place)
    }
}

fn qos_lines(qos: &QosView, holdings: &[Holding]) -> String {
    let of_qos = || holdings.iter().filter(|it| it.qos_id == qos.id);
    let nothing = Holding::default();
    let held = of_qos().find(|it| it.account.is_empty() && it.uid.is_none()).unwrap_or(&nothing);
    let mode = match qos.preempt_mode.to_ascii_uppercase().as_str() {
        "" | "CLUSTER" => "OFF".to_string(),
        mode => mode.to_string(),
    };
    let fields = [
        format!("QOS={}({})", qos.name, qos.id),
        format!("UsageRaw={:.6}", held.raw_usage),
        format!(
            "GrpJobs={} GrpJobsAccrue={} GrpSubmitJobs={} GrpWall={}",
            counted(qos.grp_jobs, held.jobs),
            counted(qos.grp_jobs_accrue, held.accruing),
            counted(qos.grp_submit, held.submitted),
            counted(qos.grp_wall, format!("{:.2}", held.wall_minutes))
        ),
        format!("GrpTRES={}", amounts(&qos.grp_tres, &held.tres)),
        format!("GrpTRESMins={}", amounts(&qos.grp_tres_mins, &held.tres_minutes)),
        format!("GrpTRESRunMins={}", amounts(&qos.grp_tres_run_mins, &held.tres_run_minutes)),
        format!("MaxWallPJ={}", plain(qos.max_wall)),
        format!("MaxTRESPJ={}", qos.max_tres_per_job),
        format!("MaxTRESPN={}", qos.max_tres_per_node),
        format!("MaxTRESMinsPJ={}", qos.max_tres_mins_per_job),
        format!("MinPrioThresh={} ", threshold(qos.min_priority_threshold)),
        format!("MinTRESPJ={}", qos.min_tres_per_job),
        format!("PreemptMode={mode}"),
        format!("Priority={}", qos.priority),
    ];
    let mut text = fields.join("\n    ") + "\n";
    let accounts = of_qos().filter(|it| !it.account.is_empty()).map(|it| {
        format!(
            "      {}\n        MaxJobsPA={} MaxJobsAccruePA={} MaxSubmitJobsPA={}\n        MaxTRESPA={}\n",
            it.account,
            counted(qos.max_jobs_per_account, it.jobs),
            counted(qos.max_jobs_accrue_per_account, it.accruing),
            counted(qos.max_submit_per_account, it.submitted),
            amounts(&qos.max_tres_per_account, &it.tres)
        )
    });
    let users = of_qos().filter_map(|it| Some((it.uid?, it))).map(|(uid, it)| {
        format!(
            "      {uid}\n        MaxJobsPU={} MaxJobsAccruePU={} MaxSubmitJobsPU={}\n        MaxTRESPU={}\n",
            counted(qos.max_jobs_per_user, it.jobs),
            counted(qos.max_jobs_accrue_per_user, it.accruing),
            counted(qos.max_submit_per_user, it.submitted),
            amounts(&qos.max_tres_per_user, &it.tres)
        )
    });
    let list = |rows: String, none: &str| {
        if rows.is_empty() { format!("        No {none}\n") } else { rows }
    };
    let _ = write!(text, "    Account Limits\n{}", list(accounts.collect(), "Accounts"));
    let _ = write!(text, "    User Limits\n{}", list(users.collect(), "Users"));
    text
}

/// `7(2)`, or `N(2)` without a limit.
fn counted(limit: Option<Limit>, used: impl std::fmt::Display) -> String {
    match limit {
        Some(Limit::Is(most)) => format!("{most}({used})"),
        _ => format!("N({used})"),
    }
}

fn plain(limit: Option<Limit>) -> String {
    match limit {
        Some(Limit::Is(most)) => most.to_string(),
        _ => String::new(),
    }
}

fn threshold(priority: Option<u32>) -> String {
    priority.map(|priority| priority.to_string()).unwrap_or_default()
}

/// `cpu=100(5),mem=N(200)`: each resource that is used, with its limit.
fn amounts(limits: &str, used: &str) -> String {
    let limits: BTreeMap<&str, &str> =
        limits.split(',').filter_map(|part| part.split_once('=')).collect();
    let parts = used.split(',').filter_map(|part| part.split_once('='));
    let parts = parts
        .map(|(name, used)| format!("{name}={}({used})", limits.get(name).copied().unwrap_or("N")));
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::views::{AccountView, RulesView};

    fn told() -> ListHoldingsReply {
        let association = |id, account: &str, user: &str, parent: &str, shares| AssociationView {
            id,
            cluster: "oracle".into(),
            account: account.into(),
            user_name: user.into(),
            parent: parent.into(),
            shares,
            ..AssociationView::default()
        };
        let mut limited = association(3, "bphys", "", "root", 10);
        limited.grp_tres = "cpu=100,gres/gpu=4".into();
        limited.grp_jobs = Some(Limit::Is(7));
        let rules = RulesView {
            clusters: vec![spur_core::views::ClusterView {
                name: "oracle".into(),
                ..Default::default()
            }],
            associations: vec![
                association(1, "root", "", "", 1),
                association(2, "root", "root", "", 1),
                limited,
                association(4, "bphys", "root", "", 1),
            ],
            accounts: vec![AccountView::default(); 2],
            qos: vec![QosView { id: 1, name: "normal".into(), ..QosView::default() }],
            ..RulesView::default()
        };
        let held = Holding {
            association_id: 3,
            jobs: 2,
            accruing: 1,
            submitted: 3,
            tres: "cpu=5,mem=200,gres/gpu=0".into(),
            tres_minutes: "cpu=0,mem=0,gres/gpu=0".into(),
            tres_run_minutes: "cpu=25,mem=1000,gres/gpu=0".into(),
            ..Holding::default()
        };
        ListHoldingsReply { rules: Some(rules), shares: Vec::new(), holdings: vec![held] }
    }

    /// As Slurm 22.05 printed it.
    #[test]
    fn an_association_tells_its_limits_and_what_counts_against_them() {
        let asked = Asked { flags: vec!["assoc"], ..Asked::default() };
        let text = whole(&asked, &told());
        let expected = "    GrpJobs=7(2) GrpJobsAccrue=N(1)\n    GrpSubmitJobs=N(3) GrpWall=N(0.00)\n    \
                        GrpTRES=cpu=100(5),mem=N(200),gres/gpu=4(0)\n    \
                        GrpTRESMins=cpu=N(0),mem=N(0),gres/gpu=N(0)\n    \
                        GrpTRESRunMins=cpu=N(25),mem=N(1000),gres/gpu=N(0)\n    \
                        MaxJobs= MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n    MaxTRESPJ=\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("SharesRaw/Norm/Level/Factor=10/0.00/11/0.00\n"), "{text}");
        assert!(text.contains("    ParentAccount=root(1) Lft="), "{text}");
        assert!(!text.contains("QOS Records"), "{text}");
    }

    #[test]
    fn what_nobody_has_is_told_as_nothing() {
        let asked = Asked { qos: vec!["other".into()], ..Asked::default() };
        let text = whole(&asked, &told());
        assert!(
            text.contains("state\n\nNo users currently cached in Slurm.\n\n\nAssociation"),
            "{text}"
        );
        assert!(text.ends_with("\nNo QOS currently cached in Slurm.\n\n"), "{text}");
        let text = whole(&Asked::default(), &told());
        assert!(text.ends_with("    User Limits\n        No Users\n"), "{text}");
    }
}
