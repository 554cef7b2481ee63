//! Changes to the rules as `sacctmgr` and others ask for them: words in, rows and what to say out.
//! Nothing is changed here; the plan is sent to accounting, which looks at rights and at what must hold.

mod add;
mod federation;
mod heirs;
mod modify;
mod remove;
mod rename;
mod resource;
#[cfg(test)]
mod tests;
mod usage;

pub use add::add;
pub use modify::modify;
pub use remove::remove;
pub use usage::is_reset;

use crate::accounts::settings::{self, Change, Fault, Setting};
use crate::tres::{self, Tres};
use crate::views::{AssociationView, QosView, RuleRow, RulesView};

/// A change, thought out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What is not as it was asked for, told first.
    pub warns: String,
    /// What the user is told before being asked.
    pub says: String,
    /// What is asked, if not whether to commit.
    pub question: Option<&'static str>,
    /// Rows to put.
    pub put: Vec<RuleRow>,
    /// Rows to take out.
    pub remove: Vec<RuleRow>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing to do; said on standard output.
    Nothing(String),
    /// There is nothing to do, said on standard output, for a reason that is said as an error.
    Vain { why: String, says: String },
    /// There is nothing to do, and that is well; said on standard output.
    Done(String),
    /// It is not done, and that is no failure of the command.
    Left(String),
    /// Something is wrong with the words.
    Wrong(String),
}

impl Refusal {
    /// What is said.
    pub fn text(self) -> String {
        match self {
            Refusal::Vain { why, says } => format!("{why}\n{says}"),
            Refusal::Nothing(text)
            | Refusal::Done(text)
            | Refusal::Left(text)
            | Refusal::Wrong(text) => text,
        }
    }
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    Account,
    Association,
    Cluster,
    Coordinator,
    Federation,
    Qos,
    Resource,
    User,
}

/// One word of the command: `name=value`, or a value alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Before the sign; empty for a value alone. An account may be called `acct`.
    pub name: String,
    /// The sign.
    pub change: Change,
    /// Behind it.
    pub value: String,
    /// The word as it was written.
    pub text: String,
}

/// The words of a command: which things, and what to set of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Which.
    pub which: Vec<Word>,
    /// What.
    pub set: Vec<Word>,
}

impl Word {
    /// Reads one word; quotes around a value are dropped.
    pub fn parse(text: &str) -> Word {
        let (name, change, value) = match text.split_once('=') {
            None => ("", Change::Set, text),
            Some((name, value)) => match (name.strip_suffix('+'), name.strip_suffix('-')) {
                (Some(name), _) => (name, Change::Add, value),
                (_, Some(name)) => (name, Change::Remove, value),
                _ => (name, Change::Set, value),
            },
        };
        let value = value.trim_matches(['"', '\'']);
        let (mut name, value) = (name.to_lowercase(), value.to_string());
        if name == "acct" {
            name = "account".to_string();
        }
        Word { name, change, value, text: text.to_string() }
    }

    /// Whether the word is one of these, or the beginning of one.
    pub fn is(&self, names: &[&str]) -> bool {
        !self.name.is_empty() && names.iter().any(|name| name.starts_with(&self.name))
    }

    /// The values of a list, in lower case as names are kept.
    pub fn list(&self) -> Vec<String> {
        let words = self.value.split(',').map(|word| word.trim().to_lowercase());
        words.filter(|word| !word.is_empty()).collect()
    }

    /// What is said of a thing, in lower case as Slurm keeps it.
    fn said(&self) -> String {
        self.value.to_lowercase()
    }

    fn unknown_option(&self) -> Refusal {
        let text =
            format!(" Unknown option: {}\n Use keyword 'where' to modify condition", self.text);
        Refusal::Wrong(text)
    }

    /// That nothing counts a resource that is to be limited.
    pub fn unknown_resource(&self, name: &str) -> Refusal {
        let why = format!("slurmdb_format_tres_str: no TRES known by type {name}");
        let hint = "Use keyword 'where' to modify condition";
        let text = format!("sacctmgr: error: {why}\n Unknown option: {}\n {hint}", self.text);
        Refusal::Wrong(text)
    }

