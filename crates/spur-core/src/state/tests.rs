//! The state machine, entry by entry; everything in `check` is asked after each.

mod accounting;
mod admission;
mod again;
mod crontabs;
mod het;
mod preempt;
mod reboots;
mod repeats;
mod reservations;
mod steps;
mod triggers;

use super::*;
use crate::auth::{Actor, Level};
use crate::blob::BlobHash;
use crate::ids::{Epoch, Gid, StepId, Uid};
use crate::job::{Allocation, Cause, ExitStatus, Hold, JobSpec, Owner, Phase, RequestId, Share};
use crate::limit::Limit;
use crate::node::Inventory;

/// A state that checks itself and its stored form after every entry.
struct Cluster {
    state: State,
    at: i64,
    log: Vec<Entry>,
}

fn cluster() -> Cluster {
    let mut cluster = Cluster { state: State::new(), at: 1000, log: Vec::new() };
    cluster.done(Command::Configure(Settings::default()));
    for name in ["n1", "n2"] {
        cluster.done(Command::RegisterNode(RegisterNode {
            name: name.into(),
            inventory: Inventory::simple(4, 1000),
            boot_id: "boot".to_string(),
        }));
    }
    cluster
}

fn cancel(job: JobId, by: Actor) -> Command {
    Command::Control(Box::new(Control::cancel(job, by)))
}

impl Cluster {
    fn apply(&mut self, command: Command) -> Applied {
        self.at += 1;
        let origin = Origin { life: 7, number: self.at as u64 };
        let entry = Entry { at: Timestamp(self.at), origin, command };
        let stored = stored::encode_entries(std::slice::from_ref(&entry));
        assert_eq!(stored::decode_entries(&stored), Ok(vec![entry.clone()]));
        let applied = apply(&mut self.state, &entry);
        self.log.push(entry);
        assert_eq!(check::problems(&self.state), Vec::<String>::new());
        assert_eq!(through_a_snapshot(&self.state), self.state);
        applied
    }

    fn done(&mut self, command: Command) -> Vec<Effect> {
        let applied = self.apply(command);
        assert!(applied.reply.is_ok(), "{:?}", applied.reply);
        applied.effects
    }

    fn submit(&mut self, request: u128) -> JobId {
        match self.apply(Command::Submit(Box::new(submission(request)))).reply {
            Ok(Reply::Job(id)) => id,
            other => panic!("not accepted: {other:?}"),
        }
    }

    fn start(&mut self, job: JobId, epoch: u32, node: &str, cpus: u32) -> usize {
        self.start_on(job, epoch, Share::of_cpus(node.into(), cpus))
    }

    fn start_on(&mut self, job: JobId, epoch: u32, share: Share) -> usize {
        self.start_with(job, epoch, vec![share])
    }

    fn start_with(&mut self, job: JobId, epoch: u32, shares: Vec<Share>) -> usize {
        let allocation = Allocation { shares };
        let start = JobStart {
            job,
            epoch: Epoch(epoch),
            task: None,
            allocation,
            partition: String::new(),
            minutes: None,
            priority: None,
            reason: None,
        };
        match self.apply(Command::Start(vec![start])).reply {
            Ok(Reply::Started(count)) => count,
            other => panic!("not accepted: {other:?}"),
        }
    }

    fn finish(&mut self, job: JobId, epoch: u32, node: &str, outcome: Outcome) {
        let step = StepId::BATCH;
        let finishes = vec![Finish { outcome, ..Finish::lost(job, Epoch(epoch), step) }];
        self.done(Command::Finished { node: node.into(), finishes });
    }

    fn phase(&self, job: JobId) -> &Phase {
        &self.state.jobs[&job].phase
    }
}

fn submission(request: u128) -> Submit {
    let script = b"#!/bin/sh\ntrue\n".to_vec();
    let environment = b"A=1".to_vec();
    Submit {
        request: RequestId(request),
        owner: Owner { uid: Uid(1000), gid: Gid(1000), name: "alice".to_string() },
        spec: JobSpec { name: "a".to_string(), ..JobSpec::default() },
        others: Vec::new(),
        script: BlobHash::of(&script),
        environment: BlobHash::of(&environment),
        blobs: vec![Blob { bytes: script }, Blob { bytes: environment }],
    }
}

