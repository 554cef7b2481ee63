//! `sacctmgr modify … set RawUsage=0`: what was used so far counts no more.

use super::{Conditions, Entity, Plan, Refusal, Word};
use crate::views::{AssociationView, QosView, RulesView};

/// Whether a word is about usage.
pub fn is_reset(word: &Word) -> bool {
    word.name.len() >= 3 && "rawusage".starts_with(&word.name)
}

/// Thinks out the reset.
pub(super) fn reset(
    rules: &RulesView,
    entity: Entity,
    which: &Conditions,
    word: &Word,
) -> Result<Plan, Refusal> {
    let wrong = |text: String| Err(Refusal::Wrong(format!("sacctmgr: error: {text}")));
    match word.value.parse::<u32>() {
        Ok(0) => {}
        Ok(_) => return wrong("Raw usage can only be set to 0 (zero)".to_string()),
        Err(_) => {
            return wrong(format!(
                "Invalid value for RawUsage ({})\n You didn't give me anything to set",
                word.value
            ));
        }
    }
    let mut plan = Plan { question: Some("Would you like to reset usage?"), ..Plan::default() };
    if entity == Entity::Qos {
        for name in &which.names {
            let Some(qos) = rules.qos(name) else {
                return wrong(format!("Failed to find qos {name} in database"));
            };
            let usage_resets = qos.usage_resets + 1;
            plan.put.push(QosView { usage_resets, ..qos.clone() }.into());
        }
        return match plan.put.is_empty() {
            true => wrong("A QOS name is required to remove usage".to_string()),
            false => Ok(plan),
        };
    }
    let users: Vec<&String> = match entity {
        Entity::User => which.names.iter().chain(&which.users).collect(),
        _ => Vec::new(),
    };
    let accounts: Vec<&String> = match entity {
        Entity::User => which.accounts.iter().collect(),
        _ => which.names.iter().chain(&which.accounts).collect(),
    };
    if entity == Entity::User && accounts.is_empty() {
        return wrong("An account must be specified".to_string());
    }
    if accounts.is_empty() || entity == Entity::User && users.is_empty() {
        return wrong("An association name is required to remove usage".to_string());
    }
    for cluster in &which.clusters {
        for account in &accounts {
            let found = below(rules, cluster, account, &users);
            if found.is_empty() && rules.account_association(cluster, account).is_none()
                || !users.is_empty() && found.is_empty()
            {
                let user = users.first().map_or(String::new(), |user| format!(" user {user}"));
                return wrong(format!(
                    "Failed to find cluster {cluster} account {account}{user} association in database"
                ));
            }
            for one in found {
                let usage_resets = one.usage_resets + 1;
                plan.put.push(AssociationView { usage_resets, ..one.clone() }.into());
            }
        }
    }
    Ok(plan)
}

/// The users' own associations in an account and below it, since usage is theirs; those of these users only, and then
/// in the account itself.
fn below<'a>(
    rules: &'a RulesView,
    cluster: &str,
    account: &str,
    users: &[&String],
) -> Vec<&'a AssociationView> {
    let own = rules.associations.iter().filter(|one| {
        one.cluster == cluster
            && !one.user_name.is_empty()
            && match users.is_empty() {
                true => {
                    let line = rules.lineage(cluster, &one.account);
                    line.iter().any(|it| it.account == account)
                }
                false => one.account == account && users.contains(&&one.user_name),
            }
    });
    own.collect()
}
