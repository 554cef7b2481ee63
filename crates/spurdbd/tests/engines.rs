//! What holds on both engines.

mod common;

use common::{Daemon, Server};
use spur_core::blob::BlobHash;
use spur_core::job::JobState;
use spur_core::views::accounting::AccountingRecord;
use spur_core::views::accounting::EventView;
use spur_core::views::rules::{AccountView, UserView, WckeyView};
use spur_core::views::{AssociationView, QosView, RuleRow, RulesView};
use spur_proto::slurm::{
    AccountingView, AmendJobsRequest, Amendment, ChangeRulesRequest, GetRulesRequest,
    IngestRequest, JobSelector, ListEventsRequest, ListJobHistoryRequest, ListTransactionsRequest,
};

fn job(id: u32, state: JobState, end_time: i64) -> AccountingView {
    let batch = AccountingView {
        job_id: id,
        step_id: "batch".to_string(),
        state: state.number(),
        start_time: 1010,
        end_time,
        ..AccountingView::default()
    };
    AccountingView {
        cluster: "c".to_string(),
        job_id: id,
        name: format!("job{id}"),
        uid: 1000,
        state: state.number(),
        submit_time: 1000,
        eligible_time: 1000,
        start_time: 1010,
        end_time,
        nodes: "n[1-2]".to_string(),
        steps: vec![batch],
        ..AccountingView::default()
    }
}

fn record(number: u64, run: u32, job: AccountingView) -> AccountingRecord {
    AccountingRecord { number, run, job: Some(job), ..AccountingRecord::default() }
}

fn batch(records: Vec<AccountingRecord>) -> IngestRequest {
    IngestRequest { cluster: "c".to_string(), birth: u64::MAX, records }
}

async fn send(daemon: &mut Daemon, request: IngestRequest) -> u64 {
    daemon.client.ingest(request).await.expect("is taken").into_inner().acknowledged
}

async fn everything(daemon: &mut Daemon) -> Vec<AccountingView> {
    daemon.jobs(ListJobHistoryRequest { duplicates: true, ..Default::default() }).await
}

/// Runs a test on both engines, the second one only where it is installed.
fn on_both(test: impl AsyncFn(&mut Daemon)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        test(&mut Daemon::on_a_file().await).await;
        if let Some(server) = Server::start() {
            test(&mut Daemon::on(&server).await).await;
        }
    });
}

#[test]
fn each_record_counts_once_whatever_is_repeated() {
    on_both(async |daemon| {
        let running = record(1, 1, job(7, JobState::Running, 0));
        let ended = record(2, 1, job(7, JobState::Completed, 1100));
        assert_eq!(send(daemon, batch(vec![])).await, 0);
        assert_eq!(send(daemon, batch(vec![running.clone(), ended.clone()])).await, 2);
        // A late repetition of an older record changes nothing.
        assert_eq!(send(daemon, batch(vec![running.clone()])).await, 2);
        daemon.restart().await;
        assert_eq!(send(daemon, batch(vec![running, ended])).await, 2);
        let jobs = everything(daemon).await;
        assert_eq!(jobs.len(), 1);
        assert_eq!(jobs[0].state, JobState::Completed.number());
        assert_eq!(jobs[0].steps.len(), 1);
        assert_eq!(jobs[0].steps[0].end_time, 1100);
    });
}

#[test]
fn a_new_log_of_the_same_cluster_counts_from_its_own_beginning() {
    on_both(async |daemon| {
        send(daemon, batch(vec![record(1, 1, job(1, JobState::Completed, 1100))])).await;
        let mut again = job(1, JobState::Failed, 2100);
        again.submit_time = 2000;
        let request = IngestRequest { birth: 1, ..batch(vec![record(1, 1, again)]) };
        assert_eq!(send(daemon, request).await, 1);
        assert_eq!(everything(daemon).await.len(), 2);
        // Without -D the last job of a number is shown.
        let shown = daemon.jobs(ListJobHistoryRequest::default()).await;
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].state, JobState::Failed.number());
    });
}

