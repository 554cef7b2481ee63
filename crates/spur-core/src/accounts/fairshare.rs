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
    /// With the factors that each place has.
    pub(super) fn of(shares: Vec<Share>) -> Tree {
        let factors = shares.iter().filter_map(|share| Some((share.id, share.factor?)));
        Tree { factors: factors.collect(), shares }
    }

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
    let top = Place { one: root, depth: 0, norm_shares: 0.0 };
    walk.level(&[top], 1, &mut ranked);
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

    /// What is below an account, and how far below the root. What is below an account that has its parent's share
    /// stands beside it.
    fn around(&self, one: &AssociationView, depth: u32) -> Vec<(&'a AssociationView, u32)> {
        let mut found = Vec::new();
        for child in self.children(one) {
            found.push((child, depth));
            if passes_on(child) && depth as usize <= MOST_LEVELS {
                found.extend(self.around(child, depth + 1));
            }
        }
        found
    }

    /// Ranks what is below accounts that are equal so far, and puts their users in order.
    fn level(&mut self, parents: &[Place<'a>], levels: usize, ranked: &mut Vec<Vec<u32>>) {
        if levels > MOST_LEVELS {
            return;
        }
        let mut siblings: Vec<(f64, Place<'a>)> = Vec::new();
        for parent in parents {
            let children = self.around(parent.one, parent.depth + 1);
            let own = |(one, _): &&(&AssociationView, u32)| !is_from_parent(one);
            let promised: f64 = children.iter().filter(own).map(|(one, _)| shares_of(one)).sum();
            let together: f64 = self.children(parent.one).iter().map(|one| self.sum(one, 0)).sum();
            for (one, depth) in children {
                let usage = self.sum(one, 0);
                let norm_shares = match is_from_parent(one) {
                    true if passes_on(one) => 0.0,
                    true => parent.norm_shares,
                    false => part(shares_of(one), promised),
                };
                let effective_usage = part(usage, together);
                let level = (effective_usage > 0.0 && !is_from_parent(one))
                    .then(|| norm_shares / effective_usage);
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
                // Who used nothing goes first, and who has the share of the whole account.
                if !passes_on(one) {
                    let rank = level.unwrap_or(f64::INFINITY);
                    siblings.push((rank, Place { one, depth, norm_shares }));
                }
            }
        }
        siblings.sort_by(|a, b| b.0.total_cmp(&a.0));
        for equals in siblings.chunk_by(|a, b| a.0 == b.0) {
            let users = equals.iter().filter(|(_, it)| !it.one.user_name.is_empty());
            let users: Vec<u32> = users.map(|(_, it)| it.one.id).collect();
            if !users.is_empty() {
                ranked.push(users);
            }
            let accounts = equals.iter().filter(|(_, it)| it.one.user_name.is_empty());
            let accounts: Vec<Place<'a>> = accounts.map(|(_, it)| *it).collect();
            if !accounts.is_empty() {
                self.level(&accounts, levels + 1, ranked);
            }
        }
    }
}

/// Where something stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    one: &'a AssociationView,
    depth: u32,
    norm_shares: f64,
}

/// Trees are not deeper than this.
const MOST_LEVELS: usize = 1000;

fn shares_of(one: &AssociationView) -> f64 {
    f64::from(one.shares)
}

/// Whether it has no share of its own.
fn is_from_parent(one: &AssociationView) -> bool {
    one.shares == SHARES_FROM_PARENT
}

/// Whether an account leaves it to what is below to share with its siblings.
fn passes_on(one: &AssociationView) -> bool {
    is_from_parent(one) && one.user_name.is_empty()
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

    /// As Slurm showed it for the same tree and the same usage.
    #[test]
    fn whoever_has_the_parents_share_stands_for_the_whole_account() {
        let book = book(&[
            "add account fa fairshare=10",
            "add account fb parent=fa fairshare=3",
            "add user alice account=fa fairshare=parent",
            "add user bob account=fa fairshare=2",
            "add user games account=fb fairshare=parent",
            "add user daemon account=fb fairshare=4",
            "add account fc fairshare=parent",
            "add user games account=fc",
            "add account lim",
            "add user bob account=lim",
        ]);
        let id = |account: &str, user: &str| book.association(account, user, "").expect("it").id;
        let used = [
            ("root", "root", 2.0),
            ("fa", "alice", 1279.0),
            ("fa", "bob", 639.0),
            ("fb", "games", 159.0),
            ("fb", "daemon", 935.0),
            ("fc", "games", 319.0),
            ("lim", "bob", 632.0),
        ];
        let used = used.iter().map(|(account, user, used)| (id(account, user), *used)).collect();
        let tree = tree(&book, &used);
        let row = |account: &str, user: &str| {
            let id = if user.is_empty() {
                book.account(account).expect("it").id
            } else {
                id(account, user)
            };
            let it = tree.shares.iter().find(|share| share.id == id).expect("a place");
            let factor =
                it.factor.map_or_else(String::new, |factor| format!("{:.0}", factor * 7.0));
            let level = it.level.map_or_else(String::new, |level| format!("{level:.2}"));
            format!("{:.4} {:.3} {level} {factor}", it.norm_shares, it.effective_usage)
        };
        assert_eq!(row("fa", ""), "0.7692 0.760 1.01 ");
        assert_eq!(row("fa", "alice"), "0.7692 0.425  6");
        assert_eq!(row("fa", "bob"), "0.4000 0.212 1.89 5");
        assert_eq!(row("fb", ""), "0.6000 0.363 1.65 ");
        assert_eq!(row("fb", "games"), "0.6000 0.145  4");
        assert_eq!(row("fb", "daemon"), "1.0000 0.855 1.17 3");
        assert_eq!(row("fc", ""), "0.0000 0.080  ");
        assert_eq!(row("fc", "games"), "0.0769 0.080 0.96 2");
        assert_eq!(row("lim", "bob"), "1.0000 1.000 1.00 1");
    }
}
