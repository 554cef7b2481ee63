//! What a reload would alter: what holds at once, and what waits for a restart, by name.

use std::fmt;

use super::keys::{Reload, Section};
use super::problems::without_password;
use super::resolve::Config;

/// One altered value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `scheduler.interval_secs`, or `partitions.gpu.max_time`.
    pub key: String,
    /// As TOML; empty when it was not there.
    pub from: String,
    /// As TOML; empty when it is gone.
    pub to: String,
    pub reload: Reload,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { key, from, to, reload } = self;
        match (from.as_str(), to.as_str()) {
            ("", "") => write!(f, "{key}")?,
            ("", to) => write!(f, "{key}: now {to}")?,
            (from, "") => write!(f, "{key}: no longer {from}")?,
            (from, to) => write!(f, "{key}: {from} becomes {to}")?,
        }
        match reload.restart() {
            Some(daemon) => write!(f, " (after a restart of {daemon})"),
            None => Ok(()),
        }
    }
}

/// Everything that differs between two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(pub Vec<Change>);

impl Changes {
    /// What `scontrol reconfigure` puts into effect.
    pub fn at_run_time(&self) -> impl Iterator<Item = &Change> {
        self.0.iter().filter(|change| change.reload == Reload::Now)
    }

    /// What waits for a restart.
    pub fn after_restart(&self) -> impl Iterator<Item = &Change> {
        self.0.iter().filter(|change| change.reload != Reload::Now)
    }

    /// Whether the two say the same.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Change::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// What differs from `old` to `new`, in the order of the document.
pub fn between(old: &Config, new: &Config) -> Changes {
    let mut changes = Vec::new();
    macro_rules! once {
        ($($section:ident)*) => {$(
            changes.extend(section(prefix(&old.$section), &old.$section, &new.$section));
        )*};
    }
    macro_rules! each {
        ($($list:ident by $name:expr;)*) => {$(
            changes.extend(list(stringify!($list), &old.$list, &new.$list, $name));
        )*};
    }
    once! {
        cluster controller agent cgroup accounting rest update mesh scheduler priority preemption jobs
        limits timeouts hooks health_check power
    }
    each! {
        partitions by |it| it.name.clone();
        nodes by |it| it.names.text().to_string();
        node_sets by |it| it.name.clone();
        down_nodes by |it| it.names.text().to_string();
        gres by |it| format!("{}@{}", it.name, it.nodes.text());
        switches by |it| it.name.clone();
        blocks by |it| it.name.clone();
    }
    Changes(changes)
}

fn prefix<S: Section>(_: &S) -> String {
    match S::TABLE.name {
        "" => String::new(),
        name => format!("{name}."),
    }
}

fn section<S: Section>(prefix: String, old: &S, new: &S) -> Vec<Change> {
    let differs = old.shown().into_iter().zip(new.shown()).map(|(old, new)| old != new);
    let public = |values: Vec<String>| values.into_iter().map(|value| without_password(&value));
    let values = public(old.shown()).zip(public(new.shown()));
    S::TABLE
        .keys
        .iter()
        .zip(values)
        .zip(differs)
        .filter(|(_, differs)| *differs)
        .map(|((key, (from, to)), _)| Change {
            key: format!("{prefix}{}", key.name),
            from,
            to,
            reload: key.reload,
        })
        .collect()
}

/// Things are told apart by name, wherever they stand in the file. Several of one name pair up in order.
fn list<S: Section>(kind: &str, old: &[S], new: &[S], name: impl Fn(&S) -> String) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut gone: Vec<(String, &S)> = old.iter().map(|it| (name(it), it)).collect();
    for it in new {
        let name = name(it);
        match gone.iter().position(|(old, _)| *old == name) {
            Some(place) => {
                let (_, before) = gone.remove(place);
                changes.extend(section(format!("{kind}.{name}."), before, it));
            }
            None => changes.push(whole::<S>(kind, &name, "added")),
        }
    }
    changes.extend(gone.iter().map(|(name, _)| whole::<S>(kind, name, "removed")));
    changes
}

fn whole<S: Section>(kind: &str, name: &str, what: &str) -> Change {
    // Things whose keys need a restart need it as a whole too.
    let reload = S::TABLE.keys.iter().map(|key| key.reload).max().unwrap_or(Reload::Now);
    let (from, to) = Default::default();
    Change { key: format!("{kind}.{name} {what}"), from, to, reload }
}
