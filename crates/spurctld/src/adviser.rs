//! The thread that answers questions about the plan. It has a planner of its own: however much is asked, no
//! job that could start waits for it.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use spur_core::ids::JobId;
use spur_core::state::State;
use spur_sched::{Advice, Explanation, Planner, Promised};
use tokio::sync::oneshot;

/// A question about a state.
pub enum Question {
    /// Why a job waits, and with `advice` what would help.
    Explain {
        /// Which.
        job: JobId,
        /// Whether to look for what would help.
        advice: bool,
        /// Where the answer goes.
        answer: oneshot::Sender<Option<(Explanation, Vec<Advice>)>>,
    },
    /// When which job is expected to start.
    Forecast {
        /// Of so many jobs.
        jobs: usize,
        /// Where the answer goes.
        answer: oneshot::Sender<BTreeMap<JobId, Promised>>,
    },
}

/// Where questions go.
#[derive(Clone)]
pub struct Adviser(Sender<(State, Question)>);

/// What was learnt is forgotten when nobody has asked for this long.
const IDLE: Duration = Duration::from_secs(300);

impl Adviser {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Adviser> {
        let (sender, questions) = channel();
        let thread = std::thread::Builder::new().name("adviser".to_string());
        thread.spawn(move || answer_all(&questions)).map(|_| Adviser(sender))
    }

    /// Why a job waits; nothing about a job that does not.
    pub async fn explain(
        &self,
        state: State,
        job: JobId,
        advice: bool,
    ) -> Option<(Explanation, Vec<Advice>)> {
        let (answer, told) = oneshot::channel();
        let _ = self.0.send((state, Question::Explain { job, advice, answer }));
        told.await.ok().flatten()
    }

    /// When which job is expected to start.
    pub async fn forecast(&self, state: State, jobs: usize) -> BTreeMap<JobId, Promised> {
        let (answer, told) = oneshot::channel();
        let _ = self.0.send((state, Question::Forecast { jobs, answer }));
        told.await.unwrap_or_default()
    }
}

fn answer_all(questions: &Receiver<(State, Question)>) {
    let mut planner = Planner::default();
    loop {
        match questions.recv_timeout(IDLE) {
            // Whoever asked may be gone already.
            Ok((state, Question::Explain { job, advice, answer })) => {
                let told = planner.explain(&state, job).map(|told| {
                    let advice = advice.then(|| planner.advise(&state, job, &told));
                    (told, advice.unwrap_or_default())
                });
                let _ = answer.send(told);
            }
            Ok((state, Question::Forecast { jobs, answer })) => {
                let _ = answer.send(planner.forecast(&state, jobs));
            }
            Err(RecvTimeoutError::Timeout) => planner = Planner::default(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
