//! What a cluster of this machine was started with, kept in its directory: the next `spur up` need not be told again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::layout::Layout;

/// What `spur up` was told; what was not is as the machine has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// `--nodes`
    pub nodes: Option<String>,
    /// `--cpus`
    pub cpus: Option<u32>,
    /// `--memory`
    pub memory: Option<String>,
    /// `--gres`
    pub gres: Option<String>,
    /// `--config`
    pub config: Option<PathBuf>,
}

const FILE: &str = "up.json";

impl Shape {
    /// What the last `spur up` of this directory was told. A file that cannot be read tells nothing.
    pub fn read(layout: &Layout) -> Shape {
        let text = fs::read_to_string(layout.dir.join(FILE)).unwrap_or_default();
        Shape::parse(&text)
    }

    /// What is said now counts more than what was said before.
    pub fn or(self, before: Shape) -> Shape {
        // Other nodes are other machines: what was said of the old ones is not about them.
        let before = match &self.nodes {
            Some(nodes) if before.nodes.as_ref() != Some(nodes) => {
                Shape { config: before.config, ..Shape::default() }
            }
            _ => before,
        };
        Shape {
            nodes: self.nodes.or(before.nodes),
            cpus: self.cpus.or(before.cpus),
            memory: self.memory.or(before.memory),
            gres: self.gres.or(before.gres),
            config: self.config.or(before.config),
        }
    }

    /// Keeps it for the next time.
    pub fn write(&self, layout: &Layout) -> anyhow::Result<()> {
        let path = layout.dir.join(FILE);
        fs::write(&path, self.to_text())
            .with_context(|| format!("could not write {}", path.display()))
    }

    fn to_text(&self) -> String {
        let mut said = Map::new();
        let mut say = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                said.insert(name.to_string(), value);
            }
        };
        say("nodes", self.nodes.as_ref().map(|it| json!(it)));
        say("cpus", self.cpus.map(|it| json!(it)));
        say("memory", self.memory.as_ref().map(|it| json!(it)));
        say("gres", self.gres.as_ref().map(|it| json!(it)));
        say("config", self.config.as_ref().map(|it| json!(it.display().to_string())));
        format!("{}\n", Value::Object(said))
    }

    fn parse(text: &str) -> Shape {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        let word = |name: &str| said[name].as_str().map(str::to_string);
        Shape {
            nodes: word("nodes"),
            cpus: said["cpus"].as_u64().and_then(|it| u32::try_from(it).ok()),
            memory: word("memory"),
            gres: word("gres"),
            config: word("config").map(PathBuf::from).filter(|it| Path::exists(it)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_reads_back_and_counts_less_than_what_is_said() {
        let said = Shape {
            nodes: Some("n[1-4]".into()),
            cpus: Some(8),
            gres: Some("gpu:a:2".into()),
            config: Some("/".into()),
            ..Shape::default()
        };
        assert_eq!(Shape::parse(&said.to_text()), said);
        assert_eq!(Shape::parse("garbage"), Shape::default());
        let gone = Shape { config: Some("/no/such/file".into()), ..Shape::default() };
        assert_eq!(Shape::parse(&gone.to_text()), Shape::default());
        assert_eq!(Shape::default().or(said.clone()), said);
        let less = Shape { cpus: Some(2), ..Shape::default() };
        assert_eq!(less.or(said.clone()), Shape { cpus: Some(2), ..said.clone() });
        let others = Shape { nodes: Some("m1".into()), ..Shape::default() };
        let expected = Shape { config: said.config.clone(), ..others.clone() };
        assert_eq!(others.or(said), expected);
    }
}
