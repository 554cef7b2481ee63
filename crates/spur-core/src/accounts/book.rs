//! The rules as the controllers keep them: all rows, and those of this cluster at hand by name.

use std::collections::BTreeMap;

use crate::accounts::allowed;
use crate::accounts::rules::ROOT;
use crate::auth::Level;
use crate::views::{AssociationView, QosView, RulesView};

/// Rules in force on one cluster.
#[derive(Clone, Debug, Default)]
pub struct Book {
    rules: RulesView,
    cluster: String,
    /// Where they are, in the order of account, user and partition; an account's own has neither user nor partition.
    associations: Vec<usize>,
    qos: BTreeMap<String, usize>,
    largest_qos_priority: u32,
    largest_association_priority: u32,
    limits_accrual: bool,
}

impl PartialEq for Book {
    fn eq(&self, other: &Book) -> bool {
        self.rules == other.rules && self.cluster == other.cluster
    }
}

impl Book {
    /// Users who may do more than others.
    pub fn levels(&self) -> impl Iterator<Item = (String, Level)> + '_ {
        let all = self.rules.users.iter().map(|user| (&user.name, self.rules.level(&user.name)));
        all.filter(|(_, level)| *level != Level::None).map(|(name, level)| (name.clone(), level))
    }

    /// Users who look after accounts, with all of those, and the ones below them.
    pub fn coordinators(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let own = self.associations().filter(|one| one.user_name.is_empty());
        for account in own {
            let line = self.lineage(account);
            let above = line.iter().filter_map(|one| self.rules.account(&one.account));
            let mut names: Vec<&String> = above.flat_map(|one| &one.coordinators).collect();
            names.sort();
            names.dedup();
            for name in names {
                found.entry(name.clone()).or_default().push(account.account.clone());
            }
        }
        found
    }

    /// Puts the rules of a cluster at hand.
    pub fn of(rules: RulesView, cluster: &str) -> Book {
        let here = rules.associations.iter().enumerate().filter(|(_, one)| one.cluster == cluster);
        let mut associations: Vec<usize> = here.clone().map(|(place, _)| place).collect();
        // Of two with one name the later one counts.
        associations.reverse();
        associations.sort_by_key(|place| key(&rules.associations[*place]));
        associations.dedup_by_key(|place| key(&rules.associations[*place]));
        let qos = rules.qos.iter().enumerate().map(|(place, one)| (one.name.clone(), place));
        let by_association = here
            .clone()
            .any(|(_, one)| one.grp_jobs_accrue.is_some() || one.max_jobs_accrue.is_some());
        let by_qos = rules.qos.iter().any(|one| {
            let limits = [
                one.grp_jobs_accrue,
                one.max_jobs_accrue_per_user,
                one.max_jobs_accrue_per_account,
            ];
            limits.iter().any(Option::is_some)
        });
        let priorities = here.map(|(_, one)| one.priority.unwrap_or(0));
        Book {
            associations,
            qos: qos.collect(),
            largest_qos_priority: rules.qos.iter().map(|one| one.priority).max().unwrap_or(0),
            largest_association_priority: priorities.max().unwrap_or(0),
            limits_accrual: by_association || by_qos,
            cluster: cluster.to_string(),
            rules,
        }
    }

    /// All rows, of all clusters.
    pub fn rules(&self) -> &RulesView {
        &self.rules
    }

    /// Which cluster's they are.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Whether anything bounds how many waiting jobs grow older.
    pub fn limits_accrual(&self) -> bool {
        self.limits_accrual
    }

    /// Nothing is said about this cluster yet, or there is no accounting.
    pub fn is_empty(&self) -> bool {
        self.root().is_none()
    }

    /// What a user has in an account, for a partition or for all.
    pub fn association(
        &self,
        account: &str,
        user: &str,
        partition: &str,
    ) -> Option<&AssociationView> {
        let find = |partition: &str| {
            let places = &self.associations;
            let wanted = (account, user, partition);
            let found =
                places.binary_search_by_key(&wanted, |it| key(&self.rules.associations[*it]));
            found.ok().map(|at| &self.rules.associations[places[at]])
        };
        let own = (!partition.is_empty()).then(|| find(partition)).flatten();
        own.or_else(|| find(""))
    }

    /// An account's own association.
    pub fn account(&self, account: &str) -> Option<&AssociationView> {
        self.association(account, "", "")
    }

    /// An association and everything above it, the root last.
    pub fn lineage<'a>(&'a self, first: &'a AssociationView) -> Vec<&'a AssociationView> {
        let mut line = vec![first];
        let mut next = match first.user_name.is_empty() {
            true => self.parent(first),
            false => self.account(&first.account),
        };
        while let Some(one) = next.filter(|_| line.len() <= self.associations.len()) {
            line.push(one);
            next = self.parent(one);
        }
        line
    }

    fn parent(&self, account: &AssociationView) -> Option<&AssociationView> {
        let parent = Some(account.parent.as_str()).filter(|name| !name.is_empty());
        self.account(parent?)
    }

    /// The account a user's jobs go to when they name none.
    pub fn default_account<'a>(&'a self, user: &'a str) -> Option<&'a str> {
        let own = || self.of_user(user);
        let named = own().find(|one| one.is_default).map(|one| one.account.as_str());
        let known = self.rules.user(user).map(|user| user.default_account.as_str());
        let has = |account: &&str| self.association(account, user, "").is_some();
        named.or(known.filter(has)).filter(|name| !name.is_empty())
    }

    /// Everything a user has here.
    pub fn of_user<'a>(&'a self, user: &'a str) -> impl Iterator<Item = &'a AssociationView> {
        self.associations().filter(move |one| one.user_name == user)
    }

    /// Every association of this cluster.
    pub fn associations(&self) -> impl Iterator<Item = &AssociationView> {
        self.associations.iter().map(|place| &self.rules.associations[*place])
    }

    /// The QOS of this name.
    pub fn qos(&self, name: &str) -> Option<&QosView> {
        self.qos.get(name).map(|place| &self.rules.qos[*place])
    }

    /// Every QOS.
    pub fn all_qos(&self) -> impl Iterator<Item = &QosView> {
        self.rules.qos.iter()
    }

    /// What is said first on the way up.
    pub fn inherited<'a, T>(
        &'a self,
        association: &'a AssociationView,
        get: impl Fn(&'a AssociationView) -> Option<T>,
    ) -> Option<T> {
        self.lineage(association).into_iter().find_map(get)
    }

    /// The QOS that an association may use.
    pub fn qos_of(&self, association: &AssociationView) -> Vec<String> {
        let line = self.lineage(association);
        allowed::whole(line.into_iter().rev().map(|one| &one.qos[..]))
    }

    /// The QOS a job gets that names none.
    pub fn default_qos<'a>(&'a self, association: Option<&'a AssociationView>) -> &'a str {
        let said = |one: &'a AssociationView| {
            Some(one.default_qos.as_str()).filter(|name| !name.is_empty())
        };
        let own = association.and_then(|one| {
            self.inherited(one, said).or_else(|| match &self.qos_of(one)[..] {
                [only] => self.qos(only).map(|qos| qos.name.as_str()),
                _ => None,
            })
        });
        own.or_else(|| self.qos(NORMAL).map(|qos| qos.name.as_str())).unwrap_or_default()
    }

    /// A QOS's priority as a part of the largest.
    pub fn qos_factor(&self, name: &str) -> f64 {
        let own = self.qos(name).map_or(0, |qos| qos.priority);
        part(own, self.largest_qos_priority)
    }

    /// An association's priority.
    pub fn association_priority(&self, association: &AssociationView) -> u32 {
        self.inherited(association, |one| one.priority).unwrap_or(0)
    }

    /// The same as a part of the largest.
    pub fn association_factor(&self, association: &AssociationView) -> f64 {
        part(self.association_priority(association), self.largest_association_priority)
    }

    /// The root of the tree.
    pub fn root(&self) -> Option<&AssociationView> {
        self.account(ROOT)
    }
}

