//! What `spur up` shows while it watches over a cluster: a line that follows what happens.

use std::io::IsTerminal;
use std::time::Duration;

use spur_proto::caller::Caller;
use spur_proto::slurm::{GetDiagnosticsReply, GetDiagnosticsRequest};

use super::layout::Layout;
use crate::output::{draw, print};
use crate::zone;

/// Looks once a second, and says what has changed.
pub struct News {
    layout: Layout,
    /// What was said last.
    said: String,
    /// On a terminal there is one line, written anew.
    on_terminal: bool,
    is_open: bool,
}

const PERIOD: Duration = Duration::from_secs(1);

impl News {
    /// Nothing has been said yet.
    pub fn new(layout: Layout) -> News {
        let on_terminal = std::io::stdout().is_terminal();
        News { layout, said: String::new(), on_terminal, is_open: false }
    }

    /// Waits a moment, looks, and says what is new.
    pub async fn tell(&mut self) {
        tokio::time::sleep(PERIOD).await;
        let mut caller = Caller::new(self.layout.known_addresses(), PERIOD);
        let asked = caller.call(|mut client| async move {
            client.get_diagnostics(GetDiagnosticsRequest { reset: false }).await
        });
        let now = match asked.await {
            Ok(told) => summary(&told),
            Err(_) => "the controller does not answer".to_string(),
        };
        if now == self.said {
            return;
        }
        let clock = zone::clock_of_day();
        match self.on_terminal {
            // What others say comes over it.
            true => draw(&format!("\x1b[Kspur: {clock} {now}\r")),
            false => print(&format!("spur: {clock} {now}\n")),
        }
        self.is_open = self.on_terminal;
        self.said = now;
    }

    /// Others want to write: the line ends, and is begun anew later.
    pub fn pause(&mut self) {
        if std::mem::take(&mut self.is_open) {
            print("\n");
            self.said.clear();
        }
    }
}

/// Jobs, in few words.
fn summary(told: &GetDiagnosticsReply) -> String {
    let mut parts = vec![
        format!("{} running", told.jobs_running),
        format!("{} pending", told.jobs_pending),
        format!("{} completed", told.jobs_completed),
    ];
    for (count, word) in [(told.jobs_failed, "failed"), (told.jobs_cancelled, "cancelled")] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    format!("jobs: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_counted_in_few_words() {
        let told = GetDiagnosticsReply { jobs_completed: 1, ..GetDiagnosticsReply::default() };
        assert_eq!(summary(&told), "jobs: 0 running, 0 pending, 1 completed");
        let told = GetDiagnosticsReply {
            jobs_running: 2,
            jobs_pending: 3,
            jobs_failed: 4,
            ..GetDiagnosticsReply::default()
        };
        assert_eq!(summary(&told), "jobs: 2 running, 3 pending, 0 completed, 4 failed");
    }
}
