//! A client whose answer was lost asks again, with the same name for its request: it is told what it was told, also by
//! a controller that leads since, and nothing is done twice.

use std::time::Duration;

use spur_core::state::Assignment;
use spur_proto::caller::Caller;
use spur_proto::client::Address;
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::*;
use spur_tests::harness::{Cluster, Processes, until};
use tonic::{Response, Status};

type Client = ControllerClient<tonic::transport::Channel>;

fn name(number: u128) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// What a client is told that asks whoever leads.
fn ask<T, F>(cluster: &Cluster, call: impl Fn(Client) -> F) -> T
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let socket = |name: String| Address::Unix(cluster.dir().join(format!("run/{name}.sock")));
    let sockets: Vec<Address> = cluster.controllers().into_iter().map(socket).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime
        .expect("a runtime")
        .block_on(async { Caller::new(sockets, Duration::from_secs(60)).call(call).await });
    done.expect("is done")
}

/// Everything that is asked for twice, in one go; what came of it.
fn requests(cluster: &Cluster, job_id: u32, allocation: u32) -> (String, u32, String) {
    let trigger = Trigger {
        job_id: Some(job_id),
        events: vec!["fini".to_string()],
        program: "/bin/true".to_string(),
        permanent: true,
        ..Trigger::default()
    };
    let set = SetTriggerRequest { trigger: Some(trigger), request_id: name(1) };
    ask(cluster, |mut client| {
        let set = set.clone();
        async move { client.set_trigger(set).await }
    });
    let assignments = ["StartTime=4000000000", "Duration=60", "NodeCnt=1", "Users=root"];
    let assignments = assignments.map(|it| {
        let (key, value) = it.split_once('=').expect("has a value");
        Assignment { key: key.to_string(), value: value.to_string() }
    });
    let mut reserve = AdministerRequest {
        assignments: assignments.into(),
        request_id: name(2),
        ..AdministerRequest::default()
    };
    reserve.set_noun(Noun::Reservation);
    reserve.set_verb(Verb::Create);
    let reserved = ask(cluster, |mut client| {
        let reserve = reserve.clone();
        async move { client.administer(reserve).await }
    });
    let end = EndAllocationRequest { job_id: allocation, exit_status: 0, request_id: name(3) };
    ask(cluster, |mut client| {
        let end = end.clone();
        async move { client.end_allocation(end).await }
    });
    let signal = SignalStepRequest { job_id, step_id: 0, signal: 10, request_id: name(4) };
    ask(cluster, |mut client| {
        let signal = signal.clone();
        async move { client.signal_step(signal).await }
    });
    let words = NotifyJob { words: "hear this".to_string() };
    let notify = ControlJobRequest {
        job_id,
        request_id: name(5),
        action: Some(Action::Notify(words)),
        ..ControlJobRequest::default()
    };
    ask(cluster, |mut client| {
        let notify = notify.clone();
        async move { client.control_job(notify).await }
    });
    let uid = Some(nix::unistd::getuid().as_raw());
    let job = SubmitJobRequest {
        request_id: name(6),
        spec: Some(JobSpec { name: "line".to_string(), ..JobSpec::default() }),
        script: b"#!/bin/sh\ntrue\n".to_vec(),
        ..SubmitJobRequest::default()
    };
    let line = CrontabLine { first: 1, last: 1, when: "0 0 1 1 *".to_string(), job: Some(job) };
    let table = SetCrontabRequest {
        uid,
        text: "0 0 1 1 * true\n".to_string(),
        lines: vec![line],
        request_id: name(7),
    };
    let refused = ask(cluster, |mut client| {
        let table = table.clone();
        async move { client.set_crontab(table).await }
    });
    assert_eq!(refused.error_number, 0);
    let triggers =
        ask(
            cluster,
            |mut client| async move { client.list_triggers(ListTriggersRequest {}).await },
        );
    let crontab = ask(cluster, |mut client| async move {
        client.get_crontab(GetCrontabRequest { uid: None }).await
    });
    (reserved.name, triggers.triggers.len() as u32, crontab.text.unwrap_or_default())
}

#[test]
fn what_was_asked_of_a_leader_that_died_is_not_done_again_by_the_next() {
    let cluster = Cluster::up_with("n[1-2]", 4, &["--controllers", "3"]);
    let (heard, output) = (cluster.work_dir().join("heard"), cluster.work_dir().join("output"));
    let task = cluster.work_dir().join("task");
    let waits = "trap 'echo heard >>heard' USR1; trap 'echo other >>heard' USR2; echo up >>heard; while :; do sleep 0.05; done";
    std::fs::write(&task, waits).expect("is written");
    let step = format!("{} -n1 sh {}", cluster.tool("srun"), task.display());
    let words = ["--parsable", "-n1", "-o", "output", "--wrap", &step];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    let told = cluster.run("salloc -n1 --no-shell").stderr;
    let allocation = told.lines().find_map(|line| {
        line.strip_prefix("salloc: Granted job allocation ").and_then(|id| id.trim().parse().ok())
    });
    let allocation: u32 = allocation.expect("is granted");
    let count = |file: &std::path::Path, word: &str| {
        std::fs::read_to_string(file).unwrap_or_default().matches(word).count()
    };
    until("the task is up", || (count(&heard, "up") == 1).then_some(()));

    let job_id: u32 = job.parse().expect("a number");
    let first = requests(&cluster, job_id, allocation);
    assert_eq!((first.0.is_empty(), first.1), (false, 1), "{first:?}");
    until("the signal is heard", || (count(&heard, "heard") == 1).then_some(()));
    until("the words are heard", || (count(&output, "hear this") == 1).then_some(()));

    // Somebody else's changes since are no business of a repetition.
    assert_eq!(cluster.run("scrontab -r").status, 0);
    Processes::kill(until("somebody leads", || cluster.leader()));
    until("another leads", || cluster.leader());
    let second = requests(&cluster, job_id, allocation);
    assert_eq!((&second.0, second.1, second.2.as_str()), (&first.0, 1, ""));

    // Other names, other requests. What is told before the node has found the new leader is lost.
    let other = std::cell::Cell::new(100);
    until("another signal is heard", || {
        other.set(other.get() + 1);
        let request_id = name(other.get());
        let signal = SignalStepRequest { job_id, step_id: 0, signal: 12, request_id };
        ask(&cluster, |mut client| {
            let signal = signal.clone();
            async move { client.signal_step(signal).await }
        });
        (count(&heard, "other") > 0).then_some(())
    });
    assert_eq!(count(&heard, "heard"), 1);
    assert_eq!(count(&output, "hear this"), 1);
    for _ in 0..2 {
        let clear = ClearTriggersRequest {
            job_id: Some(job_id),
            request_id: name(8),
            ..Default::default()
        };
        let cleared = ask(&cluster, |mut client| {
            let clear = clear.clone();
            async move { client.clear_triggers(clear).await }
        });
        assert_eq!(cleared.cleared, 1);
    }
    assert_eq!(cluster.run(&format!("scancel {job}")).status, 0);
}
