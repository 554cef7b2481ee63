//! `sacctmgr delete`.

use super::add::coordinator_words;
use super::{
    Conditions, Entity, Plan, Refusal, Request, Word, default_qos_line, federation, resource,
};
use crate::accounts::allowed;
use crate::accounts::rules::ROOT;
use crate::errors::SlurmError;
use crate::views::{AccountView, AssociationView, RuleRow, RulesView, UserView, WckeyView};

/// Thinks out a removal.
pub fn remove(rules: &RulesView, entity: Entity, request: &Request) -> Result<Plan, Refusal> {
    if entity == Entity::Coordinator {
        return coordinators(rules, request);
    }
    if entity == Entity::Resource {
        return resource::remove(rules, request);
    }
    let mut words = request.which.clone();
    words.extend(request.set.iter().cloned());
    if entity == Entity::User && words.iter().any(|word| word.is(&["wckeys"])) {
        return wckeys(rules, words);
    }
    let described = (entity == Entity::Account).then(|| described(rules, &mut words)).flatten();
    let none = "No conditions given to remove, not executing.";
    let which = Conditions::read(&words).map_err(|refusal| match refusal {
        Refusal::Wrong(text) => Refusal::Wrong(format!("{text}\n {none}")),
        refusal => refusal,
    })?;
    if which == Conditions::default() && described.is_none() {
        return Err(Refusal::Wrong(format!(" {none}")));
    }
    match entity {
        Entity::Account => accounts(rules, &which, described),
        Entity::User => users(rules, &which),
        Entity::Qos => qos(rules, &which),
        Entity::Cluster => clusters(rules, &which),
        Entity::Federation => federation::remove(rules, &which.names),
        Entity::Association | Entity::Coordinator | Entity::Resource => Err(Refusal::Wrong(
            "No valid entity in delete command\nInput line must include \"Account\", \"Cluster\", \
             \"Coordinator\", \"Federation\", \"QOS\", \"Resource\", or \"User\""
                .to_string(),
        )),
    }
}

fn nothing() -> Refusal {
    Refusal::Nothing(" Nothing deleted".to_string())
}

/// Users who lose the account that their jobs went to have none.
fn without_default(rules: &RulesView, gone: &[&AssociationView]) -> Vec<UserView> {
    let loses = |user: &&UserView| {
        let is_default = |one: &AssociationView| {
            one.user_name == user.name && one.account == user.default_account
        };
        // One of a user's partitions may go while others stay.
        let mut left = rules.associations.iter().filter(|one| !gone.contains(one));
        gone.iter().any(|one| is_default(one)) && !left.any(is_default)
    };
    let users = rules.users.iter().filter(loses);
    users.map(|user| UserView { default_account: String::new(), ..user.clone() }).collect()
}

/// Takes out the conditions that are about accounts themselves, and says which ones meet them.
fn described(rules: &RulesView, words: &mut Vec<Word>) -> Option<Vec<String>> {
    let is_own = |word: &Word| word.is(&["description", "organization"]);
    let (own, rest): (Vec<Word>, Vec<Word>) = words.drain(..).partition(is_own);
    *words = rest;
    if own.is_empty() {
        return None;
    }
    let meets = |account: &&AccountView| {
        own.iter().all(|word| {
            let told = match word.is(&["description"]) {
                true => &account.description,
                false => &account.organization,
            };
            word.list().contains(&told.to_lowercase())
        })
    };
    Some(rules.accounts.iter().filter(meets).map(|account| account.name.clone()).collect())
}