#[test]
fn what_kept_a_run_waiting_stays_known_and_requeued_ones_are_found() {
    on_both(async |daemon| {
        let held = AccountingView { reason: 16, start_time: 0, ..job(3, JobState::Pending, 0) };
        let mut requeued = job(4, JobState::Pending, 1050);
        requeued.state |= 1 << 10;
        let records = vec![
            record(1, 1, held),
            record(2, 1, job(3, JobState::Completed, 1050)),
            record(3, 1, requeued),
            record(4, 2, job(4, JobState::Completed, 1060)),
        ];
        send(daemon, batch(records)).await;
        let rows = everything(daemon).await;
        assert_eq!(rows.iter().map(|job| job.reason).collect::<Vec<_>>(), [16, 0, 0]);
        let request = ListJobHistoryRequest {
            states: vec![1 << 10],
            start: 1,
            end: 2000,
            duplicates: true,
            ..ListJobHistoryRequest::default()
        };
        let found = daemon.jobs(request).await;
        assert_eq!(found.iter().map(|job| job.job_id).collect::<Vec<_>>(), [4]);
    });
}

#[test]
fn requeued_runs_keep_their_rows() {
    on_both(async |daemon| {
        let records = vec![
            record(1, 1, job(3, JobState::NodeFail, 1050)),
            record(2, 2, job(3, JobState::Running, 0)),
        ];
        send(daemon, batch(records)).await;
        let states: Vec<u32> = everything(daemon).await.iter().map(|job| job.state).collect();
        assert_eq!(states, [JobState::NodeFail.number(), JobState::Running.number()]);
    });
}

#[test]
fn words_of_users_are_values_and_nothing_else() {
    on_both(async |daemon| {
        let hostile = "'; DROP TABLE jobs; --\\\" $1 ?1 \0 %s {}";
        let mut row = job(1, JobState::Completed, 1100);
        (row.name, row.account) = (hostile.to_string(), hostile.to_string());
        (row.partition, row.user_name) = (hostile.to_string(), hostile.to_string());
        (row.wckey, row.qos) = (hostile.to_string(), hostile.to_string());
        row.reservation = hostile.to_string();
        for text in [
            &mut row.array_task_string,
            &mut row.group_name,
            &mut row.nodes,
            &mut row.tres_allocated,
            &mut row.tres_requested,
            &mut row.constraints,
            &mut row.comment,
            &mut row.admin_comment,
            &mut row.system_comment,
            &mut row.extra,
            &mut row.container,
            &mut row.licenses,
            &mut row.mcs_label,
            &mut row.work_dir,
            &mut row.submit_line,
            &mut row.standard_input,
            &mut row.standard_output,
            &mut row.standard_error,
            &mut row.failed_node,
            &mut row.script_hash,
            &mut row.environment_hash,
        ] {
            *text = hostile.to_string();
        }
        for step in &mut row.steps {
            (step.name, step.step_id) = (hostile.to_string(), hostile.to_string());
            (step.submit_line, step.nodes) = (hostile.to_string(), hostile.to_string());
        }
        let event = EventView {
            cluster: "c".to_string(),
            node: hostile.to_string(),
            start_time: 1000,
            state: hostile.to_string(),
            reason: hostile.to_string(),
            tres: hostile.to_string(),
            ..EventView::default()
        };
        let event =
            AccountingRecord { number: 2, event: Some(event), ..AccountingRecord::default() };
        send(daemon, batch(vec![record(1, 1, row), event])).await;
        let events = daemon.client.list_events(ListEventsRequest {
            nodes: vec![hostile.to_string()],
            start: 1,
            ..Default::default()
        });
        let events = events.await.expect("an answer").into_inner().events;
        assert_eq!(events.iter().map(|it| it.reason.as_str()).collect::<Vec<_>>(), [hostile]);
        let words = || vec![hostile.to_string()];
        let found = daemon
            .jobs(ListJobHistoryRequest {
                names: words(),
                accounts: words(),
                partitions: words(),
                user_names: words(),
                wckeys: words(),
                qos: words(),
                reservations: words(),
                ..Default::default()
            })
            .await;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].comment.as_str()), (hostile, hostile));
        assert_eq!(found[0].steps[0].step_id, hostile);
        let nodes = words();
        let by_node = ListJobHistoryRequest { nodes, texts: true, ..Default::default() };
        assert!(
            daemon.jobs(by_node).await.len() <= 1,
            "no node has such a name, but the table stands"
        );
        let clusters = words();
        assert!(
            daemon.jobs(ListJobHistoryRequest { clusters, ..Default::default() }).await.is_empty()
        );
        assert_eq!(everything(daemon).await.len(), 1);
    });
}

