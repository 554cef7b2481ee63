//! What a machine may do, as its certificate says it.
//!
//! A role is a name in the certificate (`n1.compute.spur`), so that dialling a machine checks its role with
//! the means every TLS library has: whoever dials a controller asks for `controller.spur`.

use std::fmt;

/// What a machine is to the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Decides. All controllers are one to whoever dials them.
    Controller,
    /// Runs jobs under this name.
    Compute(String),
    /// Has users who hand jobs in; says who they are.
    Login(String),
    /// Keeps the history. One for all, to whoever dials it.
    Dbd,
}

/// The words for roles in tokens and commands.
pub const WORDS: &[&str] = &["compute", "login", "controller", "dbd"];

impl Role {
    /// From the word for it and the machine's name.
    pub fn new(word: &str, name: &str) -> Option<Role> {
        match word {
            "controller" => return Some(Role::Controller),
            "dbd" => return Some(Role::Dbd),
            _ => {}
        }
        let name = is_name(name).then(|| name.to_string())?;
        match word {
            "compute" => Some(Role::Compute(name)),
            "login" => Some(Role::Login(name)),
            _ => None,
        }
    }

    /// The machine's name, where the role has one.
    pub fn name(&self) -> &str {
        match self {
            Role::Compute(name) | Role::Login(name) => name,
            Role::Controller | Role::Dbd => "",
        }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Role::Controller => "controller",
            Role::Compute(_) => "compute",
            Role::Login(_) => "login",
            Role::Dbd => "dbd",
        }
    }

    /// The name in the certificate.
    pub fn certificate_name(&self) -> String {
        match self {
            Role::Controller | Role::Dbd => format!("{}.spur", self.word()),
            Role::Compute(name) | Role::Login(name) => format!("{name}.{}.spur", self.word()),
        }
    }

    /// The role that a name in a certificate stands for.
    pub fn from_certificate_name(name: &str) -> Option<Role> {
        let name = name.strip_suffix(".spur")?;
        match name.rsplit_once('.') {
            None => ["controller", "dbd"].contains(&name).then(|| Role::new(name, ""))?,
            Some((_, "controller" | "dbd")) => None,
            Some((name, word)) => Role::new(word, name),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Controller | Role::Dbd => f.write_str(self.word()),
            Role::Compute(name) | Role::Login(name) => write!(f, "{} {name}", self.word()),
        }
    }
}

/// What may stand in a certificate as the name of a machine.
pub fn is_name(name: &str) -> bool {
    let label = |label: &str| {
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (1..=63).contains(&label.len())
            && label.chars().all(inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 200 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_certificates_read_back() {
        let roles = [
            Role::Controller,
            Role::Dbd,
            Role::Compute("n1".to_string()),
            Role::Login("login.site_a".to_string()),
        ];
        for role in roles {
            assert_eq!(Role::from_certificate_name(&role.certificate_name()), Some(role));
        }
    }

    #[test]
    fn no_name_of_a_machine_makes_it_a_controller() {
        assert_eq!(Role::new("compute", "n1.controller.spur\0"), None);
        assert_eq!(Role::new("compute", "*"), None);
        assert_eq!(Role::new("compute", ""), None);
        assert_eq!(Role::from_certificate_name("x.controller.spur"), None);
        assert_eq!(Role::from_certificate_name("x.dbd.spur"), None);
        assert_eq!(Role::from_certificate_name("compute.spur"), None);
        assert_eq!(Role::from_certificate_name("controller"), None);
    }
}
