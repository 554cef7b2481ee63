//! `sacctmgr add`.

use super::{
    Entity, Plan, Refusal, Request, Word, admin_level, clusters, federation, no_blank_names,
    no_preemption_loop, resource, set,
};
use crate::accounts::rules::{ADMIN_NONE, ROOT};
use crate::accounts::settings::{self, Setting};
use crate::fields::rules::admin;
use crate::views::{AccountView, AssociationView, QosView, RulesView, UserView, WckeyView};

/// Thinks out an addition.
pub fn add(rules: &RulesView, entity: Entity, request: &Request) -> Result<Plan, Refusal> {
    match entity {
        Entity::Account => accounts(rules, request),
        Entity::User => users(rules, request),
        Entity::Qos => qos(rules, request),
        Entity::Cluster => add_clusters(rules, request),
        Entity::Coordinator => coordinators(rules, request),
        Entity::Federation => federation::add(rules, request),
        Entity::Resource => resource::add(rules, request),
        Entity::Association => Err(Refusal::Wrong(NO_ENTITY.to_string())),
    }
}

const NOTHING_NEW: &str = " Nothing new added.";

const NO_ENTITY: &str = "No valid entity in add command\nInput line must include \"Account\", \
\"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", \"Resource\", or \"User\"";

/// All words of an addition: it has no conditions.
fn words(request: &Request) -> impl Iterator<Item = &Word> {
    request.which.iter().chain(&request.set)
}

/// The settings of an addition: what the words have named, and how it is told.
struct Said<Row: 'static> {
    table: &'static [Setting<Row>],
    labels: Vec<&'static str>,
}

impl<Row> Said<Row> {
    fn new(table: &'static [Setting<Row>]) -> Said<Row> {
        Said { table, labels: Vec::new() }
    }

    fn set(&mut self, rules: &RulesView, row: &mut Row, word: &Word) -> Result<(), Refusal> {
        self.labels.push(set(rules, self.table, row, word)?.label);
        Ok(())
    }

    fn lines(&self, row: &Row) -> Vec<(&'static str, String)> {
        settings::told(self.table, row, |setting| self.labels.contains(&setting.label))
    }
}

fn written(lines: &[(&str, String)]) -> String {
    lines.iter().map(|(label, value)| format!("  {label}= {value}\n")).collect()
}

/// What was wrong, and that the word is not an option for it.
fn not_an_option(refusal: Refusal, word: &Word, hint: bool) -> Refusal {
    match refusal {
        Refusal::Wrong(text)
            if !text.contains("Unknown option") && !text.starts_with("You gave") =>
        {
            let hint = if hint { "\n Use keyword 'where' to modify condition" } else { "" };
            Refusal::Wrong(format!("{text}\n Unknown option: {}{hint}", word.text))
        }
        Refusal::Wrong(text) if !hint => {
            let text = text.replace("\n Use keyword 'where' to modify condition", "");
            Refusal::Wrong(text)
        }
        refusal => refusal,
    }
}

