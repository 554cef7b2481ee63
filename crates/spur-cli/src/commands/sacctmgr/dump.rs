//! `sacctmgr dump` and `load`: a cluster's accounts, users and limits as Slurm's flat file.

use spur_core::accounts::manage::Word;
use spur_core::accounts::rules::{ADMIN_NONE, ROOT};
use spur_core::accounts::settings::SHARES_FROM_PARENT;
use spur_core::fields::rules::admin;
use spur_core::limit::Limit;
use spur_core::views::{AssociationView, RulesView, UserView};
use spur_proto::slurm::GetRulesRequest;

use super::Style;
use super::change::{Doing, Standing, carry_out, fail, for_operators};
use crate::accounting;
use crate::cluster;
use crate::output::print;

const HEAD: &str = "# To edit this file start with a cluster line for the new cluster
# Cluster - 'cluster_name':MaxTRESPerJob=node=50
# Followed by Accounts you want in this fashion (root is created by default)...
# Parent - 'root'
# Account - 'cs':MaxTRESPerJob=node=5:MaxJobs=4:MaxTRESMinsPerJob=cpu=20:FairShare=399:MaxWallDurationPerJob=40:Description='Computer Science':Organization='LC'
# Any of the options after a ':' can be left out and they can be in any order.
# If you want to add any sub accounts just list the Parent THAT HAS ALREADY
# BEEN CREATED before the account line in this fashion...
# Parent - 'cs'
# Account - 'test':MaxTRESPerJob=node=1:MaxJobs=1:MaxTRESMinsPerJob=cpu=1:FairShare=1:MaxWallDurationPerJob=1:Description='Test Account':Organization='Test'
# To add users to a account add a line like this after a Parent - 'line'
# User - 'lipari':MaxTRESPerJob=node=2:MaxJobs=3:MaxTRESMinsPerJob=cpu=4:FairShare=1:MaxWallDurationPerJob=1
";

pub fn dump(style: &Style, words: &[String]) -> u8 {
    let (mut name, mut file) = (None, None);
    for word in words {
        let word = Word::parse(word);
        match word {
            word if word.is(&["file"]) => file = Some(word.value),
            word if name.is_none() => name = Some(word.value.to_lowercase()),
            word => file = Some(word.value),
        }
    }
    let Some(name) = name else {
        eprintln!(" We need a cluster to dump.");
        return 1;
    };
    let asked = cluster::block_on(async {
        let mut client = accounting::connect().await?;
        client.get_rules(GetRulesRequest::default()).await.map_err(accounting::refused)
    });
    let rules = match asked {
        Ok(rules) => rules.into_inner(),
        Err(trouble) => return fail(&trouble),
    };
    if !rules.clusters.iter().any(|cluster| cluster.name == name) {
        eprintln!(" Cluster {name} doesn't exist.");
        return 1;
    }
    let lines = lines(&rules, &name);
    for_operators(|it| deny(it, "dump cluster"), || write(style, &name, file, lines))
}

/// Says that the caller may not do it.
fn deny(standing: Standing, what: &str) {
    match standing {
        Standing::User => {
            eprintln!(" Your user does not have sufficient privileges to {what}s.");
        }
        _ => {
            let uid = nix::unistd::getuid();
            eprintln!(" Your uid ({uid}) is not in the accounting system, can't {what}.");
        }
    }
}

fn write(style: &Style, name: &str, file: Option<String>, lines: Vec<String>) -> u8 {
    let file = file.unwrap_or_else(|| {
        print(&format!(" No filename given, using ./{name}.cfg.\n"));
        format!("./{name}.cfg")
    });
    if let Err(error) = std::fs::write(&file, format!("{HEAD}{}", lines.concat())) {
        eprintln!("Can't open file {file}, {}", reason(&error));
        return 0;
    }
    if !style.quiet {
        for line in lines {
            eprint!("sacctmgr: {line}");
        }
    }
    0
}

