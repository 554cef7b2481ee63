//! Fair Tree: siblings are ranked by what they were promised over what they used, level by level, and users in
//! the order of the tree so ranked. Whoever is in an account that used less goes before everybody in one that
//! used more.

use std::collections::BTreeMap;

use crate::accounts::book::Book;
use crate::accounts::settings::SHARES_FROM_PARENT;
use crate::views::AssociationView;

/// One place in the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The association's number.
    pub id: u32,
    /// How far below the root.
    pub depth: u32,
    /// Its part of what its siblings are promised.
    pub norm_shares: f64,
    /// What it and everything below used.
    pub usage: f64,
    /// Its part of what all used.
    pub norm_usage: f64,
    /// Its part of what its siblings used.
    pub effective_usage: f64,
    /// Promise over use; nothing where nothing was used.
    pub level: Option<f64>,
    /// Of users: the rank as a part of one.
    pub factor: Option<f64>,
}

/// All places of the tree, in the order of `sshare`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// By the tree.
    pub shares: Vec<Share>,
    factors: BTreeMap<u32, f64>,
}

impl Tree {
    /// The factor of an association's jobs.
    pub fn factor(&self, association: u32) -> f64 {
        self.factors.get(&association).copied().unwrap_or(0.0)
    }
}

/// Ranks everybody. `used` has what each association used by itself.
pub fn tree(book: &Book, used: &BTreeMap<u32, f64>) -> Tree {
    let mut below: BTreeMap<&str, Vec<&AssociationView>> = BTreeMap::new();
    for one in book.associations() {
        let above = if one.user_name.is_empty() { &one.parent } else { &one.account };
        below.entry(above.as_str()).or_default().push(one);
    }
    // Users come before accounts, each by name.
    for list in below.values_mut() {
        list.sort_by_key(|one| {
            (one.user_name.is_empty(), &one.user_name, &one.account, &one.partition)
        });
    }
    let Some(root) = book.root() else { return Tree::default() };
    let mut walk = Walk { below, used, shares: Vec::new(), all: 0.0 };
    let usage = walk.sum(root, 0);
    walk.all = usage;
    walk.shares.push(Share {
        id: root.id,
        depth: 0,
        norm_shares: 0.0,
        usage,
        norm_usage: 1.0,
        effective_usage: 1.0,
        level: None,
        factor: None,
    });
    let mut ranked = Vec::new();
    walk.level(&[root], 1, &mut ranked);
    let users: usize = ranked.iter().map(Vec::len).sum();
    let mut factors = BTreeMap::new();
    let mut before = 0;
    for equals in ranked {
        for id in &equals {
            factors.insert(*id, (users - before) as f64 / users as f64);
        }
        before += equals.len();
    }
    let mut shares = walk.shares;
    for share in &mut shares {
        share.factor = factors.get(&share.id).copied();
    }
    // Shown by name, whatever the ranks.
    let order: BTreeMap<u32, usize> =
        in_order(book).into_iter().enumerate().map(|(place, id)| (id, place)).collect();
    shares.sort_by_key(|share| order.get(&share.id).copied().unwrap_or(usize::MAX));
    Tree { shares, factors }
}

fn in_order(book: &Book) -> Vec<u32> {
    book.rules().tree(book.cluster()).into_iter().map(|(one, _)| one.id).collect()
}

struct Walk<'a> {
    below: BTreeMap<&'a str, Vec<&'a AssociationView>>,
    used: &'a BTreeMap<u32, f64>,
    shares: Vec<Share>,
    all: f64,
}