fn through_a_snapshot(state: &State) -> State {
    let mut reader = stored::Reader::default();
    stored::encode(state, |record| reader.take(&record).expect("reads its own records"));
    reader.finish().expect("is complete")
}

fn alice() -> Actor {
    Actor::user(Uid(1000), Gid(1000), Level::None)
}

const OK: Outcome = Outcome::Exited(ExitStatus { code: 0, signal: 0 });

#[test]
fn the_same_request_again_is_the_same_job() {
    let mut cluster = cluster();
    let first = cluster.submit(1);
    assert_eq!(cluster.submit(1), first);
    assert_ne!(cluster.submit(2), first);
}

#[test]
fn a_stale_plan_does_no_harm() {
    let mut cluster = cluster();
    let (a, b) = (cluster.submit(1), cluster.submit(2));
    assert_eq!(cluster.start(a, 1, "n1", 3), 1);
    assert_eq!(cluster.start(b, 1, "n1", 2), 0, "only one processor is left");
    assert_eq!(cluster.start(a, 1, "n2", 1), 0, "runs already");
    assert_eq!(cluster.start(b, 2, "n2", 1), 0, "the epoch is not the next one");
    assert_eq!(cluster.start(b, 1, "n9", 1), 0, "no such node");
    cluster.done(Command::NodeLost { node: "n2".into() });
    assert_eq!(cluster.start(b, 1, "n2", 1), 0, "the node is away");
    assert_eq!(cluster.start(b, 1, "n1", 1), 1);
}

#[test]
fn a_run_ends_once() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 1);
    cluster.finish(job, 1, "n2", OK);
    assert!(matches!(cluster.phase(job), Phase::Running { .. }), "another node's word is nothing");
    cluster.finish(job, 2, "n1", OK);
    assert!(matches!(cluster.phase(job), Phase::Running { .. }), "another run's word is nothing");
    cluster.finish(job, 1, "n1", Outcome::Exited(ExitStatus { code: 3, signal: 0 }));
    let ended = cluster.phase(job).clone();
    assert!(matches!(ended, Phase::Ended { exit: ExitStatus { code: 3, .. }, .. }));
    cluster.finish(job, 1, "n1", OK);
    assert_eq!(cluster.phase(job), &ended);
}

#[test]
fn a_cancelled_job_keeps_its_node_until_the_node_says_it_is_gone() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 4);
    let effects = cluster.done(cancel(job, alice()));
    assert_eq!(
        effects,
        [Effect::Kill { job, epoch: Epoch(1), step: StepId::BATCH, node: "n1".into() }]
    );
    assert_eq!(cluster.state.cpus_used(&"n1".into()), 4);
    let again = cluster.apply(cancel(job, alice()));
    assert_eq!(again.reply, Err(SlurmError::AlreadyDone));
    cluster.finish(job, 1, "n1", Outcome::Exited(ExitStatus { code: 0, signal: 15 }));
    assert_eq!(cluster.state.cpus_used(&"n1".into()), 0);
    assert!(matches!(
        cluster.phase(job),
        Phase::Ended {
            cause: Cause::Cancelled { by: 1000 },
            exit: ExitStatus { signal: 15, .. },
            ..
        }
    ));
}

#[test]
fn a_stranger_cannot_cancel() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    let bob = Actor::user(Uid(1001), Gid(1001), Level::None);
    let refused = cluster.apply(cancel(job, bob));
    assert_eq!(refused.reply, Err(SlurmError::AccessDenied));
    assert_eq!(cluster.phase(job), &Phase::Pending);
}

