//! `sacctmgr show cluster` and `show federation`.

use spur_core::fields::association::ASSOCIATION_FIELDS;
use spur_core::fields::rules::{self, CLUSTER_FIELDS, FEDERATION_FIELDS};
use spur_core::views::ClusterView;

use super::Question;
use super::more::has;
use super::tables::{mixed, shown_table};

/// A line for each cluster of a federation; one that has none is alone in its line.
pub(super) fn federations(asked: &Question<'_>) -> Result<String, String> {
    let Question { style, wanted, all, which, .. } = *asked;
    let mut named: Vec<&str> = all.federations.iter().map(|one| one.name.as_str()).collect();
    named.retain(|name| has(&which.names, name));
    named.sort_unstable();
    let mut rows = Vec::new();
    for name in named {
        let clusters = all.clusters.iter().filter(|cluster| cluster.federation == name);
        let clusters = clusters.filter(|cluster| has(&which.clusters, &cluster.name));
        let before = rows.len();
        rows.extend(clusters.cloned());
        if rows.len() == before && which.clusters.is_empty() {
            rows.push(ClusterView { federation: name.to_string(), ..ClusterView::default() });
        }
    }
    shown_table(style, FEDERATION_FIELDS, wanted, rules::FEDERATION, rows)
}

pub(super) fn clusters(asked: &Question<'_>) -> Result<String, String> {
    let Question { style, wanted, all, which, .. } = *asked;
    let names = || which.names.iter().chain(&which.clusters);
    let mut things = all.clusters.clone();
    things.retain(|one| names().next().is_none() || names().any(|name| *name == one.name));
    things.sort_by(|a, b| a.name.cmp(&b.name));
    let top = |name: &str| {
        let top = all.account_association(name, spur_core::accounts::rules::ROOT);
        top.map(|one| all.effective(one)).unwrap_or_default()
    };
    let rows: Vec<_> = things.into_iter().map(|one| (one.clone(), Some(top(&one.name)))).collect();
    let default = match wanted.with_fed {
        true => format!("{},Federation,ID,Features,FedState", rules::CLUSTER),
        false => rules::CLUSTER.to_string(),
    };
    let format = wanted.format.as_deref().unwrap_or(&default);
    mixed(style, CLUSTER_FIELDS, ASSOCIATION_FIELDS, format, &rows)
}