/// Refuses to take users' default accounts together with other places of theirs. Where nothing but defaults would go
/// they go, as in Slurm.
fn keep_defaults(gone: &[&AssociationView], hint: &str) -> Result<(), Refusal> {
    let users = || gone.iter().filter(|one| !one.user_name.is_empty());
    if users().all(|one| one.is_default) || !users().any(|one| one.is_default) {
        return Ok(());
    }
    let mut defaults: Vec<_> = users().filter(|one| one.is_default).collect();
    defaults.sort_by_key(|one| (&one.cluster, &one.account, &one.user_name));
    let lines: String = defaults
        .iter()
        .map(|one| {
            let (cluster, account, user) = (&one.cluster, &one.account, &one.user_name);
            format!("  C = {cluster:<15.15} A = {account:<10.10} U = {user:<9}\n")
        })
        .collect();
    let why = SlurmError::NoRemoveDefaultAccount;
    let text = format!(" Error with request: {why}\n{lines} {hint}\n Changes Discarded");
    Err(Refusal::Wrong(text))
}

fn accounts(
    rules: &RulesView,
    which: &Conditions,
    described: Option<Vec<String>>,
) -> Result<Plan, Refusal> {
    let mut named: Vec<String> = which.names.iter().chain(&which.accounts).cloned().collect();
    if let Some(described) = described {
        match named.is_empty() {
            true => named = described,
            false => named.retain(|name| described.contains(name)),
        }
    }
    if named.iter().any(|name| name == ROOT) {
        let text = " You are not allowed to remove the root account.\n Use remove cluster instead.";
        return Err(Refusal::Wrong(text.to_string()));
    }
    named.retain(|name| rules.account(name).is_some());
    if named.is_empty() {
        return Err(nothing());
    }
    // What hangs below goes with it.
    let below = |one: &AssociationView| {
        rules.lineage(&one.cluster, &one.account).iter().any(|above| named.contains(&above.account))
    };
    let meets = Conditions { accounts: Vec::new(), ..which.clone() };
    let gone: Vec<&AssociationView> =
        rules.associations.iter().filter(|one| below(one) && meets.meets(one)).collect();
    let mut plan = Plan::default();
    plan.remove.extend(gone.iter().map(|one| (*one).clone().into()));
    plan.put.extend(without_default(rules, &gone).into_iter().map(RuleRow::from));
    if which.clusters.is_empty() {
        // Of what is only below, nothing is kept.
        let of_named = |one: &&&AssociationView| named.contains(&one.account);
        let of_named: Vec<&AssociationView> = gone.iter().filter(of_named).copied().collect();
        keep_defaults(
            &of_named,
            "Please either remove the accounts listed above from list and resubmit,\n or change \
             these users' default accounts to remove the account(s).",
        )?;
        plan.says = " Deleting accounts...\n".to_string();
        let mut names: Vec<&String> = named.iter().collect();
        names.sort();
        names.dedup();
        for account in names.iter().filter_map(|name| rules.account(name)) {
            plan.says.push_str(&format!("  {}\n", account.name));
            plan.remove.push(account.clone().into());
        }
    } else {
        plan.says = " Deleting account associations...\n".to_string();
        let spans = rules.spans();
        let mut gone = gone;
        gone.sort_by_key(|one| spans.get(&one.id).copied());
        for one in gone {
            let who = match one.user_name.as_str() {
                "" => format!("{} of {}", one.account, one.parent),
                name => format!("{:<10.10} U = {name:<9.9}", one.account),
            };
            plan.says.push_str(&format!("  C = {:<10.10} A = {who}\n", one.cluster));
        }
    }
    Ok(plan)
}

