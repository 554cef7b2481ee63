//! Settings that name things: nodes, controllers, addresses, devices, and who is allowed in.

use std::net::SocketAddr;

use super::values::{Setting, Value, expected, quote};
use crate::hostlist;
use crate::ids::NodeName;

/// A list of nodes as written, and the names it stands for. A name may turn out to be a node set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeList {
    /// Every node there is, also those that join later.
    All,
    /// These, in the order written.
    Named { text: String, names: Vec<NodeName> },
}

impl NodeList {
    /// The names, none for "all".
    pub fn names(&self) -> &[NodeName] {
        match self {
            NodeList::All => &[],
            NodeList::Named { names, .. } => names,
        }
    }

    /// As written.
    pub fn text(&self) -> &str {
        match self {
            NodeList::All => "ALL",
            NodeList::Named { text, .. } => text,
        }
    }
}

impl Default for NodeList {
    fn default() -> NodeList {
        NodeList::Named { text: String::new(), names: Vec::new() }
    }
}

impl Setting for NodeList {
    fn kind() -> String {
        "nodes, as \"gpu[001-064],login1\", or \"all\"".to_string()
    }

    fn read(value: &Value) -> Result<NodeList, String> {
        let text = match value {
            Value::Text(text) => text.trim().to_string(),
            Value::List(_) => Vec::<String>::read(value)?.join(","),
            _ => return Err(expected::<NodeList>()),
        };
        if text.eq_ignore_ascii_case("all") {
            return Ok(NodeList::All);
        }
        let names = hostlist::expand(&text).map_err(|refused| refused.to_string())?;
        let names: Vec<NodeName> = names.into_iter().map(NodeName::from).collect();
        if let Some(odd) = names.iter().find(|name| !is_host_name(name.as_str())) {
            return Err(format!("{} is no name of a node", quote(odd.as_str())));
        }
        Ok(NodeList::Named { text, names })
    }

    fn toml(&self) -> String {
        match self {
            NodeList::All => quote("all"),
            NodeList::Named { text, .. } => quote(text),
        }
    }
}

/// Names that are allowed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Everybody.
    All,
    /// These alone.
    These(Vec<String>),
}

impl Allowed {
    /// Whether this name is among them.
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Allowed::All => true,
            Allowed::These(names) => names.iter().any(|allowed| allowed == name),
        }
    }
}

impl Setting for Allowed {
    fn kind() -> String {
        "list of names, or \"all\"".to_string()
    }

    fn read(value: &Value) -> Result<Allowed, String> {
        match value {
            Value::Text(text) if text.eq_ignore_ascii_case("all") => Ok(Allowed::All),
            other => Vec::read(other).map(Allowed::These).map_err(|_| expected::<Allowed>()),
        }
    }

    fn toml(&self) -> String {
        match self {
            Allowed::All => quote("all"),
            Allowed::These(names) => names.toml(),
        }
    }
}

/// A controller by name, and the address it is reached at where the name does not resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerHost {
    pub name: String,
    pub address: Option<String>,
}

impl Setting for ControllerHost {
    fn kind() -> String {
        "host, or \"host(address)\"".to_string()
    }

    fn read(value: &Value) -> Result<ControllerHost, String> {
        let Value::Text(text) = value else { return Err(expected::<ControllerHost>()) };
        let (name, address) = match text.split_once('(') {
            None => (text.as_str(), None),
            Some((name, rest)) => {
                let address = rest.strip_suffix(')').ok_or_else(expected::<ControllerHost>)?;
                (name, Some(address.trim().to_string()))
            }
        };
        let name = name.trim();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(expected::<ControllerHost>());
        }
        Ok(ControllerHost { name: name.to_string(), address })
    }

    fn toml(&self) -> String {
        match &self.address {
            None => quote(&self.name),
            Some(address) => quote(&format!("{}({address})", self.name)),
        }
    }
}

impl Setting for SocketAddr {
    fn kind() -> String {
        "address and port, as \"[::]:6817\" or \"127.0.0.1:6820\"".to_string()
    }

    fn read(value: &Value) -> Result<SocketAddr, String> {
        match value {
            Value::Text(text) => text.parse().map_err(|_| expected::<SocketAddr>()),
            _ => Err(expected::<SocketAddr>()),
        }
    }

    fn toml(&self) -> String {
        quote(&self.to_string())
    }
}