#[test]
fn rules_hold_hostile_words_as_they_are() {
    on_both(async |daemon| {
        let hostile = "x'); DELETE FROM rules; --\\\" OR '1'='1 $2 ?1 %s {}";
        send(daemon, batch(vec![])).await;
        let rules = daemon.client.get_rules(GetRulesRequest::default()).await.expect("rules");
        let rules = rules.into_inner();
        let (accounts, qos) = (rules.accounts.len(), rules.qos.len());
        let put = vec![
            AccountView {
                name: hostile.to_string(),
                description: hostile.to_string(),
                organization: hostile.to_string(),
                coordinators: vec![hostile.to_string()],
            }
            .into(),
            UserView {
                name: hostile.to_string(),
                default_account: hostile.to_string(),
                admin_level: 1,
                default_wckey: hostile.to_string(),
            }
            .into(),
            AssociationView {
                cluster: "c".to_string(),
                account: hostile.to_string(),
                parent: "root".to_string(),
                comment: hostile.to_string(),
                ..AssociationView::default()
            }
            .into(),
            QosView {
                name: hostile.to_string(),
                description: hostile.to_string(),
                ..QosView::default()
            }
            .into(),
            WckeyView {
                name: hostile.to_string(),
                cluster: "c".to_string(),
                user_name: hostile.to_string(),
                id: 0,
            }
            .into(),
        ];
        let request = ChangeRulesRequest { version: rules.version, put, ..Default::default() };
        daemon.client.change_rules(request).await.expect("is taken");
        daemon.restart().await;
        let kept = daemon.client.get_rules(GetRulesRequest::default()).await.expect("rules");
        let kept = kept.into_inner();
        assert_eq!((kept.accounts.len(), kept.qos.len()), (accounts + 1, qos + 1));
        let account = kept.account(hostile).expect("it is kept as it is");
        assert_eq!(
            (&account.description, &account.coordinators[0]),
            (&hostile.into(), &hostile.into())
        );
        // Words of a query about changes are values, too.
        let request = ListTransactionsRequest {
            actors: vec![hostile.to_string()],
            actions: vec![hostile.to_string()],
            ..Default::default()
        };
        let found = daemon.client.list_transactions(request).await.expect("an answer");
        assert!(found.into_inner().transactions.is_empty());
        let request = ListEventsRequest {
            nodes: vec![hostile.to_string()],
            clusters: vec![hostile.to_string()],
            ..Default::default()
        };
        let found = daemon.client.list_events(request).await.expect("an answer");
        assert!(found.into_inner().events.is_empty());
    });
}

#[test]
fn scripts_are_kept_once_and_shown_to_those_who_ask() {
    on_both(async |daemon| {
        let script = b"#!/bin/sh\nexit 0\n".to_vec();
        let hash = BlobHash::of(&script).to_string();
        let with = |id: u32| AccountingView {
            script_hash: hash.clone(),
            ..job(id, JobState::Completed, 1100)
        };
        let told = |number, id| AccountingRecord {
            texts: vec![script.clone()],
            ..record(number, 1, with(id))
        };
        send(daemon, batch(vec![told(1, 1), told(2, 2)])).await;
        let asked = ListJobHistoryRequest { texts: true, ..Default::default() };
        let jobs = daemon.jobs(asked).await;
        assert!(jobs.len() == 2 && jobs.iter().all(|job| job.script == script));
        assert!(everything(daemon).await.iter().all(|job| job.script.is_empty()));
    });
}

