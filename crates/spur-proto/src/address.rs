//! Where a controller or an agent listens.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where somebody listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket of this machine; the kernel tells who calls.
    Unix(PathBuf),
    /// A port of a machine; always TLS.
    Tls {
        /// The machine's name or number.
        host: String,
        /// The port.
        port: u16,
    },
}

/// The controllers' port.
pub const CONTROLLER_PORT: u16 = 6817;

/// Accounting's port.
pub const ACCOUNTING_PORT: u16 = 6819;

/// Where accounting of this machine listens when it was started by hand.
pub const SYSTEM_ACCOUNTING: &str = "/run/spur/spurdbd.sock";

/// Where a controller of this machine listens when it was started by hand.
pub const SYSTEM_SOCKET: &str = "/run/spur/spurctld.sock";

impl Address {
    /// Reads `unix:/path`, a bare absolute path, `host:port`, or `http://host:port`. Whatever the scheme
    /// says, the connection is TLS.
    pub fn parse(text: &str) -> Option<Address> {
        let path = text.strip_prefix("unix:").unwrap_or(text);
        if path.starts_with('/') {
            return Some(Address::Unix(PathBuf::from(path)));
        }
        let bare = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let has_scheme = bare.is_some();
        let bare = bare.unwrap_or(text).trim_end_matches('/');
        let (host, port) = match bare.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            _ if has_scheme => (bare, CONTROLLER_PORT),
            _ => return None,
        };
        let host = match host.strip_prefix('[') {
            Some(host) => host.strip_suffix(']')?,
            None if host.contains(':') => return None,
            None => host,
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
        let fits = !host.is_empty() && host.chars().all(fits);
        fits.then(|| Address::Tls { host: host.to_string(), port })
    }

    /// Reads a list with commas between the addresses; nothing when one of them is none.
    pub fn parse_list(text: &str) -> Option<Vec<Address>> {
        text.split(',').map(|word| Address::parse(word.trim())).collect()
    }

    /// The addresses as one word, as [`Address::parse_list`] reads it.
    pub fn list(addresses: &[Address]) -> String {
        addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(",")
    }

    /// The socket, where it is one of this machine.
    pub fn socket(&self) -> Option<&Path> {
        match self {
            Address::Unix(path) => Some(path),
            Address::Tls { .. } => None,
        }
    }

    /// An address that names a daemon's port of this machine is its socket, where there is one.
    pub fn nearest(self) -> Address {
        let socket = match &self {
            Address::Tls { port: CONTROLLER_PORT, .. } => PathBuf::from(SYSTEM_SOCKET),
            Address::Tls { port: ACCOUNTING_PORT, .. } => PathBuf::from(SYSTEM_ACCOUNTING),
            _ => return self,
        };
        if self.is_here() && socket.exists() { Address::Unix(socket) } else { self }
    }

    /// Whether it is a port of this very machine.
    pub fn is_here(&self) -> bool {
        matches!(self, Address::Tls { host, .. } if is_here(host))
    }
}

fn is_here(host: &str) -> bool {
    let own = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    ["localhost", "127.0.0.1", "::1"].contains(&host) || own.is_some_and(|own| own == host)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tls { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tls { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

impl From<Address> for Vec<Address> {
    fn from(address: Address) -> Vec<Address> {
        vec![address]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_addresses_read_back() {
        let list = "unix:/run/a.sock,ctl1:6817,[::1]:6817,10.0.0.1:7000";
        let addresses = Address::parse_list(list).expect("is read");
        assert_eq!(Address::list(&addresses), list);
        assert_eq!(Address::parse_list("/run/a.sock").expect("a bare path").len(), 1);
        assert_eq!(Address::parse_list("unix:/run/a.sock,here"), None);
    }

    #[test]
    fn older_notes_say_http_and_mean_the_machine() {
        let ctl = Address::Tls { host: "ctl".to_string(), port: 6817 };
        assert_eq!(Address::parse("http://ctl:6817"), Some(ctl.clone()));
        assert_eq!(Address::parse("https://ctl/"), Some(ctl));
        for odd in ["", ":6817", "ctl:port", "a b:1", "::1:6817", "[::1:6817", "ctl:70000"] {
            assert_eq!(Address::parse(odd), None, "{odd}");
        }
    }
}
