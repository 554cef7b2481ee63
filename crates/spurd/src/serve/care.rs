//! Looks after the node's health while the agent runs: now and then, and before a job comes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use spur_proto::internal::{Beat, HealthRules};
use tokio::sync::{mpsc, watch};
use tracing::warn;

use crate::agent::Millis;
use crate::health::{self, Offered};

/// How often the machine is looked at.
const PERIOD: Duration = Duration::from_secs(30);

/// A look that is not older than this is good enough for a job that comes.
const FRESH: Duration = Duration::from_secs(1);

/// Who looks, and what was found.
pub struct Care {
    rules: watch::Sender<HealthRules>,
    found: mpsc::Receiver<Found>,
    machine: Machine,
    /// What the site's program said last.
    of_site: Option<String>,
    looked: Option<Instant>,
}

/// What a look of the watcher brought.
struct Found {
    of_machine: Vec<String>,
    of_site: Option<String>,
}

impl Care {
    /// Begins to look.
    pub fn begin(spool: &Path, root: &Path, node: &str, offered: Offered) -> Care {
        let (rules, wanted) = watch::channel(HealthRules::default());
        let (sender, found) = mpsc::channel(1);
        let machine = Machine {
            spool: spool.to_path_buf(),
            root: root.to_path_buf(),
            offered: Arc::new(offered),
            drift_secs: Arc::default(),
        };
        let node = node.to_string();
        let watcher = Watcher { machine: machine.clone(), node, of_site: None, asked: None };
        tokio::spawn(watcher.look_on(wanted, sender));
        Care { rules, found, machine, of_site: None, looked: None }
    }

    /// Another program is to be asked, or at other times.
    pub fn follow(&self, rules: HealthRules) {
        self.rules.send_replace(rules);
    }

    /// A controller has said what time it is.
    pub fn compare_clocks(&self, now: Millis, beat: &Beat) {
        let own =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis() as i64);
        if beat.wall_ms > 0 {
            let took = now.0.saturating_sub(beat.echo_ms) as i64;
            let drift = health::drift_ms(own, beat.wall_ms, took) / 1000;
            self.machine.drift_secs.store(drift, Ordering::Relaxed);
        }
    }

    /// What is wrong at this moment, if the last look is too old for a job that comes.
    pub fn look_now(&mut self) -> Option<Vec<String>> {
        if self.looked.is_some_and(|at| at.elapsed() < FRESH) {
            return None;
        }
        self.looked = Some(Instant::now());
        let mut problems = self.machine.look();
        problems.extend(self.of_site.clone());
        Some(problems)
    }

    /// What is wrong now, each time it was looked.
    pub async fn next(&mut self) -> Vec<String> {
        match self.found.recv().await {
            Some(Found { of_machine, of_site }) => {
                self.of_site = of_site;
                self.looked = Some(Instant::now());
                of_machine.into_iter().chain(self.of_site.clone()).collect()
            }
            // Nobody looks any more.
            None => std::future::pending().await,
        }
    }
}

/// What can be found out in no time.
#[derive(Clone)]
struct Machine {
    spool: PathBuf,
    root: PathBuf,
    offered: Arc<Offered>,
    drift_secs: Arc<AtomicI64>,
}

impl Machine {
    fn look(&self) -> Vec<String> {
        let drift = self.drift_secs.load(Ordering::Relaxed);
        let found = health::look(&self.spool, &self.root, self.offered.gpus, drift);
        health::problems(&found, &self.offered)
    }
}

struct Watcher {
    machine: Machine,
    node: String,
    /// What the site's program said last.
    of_site: Option<String>,
    asked: Option<Instant>,
}

impl Watcher {
    async fn look_on(
        mut self,
        mut wanted: watch::Receiver<HealthRules>,
        found: mpsc::Sender<Found>,
    ) {
        let mut before = Vec::new();
        loop {
            let rules = wanted.borrow_and_update().clone();
            let looked = tokio::task::spawn_blocking(move || {
                let of_machine = self.look(&rules);
                (self, rules, of_machine)
            });
            // A look that panicked is the last.
            let Ok((watcher, rules, of_machine)) = looked.await else { return };
            self = watcher;
            let of_site = self.of_site.clone();
            let problems: Vec<String> = of_machine.iter().cloned().chain(of_site.clone()).collect();
            if problems != before {
                warn!(?problems, "the node's health has changed");
                before.clone_from(&problems);
            }
            if found.send(Found { of_machine, of_site }).await.is_err() {
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
        let problems = self.machine.look();
        let interval = Duration::from_secs(rules.interval_secs.into());
        if rules.program.is_empty() || interval.is_zero() {
            self.of_site = None;
        } else if self.asked.is_none_or(|asked| asked.elapsed() >= interval) {
            self.of_site = health::ask_site(&rules.program, &self.node);
            self.asked = Some(Instant::now());
        }
        problems
    }
}