impl<'a> Walk<'a> {
    fn children(&self, one: &AssociationView) -> Vec<&'a AssociationView> {
        if !one.user_name.is_empty() {
            return Vec::new();
        }
        self.below.get(one.account.as_str()).cloned().unwrap_or_default()
    }

    fn sum(&self, one: &AssociationView, depth: usize) -> f64 {
        let own = self.used.get(&one.id).copied().unwrap_or(0.0);
        if depth > MOST_LEVELS {
            return own;
        }
        own + self.children(one).iter().map(|child| self.sum(child, depth + 1)).sum::<f64>()
    }

    /// Ranks what is below accounts that are equal so far, and puts their users in order.
    fn level(&mut self, parents: &[&'a AssociationView], depth: u32, ranked: &mut Vec<Vec<u32>>) {
        if depth as usize > MOST_LEVELS {
            return;
        }
        let mut siblings: Vec<(Option<f64>, &'a AssociationView)> = Vec::new();
        for parent in parents {
            let children = self.children(parent);
            let promised: f64 = children.iter().map(|one| shares_of(one)).sum();
            let usages: Vec<f64> = children.iter().map(|one| self.sum(one, 0)).collect();
            let together: f64 = usages.iter().sum();
            for (one, usage) in children.into_iter().zip(usages) {
                let norm_shares = part(shares_of(one), promised);
                let effective_usage = part(usage, together);
                let level = (effective_usage > 0.0).then(|| norm_shares / effective_usage);
                self.shares.push(Share {
                    id: one.id,
                    depth,
                    norm_shares,
                    usage,
                    norm_usage: part(usage, self.all),
                    effective_usage,
                    level,
                    factor: None,
                });
                siblings.push((level, one));
            }
        }
        // Who used nothing goes first.
        let rank = |level: Option<f64>| level.unwrap_or(f64::INFINITY);
        siblings.sort_by(|a, b| rank(b.0).total_cmp(&rank(a.0)));
        for equals in siblings.chunk_by(|a, b| rank(a.0) == rank(b.0)) {
            let users = equals.iter().filter(|(_, one)| !one.user_name.is_empty());
            let users: Vec<u32> = users.map(|(_, one)| one.id).collect();
            if !users.is_empty() {
                ranked.push(users);
            }
            let accounts = equals.iter().filter(|(_, one)| one.user_name.is_empty());
            let accounts: Vec<&AssociationView> = accounts.map(|(_, one)| *one).collect();
            if !accounts.is_empty() {
                self.level(&accounts, depth + 1, ranked);
            }
        }
    }
}

/// Trees are not deeper than this.
const MOST_LEVELS: usize = 1000;

fn shares_of(one: &AssociationView) -> f64 {
    // A share of the parent's own is as good as one.
    if one.shares == SHARES_FROM_PARENT { 1.0 } else { f64::from(one.shares) }
}

fn part(one: f64, all: f64) -> f64 {
    if all > 0.0 { one / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::book::tests::book;

    fn factors(book: &Book, used: &[(&str, &str, f64)]) -> Vec<String> {
        let id = |account: &str, user: &str| book.association(account, user, "").expect("it").id;
        let used = used.iter().map(|(account, user, used)| (id(account, user), *used)).collect();
        let tree = tree(book, &used);
        let users = book.associations().filter(|one| !one.user_name.is_empty());
        let mut lines: Vec<String> = users
            .filter(|one| one.user_name != "root")
            .map(|one| format!("{} {:.3}", one.user_name, tree.factor(one.id)))
            .collect();
        lines.sort();
        lines
    }

    /// Two accounts of equal promise; ann and bob in one, cid in the other.
    fn two() -> Book {
        book(&[
            "add account physics",
            "add account chem",
            "add user ann account=physics",
            "add user bob account=physics",
            "add user cid account=chem",
        ])
    }

    #[test]
    fn an_account_that_used_less_goes_first_whoever_in_it_used_most() {
        let used = [("physics", "ann", 10.0), ("physics", "bob", 90.0), ("chem", "cid", 200.0)];
        // root's own user has used nothing and is first of four.
        assert_eq!(factors(&two(), &used), ["ann 0.750", "bob 0.500", "cid 0.250"]);
    }

    #[test]
    fn equals_share_a_rank() {
        assert_eq!(factors(&two(), &[]), ["ann 0.750", "bob 0.750", "cid 0.750"]);
    }

    #[test]
    fn promises_weigh() {
        let book = book(&[
            "add account physics",
            "add user ann account=physics fairshare=10",
            "add user bob account=physics fairshare=1",
        ]);
        let used = [("physics", "ann", 50.0), ("physics", "bob", 50.0)];
        assert_eq!(factors(&book, &used), ["ann 0.667", "bob 0.333"]);
    }

    #[test]
    fn parts_are_those_of_siblings() {
        let book = two();
        let ann = book.association("physics", "ann", "").expect("ann").id;
        let tree = tree(&book, &BTreeMap::from([(ann, 8.0)]));
        let share = |id: u32| tree.shares.iter().find(|share| share.id == id).expect("a place");
        let physics = share(book.account("physics").expect("it").id);
        assert_eq!((physics.usage, physics.effective_usage), (8.0, 1.0));
        assert!((physics.norm_shares - 1.0 / 3.0).abs() < 1e-9, "root's user is a sibling");
        assert_eq!((share(ann).norm_shares, share(ann).effective_usage), (0.5, 1.0));
        assert_eq!(tree.shares[0].depth, 0);
    }
}
