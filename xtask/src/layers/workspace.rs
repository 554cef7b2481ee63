//! The crates of the workspace and what they depend on, as cargo tells it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// What a dependency is needed for, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The crate itself.
    Normal,
    /// Its build script.
    Build,
    /// Its tests.
    Dev,
}

impl Kind {
    fn read(kind: &Value) -> Kind {
        match kind.as_str() {
            Some("dev") => Kind::Dev,
            Some("build") => Kind::Build,
            _ => Kind::Normal,
        }
    }

    /// The kind in words.
    pub fn told(self) -> &'static str {
        match self {
            Kind::Normal => "in itself",
            Kind::Build => "to be built",
            Kind::Dev => "in tests",
        }
    }
}

/// A crate of the workspace that another one needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// What for.
    pub kind: Kind,
}

/// The crates of the workspace, each with those it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    /// By name; crates from elsewhere are left out.
    pub crates: BTreeMap<String, Vec<Dependency>>,
}

impl Workspace {
    /// Asks cargo about the workspace below this directory.
    pub fn read(root: &Path) -> Result<Workspace> {
        Workspace::from_metadata(&metadata(root, &["--no-deps"])?)
    }

    /// Picks the crates out of what `cargo metadata` printed.
    pub fn from_metadata(metadata: &Value) -> Result<Workspace> {
        let packages = metadata["packages"].as_array().context("cargo named no packages")?;
        let names: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
        let mut crates = BTreeMap::new();
        for package in packages {
            let name = package["name"].as_str().context("a package without a name")?;
            let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
            let ours = dependencies.iter().filter_map(|dependency| {
                let name = dependency["name"].as_str().filter(|name| names.contains(name))?;
                Some(Dependency { name: name.into(), kind: Kind::read(&dependency["kind"]) })
            });
            crates.insert(name.to_string(), ours.collect());
        }
        Ok(Workspace { crates })
    }

    /// A chain of crates that ends where it began, if there is one.
    pub fn cycle(&self) -> Option<Vec<String>> {
        self.crates.keys().find_map(|name| self.way_back(&mut vec![name.clone()]))
    }

    fn way_back(&self, way: &mut Vec<String>) -> Option<Vec<String>> {
        let dependencies = self.crates.get(way.last()?)?;
        for dependency in dependencies {
            if way.first() == Some(&dependency.name) {
                way.push(dependency.name.clone());
                return Some(way.clone());
            }
            // A cycle further down is found from its own members.
            if way.contains(&dependency.name) {
                continue;
            }
            way.push(dependency.name.clone());
            if let Some(cycle) = self.way_back(way) {
                return Some(cycle);
            }
            way.pop();
        }
        None
    }
}

/// Crates that do IO, run tasks, read the clock or draw lots. None may be below a pure crate.
/// `getrandom` is not among them: cargo resolves features for the whole workspace, and others ask for it.
const IMPURE: &[&str] = &[
    "async-io",
    "async-std",
    "chrono",
    "crossbeam-channel",
    "futures-executor",
    "h2",
    "hyper",
    "jiff",
    "memmap2",
    "mio",
    "nix",
    "polling",
    "rand",
    "rayon",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "tonic",
    "tower",
    "ureq",
    "walkdir",
];

/// The chains that lead from a pure crate to one that does IO, by what is compiled into it.
pub fn purity_of(root: &Path, name: &str) -> Result<Vec<String>> {
    let host = host()?;
    // Other platforms' crates need not have been downloaded.
    let metadata = metadata(root, &["--locked", "--filter-platform", &host])?;
    let names: BTreeMap<&str, &str> = packages(&metadata, "name");
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo resolved nothing")?;
    let nodes: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let start = names.iter().find(|(_, known)| **known == name).map(|(id, _)| *id);
    let start = start.with_context(|| format!("there is no crate {name}"))?;
    let mut ways: Vec<Vec<&str>> = vec![vec![start]];
    let mut seen = BTreeSet::from([start]);
    let mut chains = Vec::new();
    while let Some(way) = ways.pop() {
        let Some(node) = way.last().and_then(|id| nodes.get(id)) else { continue };
        for dependency in node["deps"].as_array().map_or(&[][..], Vec::as_slice) {
            let kinds = dependency["dep_kinds"].as_array().map_or(&[][..], Vec::as_slice);
            let id = dependency["pkg"].as_str().context("a dependency without a package")?;
            let normal = kinds.iter().any(|kind| Kind::read(&kind["kind"]) == Kind::Normal);
            if !normal || !seen.insert(id) {
                continue;
            }
            let mut longer = way.clone();
            longer.push(id);
            if names.get(id).is_some_and(|name| IMPURE.contains(name)) {
                let chain = longer.iter().filter_map(|id| names.get(id).copied());
                chains.push(chain.collect::<Vec<_>>().join(" → "));
            }
            ways.push(longer);
        }
    }
    if seen.len() < 2 {
        bail!("cargo resolved nothing below {name}");
    }
    Ok(chains)
}

/// One member of every package, by its id.
fn packages<'a>(metadata: &'a Value, member: &str) -> BTreeMap<&'a str, &'a str> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    packages.iter().filter_map(|p| Some((p["id"].as_str()?, p[member].as_str()?))).collect()
}

fn metadata(root: &Path, more: &[&str]) -> Result<Value> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]).args(more).current_dir(root);
    let output = command.output().context("could not run cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")
}

/// The platform this is built on.
fn host() -> Result<String> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("-vV")
        .output()
        .context("could not run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc named no host")?.to_string())
}

/// The cargo that runs this, so that both agree on the lock file.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
