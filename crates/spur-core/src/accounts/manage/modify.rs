//! `sacctmgr modify`.

use super::{Conditions, Entity, Plan, Refusal, Request, Word, admin_level};
use crate::accounts::settings;
use crate::views::{AssociationView, RulesView};

/// Thinks out a modification.
pub fn modify(rules: &RulesView, entity: Entity, request: &Request) -> Result<Plan, Refusal> {
    let which = Conditions::read(&request.which)?;
    if request.set.is_empty() {
        return Err(Refusal::Wrong(" You didn't give me anything to set".to_string()));
    }
    match entity {
        Entity::Account => accounts(rules, &which, &request.set),
        Entity::User => users(rules, &which, &request.set),
        Entity::Qos => qos(rules, &which, &request.set),
        Entity::Cluster => clusters(rules, &which, &request.set),
        Entity::Association | Entity::Coordinator => Err(Refusal::Wrong(
            "No valid entity in modify command\nInput line must include \"Account\", \"Cluster\", \
             \"Job\", \"QOS\", \"Resource\", or \"User\""
                .to_string(),
        )),
    }
}

const NOTHING: Refusal = Refusal::Nothing(" Nothing modified");

fn set(one: &mut AssociationView, words: &[&Word]) -> Result<(), Refusal> {
    for word in words {
        let setting = settings::find(settings::ASSOCIATION, &word.name);
        let setting = setting.ok_or_else(|| word.unknown_option())?;
        (setting.set)(one, word.change, &word.value)
            .map_err(|why| Refusal::Wrong(format!(" {why}")))?;
    }
    Ok(())
}

fn accounts(rules: &RulesView, which: &Conditions, words: &[Word]) -> Result<Plan, Refusal> {
    let (mut own, mut limits, mut parent) = (Vec::new(), Vec::new(), None);
    for word in words {
        match word {
            word if word.is(&["description", "organization"]) => own.push(word),
            word if word.is(&["parent"]) => parent = Some(word.value.to_lowercase()),
            word => limits.push(word),
        }
    }
    let is_meant = |name: &str| which.names.is_empty() || which.names.iter().any(|one| one == name);
    let mut plan = Plan::default();
    let (mut named, mut lines) = (String::new(), String::new());
    if !own.is_empty() {
        for account in rules.accounts.iter().filter(|account| is_meant(&account.name)) {
            let mut account = account.clone();
            for word in &own {
                match word.is(&["description"]) {
                    true => account.description.clone_from(&word.value),
                    false => account.organization.clone_from(&word.value),
                }
            }
            named.push_str(&format!("  {}\n", account.name));
            plan.put.push(account.into());
        }
    }
    if !limits.is_empty() || parent.is_some() {
        let all = rules.associations.iter().filter(|one| one.user_name.is_empty());
        for one in all.filter(|one| is_meant(&one.account) && which.meets(one)) {
            let mut changed = one.clone();
            set(&mut changed, &limits)?;
            if let Some(parent) = &parent {
                changed.parent.clone_from(parent);
            }
            let of = match one.parent.as_str() {
                "" => String::new(),
                parent => format!(" of {parent}"),
            };
            lines.push_str(&format!("  C = {:<10.10} A = {}{of}\n", one.cluster, one.account));
            plan.put.push(changed.into());
        }
    }
    if plan.put.is_empty() {
        return Err(NOTHING);
    }
    if !named.is_empty() {
        plan.says.push_str(&format!(" Modified accounts...\n{named}"));
    }
    if !lines.is_empty() {
        plan.says.push_str(&format!(" Modified account associations...\n{lines}"));
    }
    Ok(plan)
}