#[test]
fn blobs_come_once_and_go_with_their_last_job() {
    let mut cluster = cluster();
    let first = cluster.done(Command::Submit(Box::new(submission(1))));
    assert_eq!(first.len(), 2, "script and environment are kept");
    let mut bare = submission(2);
    bare.blobs.clear();
    assert_eq!(cluster.done(Command::Submit(Box::new(bare.clone()))), []);
    for id in [1, 2] {
        cluster.done(cancel(JobId(id), alice()));
    }
    let dropped = cluster.done(Command::Purge { before: Timestamp(i64::MAX) });
    assert_eq!(dropped.len(), 2);
    bare.request = RequestId(3);
    let refused = cluster.apply(Command::Submit(Box::new(bare)));
    assert!(refused.reply.is_err(), "the bytes are gone");
    assert_eq!(
        cluster.submit(4),
        JobId(3),
        "a refused job takes no number, a forgotten one keeps it"
    );
}

#[test]
fn time_never_goes_back() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.at -= 500;
    cluster.start(job, 1, "n1", 1);
    let Phase::Running { since, .. } = cluster.phase(job) else { panic!("runs") };
    assert!(*since >= cluster.state.jobs[&job].submitted);
}

#[test]
fn replicas_agree() {
    let mut cluster = cluster();
    for request in 1..20 {
        let job = cluster.submit(request);
        if cluster.start(job, 1, "n1", 1) == 1 && request % 3 == 0 {
            cluster.finish(job, 1, "n1", OK);
        }
    }
    let mut replica = State::new();
    for entry in &cluster.log {
        apply(&mut replica, entry);
    }
    assert_eq!(replica, cluster.state);
}

impl Cluster {
    fn submit_spec(&mut self, request: u128, spec: JobSpec) -> JobId {
        let hash = BlobHash::of(b"#!/bin/sh");
        let submit = Submit {
            request: RequestId(request),
            owner: Owner { uid: Uid(1000), gid: Gid(1000), name: "alice".into() },
            spec,
            others: Vec::new(),
            script: hash,
            environment: hash,
            blobs: vec![Blob { bytes: b"#!/bin/sh".to_vec() }],
        };
        match self.apply(Command::Submit(Box::new(submit))).reply {
            Ok(Reply::Job(id)) => id,
            other => panic!("{other:?}"),
        }
    }

    fn control(&mut self, job: JobId, tasks: &str, action: JobAction) -> Result<Reply, SlurmError> {
        let tasks = crate::job::array::parse(tasks, u32::MAX).expect("tasks");
        let control = Control { job, tasks, action, by: alice(), request: None };
        self.apply(Command::Control(Box::new(control))).reply
    }

    fn start_task(&mut self, job: JobId, task: u32, node: &str) {
        let allocation = Allocation { shares: vec![Share::of_cpus(node.into(), 1)] };
        let start = JobStart {
            job,
            epoch: Epoch(1),
            task: Some(task),
            allocation,
            partition: String::new(),
            minutes: None,
            priority: None,
            reason: None,
        };
        self.done(Command::Start(vec![start]));
    }

    fn shown(&self) -> Vec<String> {
        let show = |job: &Arc<Job>| {
            let task = job.task().map(|task| format!("_{task}"));
            let waiting = job.waiting_tasks().map(|tasks| format!("_[{}]", tasks.shown()));
            let id = job.array_id().unwrap_or(job.id);
            let phase = match &job.phase {
                Phase::Pending => "pending",
                Phase::Running { .. } => "running",
                Phase::Completing { .. } => "completing",
                Phase::Ended { .. } => "ended",
            };
            format!("{id}{} {phase}", task.or(waiting).unwrap_or_default())
        };
        self.state.jobs.values().map(show).collect()
    }
}

