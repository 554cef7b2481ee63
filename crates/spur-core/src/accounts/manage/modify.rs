//! `sacctmgr modify`.

use super::{
    Conditions, Entity, Plan, Refusal, Request, Word, admin_level, default_qos_line, federation,
    heirs, no_preemption_loop, rename, resource, set, usage,
};
use crate::accounts::settings;
use crate::views::{AssociationView, QosView, RulesView};

/// Thinks out a modification.
pub fn modify(rules: &RulesView, entity: Entity, request: &Request) -> Result<Plan, Refusal> {
    match entity {
        Entity::Resource => return resource::modify(rules, request),
        Entity::Federation => return federation::modify(rules, request),
        _ => {}
    }
    // What is set of a thing, and is nothing to find it by.
    let only_set: &[&str] = match entity {
        Entity::Account => &["description", "organization"],
        Entity::User => &["defaultaccount"],
        _ => &[],
    };
    if request.which.iter().any(|word| word.is(only_set)) {
        let text = " There was a problem with your 'where' options.";
        return Err(Refusal::Wrong(text.to_string()));
    }
    let which = Conditions::read(&request.which)?;
    if request.set.is_empty() {
        return Err(Refusal::Wrong(" You didn't give me anything to set".to_string()));
    }
    if let Some(word) = request.set.iter().find(|word| usage::is_reset(word))
        && matches!(entity, Entity::Account | Entity::User | Entity::Qos)
    {
        return usage::reset(rules, entity, &which, word);
    }
    match entity {
        Entity::Account => accounts(rules, &which, &request.set),
        Entity::User => users(rules, &which, &request.set),
        Entity::Qos => qos(rules, &which, &request.set),
        Entity::Cluster => clusters(rules, &which, &request.set),
        Entity::Association | Entity::Coordinator | Entity::Federation | Entity::Resource => Err(Refusal::Wrong(
            "No valid entity in modify command\nInput line must include \"Account\", \"Cluster\", \
             \"Federation\", \"Job\", \"QOS\", \"Resource\" or \"User\""
                .to_string(),
        )),
    }
}

fn cannot(text: &str) -> Refusal {
    Refusal::Wrong(text.to_string())
}

pub(super) fn nothing() -> Refusal {
    Refusal::Nothing(" Nothing modified".to_string())
}

fn set_all(rules: &RulesView, one: &mut AssociationView, words: &[&Word]) -> Result<(), Refusal> {
    for word in words {
        set(rules, settings::ASSOCIATION, one, word).map_err(|refusal| match refusal {
            Refusal::Wrong(text)
                if !text.contains("Unknown option") && !text.starts_with("You gave") =>
            {
                let hint = "Use keyword 'where' to modify condition";
                Refusal::Wrong(format!("{text}\n Unknown option: {}\n {hint}", word.text))
            }
            refusal => refusal,
        })?;
    }
    Ok(())
}

