//! How tasks are laid out: `--distribution=block:cyclic:fcyclic,Pack`, `plane=4`, `arbitrary`.

use std::fmt;

use crate::number;

/// How tasks go to nodes, the CPUs of a node to sockets, and those of a socket to cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Over nodes.
    pub nodes: Option<Nodes>,
    /// Over the sockets of a node.
    pub sockets: Option<Inside>,
    /// Over the cores of a socket.
    pub cores: Option<Inside>,
    /// `Pack` (true) or `NoPack` (false): whether few nodes are filled or all used alike.
    pub pack: Option<bool>,
}

/// How tasks go to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// A node is filled before the next one.
    Block,
    /// One task a node, round by round.
    Cyclic,
    /// So many tasks a node, round by round.
    Plane(u32),
    /// As the node list says.
    Arbitrary,
}

/// How a task's CPUs are taken inside of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Next to each other.
    Block,
    /// One after the other, a whole task at a time.
    Cyclic,
    /// One after the other, each CPU of a task too.
    Fcyclic,
}

/// A distribution that Slurm would refuse; `Invalid --distribution specification` follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Slurm says this line first.
    #[error("Invalid plane size or size not specified")]
    Plane,
    /// Unknown words.
    #[error("unknown distribution")]
    Unknown,
}

/// Reads `--distribution`. A `*` is the default of its level: block, then cyclic.
pub fn parse(text: &str) -> Result<Distribution, Error> {
    let mut read = Distribution::default();
    if text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("plane")) {
        let size = text[5..].strip_prefix('=').and_then(number::whole);
        let size = size.and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0);
        read.nodes = Some(Nodes::Plane(size.ok_or(Error::Plane)?));
        return Ok(read);
    }
    if text.eq_ignore_ascii_case("arbitrary") {
        read.nodes = Some(Nodes::Arbitrary);
        return Ok(read);
    }
    if let Some(pack) = pack(text) {
        read.pack = Some(pack);
        return Ok(read);
    }
    let (levels, packing) = text.split_once(',').unwrap_or((text, ""));
    if !packing.is_empty() {
        read.pack = Some(pack(packing).ok_or(Error::Unknown)?);
    }
    let mut levels = levels.split(':').filter(|level| !level.is_empty());
    read.nodes = match levels.next().map(str::to_ascii_lowercase).as_deref() {
        Some("block" | "*") => Some(Nodes::Block),
        Some("cyclic") => Some(Nodes::Cyclic),
        _ => return Err(Error::Unknown),
    };
    read.sockets = levels.next().map(inside).transpose()?;
    read.cores = levels.next().map(inside).transpose()?;
    if levels.next().is_some() { Err(Error::Unknown) } else { Ok(read) }
}

fn inside(level: &str) -> Result<Inside, Error> {
    match level.to_ascii_lowercase().as_str() {
        "block" => Ok(Inside::Block),
        "cyclic" | "*" => Ok(Inside::Cyclic),
        "fcyclic" => Ok(Inside::Fcyclic),
        _ => Err(Error::Unknown),
    }
}

fn pack(word: &str) -> Option<bool> {
    if word.eq_ignore_ascii_case("pack") {
        return Some(true);
    }
    word.eq_ignore_ascii_case("nopack").then_some(false)
}

/// What was said, as `SLURM_DISTRIBUTION` has it.
pub fn shown(text: &str) -> String {
    match text {
        "" => String::new(),
        text => parse(text).map_or_else(|_| text.to_string(), |read| read.to_string()),
    }
}

/// As in `SLURM_DISTRIBUTION`, where a plane's size is not told.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.nodes.map(|nodes| match nodes {
            Nodes::Block => "block",
            Nodes::Cyclic => "cyclic",
            Nodes::Plane(_) => "plane",
            Nodes::Arbitrary => "arbitrary",
        });
        let inside = |inside: Inside| match inside {
            Inside::Block => "block",
            Inside::Cyclic => "cyclic",
            Inside::Fcyclic => "fcyclic",
        };
        let levels = [nodes, self.sockets.map(inside), self.cores.map(inside)];
        f.write_str(&levels.into_iter().flatten().collect::<Vec<_>>().join(":"))?;
        let Some(pack) = self.pack else { return Ok(()) };
        f.write_str(if nodes.is_some() { "," } else { "" })?;
        f.write_str(if pack { "pack" } else { "nopack" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `salloc --distribution=…` and `SLURM_DISTRIBUTION` inside.
    #[rustfmt::skip]
    static ACCEPTED: &[(&str, &str)] = &[
        ("block", "block"), ("cyclic", "cyclic"), ("plane=4", "plane"), ("arbitrary", "arbitrary"),
        ("block:block", "block:block"), ("block:cyclic", "block:cyclic"),
        ("block:fcyclic", "block:fcyclic"), ("cyclic:block", "cyclic:block"),
        ("cyclic:cyclic", "cyclic:cyclic"), ("cyclic:fcyclic", "cyclic:fcyclic"),
        ("block:block:block", "block:block:block"), ("block:cyclic:fcyclic", "block:cyclic:fcyclic"),
        ("cyclic:block:cyclic", "cyclic:block:cyclic"), ("*", "block"), ("*:block", "block:block"),
        ("block:*", "block:cyclic"), ("*:*", "block:cyclic"), ("*:*:*", "block:cyclic:cyclic"),
        ("*:*:block", "block:cyclic:block"), ("block:*:cyclic", "block:cyclic:cyclic"),
        ("block,Pack", "block,pack"), ("block,NoPack", "block,nopack"), ("block,pack", "block,pack"),
        ("Pack", "pack"), ("NoPack", "nopack"), ("pack", "pack"), ("nopack", "nopack"),
        ("block:cyclic,NoPack", "block:cyclic,nopack"),
        ("cyclic:cyclic:cyclic,Pack", "cyclic:cyclic:cyclic,pack"), ("BLOCK", "block"),
        ("Block:Cyclic", "block:cyclic"), ("block:", "block"), (":block", "block"),
        ("block,", "block"), ("*,Pack", "block,pack"),
    ];

    #[rustfmt::skip]
    static REFUSED: &[&str] = &[
        "fcyclic", "bogus", "block:bogus", "block:block:bogus", "block:block:block:block", "",
        "arbitrary:block", "block,Bogus", "Pack,block", "unknown", "block:arbitrary",
    ];

    #[test]
    fn distributions_are_read_as_slurm_reads_them() {
        for (text, shown) in ACCEPTED {
            let read = parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(read.to_string(), *shown, "{text:?}");
        }
        for text in REFUSED {
            assert_eq!(parse(text), Err(Error::Unknown), "{text:?}");
        }
        for text in ["plane", "plane=0", "plane=a", "plane=", "plane=4,Pack", "plane=4:block"] {
            assert_eq!(parse(text), Err(Error::Plane), "{text:?}");
        }
        assert_eq!(parse("plane=4").unwrap().nodes, Some(Nodes::Plane(4)));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(block|cyclic|\\*|:|,|pack|plane=[0-9]{0,3}){0,6}|\\PC{0,12}") {
            if let Ok(read) = parse(&text) && !matches!(read.nodes, Some(Nodes::Plane(_))) {
                prop_assert_eq!(parse(&read.to_string()), Ok(read));
            }
        }
    }
}
