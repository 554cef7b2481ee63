//! `sacctmgr show association`.

use spur_core::accounts::manage::Conditions;
use spur_core::fields::association::{self, ASSOCIATION_FIELDS};
use spur_core::fields::{format, render, shown};
use spur_core::views::{AssociationView, RulesView};

use super::more::has;
use super::tables::mixed;
use super::{Question, own};
use crate::commands::answer;

pub(super) fn associations(asked: &Question<'_>) -> Result<String, String> {
    let Question { style, wanted, all, which, more } = *asked;
    let accounts: Vec<String> = which.accounts.iter().chain(&which.names).cloned().collect();
    let others = Conditions { accounts: Vec::new(), names: Vec::new(), ..which.clone() };
    let of_account = |one: &AssociationView| {
        let line = || all.lineage(&one.cluster, &one.account);
        has(&accounts, &one.account)
            || wanted.with_below && line().iter().any(|it| has(&accounts, &it.account))
    };
    let meets = |one: &AssociationView| {
        of_account(one)
            && others.meets(one)
            && (!wanted.defaults_only || one.is_default)
            && (more.ids.is_empty() || more.ids.contains(&one.id))
            && more.allows(all, one)
    };
    let spans = all.spans();
    let mut found = all.arranged(all.associations.iter().filter(|one| meets(one)).collect());
    if wanted.own_only {
        // Nothing is above anything then.
        found.sort_by_key(|(one, _)| (one.user_name.is_empty(), spans.get(&one.id).copied()));
    }
    let mut rows = Vec::new();
    for (one, depth) in found {
        let own = wanted.own_only || wanted.no_limits;
        let mut one = if own { all.own(one) } else { all.effective(one) };
        if wanted.own_only {
            one.parent.clear();
        } else {
            let above = if one.user_name.is_empty() { &one.parent } else { &one.account };
            one.parent_id =
                all.account_association(&one.cluster, above).map_or(0, |above| above.id);
        }
        let span = spans.get(&one.id).copied().unwrap_or_default();
        (one.left, one.right) = (span.left, span.right);
        let ids = one.qos.iter().filter_map(|name| all.qos(name)).map(|qos| qos.id.to_string());
        one.qos_ids = ids.collect::<Vec<_>>().join(",");
        if wanted.tree {
            one.account = format!("{}{}", " ".repeat(depth), one.account);
        }
        rows.push(one);
    }
    if let Some(notation) = style.notation {
        let list = rows.iter().map(|one| render::json(ASSOCIATION_FIELDS, one)).collect();
        let whole = answer::enclosed(&own(all), "associations", list, &[], &[]);
        return Ok(answer::written(&whole, notation));
    }
    let default = match wanted.no_limits {
        true => "Cluster,Account,User,Partition",
        false => association::DEFAULT,
    };
    let format = wanted.format.as_deref().unwrap_or(default);
    let words: Vec<String> = format.split(',').map(|word| grown(word, wanted.tree)).collect();
    let rows: Vec<_> = rows.into_iter().map(|one| ((), Some(one))).collect();
    mixed(style, &[], ASSOCIATION_FIELDS, &words.join(","), &rows)
}

/// A tree wants room: accounts stand flush left in it, in twenty letters, where nobody says how.
fn grown(word: &str, tree: bool) -> String {
    let (name, shape) = format::accounting_word(word);
    let is_account = shown::find(name).is_some_and(|one| one.empty.header == "Account");
    if !tree || !is_account || shape.is_some() {
        return word.to_string();
    }
    format!("{name}%-20")
}

/// All associations, each with what is below it behind it, the newest first.
pub(super) fn standing(all: &RulesView) -> Vec<&AssociationView> {
    let spans = all.spans();
    let mut standing: Vec<&AssociationView> = all.associations.iter().collect();
    standing.sort_by_key(|one| (&one.cluster, spans.get(&one.id).copied()));
    standing
}
