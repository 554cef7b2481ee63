//! `sacctmgr show wckey`, `show tres` and `show resource`.

use spur_core::accounts::manage::Word;
use spur_core::fields::rules::{self, RESOURCE_FIELDS, ResourceRow, TRES_FIELDS, WCKEY_FIELDS};
use spur_core::views::{EventView, RulesView};

use super::more::{More, has};
use super::tables::{shown_table, table};
use super::{Wanted, strange};
use crate::commands::sacctmgr::{Style, truth};

/// What limits may be on; a word alone is a kind.
pub(super) fn tres(style: &Style, wanted: &Wanted, events: &[EventView]) -> Result<String, String> {
    let (mut more, rest) = More::of(&wanted.conditions);
    let is_known = |word: &&Word| word.name.is_empty() || word.is(&["names"]);
    if let Some(word) = rest.iter().find(|word| !is_known(word)) {
        return Err(word.unknown_condition().text());
    }
    let (bare, named): (Vec<Word>, Vec<Word>) =
        rest.into_iter().partition(|word| word.name.is_empty());
    let names: Vec<String> = named.iter().flat_map(Word::list).collect();
    more.kinds.extend(bare.iter().flat_map(Word::list));
    let mut rows = truth::tres(events);
    rows.retain(|one| {
        has(&more.kinds, &one.kind)
            && has(&names, &one.name)
            && (more.ids.is_empty() || more.ids.contains(&one.id))
    });
    shown_table(style, TRES_FIELDS, wanted, rules::TRES, rows)
}

pub(super) fn wckeys(style: &Style, wanted: &Wanted, all: &RulesView) -> Result<String, String> {
    if let Some(text) =
        strange(&wanted.conditions, &["clusters", "ids", "names", "users", "wckeys"])
    {
        return Err(text);
    }
    let said = |known: &[&str]| wanted.said(known);
    let bare = wanted.conditions.iter().filter(|word| word.name.is_empty());
    let (mut names, clusters) = (said(&["names", "wckeys"]), said(&["clusters"]));
    names.extend(bare.flat_map(Word::list));
    let (users, ids) = (said(&["users"]), said(&["ids"]));
    let mut rows = all.wckeys.clone();
    rows.retain(|one| {
        has(&names, &one.name)
            && has(&clusters, &one.cluster)
            && has(&users, &one.user_name)
            && has(&ids, &one.id.to_string())
    });
    table(style, WCKEY_FIELDS, wanted, rules::WCKEY, &rows)
}

pub(super) fn resources(style: &Style, wanted: &Wanted, all: &RulesView) -> Result<String, String> {
    let known = [
        "clusters",
        "counts",
        "descriptions",
        "flags",
        "ids",
        "managers",
        "names",
        "percentallowed",
        "servers",
        "servertypes",
        "types",
    ];
    if let Some(text) = strange(&wanted.conditions, &known) {
        return Err(text);
    }
    let is_name = |word: &&Word| word.name.is_empty() || word.is(&["names"]);
    let named: Vec<String> =
        wanted.conditions.iter().filter(is_name).flat_map(Word::list).collect();
    let (with, servers, clusters) =
        (wanted.with_clusters, wanted.said(&["servers"]), wanted.said(&["clusters"]));
    let mut rows = Vec::new();
    let mut all = all.resources.clone();
    all.retain(|one| has(&named, &one.name) && has(&servers, &one.server));
    all.sort_by_key(|one| one.key());
    for one in all {
        if !with {
            rows.push(ResourceRow { one, share: None });
            continue;
        }
        for share in one.shares.iter().filter(|share| has(&clusters, &share.cluster)) {
            let share = Some((share.cluster.clone(), share.percent));
            rows.push(ResourceRow { one: one.clone(), share });
        }
    }
    let default = if with { rules::RESOURCE_WITH } else { rules::RESOURCE };
    shown_table(style, RESOURCE_FIELDS, wanted, default, rows)
}
