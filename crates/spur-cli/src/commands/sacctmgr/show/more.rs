//! Conditions that only `sacctmgr show` has.

use spur_core::accounts::manage::Word;
use spur_core::views::{AssociationView, RulesView};

/// Conditions that only `show` has.
#[derive(Default)]
pub(super) struct More {
    pub(super) organizations: Vec<String>,
    pub(super) descriptions: Vec<String>,
    pub(super) levels: Vec<String>,
    pub(super) default_accounts: Vec<String>,
    pub(super) default_wckeys: Vec<String>,
    pub(super) preempt_modes: Vec<String>,
    pub(super) qos: Vec<String>,
    pub(super) default_qos: Vec<String>,
    pub(super) ids: Vec<u32>,
    /// `type=`, `name=` of resources.
    pub(super) kinds: Vec<String>,
}

impl More {
    /// Takes what it knows; the rest is for others.
    pub(super) fn of(conditions: &[Word]) -> (More, Vec<Word>) {
        let (mut more, mut rest) = (More::default(), Vec::new());
        for word in conditions {
            let list = word.list();
            match word {
                word if word.is(&["organizations"]) => more.organizations.extend(list),
                word if word.is(&["descriptions"]) => more.descriptions.extend(list),
                word if word.is(&["adminlevel"]) && word.name.len() > 1 => more.levels.extend(list),
                word if word.is(&["defaultwckeys"]) && word.name.len() > 7 => {
                    more.default_wckeys.extend(list);
                }
                word if word.is(&["preemptmodes"]) && word.name.len() > 2 => {
                    more.preempt_modes.extend(list);
                }
                word if word.is(&["defaultaccounts"]) => more.default_accounts.extend(list),
                word if word.is(&["defaultqos"]) && word.name.len() > 7 => {
                    more.default_qos.extend(list);
                }
                word if word.is(&["qos", "qoslevel"]) => more.qos.extend(list),
                word if word.is(&["type"]) => more.kinds.extend(list),
                word if word.is(&["ids", "associds"]) && word.name.len() > 1 => {
                    more.ids.extend(list.iter().filter_map(|id| id.parse::<u32>().ok()));
                }
                word => rest.push(word.clone()),
            }
        }
        (more, rest)
    }

    /// Whether an association has one of the QOS that are asked for.
    pub(super) fn allows(&self, all: &RulesView, one: &AssociationView) -> bool {
        if self.qos.is_empty() && self.default_qos.is_empty() {
            return true;
        }
        let whole = all.effective(one);
        has(&self.default_qos, &whole.default_qos)
            && (self.qos.is_empty() || whole.qos.iter().any(|qos| has(&self.qos, qos)))
    }
}

/// Whether a list has a word; an empty one has every word.
pub(super) fn has(list: &[String], word: &str) -> bool {
    list.is_empty() || list.iter().any(|one| one.eq_ignore_ascii_case(word))
}
