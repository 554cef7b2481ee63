//! `sacctmgr modify user … set newname=`: a user is called otherwise from now on, everywhere but in the past.

use super::modify::nothing;
use super::{Conditions, Plan, Refusal, Word};
use crate::views::{AssociationView, RulesView, UserView, WckeyView};

const TOO_MANY: &str = "sacctmgr: error: Can only change one at a time
 Error with request: Can only change one at a time
 If you are changing a users name you can only specify 1 user at a time.";

/// Thinks out the new name of one user. Places and what was used there stay.
pub fn user(rules: &RulesView, which: &Conditions, word: &Word) -> Result<Plan, Refusal> {
    let new = word.value.to_lowercase();
    let named = which.names.iter().chain(&which.users);
    let known: Vec<&UserView> = named.filter_map(|name| rules.user(name)).collect();
    let known = match known[..] {
        [known] if !new.is_empty() && rules.user(&new).is_none() => known,
        [_, _, ..] => return Err(Refusal::Wrong(TOO_MANY.to_string())),
        _ => return Err(nothing()),
    };
    let name = &known.name;
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
