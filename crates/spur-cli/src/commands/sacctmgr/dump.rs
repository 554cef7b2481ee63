//! `sacctmgr dump` and `load`: a cluster's accounts, users and limits as Slurm's flat file.

use spur_core::accounts::manage::{self, Entity, Plan, Refusal, Request, Word};
use spur_core::accounts::rules::{ADMIN_NONE, ROOT};
use spur_core::fields::rules::admin;
use spur_core::limit::Limit;
use spur_core::views::{AssociationView, RulesView};
use spur_proto::slurm::GetRulesRequest;

use super::Style;
use super::change::{carry_out, fail};
use crate::accounting;
use crate::cluster;

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
        eprintln!(" No cluster '{name}' known.");
        return 1;
    }
    let lines = lines(&rules, &name);
    let file = file.unwrap_or_else(|| format!("./{name}.cfg"));
    if let Err(error) = std::fs::write(&file, format!("{HEAD}{}", lines.concat())) {
        eprintln!(" Can't open {file}: {error}");
        return 1;
    }
    if !style.quiet {
        for line in lines {
            eprint!("sacctmgr: {line}");
        }
    }
    0
}

/// Parents come before what hangs on them.
fn lines(rules: &RulesView, cluster: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let top = rules.account_association(cluster, ROOT).cloned().unwrap_or_default();
    lines.push(format!("Cluster - '{cluster}'{}\n", options(&top, true)));
    let mut parents = vec![ROOT.to_string()];
    while !parents.is_empty() {
        let mut below = Vec::new();
        for parent in &parents {
            let here = || rules.tree(cluster).into_iter().map(|(one, _)| one);
            let users: Vec<_> =
                here().filter(|one| one.account == *parent && !one.user_name.is_empty()).collect();
            let accounts: Vec<_> =
                here().filter(|one| one.parent == *parent && one.user_name.is_empty()).collect();
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
                    line.push_str(&format!(":DefaultAccount='{}'", user.default_account));
                    if user.admin_level > ADMIN_NONE {
                        line.push_str(&format!(":AdminLevel='{}'", admin(user.admin_level)));
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
                    if !account.coordinators.is_empty() {
                        line.push_str(&format!(
                            ":Coordinator='{}'",
                            account.coordinators.join(",")
                        ));
                    }
                }
                lines.push(format!("{line}{}\n", options(one, true)));
                below.push(one.account.clone());
            }
        }
        parents = below;
    }
    lines
}

/// What is set of an association, as the file says it.
fn options(one: &AssociationView, with_qos: bool) -> String {
    let mut said = format!(":Fairshare={}", one.shares);
    let mut put = |name: &str, value: String| {
        if !value.is_empty() {
            said.push_str(&format!(":{name}={value}"));
        }
    };
    let number = |limit: Option<Limit>| {
        limit.and_then(Limit::number).map(|number| number.to_string()).unwrap_or_default()
    };
    let quoted = |text: String| if text.is_empty() { text } else { format!("'{text}'") };
    put("GrpJobs", number(one.grp_jobs));
    put("GrpJobsAccrue", number(one.grp_jobs_accrue));
    put("GrpSubmitJobs", number(one.grp_submit));
    put("GrpTRES", one.grp_tres.clone());
    put("GrpTRESMins", one.grp_tres_mins.clone());
    put("GrpTRESRunMins", one.grp_tres_run_mins.clone());
    put("GrpWall", number(one.grp_wall));
    put("MaxJobs", number(one.max_jobs));
    put("MaxJobsAccrue", number(one.max_jobs_accrue));
    put("MaxSubmitJobs", number(one.max_submit));
    put("MaxTRESPerJob", one.max_tres_per_job.clone());
    put("MaxTRESPerNode", one.max_tres_per_node.clone());
    put("MaxTRESMinsPerJob", one.max_tres_mins_per_job.clone());
    put("MaxWallDurationPerJob", number(one.max_wall));
    put("Priority", one.priority.map(|number| number.to_string()).unwrap_or_default());
    put("DefaultQOS", quoted(one.default_qos.clone()));
    if with_qos {
        put("QOS", quoted(one.qos.join(",")));
    }
    said
}

pub fn load(style: &Style, words: &[String]) -> u8 {
    let mut file = None;
    for word in words {
        let word = Word::parse(word);
        match word.name.as_str() {
            "" if word.value == "clean" => {}
            "" | "file" => file = Some(word.value),
            _ => {}
        }
    }
    let Some(file) = file else {
        eprintln!("No filename given, specify one with file=''");
        return 1;
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("Unable to read \"{file}\": {error}");
            return 1;
        }
    };
    carry_out(style, |rules| plan(rules, &text))
}

/// Each line is an addition to what the lines before it have made.
fn plan(rules: &RulesView, text: &str) -> Result<Plan, Refusal> {
    let mut after = rules.clone();
    let (mut whole, mut cluster, mut parent) = (Plan::default(), String::new(), ROOT.to_string());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = || {
            let text = format!(" Unable to process line {}: {line}", number + 1);
            Refusal::Wrong(text)
        };
        let (kind, rest) = line.split_once(" - ").ok_or_else(wrong)?;
        let mut options = split(rest);
        if options.is_empty() {
            return Err(wrong());
        }
        let name = options.remove(0).trim_matches('\'').to_string();
        let mut request = Request::default();
        let add = |request: &mut Request, word: String| request.which.push(Word::parse(&word));
        let entity = match kind.trim() {
            "Cluster" => {
                cluster = name.to_lowercase();
                Entity::Cluster
            }
            "Parent" => {
                parent = name.to_lowercase();
                continue;
            }
            "Account" => {
                add(&mut request, format!("parent={parent}"));
                add(&mut request, format!("cluster={cluster}"));
                Entity::Account
            }
            "User" => {
                add(&mut request, format!("account={parent}"));
                add(&mut request, format!("cluster={cluster}"));
                Entity::User
            }
            _ => return Err(wrong()),
        };
        add(&mut request, format!("name={name}"));
        let coordinators = options.iter().find_map(|option| option.strip_prefix("Coordinator="));
        let coordinators = coordinators.map(|names| names.trim_matches('\'').to_string());
        for option in options.iter().filter(|option| !option.starts_with("Coordinator=")) {
            add(&mut request, option.clone());
        }
        match manage::add(&after, entity, &request) {
            Ok(plan) => take(&mut after, &mut whole, plan),
            Err(Refusal::Nothing(_)) => {}
            Err(refusal) => return Err(refusal),
        }
        if let (Some(names), Some(account)) = (coordinators, after.account(&name.to_lowercase())) {
            let mut account = account.clone();
            account.coordinators = names.split(',').map(str::to_string).collect();
            let plan = Plan { put: vec![account.into()], ..Plan::default() };
            take(&mut after, &mut whole, plan);
        }
    }
    match whole.put.is_empty() {
        true => Err(Refusal::Nothing(" Nothing new added.")),
        false => Ok(whole),
    }
}

fn take(after: &mut RulesView, whole: &mut Plan, plan: Plan) {
    plan.put.iter().for_each(|row| after.put(row.clone()));
    whole.says.push_str(&plan.says);
    whole.put.extend(plan.put);
}

/// Splits at colons outside of quotes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut quoted) = (vec![String::new()], false);
    for letter in text.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                parts.last_mut().expect("there is one").push(letter);
            }
            ':' if !quoted => parts.push(String::new()),
            letter => parts.last_mut().expect("there is one").push(letter),
        }
    }
    parts
}