fn accounts(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let (mut names, mut on, mut parent) = (Vec::new(), Vec::new(), ROOT.to_string());
    let (mut description, mut organization) = (None, None);
    let mut limits = AssociationView::default();
    let (mut said, mut any) = (Said::new(settings::ASSOCIATION), false);
    limits.shares = 1;
    for word in words(request) {
        any |= !word.name.is_empty() && !word.is(&["names", "accounts", "clusters"]);
        match word {
            word if word.name.is_empty() || word.is(&["names", "accounts"]) => {
                no_blank_names(word, NOTHING_NEW)?;
                names.extend(word.list());
            }
            word if word.is(&["clusters"]) => on.extend(word.list()),
            word if word.is(&["parent"]) => parent = word.value.to_lowercase(),
            word if word.is(&["description"]) => description = Some(word.said()),
            word if word.is(&["organization"]) => organization = Some(word.said()),
            word => said
                .set(rules, &mut limits, word)
                .map_err(|refusal| not_an_option(refusal, word, true))?,
        }
    }
    if names.is_empty() {
        return Err(Refusal::Wrong(" Need name of account to add.".to_string()));
    }
    let on = clusters(rules, &on)?;
    let mut plan = Plan::default();
    let (mut new, mut lines) = (String::new(), String::new());
    for name in &names {
        if rules.account(name).is_none() {
            new.push_str(&format!("  {name}\n"));
            let above = if parent == ROOT { name } else { &parent };
            plan.put.push(
                AccountView {
                    name: name.clone(),
                    description: description.clone().unwrap_or_else(|| name.clone()),
                    organization: organization.clone().unwrap_or_else(|| above.clone()),
                    coordinators: Vec::new(),
                }
                .into(),
            );
        }
        for cluster in &on {
            if rules.account_association(cluster, name).is_some() {
                continue;
            }
            if rules.account_association(cluster, &parent).is_none() {
                let text = format!(
                    " Parent account '{parent}' doesn't exist on cluster {cluster}\n        Contact \
                     your admin to add this account.\n No associations created."
                );
                return Err(Refusal::Wrong(text));
            }
            lines.push_str(&format!("  A = {name:<10.10} C = {cluster:<10.10}\n"));
            let own = AssociationView {
                cluster: cluster.clone(),
                account: name.clone(),
                parent: parent.clone(),
                ..limits.clone()
            };
            plan.put.push(own.into());
        }
    }
    if plan.put.is_empty() {
        return Err(Refusal::Nothing(NOTHING_NEW.to_string()));
    }
    if !new.is_empty() {
        let description = description.unwrap_or_else(|| "Account Name".to_string());
        let organization = organization.unwrap_or_else(|| "Parent/Account Name".to_string());
        plan.says = format!(
            " Adding Account(s)\n{new} Settings\n  Description     = {description}\n  \
             Organization    = {organization}\n"
        );
    }
    if !lines.is_empty() {
        plan.says.push_str(&format!(" Associations\n{lines}"));
        if any {
            let mut lines = said.lines(&limits);
            let behind = ["Priority", "QOS", "DefQOS", "Comment"];
            let place = lines.iter().position(|(label, _)| behind.contains(&label.trim_end()));
            lines.insert(place.unwrap_or(lines.len()), ("Parent        ", parent));
            plan.says.push_str(&format!(" Settings\n{}", written(&lines)));
        }
    }
    Ok(plan)
}

/// Refuses users who would get no place, for these reasons.
fn nothing_for(rules: &RulesView, names: &[String], why: &str) -> Refusal {
    match names.iter().all(|name| rules.user(name).is_some()) {
        true => Refusal::Vain {
            why: why.trim_end_matches('\n').to_string(),
            says: NOTHING_NEW.to_string(),
        },
        false => Refusal::Wrong(format!("{why} No associations or wckeys created.")),
    }
}

