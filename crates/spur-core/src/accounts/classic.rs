//! Fair share by Slurm's older formula: two to the power of what somebody used, over what was promised, with the
//! minus sign. What others of the account used counts in part.

use std::collections::BTreeMap;

use crate::accounts::book::Book;
use crate::accounts::fairshare::{self, Tree};
use crate::accounts::settings::SHARES_FROM_PARENT;

/// Everybody's factor. `used` has what each association used by itself.
pub fn tree(book: &Book, used: &BTreeMap<u32, f64>) -> Tree {
    let Tree { mut shares, .. } = fairshare::tree(book, used);
    let own = book.associations().filter(|one| one.shares != SHARES_FROM_PARENT);
    let own: std::collections::BTreeSet<u32> = own.map(|one| one.id).collect();
    // What counts as used, and the promise, of those above.
    let mut above: Vec<(f64, f64)> = Vec::new();
    for share in &mut shares {
        above.truncate(share.depth as usize);
        let (used, promise) = match above.last() {
            None => (1.0, 1.0),
            Some(of_account) if !own.contains(&share.id) => *of_account,
            Some(_) if share.depth == 1 => (share.norm_usage, share.norm_shares),
            Some((of_account, _)) => {
                let others = of_account - share.norm_usage;
                (share.norm_usage + others * share.norm_shares, share.norm_shares)
            }
        };
        above.push((used, promise));
        share.effective_usage = used;
        share.level = None;
        let is_root = share.depth == 0;
        let factor = if promise > 0.0 { (-used / promise).exp2() } else { 0.0 };
        share.factor = Some(factor).filter(|_| !is_root);
    }
    Tree::of(shares)
}

/// The same where it does no harm to be deep in the tree (`DEPTH_OBLIVIOUS`): an account's ratio of use to promise is
/// its own among its siblings, drawn towards its parent's the further that is from one.
pub fn depth_oblivious(book: &Book, used: &BTreeMap<u32, f64>) -> Tree {
    let Tree { mut shares, .. } = fairshare::tree(book, used);
    let own = book.associations().filter(|one| one.shares != SHARES_FROM_PARENT);
    let own: std::collections::BTreeSet<u32> = own.map(|one| one.id).collect();
    let mut above: Vec<f64> = Vec::new();
    for share in &mut shares {
        above.truncate(share.depth as usize);
        let ratio = match above.last() {
            None => 1.0,
            Some(parent) if !own.contains(&share.id) => *parent,
            Some(_) if share.effective_usage <= 0.0 => 0.0,
            Some(_) if share.norm_shares <= 0.0 => f64::INFINITY,
            Some(parent) => drawn(*parent, share.effective_usage / share.norm_shares),
        };
        above.push(ratio);
        share.level = None;
        share.factor = Some((-ratio).exp2()).filter(|_| share.depth > 0);
    }
    Tree::of(shares)
}

/// A ratio among siblings under a parent's. Who errs on the same side as the parent keeps its own.
fn drawn(parent: f64, own: f64) -> f64 {
    let opposite = parent.ln() * own.ln() < 0.0;
    let weight = if opposite { 1.0 / (1.0 + (5.0 * parent.ln()).powi(2)) } else { 1.0 };
    parent * own.powf(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::book::tests::book;

    const ACCOUNTS: &[&str] = &[
        "add account ca fairshare=3",
        "add account cb fairshare=1",
        "add account cc parent=ca fairshare=2",
        "add account cd parent=ca fairshare=5",
        "add user daemon account=cc fairshare=1",
        "add user bin account=cc fairshare=4",
        "add user sys account=cd",
        "add user games account=cb",
        "add user man account=ca fairshare=2",
    ];

    /// By hand, from the formula of Slurm's manual. First-level accounts, those alone in theirs and those that used
    /// nothing are as Slurm showed them.
    #[test]
    fn depth_does_no_harm_where_the_flag_says_so() {
        let book = book(ACCOUNTS);
        let id = |account: &str, user: &str| book.association(account, user, "").expect("it").id;
        let used = [("cc", "bin", 8.0), ("cc", "daemon", 4.0), ("cb", "games", 20.0)];
        let used = used.map(|(account, user, used)| (id(account, user), used)).into();
        let tree = depth_oblivious(&book, &used);
        for (account, user, factor) in [
            ("ca", "", 0.648420),
            ("cb", "", 0.114626),
            ("cb", "games", 0.114626),
            ("ca", "man", 1.0),
            ("cd", "sys", 1.0),
            ("cc", "", 0.57951),
            // On the same side of one as its account, and on the other.
            ("cc", "bin", 0.63467),
            ("cc", "daemon", 0.51016),
        ] {
            let found = tree.factor(id(account, user));
            assert!((found - factor).abs() < 0.0001, "{account} {user}: {found}");
        }
    }

    /// As Slurm showed it for the same tree and the same usage.
    #[test]
    fn factors_are_those_of_slurm() {
        let book = book(ACCOUNTS);
        let id = |account: &str, user: &str| book.association(account, user, "").expect("it").id;
        let used =
            [("cc", "bin"), ("cc", "daemon"), ("cb", "games")].map(|(a, u)| (id(a, u), 799.0));
        let mut used: BTreeMap<u32, f64> = used.into();
        used.insert(id("root", "root"), 8.0);
        let tree = tree(&book, &used);
        for (account, user, factor) in [
            ("root", "root", 0.9886),
            ("ca", "man", 0.6309),
            ("cc", "bin", 0.5956),
            ("cc", "daemon", 0.2512),
            ("cd", "sys", 0.7742),
            ("cb", "games", 0.7943),
        ] {
            let found = tree.factor(id(account, user));
            assert!((found - factor).abs() < 0.0005, "{user}: {found}");
        }
    }
}
