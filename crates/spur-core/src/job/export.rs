//! Which variables a job gets: `--export=ALL,K=V`, `NONE`, `NIL`, or names.

use std::collections::BTreeMap;

/// What of the caller's environment goes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export {
    /// `ALL`, and the variables named behind it.
    All(Vec<Variable>),
    /// `NONE`: only Slurm's own; the user's login environment is made on the node.
    None,
    /// `NIL`: only Slurm's own.
    Nil,
    /// These, and Slurm's own.
    Only(Vec<Variable>),
}

/// A variable to pass on, or to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// `NAME=VALUE`; without it the caller's value goes along, if there is one.
    pub value: Option<String>,
}

/// Reads `--export`; any text means something. Commas inside of quotes separate nothing, and the
/// quotes stay part of the value.
pub fn parse(text: &str) -> Export {
    let items = items(text);
    let is = |item: &str, word: &str| item.eq_ignore_ascii_case(word);
    // `NONE,K=V` is NONE, but `NIL,K=V` is a list.
    if items.first().is_some_and(|first| is(first, "NONE")) {
        return Export::None;
    }
    if is(text, "NIL") {
        return Export::Nil;
    }
    let all = items.iter().any(|item| is(item, "ALL"));
    let variables = items.into_iter().filter(|item| !is(item, "ALL")).map(variable).collect();
    if all { Export::All(variables) } else { Export::Only(variables) }
}

fn items(text: &str) -> Vec<&str> {
    let mut quote = None;
    text.split(move |next: char| {
        match quote {
            Some(open) if open == next => quote = None,
            None if next == '"' || next == '\'' => quote = Some(next),
            _ => {}
        }
        next == ',' && quote.is_none()
    })
    .filter(|item| !item.is_empty())
    .collect()
}

fn variable(item: &str) -> Variable {
    let (name, value) = match item.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (item, None),
    };
    Variable { name: name.to_owned(), value }
}

impl Export {
    /// Whether all of the caller's variables go along, and nothing is said of any.
    pub fn is_everything(&self) -> bool {
        matches!(self, Export::All(variables) if variables.is_empty())
    }

    /// The variables a job gets when the caller has these. Slurm's own always go along.
    pub fn apply(&self, caller: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let (all, variables): (bool, &[Variable]) = match self {
            Export::All(variables) => (true, variables),
            Export::Only(variables) => (false, variables),
            Export::None | Export::Nil => (false, &[]),
        };
        let own = |name: &str| name.starts_with("SLURM_");
        let mut given: BTreeMap<_, _> = caller
            .iter()
            .filter(|(name, _)| all || own(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for Variable { name, value } in variables {
            let value = value.as_ref().or_else(|| caller.get(name));
            given.extend(value.map(|value| (name.clone(), value.clone())));
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn given(text: &str) -> String {
        let caller = [("FOO", "foo val"), ("BAR", "bar"), ("SLURM_EXTRA", "9")];
        let caller = caller.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let given = parse(text).apply(&caller.into_iter().collect());
        given.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("|")
    }

    /// `srun --export=…` and the environment of its task, without what Slurm adds.
    #[rustfmt::skip]
    static OBSERVED: &[(&str, &str)] = &[
        ("ALL", "BAR=bar|FOO=foo val|SLURM_EXTRA=9"), ("all", "BAR=bar|FOO=foo val|SLURM_EXTRA=9"),
        ("NONE", "SLURM_EXTRA=9"), ("NIL", "SLURM_EXTRA=9"), ("none", "SLURM_EXTRA=9"),
        ("FOO", "FOO=foo val|SLURM_EXTRA=9"), ("FOO,BAR", "BAR=bar|FOO=foo val|SLURM_EXTRA=9"),
        ("ALL,FOO", "BAR=bar|FOO=foo val|SLURM_EXTRA=9"),
        ("ALL,K=V", "BAR=bar|FOO=foo val|K=V|SLURM_EXTRA=9"), ("K=V", "K=V|SLURM_EXTRA=9"),
        ("K=V,FOO", "FOO=foo val|K=V|SLURM_EXTRA=9"),
        ("ALL,K=a b", "BAR=bar|FOO=foo val|K=a b|SLURM_EXTRA=9"),
        ("ALL,K=\"a,b\"", "BAR=bar|FOO=foo val|K=\"a,b\"|SLURM_EXTRA=9"),
        ("ALL,K='a,b'", "BAR=bar|FOO=foo val|K='a,b'|SLURM_EXTRA=9"),
        ("K=a\\,b", "K=a\\|SLURM_EXTRA=9"), ("NONE,K=V", "SLURM_EXTRA=9"),
        ("K=", "K=|SLURM_EXTRA=9"), ("K", "SLURM_EXTRA=9"), ("", "SLURM_EXTRA=9"),
        ("K=1,K=2", "K=2|SLURM_EXTRA=9"), ("NONE,FOO", "SLURM_EXTRA=9"),
        ("A=1=2", "A=1=2|SLURM_EXTRA=9"), ("FOO=x", "FOO=x|SLURM_EXTRA=9"),
        (",FOO", "FOO=foo val|SLURM_EXTRA=9"), ("NIL,FOO", "FOO=foo val|SLURM_EXTRA=9"),
        ("K=V,ALL", "BAR=bar|FOO=foo val|K=V|SLURM_EXTRA=9"),
        ("K=\"a b\",L=c", "K=\"a b\"|L=c|SLURM_EXTRA=9"),
        ("K=a\"b,c\"d", "K=a\"b,c\"d|SLURM_EXTRA=9"), ("K=a;b", "K=a;b|SLURM_EXTRA=9"),
        (" K=V", " K=V|SLURM_EXTRA=9"), ("K='", "K='|SLURM_EXTRA=9"),
    ];

    #[test]
    fn the_environment_is_what_slurm_would_give() {
        for (text, environment) in OBSERVED {
            assert_eq!(given(text), *environment, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_means_something(text in "(ALL|NONE|[A-C]|=|,|'|\"){0,12}|\\PC{0,16}") {
            let _ = parse(&text).apply(&BTreeMap::new());
        }
    }
}