fn users(rules: &RulesView, which: &Conditions) -> Result<Plan, Refusal> {
    let named: Vec<String> = which.names.iter().chain(&which.users).cloned().collect();
    let only_some =
        !which.accounts.is_empty() || !which.clusters.is_empty() || !which.partitions.is_empty();
    let is_meant = |name: &str| named.iter().any(|one| one == name);
    let meets = Conditions { users: Vec::new(), ..which.clone() };
    let gone: Vec<&AssociationView> = rules
        .associations
        .iter()
        .filter(|one| !one.user_name.is_empty() && meets.meets(one))
        .filter(|one| is_meant(&one.user_name) || (named.is_empty() && only_some))
        .collect();
    let mut plan = Plan::default();
    plan.remove.extend(gone.iter().map(|one| (*one).clone().into()));
    if only_some {
        if gone.is_empty() {
            return Err(nothing());
        }
        keep_defaults(
            &gone,
            "You must change the default account of these users or remove the users completely from \
             the affected clusters to allow these changes.",
        )?;
        let left = |user: &str| {
            rules.associations.iter().any(|one| one.user_name == user && !gone.contains(&one))
        };
        let users_gone: Vec<String> =
            gone.iter().map(|one| one.user_name.clone()).filter(|user| !left(user)).collect();
        let others = without_default(rules, &gone).into_iter();
        let others = others.filter(|user| !users_gone.contains(&user.name));
        plan.put.extend(others.map(RuleRow::from));
        plan.says = " Deleting user associations...\n".to_string();
        for one in &gone {
            let place = match one.partition.as_str() {
                "" => String::new(),
                name => format!(" P = {name}"),
            };
            plan.says.push_str(&format!(
                "  C = {:<10.10} A = {:<10.10} U = {:<9.9}{place}\n",
                one.cluster, one.account, one.user_name
            ));
        }
        let mut nowhere: Vec<&UserView> =
            rules.users.iter().filter(|user| users_gone.contains(&user.name)).collect();
        nowhere.sort_by_key(|user| &user.name);
        if !nowhere.is_empty() {
            plan.says.push_str(" Deleting users (No Associations)...\n");
            forget(rules, &mut plan, &nowhere);
        }
        return Ok(plan);
    }
    let users: Vec<_> = rules.users.iter().filter(|user| is_meant(&user.name)).collect();
    if users.is_empty() {
        return Err(nothing());
    }
    plan.says = " Deleting users...\n".to_string();
    forget(rules, &mut plan, &users);
    Ok(plan)
}

/// Takes out users' keys, and leaves the users.
fn wckeys(rules: &RulesView, words: Vec<Word>) -> Result<Plan, Refusal> {
    let (of_keys, words): (Vec<Word>, Vec<Word>) =
        words.into_iter().partition(|word| word.is(&["wckeys"]));
    let which = Conditions::read(&words)?;
    let keys: Vec<String> = of_keys.iter().flat_map(Word::list).collect();
    let meets = |list: &[String], word: &String| list.is_empty() || list.contains(word);
    let named: Vec<String> = which.names.iter().chain(&which.users).cloned().collect();
    let gone: Vec<&WckeyView> = rules
        .wckeys
        .iter()
        .filter(|one| meets(&keys, &one.name) && meets(&named, &one.user_name))
        .filter(|one| meets(&which.clusters, &one.cluster))
        .collect();
    if gone.is_empty() {
        return Err(nothing());
    }
    let mut plan = Plan { says: " Deleting user WCKeys...\n".to_string(), ..Plan::default() };
    for one in &gone {
        plan.says.push_str(&format!(
            "  C = {:<10.10} W = {:<20.20} U = {:<9.9}\n",
            one.cluster, one.name, one.user_name
        ));
        plan.remove.push((*one).clone().into());
    }
    let loses = |user: &&UserView| {
        gone.iter().any(|one| one.user_name == user.name && one.name == user.default_wckey)
    };
    for user in rules.users.iter().filter(loses) {
        plan.put.push(UserView { default_wckey: String::new(), ..user.clone() }.into());
    }
    Ok(plan)
}

/// Takes users out, and what is only theirs.
fn forget(rules: &RulesView, plan: &mut Plan, users: &[&UserView]) {
    for user in users {
        plan.says.push_str(&format!("  {}\n", user.name));
        plan.remove.push((*user).clone().into());
        let keys = rules.wckeys.iter().filter(|key| key.user_name == user.name);
        plan.remove.extend(keys.map(|key| key.clone().into()));
        for account in rules.accounts.iter().filter(|one| one.coordinators.contains(&user.name)) {
            let mut account = account.clone();
            account.coordinators.retain(|name| *name != user.name);
            plan.put.push(account.into());
        }
    }
}

