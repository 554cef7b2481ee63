//! Looks after the node's health while the agent runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use spur_proto::internal::HealthRules;
use tokio::sync::{mpsc, watch};
use tracing::warn;

use crate::health::{self, Offered};

/// How often the machine is looked at.
const PERIOD: Duration = Duration::from_secs(30);

/// Who looks, and what was found.
pub struct Care {
    rules: watch::Sender<HealthRules>,
    found: mpsc::Receiver<Vec<String>>,
}

impl Care {
    /// Begins to look.
    pub fn begin(spool: &Path, root: &Path, node: &str, offered: Offered) -> Care {
        let (rules, wanted) = watch::channel(HealthRules::default());
        let (sender, found) = mpsc::channel(1);
        let watcher = Watcher {
            spool: spool.to_path_buf(),
            root: root.to_path_buf(),
            node: node.to_string(),
            offered,
            of_site: None,
            asked: None,
        };
        tokio::spawn(watcher.look_on(wanted, sender));
        Care { rules, found }
    }

    /// Another program is to be asked, or at other times.
    pub fn follow(&self, rules: HealthRules) {
        self.rules.send_replace(rules);
    }

    /// What is wrong now, each time it was looked.
    pub async fn next(&mut self) -> Vec<String> {
        match self.found.recv().await {
            Some(problems) => problems,
            // Nobody looks any more.
            None => std::future::pending().await,
        }
    }
}

struct Watcher {
    spool: PathBuf,
    root: PathBuf,
    node: String,
    offered: Offered,
    /// What the site's program said last.
    of_site: Option<String>,
    asked: Option<Instant>,
}

impl Watcher {
    async fn look_on(
        mut self,
        mut wanted: watch::Receiver<HealthRules>,
        found: mpsc::Sender<Vec<String>>,
    ) {
        let mut before = Vec::new();
        loop {
            let rules = wanted.borrow_and_update().clone();
            let looked = tokio::task::spawn_blocking(move || {
                let problems = self.look(&rules);
                (self, rules, problems)
            });
            // A look that panicked is the last.
            let Ok((watcher, rules, problems)) = looked.await else { return };
            self = watcher;
            if problems != before {
                warn!(?problems, "the node's health has changed");
                before.clone_from(&problems);
            }
            if found.send(problems).await.is_err() {
                return;
            }
            let interval = Duration::from_secs(rules.interval_secs.into());
            let pause = if interval.is_zero() { PERIOD } else { interval.min(PERIOD) };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = wanted.changed() => if changed.is_err() { return },
            }
        }
    }

    fn look(&mut self, rules: &HealthRules) -> Vec<String> {
        let found = health::look(&self.spool, &self.root, self.offered.gpus);
        let mut problems = health::problems(&found, &self.offered);
        let interval = Duration::from_secs(rules.interval_secs.into());
        if rules.program.is_empty() || interval.is_zero() {
            self.of_site = None;
        } else if self.asked.is_none_or(|asked| asked.elapsed() >= interval) {
            self.of_site = health::ask_site(&rules.program, &self.node);
            self.asked = Some(Instant::now());
        }
        problems.extend(self.of_site.clone());
        problems
    }
}
