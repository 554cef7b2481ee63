//! Steps and allocations, entry by entry.

use super::*;
use crate::job::spec::AllocationSpec;
use crate::job::{Pause, StepEnd};
use crate::limit::Limit;
use crate::state::CreateStep;
use crate::step::StepSpec;

/// A job without a script that holds two processors on each of two nodes.
fn allocation(cluster: &mut Cluster, request: u128) -> JobId {
    let mut submit = submission(request);
    submit.spec.allocation = Some(Box::new(AllocationSpec::default()));
    let Ok(Reply::Job(job)) = cluster.apply(Command::Submit(Box::new(submit))).reply else {
        panic!("not accepted")
    };
    let share = |node: &str| Share::of_cpus(node.into(), 2);
    let allocation = Allocation { shares: vec![share("n1"), share("n2")] };
    let effects = cluster.done(Command::Start(vec![JobStart {
        job,
        epoch: Epoch(1),
        task: None,
        allocation,
        partition: String::new(),
        minutes: None,
        priority: None,
        reason: None,
    }]));
    assert_eq!(effects, [], "nothing runs by itself");
    job
}

fn ask(job: JobId, request: u128, tasks: u32) -> Command {
    let asked = JobSpec { ntasks: Some(tasks), ntasks_said: true, ..JobSpec::default() };
    let spec = StepSpec { request: Some(Box::new(asked)), exact: true, ..StepSpec::default() };
    let request = RequestId(request);
    Command::CreateStep(Box::new(CreateStep { job, request, spec, beside: None, by: alice() }))
}

fn report(job: JobId, step: u32, code: u8) -> Finish {
    let outcome = Outcome::Exited(ExitStatus { code, signal: 0 });
    Finish { outcome, ..Finish::lost(job, Epoch(1), StepId(step)) }
}

#[test]
fn steps_take_processors_of_their_job_and_give_them_back() {
    let mut cluster = cluster();
    let job = allocation(&mut cluster, 1);
    assert_eq!(cluster.apply(ask(job, 10, 4)).reply, Ok(Reply::Step(job, StepId(0))));
    assert_eq!(
        cluster.apply(ask(job, 10, 4)).reply,
        Ok(Reply::Step(job, StepId(0))),
        "asked again"
    );
    assert_eq!(cluster.apply(ask(job, 11, 1)).reply, Err(SlurmError::NodesBusy));
    assert_eq!(cluster.apply(ask(job, 12, 5)).reply, Err(SlurmError::TooManyRequestedCpus));
    cluster.done(Command::Finished { node: "n1".into(), finishes: vec![report(job, 0, 3)] });
    assert_eq!(cluster.apply(ask(job, 11, 1)).reply, Ok(Reply::Step(job, StepId(1))));
    cluster.done(Command::Finished { node: "n2".into(), finishes: vec![report(job, 0, 1)] });
    let steps = &cluster.state.jobs[&job].steps;
    assert_eq!(steps.live.len(), 1);
    assert_eq!(steps.derived_exit.code, 3);
}

#[test]
fn steps_beside_each_other_have_processors_of_their_own() {
    let mut cluster = cluster();
    let mut submit = submission(1);
    submit.spec.allocation = Some(Box::new(AllocationSpec::default()));
    let Ok(Reply::Job(job)) = cluster.apply(Command::Submit(Box::new(submit))).reply else {
        panic!("not accepted")
    };
    let cpu_ids = [0, 1, 3].into_iter().collect();
    let allocation =
        Allocation { shares: vec![Share { cpu_ids, ..Share::of_cpus("n1".into(), 3) }] };
    cluster.done(Command::Start(vec![JobStart {
        job,
        epoch: Epoch(1),
        task: None,
        allocation,
        partition: String::new(),
        minutes: None,
        priority: None,
        reason: None,
    }]));
    let ids = |cluster: &Cluster, step| -> Vec<u32> {
        cluster.state.jobs[&job].steps.live[&StepId(step)].shares[0].cpu_ids.iter().collect()
    };
    for (request, tasks) in [(10, 1), (11, 2)] {
        assert!(cluster.apply(ask(job, request, tasks)).reply.is_ok());
    }
    assert_eq!((ids(&cluster, 0), ids(&cluster, 1)), (vec![0], vec![1, 3]));
    cluster.done(Command::Finished { node: "n1".into(), finishes: vec![report(job, 0, 0)] });
    assert!(cluster.apply(ask(job, 12, 1)).reply.is_ok());
    assert_eq!(ids(&cluster, 2), [0], "what was given back");
}