fn qos(rules: &RulesView, which: &Conditions) -> Result<Plan, Refusal> {
    let mut plan = Plan::default();
    let gone: Vec<_> = rules.qos.iter().filter(|one| which.names.contains(&one.name)).collect();
    if gone.is_empty() {
        return Err(nothing());
    }
    plan.says = " Deleting QOS(s)...\n".to_string();
    for one in &gone {
        plan.says.push_str(&format!("  {}\n", one.name));
        plan.remove.push((*one).clone().into());
    }
    let is_gone = |name: &String| gone.iter().any(|one| one.name == *name);
    let defaults = rules.associations.iter().filter(|one| is_gone(&one.default_qos));
    let used: String = defaults.map(|one| format!("{}\n", default_qos_line(one))).collect();
    if !used.is_empty() {
        return Err(Refusal::Wrong(format!(
            " Associations listed below have these as their Default QOS.\n{used} Please either remove \
             the qos' listed above from list and resubmit,\n or change the default qos to remove the \
             qos.\n Changes Discarded"
        )));
    }
    // Nobody refers to what is not there.
    let says_gone = |word: &String| is_gone(&allowed::name(word).to_string());
    for one in rules.associations.iter().filter(|one| one.qos.iter().any(says_gone)) {
        let mut changed = one.clone();
        changed.qos.retain(|word| !says_gone(word));
        plan.put.push(changed.into());
    }
    Ok(plan)
}

fn clusters(rules: &RulesView, which: &Conditions) -> Result<Plan, Refusal> {
    let named: Vec<&String> = which.names.iter().chain(&which.clusters).collect();
    let mut plan = Plan { says: " Deleting clusters...\n".to_string(), ..Plan::default() };
    for cluster in rules.clusters.iter().filter(|cluster| named.contains(&&cluster.name)) {
        plan.says.push_str(&format!("  {}\n", cluster.name));
        plan.remove.push(cluster.clone().into());
        let here = rules.associations.iter().filter(|one| one.cluster == cluster.name);
        plan.remove.extend(here.map(|one| one.clone().into()));
    }
    if plan.remove.is_empty() { Err(nothing()) } else { Ok(plan) }
}

fn coordinators(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let (users, accounts) = coordinator_words(request)?;
    if users.is_empty() && accounts.is_empty() {
        let text = " You need to specify a user list or account list here.";
        return Err(Refusal::Wrong(text.to_string()));
    }
    let list =
        |names: &[String]| names.iter().map(|name| format!("  {name}\n")).collect::<String>();
    let of = match users.is_empty() {
        true => " Removing all users from Accounts\n".to_string(),
        false => format!(" Removing Coordinators with user name\n{}", list(&users)),
    };
    let from = match (users.is_empty(), accounts.is_empty()) {
        (true, _) => list(&accounts),
        (false, true) => " From all accounts\n".to_string(),
        (false, false) => format!(" From Account(s)\n{}", list(&accounts)),
    };
    let mut plan = Plan { says: format!("{of}{from}"), ..Plan::default() };
    let mut lines = String::new();
    let is_meant = |name: &String| users.is_empty() || users.contains(name);
    let below = |name: &String| accounts.is_empty() || accounts.contains(name);
    for account in rules.accounts.iter().filter(|account| below(&account.name)) {
        let mut changed = account.clone();
        changed.coordinators.retain(|name| !is_meant(name));
        for user in account.coordinators.iter().filter(|name| is_meant(name)) {
            lines.push_str(&format!("  U = {user:<9.9} A = {:<10.10}\n", account.name));
        }
        if changed != *account {
            plan.put.push(changed.into());
        }
    }
    if plan.put.is_empty() {
        return Err(Refusal::Nothing(format!("{} Nothing removed", plan.says)));
    }
    plan.says.push_str(&format!(" Removed Coordinators (sub accounts not listed)...\n{lines}"));
    Ok(plan)
}
