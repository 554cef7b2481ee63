//! `sacctmgr modify user … set newname=`: a user is called otherwise from now on, everywhere but in the past.

use super::modify::nothing;
use super::{Conditions, Plan, Refusal, Word};
use crate::views::{AssociationView, RulesView, UserView, WckeyView};

/// Thinks out the new name of one user. Places and what was used there stay.
pub fn user(rules: &RulesView, which: &Conditions, word: &Word) -> Result<Plan, Refusal> {
    let new = word.value.to_lowercase();
    let names: Vec<&String> = which.names.iter().chain(&which.users).collect();
    let [name] = names[..] else {
        let text = " You can only change the name of one user at a time.".to_string();
        return Err(Refusal::Wrong(text));
    };
    let known = rules.user(name).filter(|_| !new.is_empty() && rules.user(&new).is_none());
    let Some(known) = known else { return Err(nothing()) };
    let mut plan = Plan { says: format!(" Modified users...\n  {name}\n"), ..Plan::default() };
    plan.remove.push(known.clone().into());
    plan.put.push(UserView { name: new.clone(), ..known.clone() }.into());
    for one in rules.associations.iter().filter(|one| one.user_name == *name) {
        plan.remove.push(one.clone().into());
        plan.put.push(AssociationView { user_name: new.clone(), ..one.clone() }.into());
    }
    for one in rules.wckeys.iter().filter(|one| one.user_name == *name) {
        plan.remove.push(one.clone().into());
        plan.put.push(WckeyView { user_name: new.clone(), ..one.clone() }.into());
    }
    for account in rules.accounts.iter().filter(|one| one.coordinators.contains(name)) {
        let mut account = account.clone();
        account.coordinators.retain(|one| one != name);
        account.coordinators.push(new.clone());
        plan.put.push(account.into());
    }
    Ok(plan)
}
