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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::book::tests::book;

    /// As Slurm showed it for the same tree and the same usage.
    #[test]
    fn factors_are_those_of_slurm() {
        let book = book(&[
            "add account ca fairshare=3",
            "add account cb fairshare=1",
            "add account cc parent=ca fairshare=2",
            "add account cd parent=ca fairshare=5",
            "add user daemon account=cc fairshare=1",
            "add user bin account=cc fairshare=4",
            "add user sys account=cd",
            "add user games account=cb",
            "add user man account=ca fairshare=2",
        ]);
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