/// What the system says, without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// Parents come before what hangs on them.
fn lines(rules: &RulesView, cluster: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let top = rules.account_association(cluster, ROOT).cloned().unwrap_or_default();
    let named = rules.clusters.iter().find(|one| one.name == cluster);
    let class = match named.map(|one| one.classification.as_str()).unwrap_or_default() {
        "" => String::new(),
        class => format!(":Classification='{class}'"),
    };
    lines.push(format!("Cluster - '{cluster}'{class}{}\n", options(&top, true)));
    // Each account with what is in it, then one below it after the other.
    let mut parents = vec![ROOT.to_string()];
    while let Some(parent) = parents.pop() {
        let mut below = Vec::new();
        {
            let here = || rules.tree(cluster).into_iter().map(|(one, _)| one);
            let users: Vec<_> =
                here().filter(|one| one.account == parent && !one.user_name.is_empty()).collect();
            let accounts: Vec<_> =
                here().filter(|one| one.parent == parent && one.user_name.is_empty()).collect();
            if users.is_empty() && accounts.is_empty() {
                continue;
            }
            lines.push(format!("Parent - '{parent}'\n"));
            for one in users {
                let mut line = format!("User - '{}'", one.user_name);
                if !one.partition.is_empty() {
                    line.push_str(&format!(":Partition='{}'", one.partition));
                }
                if let Some(user) = rules.user(&one.user_name) {
                    // Each cluster has its own.
                    let mut mine = rules.associations.iter().filter(|it| {
                        (&it.cluster[..], &it.user_name) == (cluster, &user.name) && it.is_default
                    });
                    let default = mine.next().map_or(&user.default_account, |it| &it.account);
                    line.push_str(&format!(":DefaultAccount='{default}'"));
                    line.push_str(&keys(rules, cluster, user));
                    if user.admin_level > ADMIN_NONE {
                        line.push_str(&format!(":AdminLevel='{}'", admin(user.admin_level)));
                    }
                    let looks_after: Vec<&str> = rules
                        .accounts
                        .iter()
                        .filter(|account| account.coordinators.contains(&user.name))
                        .map(|account| account.name.as_str())
                        .collect();
                    if !looks_after.is_empty() {
                        line.push_str(&format!(":Coordinator='{}'", looks_after.join(",")));
                    }
                }
                lines.push(format!("{line}{}\n", options(one, true)));
            }
            for one in accounts {
                let mut line = format!("Account - '{}'", one.account);
                if let Some(account) = rules.account(&one.account) {
                    line.push_str(&format!(
                        ":Description='{}':Organization='{}'",
                        account.description, account.organization
                    ));
                }
                lines.push(format!("{line}{}\n", options(one, true)));
                below.push(one.account.clone());
            }
        }
        parents.extend(below.into_iter().rev());
    }
    lines
}

/// The keys that a user may charge work to besides the account.
fn keys(rules: &RulesView, cluster: &str, user: &UserView) -> String {
    let own = rules.wckeys.iter().filter(|it| it.user_name == user.name && it.cluster == cluster);
    let names: Vec<&str> = own.map(|it| it.name.as_str()).collect();
    let mut said = String::new();
    if !user.default_wckey.is_empty() {
        said.push_str(&format!(":DefaultWCKey='{}'", user.default_wckey));
    }
    if !names.is_empty() {
        said.push_str(&format!(":WCKeys='{}'", names.join(",")));
    }
    said
}

/// What is set of an association, as the file says it.
fn options(one: &AssociationView, with_qos: bool) -> String {
    let mut said = String::new();
    let mut put = |name: &str, value: String| {
        if !value.is_empty() {
            said.push_str(&format!(":{name}={value}"));
        }
    };
    let number = |limit: Option<Limit>| {
        limit.and_then(Limit::number).map(|number| number.to_string()).unwrap_or_default()
    };
    let quoted = |text: String| if text.is_empty() { text } else { format!("'{text}'") };
    put("DefaultQOS", quoted(one.default_qos.clone()));
    put(
        "Fairshare",
        match one.shares {
            SHARES_FROM_PARENT => "parent".to_string(),
            shares => shares.to_string(),
        },
    );
    put("GrpTRESMins", one.grp_tres_mins.clone());
    put("GrpTRESRunMins", one.grp_tres_run_mins.clone());
    put("GrpTRES", one.grp_tres.clone());
    put("GrpJobs", number(one.grp_jobs));
    put("GrpJobsAccrue", number(one.grp_jobs_accrue));
    put("GrpSubmitJobs", number(one.grp_submit));
    put("GrpWall", number(one.grp_wall));
    put("MaxTRESMinsPerJob", one.max_tres_mins_per_job.clone());
    put("MaxTRESPerJob", one.max_tres_per_job.clone());
    put("MaxTRESPerNode", one.max_tres_per_node.clone());
    put("MaxJobs", number(one.max_jobs));
    put("MaxJobsAccrue", number(one.max_jobs_accrue));
    put("MaxSubmitJobs", number(one.max_submit));
    put("MaxWallDurationPerJob", number(one.max_wall));
    put("Priority", one.priority.map(|number| number.to_string()).unwrap_or_default());
    if with_qos {
        put("QOS", quoted(one.qos.join(",")));
    }
    said
}

pub fn load(style: &Style, words: &[String]) -> u8 {
    let (mut file, mut how) = (None, super::load::How::default());
    for word in words {
        let word = Word::parse(word);
        match word.name.as_str() {
            "" if word.value.eq_ignore_ascii_case("clean") => how.clean = true,
            "cluster" | "clusters" => how.cluster = Some(word.value.to_lowercase()),
            "" | "file" => file = Some(word.value),
            _ => {}
        }
    }
    let Some(file) = file else {
        eprintln!(" No filename given, specify one with file=''");
        return 1;
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!(" Unable to read \"{file}\": {}", reason(&error));
            return 1;
        }
    };
    for_operators(
        |it| deny(it, "load file"),
        || carry_out(style, Doing::Changing, |rules| super::load::plan(rules, &text, &how)),
    )
}