#[test]
fn tasks_of_an_array_part_when_they_begin_and_the_last_keeps_its_number() {
    let mut cluster = cluster();
    let spec = JobSpec { array: "1-3".into(), ..JobSpec::default() };
    let array = cluster.submit_spec(1, spec);
    assert_eq!(cluster.shown(), ["1_[1-3] pending"]);
    cluster.start_task(array, 1, "n1");
    let last = |cluster: &Cluster| cluster.state.last_task(&cluster.state.jobs[&array]);
    assert_eq!(last(&cluster), None);
    cluster.start_task(array, 3, "n1");
    assert_eq!(cluster.shown(), ["1_[2] pending", "1_1 running", "1_3 running"]);
    assert_eq!(last(&cluster), Some(2));
    cluster.start_task(array, 2, "n1");
    assert_eq!(cluster.shown(), ["1_2 running", "1_1 running", "1_3 running"]);
    assert_eq!(cluster.state.jobs.keys().map(|id| id.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(cluster.control(array, "3", JobAction::Cancel), Ok(Reply::Done));
    assert_eq!(cluster.shown(), ["1_2 running", "1_1 running", "1_3 completing"]);
}

#[test]
fn the_only_task_of_an_array_is_a_list_of_one_until_others_have_begun() {
    let mut cluster = cluster();
    let alone = cluster.submit_spec(1, JobSpec { array: "5".into(), ..JobSpec::default() });
    let array = cluster.submit_spec(2, JobSpec { array: "1-3".into(), ..JobSpec::default() });
    assert_eq!(cluster.control(array, "1-2", JobAction::Cancel), Ok(Reply::Done));
    for job in [alone, array] {
        assert_eq!(cluster.state.last_task(&cluster.state.jobs[&job]), None);
    }
}

#[test]
fn a_throttled_array_starts_no_more_than_it_may() {
    let mut cluster = cluster();
    let array = cluster.submit_spec(1, JobSpec { array: "0-9%1".into(), ..JobSpec::default() });
    cluster.start_task(array, 0, "n1");
    cluster.start_task(array, 1, "n1");
    assert_eq!(cluster.shown(), ["1_[1-9%1] pending", "1_0 running"]);
}

#[test]
fn a_held_job_starts_only_when_it_is_let_go() {
    let mut cluster = cluster();
    let job = cluster.submit_spec(1, JobSpec { hold: true, ..JobSpec::default() });
    cluster.start(job, 1, "n1", 1);
    assert_eq!(cluster.shown(), ["1 pending"]);
    assert_eq!(cluster.control(job, "", JobAction::Release), Ok(Reply::Done));
    cluster.start(job, 1, "n1", 1);
    assert_eq!(cluster.shown(), ["1 running"]);
    let hold = JobAction::Hold { as_user: false };
    assert_eq!(cluster.control(job, "", hold), Ok(Reply::Done), "for when it is back in the queue");
    assert_eq!(cluster.shown(), ["1 running"]);
    assert_eq!(cluster.control(job, "", JobAction::Requeue { hold: false }), Ok(Reply::Done));
    cluster.finish(job, 1, "n1", Outcome::Exited(ExitStatus { code: 0, signal: 15 }));
    cluster.start(job, 2, "n1", 1);
    assert_eq!(cluster.shown(), ["1 pending"]);
}

#[test]
fn conditions_come_true_or_never() {
    let mut cluster = cluster();
    let first = cluster.submit_spec(1, JobSpec::default());
    let after =
        |kind: &str| JobSpec { dependency: format!("{kind}:{first}"), ..JobSpec::default() };
    let ok = cluster.submit_spec(2, after("afterok"));
    let not_ok = cluster.submit_spec(3, after("afternotok"));
    let any = cluster.submit_spec(4, after("afterany"));
    let reasons = |cluster: &Cluster| -> Vec<Option<crate::job::Reason>> {
        [ok, not_ok, any].map(|id| cluster.state.obstacle(&cluster.state.jobs[&id])).to_vec()
    };
    use crate::job::Reason::{Dependency, DependencyNeverSatisfied};
    assert_eq!(reasons(&cluster), [Some(Dependency); 3]);
    cluster.start(first, 1, "n1", 1);
    cluster.finish(first, 1, "n1", Outcome::Exited(ExitStatus { code: 1, signal: 0 }));
    assert_eq!(reasons(&cluster), [Some(DependencyNeverSatisfied), None, None]);
}

#[test]
fn nobody_waits_for_those_that_wait_for_them() {
    let mut cluster = cluster();
    let spec = |dependency: String| JobSpec { hold: true, dependency, ..JobSpec::default() };
    let first = cluster.submit_spec(1, spec(String::new()));
    let second = cluster.submit_spec(2, spec(format!("afterok:{first}")));
    let third = cluster.submit_spec(3, spec(format!("afterok:{second}")));
    let mut wait = |job: JobId, on: JobId| {
        let words = [("Dependency".to_string(), format!("after:{on}"))];
        let assignments = words.map(|(key, value)| Assignment { key, value });
        cluster.control(job, "", JobAction::Update(assignments.to_vec()))
    };
    assert_eq!(wait(first, third), Err(SlurmError::CircularDependency));
    assert_eq!(wait(second, third), Err(SlurmError::CircularDependency));
    assert_eq!(wait(first, first), Err(SlurmError::Dependency));
    assert_eq!(wait(third, first), Ok(Reply::Done));
}

#[test]
fn of_what_is_over_nothing_can_be_changed() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.done(cancel(job, alice()));
    for key in ["Comment", "AdminComment", "MailUser", "TimeLimit", "Name"] {
        let change = Assignment { key: key.to_string(), value: "1".to_string() };
        let refused = cluster.control(job, "", JobAction::Update(vec![change]));
        assert_eq!(refused, Err(SlurmError::JobFinished), "{key}");
    }
}

#[test]
fn who_is_not_to_be_requeued_is_not() {
    let mut cluster = cluster();
    let job = cluster.submit_spec(1, JobSpec { requeue: Some(false), ..JobSpec::default() });
    let requeue = || JobAction::Requeue { hold: false };
    assert_eq!(cluster.control(job, "", requeue()), Err(SlurmError::Disabled));
    cluster.start(job, 1, "n1", 1);
    assert_eq!(cluster.control(job, "", requeue()), Err(SlurmError::Disabled));
    assert_eq!(cluster.shown(), ["1 running"]);
}

#[test]
fn an_array_is_awaited_whole_and_its_failures_are_remembered() {
    let mut cluster = cluster();
    let spec = |dependency: String| JobSpec { dependency, ..JobSpec::default() };
    let array = JobSpec { array: "0-1".to_string(), ..JobSpec::default() };
    let array = cluster.submit_spec(1, array);
    let ok = cluster.submit_spec(2, spec(format!("afterok:{array}")));
    let not_ok = cluster.submit_spec(3, spec(format!("afternotok:{array}")));
    let reasons =
        |cluster: &Cluster| [ok, not_ok].map(|id| cluster.state.obstacle(&cluster.state.jobs[&id]));
    use crate::job::Reason::{Dependency, DependencyNeverSatisfied};
    cluster.start_task(array, 0, "n1");
    let failed = JobId(cluster.state.next_job.0 - 1);
    cluster.finish(failed, 1, "n1", Outcome::Exited(ExitStatus { code: 1, signal: 0 }));
    assert_eq!(reasons(&cluster), [Some(Dependency); 2], "the other task may still run");
    let later = cluster.state.now.plus_secs(1000);
    cluster.done(Command::Purge { before: later });
    assert!(cluster.state.jobs.contains_key(&failed), "somebody still asks how it ended");
    assert_eq!(cluster.state.forgettable(later).next(), None);
    cluster.start_task(array, 1, "n1");
    cluster.finish(array, 1, "n1", Outcome::Exited(ExitStatus::default()));
    assert_eq!(reasons(&cluster), [Some(DependencyNeverSatisfied), None]);
    cluster.done(Command::Purge { before: later });
    assert!(!cluster.state.jobs.contains_key(&failed));
    assert_eq!(reasons(&cluster), [Some(DependencyNeverSatisfied), None], "as it was");
}

#[test]
fn tasks_that_were_ended_before_they_ran_have_not_ended_well() {
    let mut cluster = cluster();
    let spec = |dependency: String, array: &str| JobSpec {
        dependency,
        array: array.to_string(),
        ..JobSpec::default()
    };
    let array = cluster.submit_spec(1, spec(String::new(), "1-2"));
    let alike = cluster.submit_spec(2, spec(format!("aftercorr:{array}"), "1-2"));
    let ok = cluster.submit_spec(3, spec(format!("afterok:{array}_1"), ""));
    let not_ok = cluster.submit_spec(4, spec(format!("afternotok:{array}_1"), ""));
    cluster.done(Command::Control(Box::new(Control::cancel(array, alice()))));
    let reasons = [alike, ok, not_ok].map(|id| cluster.state.obstacle(&cluster.state.jobs[&id]));
    let never = Some(crate::job::Reason::DependencyNeverSatisfied);
    assert_eq!(reasons, [never, never, None]);
}

#[test]
fn what_ended_specially_says_so_until_its_owner_lets_it_go() {
    let mut cluster = cluster();
    let job = cluster.submit_spec(1, JobSpec::default());
    cluster.start(job, 1, "n1", 1);
    assert_eq!(cluster.control(job, "", JobAction::RequeueSpecial), Ok(Reply::Done));
    cluster.finish(job, 1, "n1", Outcome::Exited(ExitStatus { code: 0, signal: 15 }));
    assert_eq!(cluster.state.jobs[&job].hold, Hold::Special);
    let release = Control { action: JobAction::Release, ..Control::cancel(job, alice()) };
    cluster.done(Command::Control(Box::new(release)));
    assert_eq!(cluster.state.jobs[&job].hold, Hold::None);
}

#[test]
fn who_runs_may_have_less_time_but_not_more() {
    let mut cluster = cluster();
    let job = cluster.submit_spec(1, JobSpec::default());
    let config =
        "cluster_name = \"c\"\n[[partitions]]\nname = \"p\"\ndefault_time = \"01:00:00\"\n";
    let settings = Settings::of(&crate::config::read(config).expect("is in order"));
    cluster.done(Command::Configure(settings));
    cluster.start(job, 1, "n1", 1);
    let mut change = |key: &str, value: String| {
        let said = Assignment { key: key.to_string(), value };
        let action = JobAction::Update(vec![said]);
        let control = Control { action, ..Control::cancel(job, alice()) };
        cluster.apply(Command::Control(Box::new(control))).reply
    };
    assert_eq!(change("TimeLimit", "61".into()), Err(SlurmError::AccessDenied));
    assert_eq!(change("TimeLimit", "59".into()), Ok(Reply::Done));
    assert_eq!(change("TimeLimit", "60".into()), Err(SlurmError::AccessDenied));
    assert_eq!(change("Priority", "5".into()), Err(SlurmError::AccessDenied));
    assert_eq!(change("Priority", "0".into()), Ok(Reply::Done));
    assert_eq!(change("Priority", "5".into()), Err(SlurmError::JobHeld));
    let started = cluster.at;
    let mut change = |at: i64| {
        let said = Assignment { key: "EndTime".to_string(), value: at.to_string() };
        let action = JobAction::Update(vec![said]);
        let control = Control { action, ..Control::cancel(job, alice()) };
        cluster.apply(Command::Control(Box::new(control))).reply
    };
    assert_eq!(change(started + 300), Ok(Reply::Done));
    assert_eq!(change(started + 3000), Err(SlurmError::AccessDenied));
}

#[test]
fn a_requeued_job_runs_again_in_a_later_epoch() {
    let mut cluster = cluster();
    let job = cluster.submit_spec(1, JobSpec::default());
    cluster.start(job, 1, "n1", 1);
    assert_eq!(cluster.control(job, "", JobAction::Requeue { hold: false }), Ok(Reply::Done));
    assert_eq!(cluster.shown(), ["1 completing"]);
    cluster.finish(job, 1, "n1", Outcome::Exited(ExitStatus { code: 0, signal: 15 }));
    assert_eq!(cluster.shown(), ["1 pending"]);
    cluster.start(job, 2, "n1", 1);
    assert_eq!(cluster.shown(), ["1 running"]);
    assert_eq!(cluster.state.jobs[&job].restarts, 1);
}