fn users(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let (mut names, mut on, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut partitions, mut wckeys) = (Vec::new(), Vec::new());
    let (mut default_account, mut default_wckey, mut level) = (None, None, None);
    let (mut limits, mut said) = (AssociationView::default(), Said::new(settings::ASSOCIATION));
    limits.shares = 1;
    for word in words(request) {
        match word {
            word if word.name.is_empty() || word.is(&["names", "users"]) => {
                no_blank_names(word, NOTHING_NEW)?;
                names.extend(word.list());
            }
            word if word.is(&["clusters"]) => on.extend(word.list()),
            word if word.is(&["accounts"]) => accounts.extend(word.list()),
            word if word.is(&["partitions"]) => partitions.extend(word.list()),
            word if word.is(&["wckeys"]) => wckeys.extend(word.list()),
            word if word.is(&["adminlevel"]) => level = Some((admin_level(word)?, word)),
            word if word.is(&["defaultaccount"]) => {
                default_account = Some(word.value.to_lowercase());
            }
            word if word.is(&["defaultwckey"]) => default_wckey = Some(word.value.to_lowercase()),
            word => said
                .set(rules, &mut limits, word)
                .map_err(|refusal| not_an_option(refusal, word, false))?,
        }
    }
    if names.is_empty() {
        return Err(Refusal::Wrong(" Need name of user to add.".to_string()));
    }
    // Whoever has a default account is in it.
    if let Some(account) = default_account.as_ref().filter(|one| !accounts.contains(one)) {
        accounts.push(account.clone());
    }
    // Whoever has a default key has it.
    if let Some(key) = default_wckey.as_ref().filter(|one| !wckeys.contains(one)) {
        wckeys.insert(0, key.clone());
    }
    if accounts.is_empty() && wckeys.is_empty() {
        return Err(Refusal::Wrong(" Need name of account to add user to.".to_string()));
    }
    let on = clusters(rules, &on)?;
    // Users come into those accounts that there are.
    let (accounts, unknown): (Vec<String>, Vec<String>) =
        accounts.into_iter().partition(|name| rules.account(name).is_some());
    let mut plan = Plan::default();
    for account in &unknown {
        plan.warns.push_str(&format!(
            " This account '{account}' doesn't exist.\n        Contact your admin to add this \
             account.\n"
        ));
    }
    let has_default = default_account.as_ref().is_none_or(|name| !unknown.contains(name));
    if !has_default || (accounts.is_empty() && !unknown.is_empty()) {
        return Err(nothing_for(rules, &names, &plan.warns));
    }
    if partitions.is_empty() {
        partitions.push(String::new());
    }
    let (mut new, mut lines, mut keys) = (String::new(), String::new(), String::new());
    for name in &names {
        let known = rules.user(name);
        let default =
            default_account.clone().or_else(|| known.map(|user| user.default_account.clone()));
        // Of several accounts the first by name is the default, as in Slurm.
        let default =
            default.filter(|name| !name.is_empty()).or_else(|| accounts.iter().min().cloned());
        // The first key is the one that work goes to where none is named.
        let first_key = default_wckey.clone().or_else(|| wckeys.first().cloned());
        if let Some(user) = known {
            let mine = || rules.associations.iter().filter(|one| one.user_name == *name);
            let mut changed = user.clone();
            if let Some(account) = &default_account {
                // On the other clusters the default stays, and where there are such it is the one that is shown.
                if mine().all(|one| on.contains(&one.cluster)) {
                    changed.default_account.clone_from(account);
                }
                let here = mine().filter(|one| on.contains(&one.cluster));
                for one in here.filter(|one| one.is_default != (one.account == *account)) {
                    let is_default = one.account == *account;
                    plan.put.push(AssociationView { is_default, ..one.clone() }.into());
                }
            }
            if let Some(key) = first_key.as_ref().filter(|_| user.default_wckey.is_empty()) {
                changed.default_wckey.clone_from(key);
            }
            if changed != *user {
                plan.put.push(changed.into());
            }
        }
        if known.is_none() {
            new.push_str(&format!("  {name}\n"));
            let user = UserView {
                name: name.clone(),
                default_account: default.clone().unwrap_or_default(),
                admin_level: level.as_ref().map_or(ADMIN_NONE, |(level, _)| *level),
                default_wckey: first_key.unwrap_or_default(),
            };
            plan.put.push(user.into());
        }
        for cluster in &on {
            // What comes later beside it, as with another partition, is no default.
            let is_settled = default_account.is_none()
                && rules
                    .associations
                    .iter()
                    .any(|one| one.is_default && one.cluster == *cluster && one.user_name == *name);
            // A default that is another cluster's is none here.
            let is_here = |account: &&String| {
                let mut all = rules.associations.iter();
                accounts.contains(account)
                    || all.any(|one| {
                        (&one.cluster, &one.user_name, &one.account) == (cluster, name, *account)
                    })
            };
            let default = default.as_ref().filter(is_here).or_else(|| accounts.iter().min());
            for account in &accounts {
                // Where the account is not, the user is not brought into it; elsewhere they are.
                if rules.account_association(cluster, account).is_none() {
                    plan.warns.push_str(&format!(
                        " This account '{account}' doesn't exist on cluster {cluster}\n        \
                         Contact your admin to add this account.\n"
                    ));
                    continue;
                }
                for partition in &partitions {
                    let own = AssociationView {
                        cluster: cluster.clone(),
                        account: account.clone(),
                        user_name: name.clone(),
                        partition: partition.clone(),
                        is_default: !is_settled && default == Some(account),
                        ..limits.clone()
                    };
                    if rules.current(&own.clone().into()).is_some() {
                        continue;
                    }
                    let place = match partition.as_str() {
                        "" => String::new(),
                        name => format!(" P = {name:<10.10}"),
                    };
                    lines.push_str(&format!(
                        "  U = {name:<9.9} A = {account:<10.10} C = {cluster:<10.10}{place}\n"
                    ));
                    plan.put.push(own.into());
                }
            }
            for key in &wckeys {
                let row = WckeyView {
                    name: key.clone(),
                    cluster: cluster.clone(),
                    user_name: name.clone(),
                    id: 0,
                };
                if rules.current(&row.clone().into()).is_none() {
                    keys.push_str(&format!(
                        "  U = {name:<9.9} W = {key:<10.10} C = {cluster:<10.10}\n"
                    ));
                    plan.put.push(row.into());
                }
            }
        }
    }
    if lines.is_empty() && keys.is_empty() && !plan.warns.is_empty() {
        return Err(nothing_for(rules, &names, &plan.warns));
    }
    if plan.put.is_empty() {
        return Err(Refusal::Nothing(NOTHING_NEW.to_string()));
    }
    if !new.is_empty() {
        plan.says = format!(" Adding User(s)\n{new}");
        let mut of_user = String::new();
        if let Some(account) = &default_account {
            of_user.push_str(&format!("  Default Account = {account}\n"));
        }
        if let Some(key) = &default_wckey {
            of_user.push_str(&format!("  Default WCKey   = {key}\n"));
        }
        if let Some((level, _)) = &level {
            of_user.push_str(&format!("  Admin Level     = {}\n", admin(*level)));
        }
        if !of_user.is_empty() {
            plan.says.push_str(&format!(" Settings =\n{of_user}"));
        }
    }
    if !lines.is_empty() {
        plan.says.push_str(&format!(" Associations =\n{lines}"));
    }
    if !keys.is_empty() {
        plan.says.push_str(&format!(" WCKeys =\n{keys}"));
    }
    if !lines.is_empty() || !new.is_empty() || !accounts.is_empty() {
        plan.says.push_str(&format!(" Non Default Settings\n{}", written(&said.lines(&limits))));
    }
    Ok(plan)
}