/// A default QOS that the association may not use is not set.
fn usable_default(rules: &RulesView, plan: &Plan) -> Result<(), Refusal> {
    let mut after = rules.clone();
    plan.put.iter().for_each(|row| after.put(row.clone()));
    let mut lines = String::new();
    for one in plan.put.iter().filter_map(|row| row.association.as_ref()) {
        let before = rules.current(&one.clone().into()).and_then(|row| row.association);
        let is_new = before.is_none_or(|before| {
            (&before.default_qos, &before.qos) != (&one.default_qos, &one.qos)
        });
        let whole = after.effective(one);
        if is_new && !one.default_qos.is_empty() && !whole.qos.contains(&one.default_qos) {
            lines.push_str(&format!("\n{}", default_qos_line(one)));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    Err(Refusal::Left(format!(
        " These associations don't have access to their default qos.\n Please give them access before \
         they the default can be set to this.{lines}"
    )))
}

fn accounts(rules: &RulesView, which: &Conditions, words: &[Word]) -> Result<Plan, Refusal> {
    let (mut own, mut limits, mut parent) = (Vec::new(), Vec::new(), None);
    for word in words {
        match word {
            word if word.name.is_empty() || word.is(&["names", "accounts"]) => {
                return Err(cannot(" Can't modify the name of an account"));
            }
            word if word.is(&["clusters"]) => {
                return Err(cannot(" Can't modify the cluster of an account"));
            }
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
                    true => account.description = word.said(),
                    false => account.organization = word.said(),
                }
            }
            named.push_str(&format!("  {}\n", account.name));
            plan.put.push(account.into());
        }
    }
    if !limits.is_empty() || parent.is_some() {
        let all = rules.associations.iter().filter(|one| one.user_name.is_empty());
        let mut meant: Vec<&AssociationView> =
            all.filter(|one| is_meant(&one.account) && which.meets(one)).collect();
        let spans = rules.spans();
        meant.sort_by_key(|one| (&one.cluster, spans.get(&one.id).copied()));
        for one in meant {
            let mut changed = one.clone();
            set_all(rules, &mut changed, &limits)?;
            if let Some(parent) = &parent {
                // Nothing hangs on itself, the root on nothing, and who hangs there already does not move.
                let stays =
                    *parent == one.account || one.parent.is_empty() || *parent == one.parent;
                if stays && limits.is_empty() {
                    continue;
                }
                let Some(above) = rules.account_association(&one.cluster, parent) else {
                    let text = format!(" Parent Account {parent} doesn't exist.");
                    return Err(Refusal::Wrong(text));
                };
                // What hangs below and is to be above goes up first, as in Slurm.
                let line = rules.lineage(&one.cluster, parent);
                if !stays && line.iter().any(|it| it.account == one.account) {
                    let lifted = AssociationView { parent: one.parent.clone(), ..above.clone() };
                    plan.put.push(lifted.into());
                }
                if !stays {
                    changed.parent.clone_from(parent);
                }
            }
            let of = match one.parent.as_str() {
                "" => String::new(),
                parent => format!(" of {parent}"),
            };
            lines.push_str(&format!("  C = {:<10.10} A = {}{of}\n", one.cluster, one.account));
            lines.push_str(&heirs::lines(rules, one, &limits));
            plan.put.push(changed.into());
        }
    }
    if plan.put.is_empty() {
        return Err(nothing());
    }
    if !named.is_empty() {
        plan.says.push_str(&format!(" Modified accounts...\n{named}"));
    }
    if !lines.is_empty() {
        plan.says.push_str(&format!(" Modified account associations...\n{lines}"));
    }
    usable_default(rules, &plan)?;
    Ok(plan)
}

fn users(rules: &RulesView, which: &Conditions, words: &[Word]) -> Result<Plan, Refusal> {
    if let Some(word) = words.iter().find(|word| word.is(&["newname"])) {
        return rename::user(rules, which, word);
    }
    if let Some(word) = words.iter().find(|word| word.name.is_empty()) {
        let text = &word.text;
        let text = format!(" Bad format on {text}: End your option with an '=' sign");
        return Err(Refusal::Wrong(text));
    }
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
                        // The default holds on every cluster that the user is on.
                        let mine =
                            || rules.associations.iter().filter(|one| one.user_name == user.name);
                        let mut lacking: Vec<&str> = mine()
                            .filter(|it| {
                                !mine()
                                    .any(|one| one.account == account && one.cluster == it.cluster)
                            })
                            .map(|one| one.cluster.as_str())
                            .collect();
                        // Who is nowhere lacks it everywhere.
                        if mine().next().is_none() {
                            lacking.extend(rules.clusters.iter().map(|one| one.name.as_str()));
                        }
                        lacking.sort_unstable();
                        lacking.dedup();
                        if !lacking.is_empty() {
                            let lines: String = lacking
                                .iter()
                                .map(|cluster| format!("\n  U = {} C = {cluster}", user.name))
                                .collect();
                            return Err(Refusal::Nothing(format!(
                                " Can't modify because these users aren't associated with new \
                                 default account '{account}'...{lines}"
                            )));
                        }
                        user.default_account = account;
                    }
                    word => {
                        user.default_wckey = word.value.to_lowercase();
                        let has = |cluster: &str| {
                            rules.wckeys.iter().any(|one| {
                                one.user_name == user.name
                                    && one.name == user.default_wckey
                                    && one.cluster == cluster
                            })
                        };
                        let lacking: String = rules
                            .clusters
                            .iter()
                            .filter(|it| !has(&it.name))
                            .map(|it| format!("\n  U = {} C = {}", user.name, it.name))
                            .collect();
                        if !lacking.is_empty() {
                            return Err(Refusal::Nothing(format!(
                                " Can't modify because these users aren't associated with new \
                                 default wckey '{}'...{lacking}",
                                user.default_wckey
                            )));
                        }
                    }
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
        let mut meant: Vec<&AssociationView> =
            all.filter(|one| is_meant(&one.user_name) && which.meets(one)).collect();
        let spans = rules.spans();
        meant.sort_by_key(|one| spans.get(&one.id).copied());
        for one in meant {
            let mut changed = one.clone();
            set_all(rules, &mut changed, &limits)?;
            lines.push_str(&heirs::line(one));
            plan.put.push(changed.into());
        }
    }
    if plan.put.is_empty() {
        return Err(nothing());
    }
    if !named.is_empty() {
        plan.says.push_str(&format!(" Modified users...\n{named}"));
    }
    if !lines.is_empty() {
        plan.says.push_str(&format!(" Modified user associations...\n{lines}"));
    }
    usable_default(rules, &plan)?;
    Ok(plan)
}