#[test]
fn an_allocation_ends_when_its_steps_have() {
    let mut cluster = cluster();
    let job = allocation(&mut cluster, 1);
    cluster.done(ask(job, 10, 4));
    let exit = ExitStatus { code: 7, signal: 0 };
    let stranger = Actor::user(Uid(7), Gid(7), Level::Administrator);
    let not_ours = Command::EndAllocation { job, exit, by: stranger };
    assert_eq!(cluster.apply(not_ours).reply, Err(SlurmError::AccessDenied));
    let effects = cluster.done(Command::EndAllocation { job, exit, by: alice() });
    assert_eq!(effects.len(), 2, "both nodes are told: {effects:?}");
    assert!(matches!(cluster.phase(job), Phase::Completing { .. }));
    assert_eq!(cluster.apply(ask(job, 11, 1)).reply, Err(SlurmError::AlreadyDone));
    for node in ["n1", "n2"] {
        cluster.done(Command::Finished { node: node.into(), finishes: vec![report(job, 0, 9)] });
    }
    assert!(
        matches!(cluster.phase(job), Phase::Ended { cause: Cause::Exited, exit: e, .. } if *e == exit)
    );
}

#[test]
fn what_could_not_start_at_once_has_failed() {
    let mut cluster = cluster();
    for (secs, state) in [(Some(0), "FAILED BadConstraints 0:1"), (Some(9), "CANCELLED None 0:0")] {
        let mut submit = submission(u128::from(secs.unwrap_or(0)) + 1);
        let asked = AllocationSpec { immediate_secs: secs, ..AllocationSpec::default() };
        submit.spec.allocation = Some(Box::new(asked));
        let Ok(Reply::Job(job)) = cluster.apply(Command::Submit(Box::new(submit))).reply else {
            panic!("not accepted")
        };
        let exit = ExitStatus::default();
        cluster.done(Command::EndAllocation { job, exit, by: alice() });
        let Phase::Ended { cause, exit, .. } = *cluster.phase(job) else { panic!("it is over") };
        let (ended, reason) = crate::accounts::record::ending(cause, exit);
        let told = format!("{} {} {}:{}", ended.name(), reason.name(), exit.code, exit.signal);
        assert_eq!(told, state);
    }
}

#[test]
fn an_allocation_without_steps_ends_at_once() {
    let mut cluster = cluster();
    let job = allocation(&mut cluster, 1);
    cluster.done(cancel(job, alice()));
    assert!(matches!(cluster.phase(job), Phase::Ended { .. }));
}

#[test]
fn a_batch_script_takes_its_steps_along() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 2);
    cluster.done(ask(job, 10, 2));
    let finishes = vec![Finish { outcome: OK, ..Finish::lost(job, Epoch(1), StepId::BATCH) }];
    let effects = cluster.done(Command::Finished { node: "n1".into(), finishes });
    let kill = Effect::Kill { job, epoch: Epoch(1), step: StepId(0), node: "n1".into() };
    assert_eq!(effects, [kill]);
    assert!(matches!(cluster.phase(job), Phase::Completing { .. }));
    cluster.done(Command::Finished { node: "n1".into(), finishes: vec![report(job, 0, 0)] });
    assert!(matches!(cluster.phase(job), Phase::Ended { cause: Cause::Exited, .. }));
}

#[test]
fn a_step_is_ended_by_its_owner() {
    let mut cluster = cluster();
    let job = allocation(&mut cluster, 1);
    cluster.done(ask(job, 10, 1));
    let end = |by| Command::EndStep { job, step: StepId(0), end: StepEnd::Asked, by };
    let mallory = Actor::user(Uid(7), Gid(7), Level::None);
    assert_eq!(cluster.apply(end(mallory)).reply, Err(SlurmError::AccessDenied));
    assert_eq!(cluster.done(end(alice())).len(), 1);
    assert!(matches!(cluster.phase(job), Phase::Running { .. }));
}

