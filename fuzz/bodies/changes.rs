//! What `scontrol` and `sacctmgr` are told to change is taken or refused.

use spur_core::accounts::manage::{Conditions, Entity, Request, Word, add, modify, remove};
use spur_core::update::job::JobDraft;
use spur_core::update::{self, node, partition, reservation};
use spur_core::views::RulesView;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let assignments: Vec<_> = text.split(['\0', '\n']).filter_map(update::split).collect();
    for said in &assignments {
        if let Some(key) = update::job::find(&said.key) {
            let _ = key.set(&mut JobDraft::default(), &said.value);
            let _ = key.complaint(&said.value);
        }
        let _ = node::set(&mut Default::default(), &said.key, &said.value);
        let _ = partition::set(&mut Default::default(), &said.key, &said.value);
    }
    let _ = reservation::complaint(&assignments);
    let words: Vec<Word> = text.split(['\0', '\n']).map(Word::parse).collect();
    let _ = Conditions::read(&words);
    let half = words.len() / 2;
    let request = Request { which: words[..half].to_vec(), set: words[half..].to_vec() };
    let rules = RulesView::default();
    for entity in [Entity::Account, Entity::User, Entity::Qos, Entity::Coordinator] {
        let _ = add(&rules, entity, &request);
        let _ = modify(&rules, entity, &request);
        let _ = remove(&rules, entity, &request);
    }
}
