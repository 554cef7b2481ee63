//! The tree of associations, and the orders that Slurm shows them in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::rules::ROOT;
use crate::views::{AssociationView, RulesView};

/// Where an association stands among all of its cluster: what is between its two numbers is below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub left: u32,
    pub right: u32,
}

impl RulesView {
    /// Associations in the order of the tree: an account, its users, then the accounts below it, by name.
    pub fn tree<'a>(&'a self, cluster: &'a str) -> Vec<(&'a AssociationView, usize)> {
        let here = self.associations.iter().filter(|one| one.cluster == cluster);
        let mut ordered = self.arranged(here.collect());
        // What does not hang on the root is nobody's.
        let top = |one: &AssociationView| one.account == ROOT && one.user_name.is_empty();
        let mut inside = false;
        ordered.retain(|(one, depth)| {
            inside = if *depth == 0 { top(one) } else { inside };
            inside
        });
        ordered
    }

    /// Some associations as a tree of their own: each below the one above it, if that is among them, users first, by
    /// name, and what has the same name in the order of [`RulesView::spans`].
    pub fn arranged<'a>(
        &'a self,
        some: Vec<&'a AssociationView>,
    ) -> Vec<(&'a AssociationView, usize)> {
        let there: BTreeSet<(&str, &str)> = some
            .iter()
            .filter(|one| one.user_name.is_empty())
            .map(|one| (one.cluster.as_str(), one.account.as_str()))
            .collect();
        let above = |one: &'a AssociationView| {
            let name = if one.user_name.is_empty() { &one.parent } else { &one.account };
            let above = (one.cluster.as_str(), name.as_str());
            there.contains(&above).then_some(above)
        };
        let spans = self.spans();
        let span = |one: &AssociationView| spans.get(&one.id).copied().unwrap_or_default();
        let mut levels: BTreeMap<Option<(&str, &str)>, Vec<&'a AssociationView>> = BTreeMap::new();
        for one in some {
            levels.entry(above(one)).or_default().push(one);
        }
        for level in levels.values_mut() {
            level.sort_by_key(|one| {
                let is_account = one.user_name.is_empty();
                let name = if is_account { &one.account } else { &one.user_name };
                (&one.cluster, is_account, name, span(one))
            });
        }
        let mut ordered = Vec::new();
        walk(&mut levels, None, 0, &mut ordered);
        ordered
    }

    /// Where each association stands, by its number: what was added last comes first within its account,
    /// what one command added there in its order.
    pub fn spans(&self) -> BTreeMap<u32, Span> {
        let mut below: BTreeMap<(&str, &str), Vec<&AssociationView>> = BTreeMap::new();
        for one in &self.associations {
            let account = if one.user_name.is_empty() { &one.parent } else { &one.account };
            below.entry((&one.cluster, account)).or_default().push(one);
        }
        for level in below.values_mut() {
            let mut firsts: BTreeMap<&str, u32> = BTreeMap::new();
            for one in level.iter().filter(|one| !one.user_name.is_empty()) {
                let first = firsts.entry(&one.user_name).or_insert(one.id);
                *first = one.id.min(*first);
            }
            level.sort_by_key(|one| {
                // Rows of before there were runs have none.
                let first = firsts.get(one.user_name.as_str()).copied().unwrap_or(one.id);
                (Reverse(if one.run > 0 { one.run } else { first * 2 }), one.id)
            });
        }
        let mut spans = BTreeMap::new();
        for cluster in &self.clusters {
            let mut next = 1;
            // Only the root has nothing above it.
            for top in below.remove(&(cluster.name.as_str(), "")).unwrap_or_default() {
                number(&mut below, top, &mut next, &mut spans);
            }
        }
        spans
    }
}

impl AssociationView {
    /// The cluster, and the account that it is directly below.
    pub fn place(&self) -> (String, String) {
        let above = if self.user_name.is_empty() { &self.parent } else { &self.account };
        (self.cluster.clone(), above.clone())
    }
}

/// Levels are taken out as they are walked, so that a circle comes to an end.
fn walk<'a>(
    levels: &mut BTreeMap<Option<(&'a str, &'a str)>, Vec<&'a AssociationView>>,
    level: Option<(&'a str, &'a str)>,
    depth: usize,
    ordered: &mut Vec<(&'a AssociationView, usize)>,
) {
    for one in levels.remove(&level).unwrap_or_default() {
        ordered.push((one, depth));
        if one.user_name.is_empty() {
            walk(levels, Some((&one.cluster, &one.account)), depth + 1, ordered);
        }
    }
}

fn number<'a>(
    below: &mut BTreeMap<(&'a str, &'a str), Vec<&'a AssociationView>>,
    one: &'a AssociationView,
    next: &mut u32,
    spans: &mut BTreeMap<u32, Span>,
) {
    let left = *next;
    *next += 1;
    if one.user_name.is_empty() {
        for child in below.remove(&(one.cluster.as_str(), one.account.as_str())).unwrap_or_default()
        {
            number(below, child, next, spans);
        }
    }
    spans.insert(one.id, Span { left, right: *next });
    *next += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::ClusterView;

    fn one(id: u32, account: &str, parent: &str, user: &str) -> AssociationView {
        AssociationView {
            id,
            cluster: "c".to_string(),
            account: account.to_string(),
            parent: parent.to_string(),
            user_name: user.to_string(),
            ..AssociationView::default()
        }
    }

    #[test]
    fn a_part_of_the_tree_is_shown_as_slurm_shows_it() {
        let rules = RulesView {
            clusters: vec![ClusterView { name: "c".to_string(), ..ClusterView::default() }],
            associations: vec![
                one(1, "root", "", ""),
                one(2, "root", "", "root"),
                one(3, "chem", "root", ""),
                one(4, "bio", "chem", ""),
                one(5, "chem", "", "zoe"),
                one(6, "chem", "", "ann"),
                one(7, "bio", "", "ann"),
            ],
            ..RulesView::default()
        };
        let ids = |list: Vec<(&AssociationView, usize)>| -> Vec<(u32, usize)> {
            list.into_iter().map(|(one, depth)| (one.id, depth)).collect()
        };
        assert_eq!(ids(rules.tree("c")), [(1, 0), (2, 1), (3, 1), (6, 2), (5, 2), (4, 2), (7, 3)]);
        // Newest first: root is 1, chem 2, ann 3, zoe 5, bio 7, its ann 8; then root's root.
        let spans = rules.spans();
        let left = |id: u32| spans[&id].left;
        assert_eq!([1, 3, 6, 5, 4, 7, 2].map(left), [1, 2, 3, 5, 7, 8, 12]);
        assert_eq!(spans[&1].right, 14);
        // chem and dept came by one command: they stand in its order.
        let mut rules = rules;
        rules.associations[2].run = 6;
        rules.associations.push(AssociationView { run: 6, ..one(8, "dept", "root", "") });
        let spans = rules.spans();
        assert!(spans[&3].left < spans[&8].left);
        rules.associations[7].run = 16;
        let spans = rules.spans();
        assert!(spans[&8].left < spans[&3].left);
        // Without the account between them, bio stands alone, and before root by its name.
        let some = [1, 4, 7].map(|id| &rules.associations[id - 1]).to_vec();
        assert_eq!(ids(rules.arranged(some)), [(4, 0), (7, 1), (1, 0)]);
    }
}
