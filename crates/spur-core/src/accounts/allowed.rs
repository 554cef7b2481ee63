//! The QOS that an association says: a list of its own, or what is added to and taken from the list above it
//! (`+high`, `-low`).

use crate::accounts::settings::Change;

/// Whether a list says only what differs from the one above.
pub fn is_difference(list: &[String]) -> bool {
    list.iter().any(|word| word.starts_with(['+', '-']))
}

/// The name in a word of a list.
pub fn name(word: &str) -> &str {
    word.trim_start_matches(['+', '-'])
}

/// What lists come to, from the topmost to the lowest.
pub fn whole<'a>(lists: impl IntoIterator<Item = &'a [String]>) -> Vec<String> {
    let mut all = Vec::new();
    for list in lists {
        match is_difference(list) {
            true => list.iter().for_each(|word| put(&mut all, word)),
            false if list.is_empty() => {}
            false => all = list.to_vec(),
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Changes a list by what was said; signs may stand before names, too.
pub fn change(list: &mut Vec<String>, change: Change, said: &[String]) {
    let signed = |word: &String| match change {
        Change::Add => format!("+{}", name(word)),
        Change::Remove => format!("-{}", name(word)),
        Change::Set => word.clone(),
    };
    let said: Vec<String> = said.iter().map(signed).collect();
    if !is_difference(&said) {
        *list = said;
    } else if list.is_empty() || is_difference(list) {
        for word in said {
            list.retain(|known| name(known) != name(&word));
            list.push(word);
        }
    } else {
        said.iter().for_each(|word| put(list, word));
    }
    list.sort();
    list.dedup();
}

fn put(all: &mut Vec<String>, word: &str) {
    all.retain(|known| known != name(word));
    if !word.starts_with('-') {
        all.push(name(word).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn differences_follow_what_is_above() {
        for (lists, come_to) in [
            (&["normal", "", "+high"][..], "high normal"),
            (&["normal high", "-high", ""][..], "normal"),
            (&["normal", "low", "+high -low"][..], "high"),
            (&["normal", "+high", "low"][..], "low"),
        ] {
            let lists: Vec<Vec<String>> = lists.iter().map(|words| list(words)).collect();
            assert_eq!(whole(lists.iter().map(|list| &list[..])), list(come_to), "{lists:?}");
        }
    }

    #[test]
    fn a_list_of_its_own_is_changed_and_none_becomes_a_difference() {
        for (has, how, said, has_then) in [
            ("", Change::Add, "high", "+high"),
            ("", Change::Set, "+high", "+high"),
            ("+high", Change::Remove, "high", "-high"),
            ("normal", Change::Add, "high", "high normal"),
            ("normal", Change::Set, "-normal", ""),
            ("+high", Change::Set, "low", "low"),
        ] {
            let mut it = list(has);
            change(&mut it, how, &list(said));
            assert_eq!(it, list(has_then), "{has} {how:?} {said}");
        }
    }
}