fn qos(rules: &RulesView, which: &Conditions, words: &[Word]) -> Result<Plan, Refusal> {
    let mut plan = Plan::default();
    let is_meant = |name: &String| which.names.is_empty() || which.names.contains(name);
    // All that are none are named at once, and not as errors.
    let unknown = words.iter().filter(|word| settings::find(settings::QOS, &word.name).is_none());
    let unknown: Vec<String> = unknown.map(|word| word.unknown_option().text()).collect();
    if !unknown.is_empty() {
        return Err(Refusal::Nothing(unknown.join("\n")));
    }
    // Words are wrong even where nothing is meant.
    if !rules.qos.iter().any(|one| is_meant(&one.name)) {
        words.iter().try_for_each(|word| {
            set(rules, settings::QOS, &mut QosView::default(), word).map(|_| ())
        })?;
    }
    let mut meant: Vec<&QosView> = rules.qos.iter().filter(|one| is_meant(&one.name)).collect();
    meant.sort_by_key(|one| one.id);
    for one in meant {
        let mut changed = one.clone();
        for word in words {
            if word.is(&["description"]) {
                changed.description = word.said();
                continue;
            }
            set(rules, settings::QOS, &mut changed, word).map_err(|refusal| match refusal {
                Refusal::Wrong(text) if text.contains("Invalid value for") => {
                    Refusal::Wrong(format!("{text}\n You didn't give me anything to set"))
                }
                refusal => refusal,
            })?;
        }
        plan.says.push_str(&format!("  {}\n", one.name));
        plan.put.push(changed.into());
    }
    if plan.put.is_empty() {
        return Err(nothing());
    }
    plan.says = format!(" Modified qos...\n{}", plan.says);
    let changed: Vec<&QosView> = plan.put.iter().filter_map(|row| row.qos.as_ref()).collect();
    no_preemption_loop(rules, &changed)?;
    Ok(plan)
}