/// Generic resources of a node: `gpu:mi300x:8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGres {
    pub name: String,
    pub kind: Option<String>,
    pub count: u64,
    /// Jobs ask for it but do not use it up.
    pub no_consume: bool,
}

impl Setting for NodeGres {
    fn kind() -> String {
        "resource, as \"gpu:mi300x:8\"".to_string()
    }

    fn read(value: &Value) -> Result<NodeGres, String> {
        let Value::Text(text) = value else { return Err(expected::<NodeGres>()) };
        // Slurm itself prints sockets behind the count, as gpu:2(S:0-1); they say nothing here.
        let text = text.split_once('(').map_or(text.as_str(), |(head, _)| head);
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default().to_string();
        let mut gres = NodeGres { name, kind: None, count: 1, no_consume: false };
        let mut counted = false;
        for part in parts {
            match gres_count(part) {
                _ if part == "no_consume" => gres.no_consume = true,
                Some(count) if !counted => (gres.count, counted) = (count, true),
                None if gres.kind.is_none() && !counted && is_word(part) => {
                    gres.kind = Some(part.to_string());
                }
                _ => return Err(expected::<NodeGres>()),
            }
        }
        if is_word(&gres.name) { Ok(gres) } else { Err(expected::<NodeGres>()) }
    }

    fn toml(&self) -> String {
        let mut text = self.name.clone();
        for part in self.kind.as_deref().into_iter().chain(self.no_consume.then_some("no_consume"))
        {
            text.push(':');
            text.push_str(part);
        }
        quote(&format!("{text}:{}", self.count))
    }
}

/// Names become parts of paths and of lists, so they hold nothing that means something there.
fn is_host_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    !name.starts_with(['-', '.']) && name.chars().all(is_letter) && name.len() <= 253
}

fn is_word(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !text.is_empty() && text.chars().all(is_letter)
}

/// An age: `12months`, `90days`, `36hours`; a bare number is months, as in Slurm.
pub fn age_secs(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: i64 = digits.parse().ok().filter(|number| *number > 0)?;
    let hours = match &text[digits.len()..] {
        "" | "month" | "months" => 30 * 24,
        "day" | "days" => 24,
        "hour" | "hours" => 1,
        _ => return None,
    };
    number.checked_mul(hours * 3600)
}

/// A count with Slurm's K, M, G, T, each 1024 times the one before.
pub fn gres_count(text: &str) -> Option<u64> {
    let unit = "KMGTP".find(text.chars().last()?.to_ascii_uppercase());
    let digits = if unit.is_some() { &text[..text.len() - 1] } else { text };
    let factor = 1024u64.pow(unit.map_or(0, |place| place as u32 + 1));
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: Setting>(text: &str) -> Result<T, String> {
        T::read(&Value::Text(text.to_string()))
    }

    #[test]
    fn gres_have_kinds_counts_and_units() {
        let gres: NodeGres = text("gpu:mi300x:8").unwrap();
        assert_eq!((gres.kind.as_deref(), gres.count), (Some("mi300x"), 8));
        assert_eq!(text::<NodeGres>("gpu").unwrap().count, 1);
        assert_eq!(text::<NodeGres>("gpu:2(S:0-1)").unwrap().count, 2);
        let lustre: NodeGres = text("bandwidth:lustre:no_consume:4G").unwrap();
        assert_eq!((lustre.count, lustre.no_consume), (4 << 30, true));
        for wrong in ["", "gpu:", "gpu:2:2", "gpu:2:a", "gpu:a:b:1", ":1"] {
            assert!(text::<NodeGres>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_are_read_as_slurm_writes_them() {
        const HOUR: i64 = 3600;
        assert_eq!(age_secs("12months"), Some(360 * 24 * HOUR));
        assert_eq!(age_secs("90days"), Some(90 * 24 * HOUR));
        assert_eq!(age_secs("36hours"), Some(36 * HOUR));
        assert_eq!(age_secs("2"), Some(60 * 24 * HOUR));
        assert_eq!((age_secs("0"), age_secs("soon"), age_secs("-1days")), (None, None, None));
    }

    #[test]
    fn a_controller_may_carry_its_address() {
        let host: ControllerHost = text("ctrl1(10.0.0.1)").unwrap();
        assert_eq!((host.name.as_str(), host.address.as_deref()), ("ctrl1", Some("10.0.0.1")));
        assert!(text::<ControllerHost>("ctrl1(10.0.0.1").is_err());
    }
}
