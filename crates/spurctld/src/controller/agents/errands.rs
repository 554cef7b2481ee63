//! What is told to agents after a commit: launches, kills and signals.

use std::collections::BTreeMap;

use spur_core::ids::{Epoch, JobId, NodeName, StepId};
use spur_core::job::{Back, Cause, Phase, StepEnd};
use spur_core::state::{Effect, SignalScope};
use spur_disk::Disk;
use spur_proto::internal::controller_message::Message as AgentHears;
use spur_proto::internal::{Kills, Launch, RunSignal, Signals};

use super::super::{Controller, Output, Role};
use super::launch::launch_messages;
use super::{RunKey, run_message};
use crate::store;

const DUE_TO_LIMIT: &str = "DUE TO TIME LIMIT";
const SIGKILL: u32 = 9;
const SIGTERM: u32 = 15;

/// Has people find in its output that a run was ended.
fn farewell(run: RunKey, why: &str) -> RunSignal {
    let farewell = Some(why.to_string());
    RunSignal { run: Some(run_message(run)), farewell, ..RunSignal::default() }
}

impl<D: Disk> Controller<D> {
    /// The steps of a run on a node that a signal is for.
    fn signalled(
        &self,
        job: JobId,
        epoch: Epoch,
        node: &NodeName,
        scope: SignalScope,
    ) -> Vec<StepId> {
        let job = self.state.jobs.get(&job).filter(|job| job.epoch == epoch);
        let steps = job.into_iter().flat_map(|job| job.steps.live.values());
        let here = steps.filter(|step| step.shares.iter().any(|share| share.node == *node));
        let is_meant = |step: &StepId| match scope {
            SignalScope::Steps => *step != StepId::BATCH,
            SignalScope::Batch => *step == StepId::BATCH,
            SignalScope::Full | SignalScope::Gently => true,
        };
        here.map(|step| step.id).filter(is_meant).collect()
    }

    fn step_end(&self, job: JobId, step: StepId) -> Option<StepEnd> {
        self.state.jobs.get(&job)?.steps.live.get(&step)?.end
    }

    /// What the output of a script or a step says of its end, in Slurm's words.
    /// Whether people hear from this node that a step ends: as in Slurm, from the first one that there is.
    fn speaks(&self, job: JobId, step: StepId, node: &NodeName) -> bool {
        let step = self.state.jobs.get(&job).and_then(|job| job.steps.live.get(&step));
        let mut nodes = step.into_iter().flat_map(|step| &step.shares).map(|share| &share.node);
        nodes.find(|node| self.agents.is_registered(node)).is_none_or(|first| first == node)
    }

