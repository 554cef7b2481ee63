//! The configuration file: read at the start, and again when asked to.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use spur_core::config::{self, Config};
use spur_core::state::Settings;

/// The shortest key that signs users' tokens.
const SHORTEST_KEY: usize = 32;

/// What the file said last; without a file, a cluster of whatever nodes join.
#[derive(Clone, Debug)]
pub struct Configuration {
    read: Option<(PathBuf, Config)>,
}

impl Configuration {
    /// Reads the file, if there is one.
    pub fn new(file: Option<PathBuf>) -> anyhow::Result<Configuration> {
        let read = file.map(|file| read(&file).map(|config| (file, config))).transpose()?;
        Ok(Configuration { read })
    }

    /// The part that all controllers share.
    pub fn settings(&self) -> Settings {
        self.read.as_ref().map_or_else(Settings::default, |(_, config)| Settings::of(config))
    }

    /// What the file says about controllers, if there is one.
    pub fn controller(&self) -> Option<&config::sections::Controller> {
        self.read.as_ref().map(|(_, config)| &config.controller)
    }

    /// The file it was read from, if there is one.
    pub fn file(&self) -> Option<&std::path::Path> {
        self.read.as_ref().map(|(file, _)| file.as_path())
    }

    /// How much is logged, if the file says.
    pub fn log_level(&self) -> Option<config::words::LogLevel> {
        let said = self.read.as_ref().map(|(_, config)| config.cluster.log_level);
        said.filter(|level| *level != config::sections::Cluster::default().log_level)
    }

    /// What the file says of accounting.
    pub fn accounting(&self) -> Option<&config::sections::Accounting> {
        self.read.as_ref().map(|(_, config)| &config.accounting)
    }

    /// The site's own key for users' tokens, if the file names one.
    pub fn site_key(&self) -> anyhow::Result<Option<Vec<u8>>> {
        let file = self.read.as_ref().and_then(|(_, config)| config.rest.jwt_key.clone());
        let read = |file: String| {
            let key = std::fs::read(&file).with_context(|| format!("could not read {file}"))?;
            // With an empty key anybody could sign.
            if key.len() < SHORTEST_KEY {
                bail!("{file} has {} bytes; a key has at least {SHORTEST_KEY}", key.len());
            }
            Ok(key)
        };
        file.map(read).transpose()
    }

    /// Reads the file again and tells what changed; with a mistake in it, all stays as it was.
    pub fn reload(&mut self) -> anyhow::Result<config::changes::Changes> {
        let Some((file, config)) = &mut self.read else { bail!("there is no configuration file") };
        let new = read(file)?;
        let changes = config::changes::between(config, &new);
        *config = new;
        Ok(changes)
    }
}

fn read(file: &Path) -> anyhow::Result<Config> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("could not read {name}"))?;
    config::read(&text).map_err(|problems| {
        let lines: Vec<String> = problems.lines(&name).collect();
        anyhow::anyhow!("the configuration cannot be used\n{}", lines.join("\n"))
    })
}
