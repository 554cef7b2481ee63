//! Users whom a change of an account reaches: those who have nothing of their own there.

use super::Word;
use crate::accounts::{allowed, settings};
use crate::views::{AssociationView, RulesView};

/// What is handed down, by its label, and whether an association has it of its own.
type HandedDown = (&'static str, fn(&AssociationView) -> bool);

const HANDED_DOWN: &[HandedDown] = &[
    ("DefQOS", |one| !one.default_qos.is_empty()),
    ("MaxJobs", |one| one.max_jobs.is_some()),
    ("MaxJobsPrioAcc", |one| one.max_jobs_accrue.is_some()),
    ("MaxSubmitJobs", |one| one.max_submit.is_some()),
    // Of these lists something may always come from above.
    ("MaxTRES", |_| false),
    ("MaxTRESMins", |_| false),
    ("MaxTRESPerNode", |_| false),
    ("MaxWall", |one| one.max_wall.is_some()),
    ("MinPrioThresh", |one| one.min_priority_threshold.is_some()),
    ("Priority", |one| one.priority.is_some()),
    ("QOS", |one| !one.qos.is_empty() && !allowed::is_difference(&one.qos)),
];

/// The line of a user's association that is modified.
pub(super) fn line(one: &AssociationView) -> String {
    let place = match one.partition.as_str() {
        "" => String::new(),
        name => format!(" P = {name}"),
    };
    let (cluster, account, user) = (&one.cluster, &one.account, &one.user_name);
    format!("  C = {cluster:<10.10} A = {account:<20.20} U = {user:<9}{place}\n")
}

/// The lines of users below an account that have from it what these words set.
pub(super) fn lines(rules: &RulesView, account: &AssociationView, words: &[&Word]) -> String {
    let labels: Vec<&str> = words
        .iter()
        .filter_map(|word| settings::find(settings::ASSOCIATION, &word.name))
        .map(|setting| setting.label.trim_end())
        .collect();
    let set: Vec<&HandedDown> =
        HANDED_DOWN.iter().filter(|(label, _)| labels.contains(label)).collect();
    if set.is_empty() {
        return String::new();
    }
    let inherits = |user: &AssociationView| {
        let line = rules.lineage(&user.cluster, &user.account);
        let is_it = |above: &&AssociationView| {
            (&above.cluster, &above.account) == (&account.cluster, &account.account)
        };
        let Some(place) = line.iter().position(is_it) else {
            return false;
        };
        let between = || std::iter::once(user).chain(line[..place].iter().copied());
        set.iter().any(|(_, has_own)| !between().any(has_own))
    };
    let users = rules.associations.iter().filter(|one| !one.user_name.is_empty());
    let mut heirs: Vec<&AssociationView> = users.filter(|one| inherits(one)).collect();
    let spans = rules.spans();
    heirs.sort_by_key(|one| spans.get(&one.id).copied());
    heirs.into_iter().map(line).collect()
}
