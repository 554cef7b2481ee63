//! `sacctmgr show account` and `show user`.

use spur_core::accounts::manage::Conditions;
use spur_core::fields::association::ASSOCIATION_FIELDS;
use spur_core::fields::rules::{self, ACCOUNT_FIELDS, PersonRow, USER_FIELDS};
use spur_core::views::{AssociationView, RulesView};

use super::associations::standing;
use super::more::has;
use super::tables::mixed;
use super::{Question, Wanted, own};

pub(super) fn accounts(asked: &Question<'_>) -> Result<String, String> {
    let Question { style, wanted, all, which, more } = *asked;
    let names = || which.names.iter().chain(&which.accounts);
    let mut things = all.accounts.clone();
    things.retain(|one| names().next().is_none() || names().any(|name| *name == one.name));
    things.retain(|one| {
        has(&more.organizations, &one.organization) && has(&more.descriptions, &one.description)
    });
    // Whoever looks after an account looks after what is below it; it is told to those who ask with `withcoord`.
    let cluster = own(all);
    for one in &mut things {
        if !wanted.with_coordinators {
            one.coordinators.clear();
            continue;
        }
        let line = all.lineage(&cluster, &one.name);
        let above = line.iter().filter_map(|above| all.account(&above.account));
        one.coordinators.extend(above.flat_map(|above| above.coordinators.iter().cloned()));
        one.coordinators.sort();
        one.coordinators.dedup();
    }
    things.sort_by(|a, b| a.name.cmp(&b.name));
    let coordinators = if wanted.with_coordinators { ",Coordinators" } else { "" };
    let format = match (wanted.format.as_deref(), wanted.with_associations) {
        (Some(format), _) => format.to_string(),
        (None, true) => format!("{}{coordinators}", rules::ACCOUNT_WITH),
        (None, false) => format!("{}{coordinators}", rules::ACCOUNT),
    };
    let standing = standing(all);
    let mut rows = Vec::new();
    for thing in things {
        if !wanted.with_associations {
            rows.push((thing, None));
            continue;
        }
        let conditions = Conditions { accounts: Vec::new(), ..which.clone() };
        let mine = standing.iter().filter(|one| {
            one.account == thing.name && conditions.meets(one) && more.allows(all, one)
        });
        rows.extend(mine.map(|one| (thing.clone(), Some(said(all, wanted, one)))));
    }
    mixed(style, ACCOUNT_FIELDS, ASSOCIATION_FIELDS, &format, &rows)
}

pub(super) fn users(asked: &Question<'_>) -> Result<String, String> {
    let Question { style, wanted, all, which, more } = *asked;
    let names = || which.names.iter().chain(&which.users);
    let mut things = all.users.clone();
    things.retain(|one| names().next().is_none() || names().any(|name| *name == one.name));
    let level = |one: &spur_core::views::UserView| {
        let level = rules::admin(one.admin_level).to_lowercase();
        // What is no level at all keeps nobody out, as in Slurm.
        let is_one = |said: &&String| LEVELS.iter().any(|known| known.starts_with(said.as_str()));
        let mut said = more.levels.iter().filter(is_one).peekable();
        said.peek().is_none() || said.any(|said| level.starts_with(said.as_str()))
    };
    things.retain(|one| {
        has(&more.default_accounts, &one.default_account)
            && has(&more.default_wckeys, &one.default_wckey)
            && level(one)
    });
    things.sort_by(|a, b| a.name.cmp(&b.name));
    let conditions = Conditions { users: Vec::new(), ..which.clone() };
    let coordinators = if wanted.with_coordinators { ",Coordinators" } else { "" };
    let with_keys = format!("{},DefaultWCKey,AdminLevel", rules::USER_FIRST);
    let columns = if wanted.tracks_wckeys { &with_keys } else { rules::USER };
    let plain = format!("{columns}{coordinators}");
    let format = match (wanted.format.as_deref(), wanted.with_associations) {
        (Some(format), _) => format.to_string(),
        (None, true) => rules::USER_WITH.replacen(rules::USER, &plain, 1),
        (None, false) => plain,
    };
    let standing = standing(all);
    let mut rows = Vec::new();
    for thing in things {
        let mine: Vec<_> = standing
            .iter()
            .filter(|one| {
                one.user_name == thing.name && conditions.meets(one) && more.allows(all, one)
            })
            .collect();
        let mut looks_after = Vec::new();
        if wanted.with_coordinators {
            let cluster = own(all);
            let names = all.accounts.iter().map(|account| account.name.clone());
            looks_after.extend(names.filter(|name| all.coordinates(&thing.name, &cluster, name)));
            looks_after.sort();
        }
        let thing = PersonRow { user: thing, looks_after };
        if wanted.with_associations {
            rows.extend(mine.iter().map(|one| (thing.clone(), Some(said(all, wanted, one)))));
        } else if conditions == Conditions::default()
            || !mine.is_empty()
            || which.names.contains(&thing.user.name)
        {
            rows.push((thing, None));
        }
    }
    mixed(style, USER_FIELDS, ASSOCIATION_FIELDS, &format, &rows)
}

const LEVELS: [&str; 3] = ["none", "operator", "administrator"];

/// An association with what it has from above, or only with what it says itself.
fn said(all: &RulesView, wanted: &Wanted, one: &AssociationView) -> AssociationView {
    if wanted.no_limits { all.own(one) } else { all.effective(one) }
}