fn qos(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let (mut names, mut said) = (Vec::new(), Said::new(settings::QOS));
    let mut unknown = Vec::new();
    let mut limits =
        QosView { usage_factor: 1.0, preempt_mode: "cluster".to_string(), ..QosView::default() };
    for word in words(request) {
        match word {
            word if word.name.is_empty() || word.is(&["names"]) => names.extend(word.list()),
            word if word.is(&["description"]) => limits.description = word.said(),
            word if settings::find(settings::QOS, &word.name).is_none() => {
                unknown.push(word.unknown_option().text());
            }
            word => said.set(rules, &mut limits, word)?,
        }
    }
    if !unknown.is_empty() {
        return Err(Refusal::Nothing(unknown.join("\n")));
    }
    if names.is_empty() {
        return Err(Refusal::Wrong(" Need name of qos to add.".to_string()));
    }
    let new: Vec<&String> = names.iter().filter(|name| rules.qos(name).is_none()).collect();
    if new.is_empty() {
        return Err(Refusal::Nothing(NOTHING_NEW.to_string()));
    }
    let mut plan = Plan::default();
    for name in &new {
        let described = if limits.description.is_empty() { name } else { &limits.description };
        let (name, description) = ((*name).clone(), described.to_string());
        plan.put.push(QosView { name, description, ..limits.clone() }.into());
    }
    let lines: String = new.iter().map(|name| format!("  {name}\n")).collect();
    let last = new[new.len() - 1];
    let described = if limits.description.is_empty() { last } else { &limits.description };
    plan.says = format!(
        " Adding QOS(s)\n{lines} Settings\n  Description    = {described}\n{}",
        written(&said.lines(&limits))
    );
    let added: Vec<&QosView> = plan.put.iter().filter_map(|row| row.qos.as_ref()).collect();
    no_preemption_loop(rules, &added)?;
    Ok(plan)
}