    /// That this is no condition of what is asked for.
    pub fn unknown_condition(&self) -> Refusal {
        let text = format!(" Unknown condition: {}\n Use keyword 'set' to modify value", self.text);
        Refusal::Wrong(text)
    }
}

/// The resources by name (`gres/gpu`, `license/matlab`) that words would limit, each with its word.
pub fn resources_named(entity: Entity, request: &Request) -> Vec<(&Word, String)> {
    let is_limit = |word: &&Word| match entity {
        Entity::Qos => settings::find(settings::QOS, &word.name).is_some_and(Setting::counts),
        Entity::Account | Entity::Cluster | Entity::User => {
            settings::find(settings::ASSOCIATION, &word.name).is_some_and(Setting::counts)
        }
        _ => false,
    };
    let words = request.which.iter().chain(&request.set).filter(is_limit);
    let named = |word: &Word| -> Vec<String> {
        let said = tres::parse(&word.value).unwrap_or_default().into_keys();
        said.filter(|one| matches!(one, Tres::Named { .. })).map(|one| one.to_string()).collect()
    };
    words.flat_map(|word| named(word).into_iter().map(move |name| (word, name))).collect()
}

/// Sets what a table knows by this word.
fn set<Row>(
    rules: &RulesView,
    table: &'static [Setting<Row>],
    row: &mut Row,
    word: &Word,
) -> Result<&'static Setting<Row>, Refusal> {
    let setting = settings::find(table, &word.name).ok_or_else(|| word.unknown_option())?;
    known_qos(rules, setting.names[0], word)?;
    (setting.set)(row, word.change, &word.value).map_err(|fault| {
        let text = setting.refusal(&fault, &word.text, &word.value);
        if fault == Fault::Flag { Refusal::Nothing(text) } else { Refusal::Wrong(text) }
    })?;
    Ok(setting)
}

/// A QOS that a setting names is there.
fn known_qos(rules: &RulesView, setting: &str, word: &Word) -> Result<(), Refusal> {
    let list = match setting {
        "QosLevel" | "Preempt" => word.list(),
        "DefaultQOS" => vec![word.value.to_lowercase()],
        _ => return Ok(()),
    };
    let names = list.iter().map(|name| name.trim_start_matches(['+', '-']));
    // `-1` takes away what is no list of names to begin with.
    let is_none = |name: &&str| match setting {
        "DefaultQOS" => word.value == "-1",
        "Preempt" => matches!(*name, "" | "1"),
        _ => name.is_empty(),
    };
    let Some(bad) = names.filter(|name| !is_none(name)).find(|name| rules.qos(name).is_none())
    else {
        return Ok(());
    };
    if setting == "DefaultQOS" {
        return Err(Refusal::Wrong(format!(
            "You gave a bad default qos '{bad}'.  Use 'list qos' to get complete list."
        )));
    }
    let mut known: Vec<_> = rules.qos.iter().collect();
    known.sort_by_key(|qos| qos.id);
    let known: Vec<&str> = known.iter().map(|qos| qos.name.as_str()).collect();
    Err(Refusal::Wrong(format!(
        "sacctmgr: error: You gave a bad qos '{bad}'. Valid QOS's are {}",
        known.join(",")
    )))
}

/// Refuses a QOS that would preempt itself by way of others.
fn no_preemption_loop(rules: &RulesView, changed: &[&QosView]) -> Result<(), Refusal> {
    let preempts = |name: &str| -> Vec<String> {
        let changed = changed.iter().find(|qos| qos.name == name).copied();
        changed.or_else(|| rules.qos(name)).map(|qos| qos.preempt.clone()).unwrap_or_default()
    };
    for qos in changed {
        let (mut seen, mut next) = (Vec::new(), preempts(&qos.name));
        while let Some(name) = next.pop() {
            if name == qos.name {
                let why = "QOS Preemption loop detected";
                return Err(Refusal::Wrong(format!(
                    "sacctmgr: error: {why}\n Error with request: {why}"
                )));
            }
            if !seen.contains(&name) {
                next.extend(preempts(&name));
                seen.push(name);
            }
        }
    }
    Ok(())
}