    fn why_it_ends(&self, job: JobId, step: StepId) -> &'static str {
        if self.step_end(job, step) == Some(StepEnd::TimeLimit) {
            return DUE_TO_LIMIT;
        }
        match self.state.jobs.get(&job).map(|job| &job.phase) {
            Some(Phase::Completing { cause, .. }) => match cause {
                Cause::TimeLimit | Cause::Deadline => DUE_TO_LIMIT,
                Cause::Preempted | Cause::Requeued { why: Back::Displaced, .. } => {
                    "DUE TO PREEMPTION"
                }
                Cause::Requeued { .. } => "DUE TO JOB REQUEUE",
                Cause::NodeFailed => "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS",
                _ => "",
            },
            _ => "",
        }
    }

    /// Has the words put into the output of a job's script. Best effort, as signals are.
    pub(in crate::controller) fn tell_script(
        &mut self,
        job: JobId,
        words: &str,
        out: &mut Vec<Output>,
    ) {
        let Role::Leader(term) = self.role else { return };
        let Some(job) = self.state.jobs.get(&job) else { return };
        let Some(script) = job.steps.live.get(&StepId::BATCH) else { return };
        for node in script.nodes_left() {
            let Some(session) = self.agents.sessions.get(node) else { continue };
            let run = Some(run_message((job.id, job.epoch, script.id)));
            let signals = vec![RunSignal { run, words: words.to_string(), ..Default::default() }];
            let message = AgentHears::Signals(Signals { session: session.id, term, signals });
            out.push(Output::Tell(session.connection, message));
        }
    }

    /// Has every node of a step signal its tasks. Best effort: a node that is away does not hear it.
    pub(in crate::controller) fn signal(
        &mut self,
        job: JobId,
        step: StepId,
        signal: u32,
        script_only: bool,
        out: &mut Vec<Output>,
    ) {
        let Role::Leader(term) = self.role else { return };
        let Some(job) = self.state.jobs.get(&job) else { return };
        let Some(step) = job.steps.live.get(&step) else { return };
        for node in step.nodes_left() {
            let Some(session) = self.agents.sessions.get(node) else { continue };
            let run = Some(run_message((job.id, job.epoch, step.id)));
            let signals = vec![RunSignal { run, signal, script_only, ..Default::default() }];
            let message = AgentHears::Signals(Signals { session: session.id, term, signals });
            out.push(Output::Tell(session.connection, message));
        }
    }

    /// Carries out what was committed: one message a node for all launches, one for all kills. A node
    /// without a session gets them when it comes back, by comparing tables.
    pub(in crate::controller) fn run_errands(
        &mut self,
        errands: Vec<Effect>,
        out: &mut Vec<Output>,
    ) -> Result<(), store::Error> {
        let Role::Leader(term) = self.role else { return Ok(()) };
        let mut launches: BTreeMap<NodeName, Vec<Launch>> = BTreeMap::new();
        let mut kills: BTreeMap<NodeName, Vec<RunKey>> = BTreeMap::new();
        let mut signals: BTreeMap<NodeName, Vec<RunSignal>> = BTreeMap::new();
        for errand in errands {
            match errand {
                Effect::Launch { job, epoch, step, node } if self.agents.is_registered(&node) => {
                    let Some(job) = self.state.jobs.get(&job).cloned() else { continue };
                    let Some(step) = job.steps.live.get(&step) else { continue };
                    if job.epoch == epoch {
                        let launch = self.launch_message(&job, step, &node)?;
                        launches.entry(node).or_default().extend(launch);
                    }
                }
                Effect::Kill { job, epoch, step, node } => {
                    let speaks = step != StepId::EXTERN && self.speaks(job, step, &node);
                    let told = signals.entry(node.clone()).or_default();
                    if speaks {
                        told.push(farewell((job, epoch, step), self.why_it_ends(job, step)));
                    }
                    if matches!(self.step_end(job, step), Some(StepEnd::Killed { .. })) {
                        let run = Some(run_message((job, epoch, step)));
                        told.push(RunSignal { run, signal: SIGKILL, ..RunSignal::default() });
                    }
                    kills.entry(node).or_default().push((job, epoch, step));
                }
                Effect::Signal { job, epoch, signal, scope, node } => {
                    let meant = self.signalled(job, epoch, &node, scope);
                    let told = signals.entry(node).or_default();
                    if scope == SignalScope::Batch && [SIGKILL, SIGTERM].contains(&signal) {
                        let run = |step: &StepId| farewell((job, epoch, *step), "");
                        told.extend(meant.iter().map(run));
                    }
                    let signal = |step: &StepId| RunSignal {
                        run: Some(run_message((job, epoch, *step))),
                        signal,
                        script_only: scope == SignalScope::Batch,
                        gently: scope == SignalScope::Gently,
                        ..Default::default()
                    };
                    told.extend(meant.iter().map(signal));
                }
                Effect::Launch { .. }
                | Effect::KeepBlob { .. }
                | Effect::DropBlob { .. }
                | Effect::RunProgram { .. } => {}
            }
        }
        for (node, launches) in launches {
            let Some(session) = self.agents.sessions.get(&node) else { continue };
            for message in launch_messages(session.id, term, launches) {
                out.push(Output::Tell(session.connection, message));
            }
        }
        signals.retain(|_, signals| !signals.is_empty());
        for (node, signals) in signals {
            let Some(session) = self.agents.sessions.get(&node) else { continue };
            let message = AgentHears::Signals(Signals { session: session.id, term, signals });
            out.push(Output::Tell(session.connection, message));
        }
        for (node, runs) in kills {
            let Some(session) = self.agents.sessions.get(&node) else { continue };
            out.push(Output::Tell(session.connection, kills_message(session.id, term, &runs)));
        }
        Ok(())
    }
}

pub(super) fn kills_message(session: u64, term: u64, runs: &[RunKey]) -> AgentHears {
    let runs = runs.iter().copied().map(run_message).collect();
    AgentHears::Kills(Kills { session, term, runs })
}