fn clusters(rules: &RulesView, which: &Conditions, words: &[Word]) -> Result<Plan, Refusal> {
    let named: Vec<&String> = which.names.iter().chain(&which.clusters).collect();
    let class = classification(words)?;
    let is_own = |word: &&Word| word.is(federation::OF_CLUSTER) || word.is(&["classification"]);
    let is_name = |word: &&Word| word.name.is_empty() || word.is(&["names", "clusters"]);
    let limits: Vec<&Word> = words.iter().filter(|word| !is_own(word) && !is_name(word)).collect();
    if limits.is_empty() && !words.iter().any(|word| is_own(&word)) {
        return Err(cannot(" You didn't give me anything to set"));
    }
    not_of_a_root(&limits)?;
    if let Some(word) = limits.iter().find(|word| word.is(&["parent"])) {
        let told = format!("  Default Limits:\n  Parent        = {}\n", word.value);
        return Err(Refusal::Nothing(format!(" Setting\n{told} Nothing modified")));
    }
    let is_meant = |name: &String| named.is_empty() || named.contains(&name);
    let mut plan = Plan::default();
    let mut told = class.map(|it| format!("  Classification = {it}\n")).unwrap_or_default();
    if words.iter().any(|word| is_own(&word)) {
        let mut named = String::new();
        for (place, one) in rules.clusters.iter().filter(|one| is_meant(&one.name)).enumerate() {
            let (mut changed, said) = federation::of_cluster(rules, one, words)?;
            if place == 0 {
                told.push_str(&said);
            }
            if let Some(class) = class {
                changed.classification = class.to_string();
            }
            named.push_str(&format!("  {}\n", one.name));
            plan.put.push(changed.into());
        }
        if !named.is_empty() {
            plan.says = format!(" Modified cluster...\n{named}");
        }
    }
    if !limits.is_empty() {
        let mut trial = AssociationView::default();
        set_all(rules, &mut trial, &limits)?;
        let named = |setting: &settings::Setting<AssociationView>| {
            let found = |word: &&Word| settings::find(settings::ASSOCIATION, &word.name);
            limits.iter().filter_map(found).any(|one| one.label == setting.label)
        };
        told.push_str("  Default Limits:\n");
        for (label, value) in settings::told(settings::ASSOCIATION, &trial, named) {
            let value = taken_away(&limits, label).unwrap_or(value);
            told.push_str(&format!("  {label}= {value}\n"));
        }
        let tops = rules
            .associations
            .iter()
            .filter(|one| one.parent.is_empty() && one.user_name.is_empty());
        let mut lines = String::new();
        for one in tops.filter(|one| is_meant(&one.cluster)) {
            let mut changed = one.clone();
            set_all(rules, &mut changed, &limits)?;
            lines.push_str(&format!("  C = {:<10.10} A = {}\n", one.cluster, one.account));
            lines.push_str(&heirs::lines(rules, one, &limits));
            plan.put.push(changed.into());
        }
        if !lines.is_empty() {
            let line = " Modified cluster defaults for associations...\n";
            plan.says.push_str(&format!("{line}{lines}"));
        }
    }
    if plan.put.is_empty() {
        return Err(Refusal::Nothing(format!(" Setting\n{told} Nothing modified")));
    }
    plan.says = format!(" Setting\n{told}{}", plan.says);
    Ok(plan)
}

/// What is counted together is not limited for a whole cluster.
fn not_of_a_root(words: &[&Word]) -> Result<(), Refusal> {
    let labels = words
        .iter()
        .filter_map(|word| settings::find(settings::ASSOCIATION, &word.name))
        .map(|setting| setting.label.trim_end());
    let mut wrong =
        labels.filter(|label| matches!(*label, "GrpTRESMins" | "GrpTRESRunMins" | "GrpWall"));
    match wrong.next() {
        None => Ok(()),
        Some(label) => Err(Refusal::Wrong(format!(
            "{label} is not a valid option for the root association of a cluster."
        ))),
    }
}

/// How a limit is told that goes: by its name, where others of its list stay.
fn taken_away(words: &[&Word], label: &str) -> Option<String> {
    let is_it = |word: &&&Word| {
        settings::find(settings::ASSOCIATION, &word.name).is_some_and(|one| one.label == label)
    };
    let word = words.iter().find(is_it)?;
    match label.trim_end() {
        "DefQOS" => (word.value == "-1").then(|| "(null)".to_string()),
        _ => word.value.contains("=-1").then(|| word.value.replace("=-1", "=NONE")),
    }
}

/// What a cluster is said to be for, if it is said.
fn classification(words: &[Word]) -> Result<Option<&'static str>, Refusal> {
    let Some(word) = words.iter().find(|word| word.is(&["classification"])) else {
        return Ok(None);
    };
    let said = word.value.to_lowercase();
    let known = ["Capability", "Capacity"];
    let found =
        known.into_iter().find(|one| !said.is_empty() && one.to_lowercase().starts_with(&said));
    let none = " You didn't give me anything to set".to_string();
    found.map(Some).ok_or(Refusal::Wrong(none))
}