/// The conditions that associations are found by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    pub names: Vec<String>,
    pub clusters: Vec<String>,
    pub accounts: Vec<String>,
    pub users: Vec<String>,
    pub partitions: Vec<String>,
    pub parents: Vec<String>,
    /// `user=`: what is no user's.
    pub no_user: bool,
}

impl Conditions {
    /// Reads conditions; names alone are the entity's own.
    pub fn read(words: &[Word]) -> Result<Conditions, Refusal> {
        let mut found = Conditions::default();
        for word in words {
            let list = word.list();
            match word {
                word if word.name.is_empty() || word.is(&["names"]) => found.names.extend(list),
                word if word.is(&["clusters"]) => found.clusters.extend(list),
                word if word.is(&["accounts"]) => found.accounts.extend(list),
                word if word.is(&["users"]) => {
                    found.no_user |= list.is_empty();
                    found.users.extend(list);
                }
                word if word.is(&["partitions"]) => found.partitions.extend(list),
                word if word.is(&["parents"]) => found.parents.extend(list),
                word => return Err(word.unknown_condition()),
            }
        }
        Ok(found)
    }

    /// Whether an association meets all of them but the names.
    pub fn meets(&self, one: &AssociationView) -> bool {
        let is =
            |list: &[String], word: &str| list.is_empty() || list.iter().any(|one| one == word);
        is(&self.clusters, &one.cluster)
            && is(&self.accounts, &one.account)
            && is(&self.users, &one.user_name)
            && !(self.no_user && self.users.is_empty() && !one.user_name.is_empty())
            && is(&self.partitions, &one.partition)
            && is(&self.parents, &one.parent)
    }
}

/// Refuses a name that is none; what is said then is the entity's own.
fn no_blank_names(word: &Word, says: &str) -> Result<(), Refusal> {
    match word.list().is_empty() {
        true => Err(Refusal::Vain {
            why: " No blank names are allowed when adding.".to_string(),
            says: says.to_string(),
        }),
        false => Ok(()),
    }
}

/// An association and the QOS that its jobs have by default, as refusals list them.
fn default_qos_line(one: &AssociationView) -> String {
    let user = match one.user_name.as_str() {
        "" => String::new(),
        name => format!("U = {name:<9}"),
    };
    let (qos, cluster, account) = (&one.default_qos, &one.cluster, &one.account);
    format!("  DefQOS = {qos:<10.10} C = {cluster:<10.10} A = {account:<20.20} {user}")
}

/// The clusters a change is about: those named, or all.
fn clusters(rules: &RulesView, named: &[String]) -> Result<Vec<String>, Refusal> {
    let known = |name: &String| rules.clusters.iter().any(|cluster| cluster.name == *name);
    if let Some(unknown) = named.iter().find(|name| !known(name)) {
        let text = format!(
            " This cluster '{unknown}' doesn't exist.\n        Contact your admin to add it to accounting."
        );
        return Err(Refusal::Wrong(text));
    }
    match named.is_empty() {
        true => Ok(rules.clusters.iter().map(|cluster| cluster.name.clone()).collect()),
        false => Ok(named.to_vec()),
    }
}

/// Reads `None`, `Operator`, `Administrator`, or the beginning of one.
pub fn admin_level(word: &Word) -> Result<u32, Refusal> {
    let said = word.value.to_lowercase();
    let levels = ["none", "operator", "administrator"];
    match levels.iter().position(|level| !said.is_empty() && level.starts_with(&said)) {
        Some(place) => Ok(place as u32 + 1),
        None => Err(Refusal::Wrong(format!(" Bad AdminLevel value '{}'", word.value))),
    }
}