/// What an association is found by.
fn key(one: &AssociationView) -> (&str, &str, &str) {
    (&one.account, &one.user_name, &one.partition)
}

/// What jobs get where nothing else is said.
pub const NORMAL: &str = "normal";

fn part(own: u32, largest: u32) -> f64 {
    if largest == 0 { 0.0 } else { f64::from(own) / f64::from(largest) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::accounts::manage::{self, Entity, Request, Word};

    /// Rules made by lines of `sacctmgr add` and `modify`, on the cluster `c`.
    pub(crate) fn book(lines: &[&str]) -> Book {
        let mut rules = RulesView { version: 1, ..RulesView::default() };
        let mut last = 0;
        let mut put = |rules: &mut RulesView, rows: Vec<crate::views::RuleRow>| {
            for mut row in rows {
                if let Some(one) = &mut row.association
                    && one.id == 0
                {
                    last += 1;
                    one.id = last;
                }
                rules.put(row);
            }
        };
        put(&mut rules, RulesView::founding());
        put(&mut rules, RulesView::cluster_rows("c"));
        for line in lines {
            let mut words = line.split_whitespace();
            let verb = words.next().expect("a verb");
            let entity = match words.next().expect("a noun") {
                "account" => Entity::Account,
                "user" => Entity::User,
                _ => Entity::Qos,
            };
            let words: Vec<Word> = words.map(Word::parse).collect();
            let at = words.iter().position(|word| word.value == "set" && word.name.is_empty());
            let request = match (verb, at) {
                ("modify", Some(at)) => {
                    Request { which: words[..at].to_vec(), set: words[at + 1..].to_vec() }
                }
                _ => Request { which: words, set: Vec::new() },
            };
            let plan = match verb {
                "add" => manage::add(&rules, entity, &request),
                _ => manage::modify(&rules, entity, &request),
            };
            let plan = plan.unwrap_or_else(|refusal| panic!("{line}: {refusal:?}"));
            put(&mut rules, plan.put);
        }
        assert_eq!(rules.problems(), [""; 0]);
        Book::of(rules, "c")
    }
}