#[test]
fn a_window_shows_who_was_there_and_in_which_state() {
    on_both(async |daemon| {
        let mut waiting = job(4, JobState::Pending, 0);
        (waiting.start_time, waiting.nodes) = (0, String::new());
        let mut held = waiting.clone();
        (held.job_id, held.eligible_time) = (5, 0);
        let records = vec![
            record(1, 1, job(1, JobState::Completed, 1100)),
            record(2, 1, job(2, JobState::Failed, 1300)),
            record(3, 1, job(3, JobState::Running, 0)),
            record(4, 1, waiting),
            record(5, 1, held),
        ];
        send(daemon, batch(records)).await;
        let mut ids = async |request: ListJobHistoryRequest| -> Vec<u32> {
            daemon.jobs(request).await.iter().map(|job| job.job_id).collect()
        };
        let window = |start, end| ListJobHistoryRequest { start, end, ..Default::default() };
        let states = |states: &[JobState], start, end| ListJobHistoryRequest {
            states: states.iter().map(|state| state.number()).collect(),
            ..window(start, end)
        };
        assert_eq!(ids(window(1200, 1400)).await, [2, 3, 4]);
        assert_eq!(ids(window(1, 999)).await, [0; 0]);
        assert_eq!(ids(window(0, 0)).await, [1, 2, 3, 4]);
        assert_eq!(ids(states(&[JobState::Failed], 1200, 1400)).await, [2]);
        assert_eq!(ids(states(&[JobState::Failed], 1200, 1250)).await, [0; 0]);
        assert_eq!(ids(states(&[JobState::Running], 1200, 1250)).await, [2, 3]);
        assert_eq!(ids(states(&[JobState::Pending], 1200, 1400)).await, [4]);
        // Asked for by its number, a held job is shown too.
        let by_number = JobSelector { job_id: 5, ..Default::default() };
        let request = ListJobHistoryRequest { jobs: vec![by_number], ..Default::default() };
        assert_eq!(ids(request).await, [5]);
        let on = |node: &str| ListJobHistoryRequest {
            nodes: vec![node.to_string()],
            ..Default::default()
        };
        assert_eq!(ids(on("n2")).await, [1, 2, 3]);
        assert_eq!(ids(on("n3")).await, [0; 0]);
    });
}

#[test]
fn a_server_that_crashes_loses_nothing_it_acknowledged() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let Some(mut server) = Server::start() else { return };
    runtime.block_on(async {
        let mut daemon = Daemon::on(&server).await;
        let mut acknowledged = 0;
        for round in 0..3 {
            let mut records = Vec::new();
            for number in acknowledged + 1..=acknowledged + 50 {
                records.push(record(number, 1, job(number as u32, JobState::Completed, 1100)));
            }
            acknowledged = send(&mut daemon, batch(records.clone())).await;
            assert_eq!(acknowledged, (round + 1) * 50);
            server.crash();
            // The first call on a broken connection fails; the sender asks again.
            while daemon.client.ingest(batch(vec![])).await.is_err() {}
            assert_eq!(send(&mut daemon, batch(records)).await, acknowledged);
        }
        assert_eq!(everything(&mut daemon).await.len(), 150);
    });
}

#[test]
fn clusters_share_a_database_and_nothing_else() {
    on_both(async |daemon| {
        let of = |cluster: &str, state: JobState| {
            let row = AccountingView { cluster: cluster.to_string(), ..job(1, state, 1100) };
            IngestRequest { cluster: cluster.to_string(), ..batch(vec![record(1, 1, row)]) }
        };
        assert_eq!(send(daemon, of("c", JobState::Completed)).await, 1);
        assert_eq!(send(daemon, of("d", JobState::Failed)).await, 1, "each counts for itself");
        let mut states = async |clusters: &[&str]| -> Vec<(String, u32)> {
            let clusters = clusters.iter().map(ToString::to_string).collect();
            let request = ListJobHistoryRequest { clusters, ..Default::default() };
            let jobs = daemon.jobs(request).await;
            jobs.into_iter().map(|job| (job.cluster, job.state)).collect()
        };
        let c = ("c".to_string(), JobState::Completed.number());
        let d = ("d".to_string(), JobState::Failed.number());
        assert_eq!(states(&["c"]).await, std::slice::from_ref(&c));
        assert_eq!(states(&["d"]).await, std::slice::from_ref(&d));
        assert_eq!(states(&["c", "d"]).await, [c.clone(), d.clone()]);
        assert_eq!(states(&[]).await, [c, d], "the same number is another job elsewhere");
        let rules = daemon.client.get_rules(GetRulesRequest::default()).await.expect("rules");
        let clusters = rules.into_inner().clusters;
        let names: Vec<&str> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
        assert_eq!(names, ["c", "d"]);
    });
}

async fn rules(daemon: &mut Daemon, with_deleted: bool) -> RulesView {
    let request = GetRulesRequest { with_deleted, ..Default::default() };
    daemon.client.get_rules(request).await.expect("rules").into_inner()
}

async fn change(daemon: &mut Daemon, put: Vec<RuleRow>, remove: Vec<RuleRow>) {
    let version = rules(daemon, false).await.version;
    let request = ChangeRulesRequest { version, put, remove, ..Default::default() };
    daemon.client.change_rules(request).await.expect("is taken");
}