fn add_clusters(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let (mut names, mut limits) = (Vec::new(), AssociationView::default());
    let mut said = Said::new(settings::ASSOCIATION);
    limits.shares = 1;
    for word in words(request) {
        match word {
            word if word.name.is_empty() || word.is(&["names", "clusters"]) => {
                no_blank_names(word, " Adding Cluster(s)\n Nothing new added.")?;
                names.extend(word.list());
            }
            word if word.is(&["classification", "federation", "features", "fedstate", "flags"]) => {
            }
            word => said.set(rules, &mut limits, word)?,
        }
    }
    if names.is_empty() {
        return Err(Refusal::Wrong(" Need name of cluster to add.".to_string()));
    }
    let mut plan = Plan::default();
    for name in &names {
        if rules.clusters.iter().any(|cluster| cluster.name == *name) {
            continue;
        }
        plan.says.push_str(&format!("  {:<14} = {name}\n", "Name"));
        for mut row in RulesView::cluster_rows(name) {
            if let Some(top) = &mut row.association
                && top.user_name.is_empty()
            {
                let mut qos =
                    if limits.qos.is_empty() { top.qos.clone() } else { limits.qos.clone() };
                // The one that everybody begins with may have been deleted.
                qos.retain(|name| rules.qos(name).is_some());
                *top = AssociationView {
                    cluster: name.clone(),
                    account: ROOT.to_string(),
                    qos,
                    ..limits.clone()
                };
            }
            plan.put.push(row);
        }
    }
    if plan.put.is_empty() {
        let known: Vec<String> = names
            .iter()
            .map(|name| format!(" This cluster {name} already exists.  Not adding."))
            .collect();
        return Err(Refusal::Nothing(known.join("\n")));
    }
    let lines = said.lines(&limits);
    let settings = match lines.is_empty() {
        true => String::new(),
        false => format!(" Setting\n  Default Limits:\n{}", written(&lines)),
    };
    plan.says = format!(" Adding Cluster(s)\n{}{settings}", plan.says);
    Ok(plan)
}

fn coordinators(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let (users, accounts) = coordinator_words(request)?;
    if users.is_empty() && accounts.is_empty() {
        let text = " You need to specify conditions to to add the coordinator.";
        return Err(Refusal::Wrong(text.to_string()));
    }
    if accounts.is_empty() {
        return Err(Refusal::Wrong(" You need to specify an account list here.".to_string()));
    }
    if users.is_empty() {
        return Err(Refusal::Wrong(" You need to specify a user list here.".to_string()));
    }
    let mut plan = Plan::default();
    for name in &accounts {
        let Some(account) = rules.account(name) else {
            return Err(Refusal::Wrong(format!(" You specified a non-existent account '{name}'.")));
        };
        let mut account = account.clone();
        let before = account.coordinators.len();
        for user in &users {
            if rules.user(user).is_none() {
                return Err(Refusal::Wrong(format!(
                    " You specified a non-existent user '{user}'."
                )));
            }
            if !account.coordinators.contains(user) {
                account.coordinators.push(user.clone());
            }
        }
        if account.coordinators.len() > before {
            account.coordinators.sort();
            plan.put.push(account.into());
        }
    }
    let list =
        |names: &[String]| names.iter().map(|name| format!("  {name}\n")).collect::<String>();
    plan.says = format!(
        " Adding Coordinator User(s)\n{} To Account(s) and all sub-accounts\n{}",
        list(&users),
        list(&accounts)
    );
    Ok(plan)
}

/// `account=… names=…`
pub(super) fn coordinator_words(request: &Request) -> Result<(Vec<String>, Vec<String>), Refusal> {
    let (mut users, mut accounts) = (Vec::new(), Vec::new());
    for word in words(request) {
        match word {
            word if word.name.is_empty() || word.is(&["names", "users"]) => {
                users.extend(word.list())
            }
            word if word.is(&["accounts"]) => accounts.extend(word.list()),
            word => return Err(word.unknown_option()),
        }
    }
    Ok((users, accounts))
}