fn users(rules: &RulesView, which: &Conditions, words: &[Word]) -> Result<Plan, Refusal> {
    let (mut own, mut limits) = (Vec::new(), Vec::new());
    for word in words {
        match word.is(&["adminlevel", "defaultaccount", "defaultwckey"]) {
            true => own.push(word),
            false => limits.push(word),
        }
    }
    let names = || which.names.iter().chain(&which.users);
    let is_meant = |name: &str| names().next().is_none() || names().any(|one| one == name);
    let mut plan = Plan::default();
    let (mut named, mut lines) = (String::new(), String::new());
    if !own.is_empty() {
        for user in rules.users.iter().filter(|user| is_meant(&user.name)) {
            let mut user = user.clone();
            for word in &own {
                match word {
                    word if word.is(&["adminlevel"]) => user.admin_level = admin_level(word)?,
                    word if word.is(&["defaultaccount"]) => {
                        let account = word.value.to_lowercase();
                        let has = rules
                            .associations
                            .iter()
                            .any(|one| one.user_name == user.name && one.account == account);
                        if !has {
                            return Err(Refusal::Wrong(format!(
                                " Can't modify because these users aren't associated with new \
                                 default account '{account}'...\n  {}",
                                user.name
                            )));
                        }
                        user.default_account = account;
                    }
                    word => user.default_wckey = word.value.to_lowercase(),
                }
            }
            let mine = rules.associations.iter().filter(|one| one.user_name == user.name);
            for one in mine {
                let is_default = one.account == user.default_account;
                if one.is_default != is_default {
                    plan.put.push(AssociationView { is_default, ..one.clone() }.into());
                }
            }
            named.push_str(&format!("  {}\n", user.name));
            plan.put.push(user.into());
        }
    }
    if !limits.is_empty() {
        let which = Conditions { users: Vec::new(), ..which.clone() };
        let all = rules.associations.iter().filter(|one| !one.user_name.is_empty());
        for one in all.filter(|one| is_meant(&one.user_name) && which.meets(one)) {
            let mut changed = one.clone();
            // What is added to or taken from is what the user has now, be it from above.
            if limits.iter().any(|word| word.change != settings::Change::Set) && one.qos.is_empty()
            {
                changed.qos = rules.effective(one).qos;
            }
            set(&mut changed, &limits)?;
            let place = match one.partition.as_str() {
                "" => String::new(),
                name => format!(" P = {name}"),
            };
            lines.push_str(&format!(
                "  C = {:<10.10} A = {:<20.20} U = {:<9.9}{place}\n",
                one.cluster, one.account, one.user_name
            ));
            plan.put.push(changed.into());
        }
    }
    if plan.put.is_empty() {
        return Err(NOTHING);
    }
    if !named.is_empty() {
        plan.says.push_str(&format!(" Modified users...\n{named}"));
    }
    if !lines.is_empty() {
        plan.says.push_str(&format!(" Modified user associations...\n{lines}"));
    }
    Ok(plan)
}

fn qos(rules: &RulesView, which: &Conditions, words: &[Word]) -> Result<Plan, Refusal> {
    let mut plan = Plan::default();
    let is_meant = |name: &String| which.names.is_empty() || which.names.contains(name);
    for one in rules.qos.iter().filter(|one| is_meant(&one.name)) {
        let mut changed = one.clone();
        for word in words {
            let setting = settings::find(settings::QOS, &word.name);
            let setting = setting.ok_or_else(|| word.unknown_option())?;
            (setting.set)(&mut changed, word.change, &word.value)
                .map_err(|why| Refusal::Wrong(format!(" {why}")))?;
        }
        plan.says.push_str(&format!("  {}\n", one.name));
        plan.put.push(changed.into());
    }
    if plan.put.is_empty() {
        return Err(NOTHING);
    }
    plan.says = format!(" Modified qos...\n{}", plan.says);
    Ok(plan)
}

fn clusters(rules: &RulesView, which: &Conditions, words: &[Word]) -> Result<Plan, Refusal> {
    let words: Vec<&Word> = words.iter().collect();
    let mut plan = Plan::default();
    let is_meant = |name: &String| which.names.is_empty() || which.names.contains(name);
    let tops =
        rules.associations.iter().filter(|one| one.parent.is_empty() && one.user_name.is_empty());
    for one in tops.filter(|one| is_meant(&one.cluster)) {
        let mut changed = one.clone();
        set(&mut changed, &words)?;
        plan.says.push_str(&format!("  {}\n", one.cluster));
        plan.put.push(changed.into());
    }
    if plan.put.is_empty() {
        return Err(NOTHING);
    }
    plan.says = format!(" Modified cluster...\n{}", plan.says);
    Ok(plan)
}
