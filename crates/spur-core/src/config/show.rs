//! Every setting with its value, for `scontrol show config` and its relatives.

use super::keys::{Key, Section};
use super::problems::without_password;
use super::resolve::Config;

/// One setting as it is in effect.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The section's name; empty for the top of the file.
    pub section: &'static str,
    pub key: &'static Key,
    /// As TOML, without passwords; empty when nothing is set.
    pub value: String,
}

impl Config {
    /// The settings of all sections that are written once, in the order of the document.
    pub fn settings(&self) -> Vec<Shown> {
        let mut settings = Vec::new();
        macro_rules! once {
            ($($section:ident)*) => { $(settings.extend(shown(&self.$section));)* };
        }
        once! {
            cluster controller agent cgroup accounting rest update mesh scheduler priority preemption
            jobs limits timeouts hooks health_check power
        }
        settings
    }
}

fn shown<S: Section>(section: &S) -> impl Iterator<Item = Shown> {
    let values = section.shown().into_iter();
    S::TABLE.keys.iter().zip(values).map(|(key, value)| Shown {
        section: S::TABLE.name,
        key,
        value: without_password(&value),
    })
}