#[test]
fn what_jobs_ran_under_is_told_of_when_it_is_deleted_and_comes_back_with_its_number() {
    on_both(async |daemon| {
        let mut row = job(1, JobState::Completed, 1020);
        row.account = "used".to_string();
        send(daemon, batch(vec![record(1, 1, row)])).await;
        let account = |name: &str| -> Vec<RuleRow> {
            let account = AccountView { name: name.to_string(), ..AccountView::default() };
            let own = AssociationView {
                cluster: "c".to_string(),
                account: name.to_string(),
                parent: "root".to_string(),
                ..AssociationView::default()
            };
            vec![account.into(), own.into()]
        };
        for name in ["used", "new"] {
            change(daemon, account(name), vec![]).await;
        }
        let number = |rules: &RulesView| rules.account_association("c", "used").map(|it| it.id);
        let had = number(&rules(daemon, false).await);
        for name in ["used", "new"] {
            change(daemon, vec![], account(name)).await;
        }
        daemon.restart().await;
        assert!(rules(daemon, false).await.account("used").is_none());
        let told = rules(daemon, true).await;
        assert!(told.account("used").is_some() && number(&told) == had);
        assert!(told.account("new").is_none(), "nobody has used it");
        change(daemon, account("used"), vec![]).await;
        assert_eq!(number(&rules(daemon, false).await), had);
        change(daemon, account("new"), vec![]).await;
        let told = rules(daemon, true).await;
        assert_eq!(told.accounts.iter().filter(|one| one.name == "used").count(), 1);
    });
}

#[test]
fn an_association_stays_while_jobs_of_it_are_not_over() {
    on_both(async |daemon| {
        let mut row = job(7, JobState::Running, 0);
        (row.account, row.user_name) = ("busy".to_string(), "ann".to_string());
        send(daemon, batch(vec![record(1, 1, row.clone())])).await;
        let account = AccountView { name: "busy".to_string(), ..AccountView::default() };
        let user = UserView { name: "ann".to_string(), ..UserView::default() };
        let own = AssociationView {
            cluster: "c".to_string(),
            account: "busy".to_string(),
            parent: "root".to_string(),
            ..AssociationView::default()
        };
        let hers =
            AssociationView { parent: String::new(), user_name: "ann".to_string(), ..own.clone() };
        let rows = vec![account.into(), user.into(), own.into(), hers.clone().into()];
        change(daemon, rows, vec![]).await;
        let version = rules(daemon, false).await.version;
        let remove = vec![hers.clone().into()];
        let request = ChangeRulesRequest { version, remove, ..Default::default() };
        let refused = daemon.client.change_rules(request).await.expect_err("has a job");
        assert_eq!(
            refused.message(),
            "Job(s) active, cancel job(s) before remove\n  JobID = 7          C = c          A = busy       \
             U = ann      "
        );
        assert_eq!(rules(daemon, false).await.version, version);
        (row.state, row.end_time) = (JobState::Completed.number(), 1020);
        send(daemon, batch(vec![record(2, 1, row)])).await;
        change(daemon, vec![], vec![hers.into()]).await;
    });
}

#[test]
fn what_is_said_of_a_job_afterwards_outlasts_later_news_of_it() {
    on_both(async |daemon| {
        send(daemon, batch(vec![record(1, 1, job(1, JobState::Running, 0))])).await;
        let hostile = "it's; DROP TABLE jobs; --";
        let asked = AmendJobsRequest {
            jobs: vec![JobSelector { job_id: 1, ..Default::default() }],
            set: Some(Amendment {
                system_comment: Some(hostile.to_string()),
                derived_exit_status: Some(256),
                ..Default::default()
            }),
            only_look: true,
            ..Default::default()
        };
        let amended = daemon.client.amend_jobs(asked.clone()).await.expect("an answer");
        assert_eq!(amended.into_inner().jobs.len(), 1);
        assert_eq!(everything(daemon).await[0].system_comment, "");
        let asked = AmendJobsRequest { only_look: false, ..asked };
        daemon.client.amend_jobs(asked).await.expect("is done");
        send(daemon, batch(vec![record(2, 1, job(1, JobState::Completed, 1020))])).await;
        let found = everything(daemon).await;
        assert_eq!((found[0].system_comment.as_str(), found[0].end_time), (hostile, 1020));
        assert_eq!(found[0].derived_exit_status, 256);
        let request = ListTransactionsRequest {
            actions: vec!["Modify Job".to_string()],
            ..Default::default()
        };
        let told = daemon.client.list_transactions(request).await.expect("an answer");
        assert_eq!(told.into_inner().transactions.len(), 1);
    });
}