#[test]
fn tasks_are_killed_only_while_their_job_is_not_being_ended() {
    let mut cluster = cluster();
    let job = allocation(&mut cluster, 1);
    cluster.done(ask(job, 10, 1));
    let kill = || Command::EndStep {
        job,
        step: StepId(0),
        end: StepEnd::Killed { by: 1000 },
        by: alice(),
    };
    cluster.done(kill());
    let step = cluster.state.jobs[&job].steps.live[&StepId(0)].clone();
    assert_eq!(step.end, Some(StepEnd::Killed { by: 1000 }));
    cluster.done(Command::Control(Box::new(Control::cancel(job, alice()))));
    assert_eq!(cluster.apply(kill()).reply, Err(SlurmError::AlreadyDone));
}

#[test]
fn a_step_has_a_time_of_its_own_that_stands_still_with_its_job() {
    let mut cluster = cluster();
    let job = allocation(&mut cluster, 1);
    cluster.done(ask(job, 10, 1));
    let mut step = (*cluster.state.jobs[&job].steps.live[&StepId(0)]).clone();
    assert_eq!(step.ends_at(Pause::default()), None);
    step.limit = Some(Limit::Is(2));
    let end = |secs| Some(step.since.plus_secs(secs));
    assert_eq!(step.ends_at(Pause::default()), end(120));
    assert_eq!(step.ends_at(Pause { since: None, secs: 30 }), end(150));
    assert_eq!(step.ends_at(Pause { since: Some(step.since), secs: 0 }), None);
}

#[test]
fn a_steps_limit_is_changed_by_its_owner_for_one_or_all() {
    let mut cluster = cluster();
    let job = allocation(&mut cluster, 2);
    cluster.done(ask(job, 10, 1));
    cluster.done(ask(job, 11, 1));
    let change = |step, minutes, by| {
        let action = JobAction::LimitSteps { step, limit: Limit::Is(minutes) };
        Command::Control(Box::new(Control { job, tasks: None, action, by, request: None }))
    };
    cluster.done(change(None, 9, alice()));
    cluster.done(change(Some(StepId(1)), 5, alice()));
    let steps = &cluster.state.jobs[&job].steps.live;
    let limits: Vec<_> = steps.values().map(|step| step.limit).collect();
    assert_eq!(limits, [Some(Limit::Is(9)), Some(Limit::Is(5))]);
    let unknown = cluster.apply(change(Some(StepId(7)), 5, alice()));
    assert_eq!(unknown.reply, Err(SlurmError::InvalidJobId));
    let mallory = Actor::user(Uid(7), Gid(7), Level::None);
    assert_eq!(cluster.apply(change(None, 1, mallory)).reply, Err(SlurmError::AccessDenied));
}

#[test]
fn tasks_are_bound_as_their_nodes_or_their_partition_have_it() {
    use crate::config::words::CpuBind;
    let mut cluster = cluster();
    let job = allocation(&mut cluster, 1);
    let mut binding = |request: u128, n1: Option<CpuBind>, n2, partition: &str| {
        for (name, bound) in [("n1", n1), ("n2", n2)] {
            let node = cluster.state.nodes.get_mut(&NodeName::from(name)).expect("it is there");
            Arc::make_mut(node).cpu_bind = bound;
        }
        let config = format!(
            "cluster_name = \"c\"\n[[partitions]]\nname = \"default\"\ndefault = true\n{partition}\n"
        );
        let settings = Settings::of(&crate::config::read(&config).expect("is in order"));
        cluster.done(Command::Configure(settings));
        let reply = cluster.apply(ask(job, request, 4)).reply;
        let Ok(Reply::Step(_, step)) = reply else { panic!("{reply:?}") };
        let spec = cluster.state.jobs[&job].steps.live[&step].spec.clone().expect("srun's");
        for node in ["n1", "n2"] {
            let finishes = vec![report(job, step.0, 0)];
            cluster.done(Command::Finished { node: node.into(), finishes });
        }
        spec.cpu_bind.clone()
    };
    let (core, none) = (Some(CpuBind::Core), "cpu_bind = \"none\"");
    assert_eq!(binding(10, core, core, none), "cores");
    assert_eq!(binding(11, core, None, none), "none", "nodes that differ say nothing");
    assert_eq!(binding(12, None, None, ""), "");
}
