//! Whether nodes are shared with other jobs: `--exclusive[=user|mcs|topo]`, `--oversubscribe`.

use std::fmt;

/// With whom a job shares its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// `--exclusive`: with nobody.
    Exclusive,
    /// `--exclusive=user`: with jobs of the same user.
    User,
    /// `--exclusive=mcs`: with jobs of the same security label.
    Mcs,
    /// `--exclusive=topo`: with nobody, in the whole segment of the network.
    Topology,
    /// `--oversubscribe`: with anybody, down to the cores.
    Oversubscribe,
}

/// An unknown word. Slurm's tools say `Invalid --exclusive specification`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of exclusive use `{0}'")]
pub struct Error(pub String);

/// Reads the value of `--exclusive`.
pub fn parse_exclusive(value: &str) -> Result<Sharing, Error> {
    match value.to_ascii_lowercase().as_str() {
        "" | "exclusive" => Ok(Sharing::Exclusive),
        "user" => Ok(Sharing::User),
        "mcs" => Ok(Sharing::Mcs),
        "topo" => Ok(Sharing::Topology),
        _ => Err(Error(value.to_owned())),
    }
}

/// As `scontrol show job` writes it behind `OverSubscribe=`, where a job that said nothing is `OK`.
impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sharing::Exclusive => "NO",
            Sharing::User => "USER",
            Sharing::Mcs => "MCS",
            Sharing::Topology => "TOPO",
            Sharing::Oversubscribe => "YES",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_slurm_reads_them() {
        for (value, shown) in
            [("", "NO"), ("exclusive", "NO"), ("user", "USER"), ("USER", "USER"), ("mcs", "MCS")]
        {
            assert_eq!(parse_exclusive(value).unwrap().to_string(), shown, "{value:?}");
        }
        for value in ["bogus", "us", "no"] {
            assert_eq!(parse_exclusive(value), Err(Error(value.to_owned())));
        }
    }
}
