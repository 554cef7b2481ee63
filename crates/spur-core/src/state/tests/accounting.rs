//! What accounting is told of a job, entry by entry.

use super::*;
use crate::fields::accounting::ACCOUNTING_FIELDS;
use crate::fields::format;
use crate::fields::render::{Layout, RenderContext, accounting_row};
use crate::views::{RulesView, TaskUsage, Usage};

/// Lines as `sacct -P -o JobID,State,ExitCode,AllocTRES` shows them, with number and run in front.
fn told(records: &[AccountingRecord]) -> Vec<String> {
    told_by("JobID,State,ExitCode,AllocTRES", records)
}

fn told_by(columns: &str, records: &[AccountingRecord]) -> Vec<String> {
    let columns = format::accounting(ACCOUNTING_FIELDS, columns);
    let columns = columns.expect("they are known");
    let layout = Layout::Parsable { delimiter: "|".to_string(), ends: false };
    let line = |row| accounting_row(&columns, row, &layout, &RenderContext::default());
    let mut lines = Vec::new();
    for record in records {
        let job = record.job.as_ref().expect("a row");
        lines.push(format!("{} run {}: {}", record.number, record.run, line(job)));
        lines.extend(job.steps.iter().map(line));
    }
    lines
}

fn accounted() -> Cluster {
    let mut cluster = cluster();
    let mut settings = Settings::default();
    settings.accounting = true;
    cluster.done(Command::Configure(settings));
    cluster
}

fn finished(job: JobId, epoch: u32, outcome: Outcome) -> Command {
    let mut usage = Usage { user_micros: 1_500_000, system_micros: 500_000, ..Usage::default() };
    usage.add(0, &TaskUsage { memory_bytes: 4 << 20, ..TaskUsage::default() });
    let usage = Some(Box::new(usage));
    let finish = Finish { outcome, usage, ..Finish::lost(job, Epoch(epoch), StepId::BATCH) };
    Command::Finished { node: "n1".into(), finishes: vec![finish] }
}

#[test]
fn every_stage_of_a_job_is_told_once_with_its_steps() {
    let mut cluster = accounted();
    let submitted = cluster.apply(Command::Submit(Box::new(submission(1))));
    assert_eq!(told(&submitted.records), ["1 run 1: 1|PENDING|0:0|"]);
    let again = cluster.apply(Command::Submit(Box::new(submission(1))));
    assert_eq!(told(&again.records), [""; 0], "a repetition is no news");
    let allocation = Allocation { shares: vec![Share::of_cpus("n1".into(), 2)] };
    let start = JobStart {
        job: JobId(1),
        epoch: Epoch(1),
        task: None,
        allocation,
        partition: String::new(),
        minutes: None,
        priority: None,
        reason: None,
    };
    let started = cluster.apply(Command::Start(vec![start]));
    assert_eq!(
        told(&started.records),
        ["2 run 1: 1|RUNNING|0:0|billing=2,cpu=2,node=1", "1.batch|RUNNING|0:0|cpu=2,node=1"]
    );
    let exit = Outcome::Exited(ExitStatus { code: 3, signal: 0 });
    let ended = cluster.apply(finished(JobId(1), 1, exit));
    assert_eq!(
        told(&ended.records),
        ["3 run 1: 1|FAILED|3:0|billing=2,cpu=2,node=1", "1.batch|FAILED|3:0|cpu=2,node=1"]
    );
    let used = told_by("JobID,TotalCPU,MaxRSS,MaxRSSNode", &ended.records);
    assert_eq!(used, ["3 run 1: 1|00:00:00||", "1.batch|00:02.000|4M|n1"]);
    assert_eq!(cluster.state.history.records, 3);
    assert_eq!(cluster.state.history.birth, 7);
}

#[test]
fn without_accounting_nothing_is_told() {
    let mut cluster = cluster();
    let submitted = cluster.apply(Command::Submit(Box::new(submission(1))));
    assert_eq!(submitted.records, []);
    assert_eq!(cluster.state.history.records, 0);
}

#[test]
fn a_cancelled_script_was_cancelled_and_its_job_by_somebody() {
    let mut cluster = accounted();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 1);
    let ending = cluster.apply(Command::Control(Box::new(Control::cancel(job, alice()))));
    assert_eq!(
        told_by("JobID,State,End", &ending.records),
        ["3 run 1: 1|CANCELLED by 1000|Unknown", "1.batch|CANCELLED|Unknown"],
        "what is being ended is told so at once"
    );
    let killed = Outcome::Exited(ExitStatus { code: 0, signal: 15 });
    let ended = cluster.apply(finished(job, 1, killed));
    assert_eq!(
        told(&ended.records),
        [
            "4 run 1: 1|CANCELLED by 1000|0:0|billing=1,cpu=1,node=1",
            "1.batch|CANCELLED|0:15|cpu=1,node=1"
        ]
    );
}

#[test]
fn a_step_stood_still_while_its_job_did() {
    let mut cluster = accounted();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 1);
    let control = |action| {
        Command::Control(Box::new(Control { action, ..Control::cancel(job, Actor::Controller) }))
    };
    cluster.done(control(JobAction::Suspend));
    cluster.at += 4;
    cluster.done(control(JobAction::Resume));
    assert_eq!(cluster.state.jobs[&job].pause.since, None, "it goes on");
    let ended = cluster.apply(finished(job, 1, Outcome::Exited(ExitStatus::default())));
    let lines = told_by("JobID,Elapsed,Suspended", &ended.records);
    assert_eq!(lines[0].split_once(": ").expect("a row").1, "1|00:00:02|00:00:05");
    assert_eq!(lines[1], "1.batch|00:00:02|00:00:05");
}

#[test]
fn a_run_that_gave_way_keeps_its_row() {
    let mut cluster = accounted();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 1);
    let requeue = JobAction::Requeue { hold: false };
    assert_eq!(cluster.control(job, "", requeue), Ok(Reply::Done));
    let killed = Outcome::Exited(ExitStatus { code: 0, signal: 15 });
    let ended = cluster.apply(finished(job, 1, killed));
    assert_eq!(
        told(&ended.records),
        [
            "3 run 1: 1|REQUEUED|0:0|billing=1,cpu=1,node=1",
            "1.batch|CANCELLED|0:15|cpu=1,node=1",
            "4 run 2: 1|PENDING|0:0|"
        ]
    );
}

#[test]
fn a_job_that_was_over_and_is_sent_back_says_so_and_waits_again() {
    let mut cluster = accounted();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 1);
    let exit = Outcome::Exited(ExitStatus { code: 3, signal: 0 });
    cluster.apply(finished(job, 1, exit));
    let tasks = crate::job::array::parse("", u32::MAX).expect("tasks");
    let action = JobAction::Requeue { hold: true };
    let requeue = Control { job, tasks, action, by: alice(), request: None };
    let sent_back = cluster.apply(Command::Control(Box::new(requeue)));
    assert_eq!(
        told(&sent_back.records),
        ["4 run 1: 1|REQUEUED|3:0|billing=1,cpu=1,node=1", "5 run 2: 1|PENDING|0:0|"]
    );
    let waits = sent_back.records[1].job.as_ref().expect("a row");
    assert!(waits.eligible_time > 0, "those who ask for today see it");
}

#[test]
fn what_kept_a_job_waiting_and_its_priority_are_told() {
    let mut cluster = accounted();
    let mut held = submission(1);
    held.spec.hold = true;
    let submitted = cluster.apply(Command::Submit(Box::new(held)));
    assert_eq!(told_by("Reason,Flags", &submitted.records), ["1 run 1: JobHeldUser|StartReceived"]);
    let other = cluster.submit(2);
    let allocation = Allocation { shares: vec![Share::of_cpus("n1".into(), 1)] };
    let start = JobStart {
        job: other,
        epoch: Epoch(1),
        task: None,
        allocation,
        partition: String::new(),
        minutes: None,
        priority: Some(77),
        reason: Some(crate::job::Reason::QOSMaxJobsPerUserLimit.number()),
    };
    let started = cluster.apply(Command::Start(vec![start]));
    let lines = told_by("Reason,Priority,AllocNodes", &started.records);
    assert_eq!(lines[0], "3 run 1: QOSMaxJobsPerUserLimit|77|1");
}

/// A cluster that holds to these rules.
fn ruled(lines: &[&str]) -> Cluster {
    let mut cluster = cluster();
    let config = "cluster_name = \"c\"\n[accounting]\nenforce = [\"limits\"]\n";
    let mut settings = Settings::of(&crate::config::read(config).expect("is in order"));
    settings.accounting = true;
    cluster.done(Command::Configure(settings));
    let rules = crate::accounts::book::tests::book(lines).rules().clone();
    cluster.done(Command::SetRules(Box::new(rules)));
    cluster
}

#[test]
fn as_many_jobs_grow_older_as_a_limit_lets() {
    let mut cluster = ruled(&[
        "add account physics",
        "add user alice account=physics",
        "modify qos normal set MaxJobsAccruePU=1",
    ]);
    let (first, second) = (cluster.submit(1), cluster.submit(2));
    assert_eq!(cluster.state.accruals_due(), [first]);
    cluster.done(Command::Accrue(vec![first]));
    assert_eq!(cluster.state.accruals_due(), [JobId(0); 0], "the other has to wait");
    let since = |cluster: &Cluster, job| cluster.state.accrues_since(&cluster.state.jobs[&job]);
    assert_eq!(since(&cluster, first), Some(Some(cluster.state.now)));
    assert_eq!(since(&cluster, second), Some(None));
    cluster.done(cancel(first, alice()));
    assert_eq!(cluster.state.accruals_due(), [second]);
    // Without a limit nobody asks.
    let mut free = ruled(&["add account physics", "add user alice account=physics"]);
    let job = free.submit(1);
    assert_eq!((free.state.accruals_due(), since(&free, job)), (Vec::new(), None));
}

#[test]
fn usage_is_forgotten_at_a_word() {
    let mut cluster = ruled(&["add account physics", "add user alice account=physics"]);
    let settings = (*cluster.state.settings).clone();
    cluster.state.usage.insert(crate::accounts::limits::Purse::Association(1), Default::default());
    let mut now = settings.clone();
    let text = "cluster_name = \"c\"\n[priority]\nusage_reset = \"now\"\n";
    now.config = Settings::of(&crate::config::read(text).expect("is in order")).config;
    cluster.done(Command::Configure(now));
    assert!(cluster.state.usage.is_empty());
}

#[test]
fn a_partitions_qos_pays_along() {
    use crate::accounts::limits::Purse;
    let mut cluster = ruled(&[
        "add account physics",
        "add user alice account=physics",
        "add qos part GrpTRESMins=cpu=1",
    ]);
    let id = |cluster: &Cluster, name| cluster.state.rules.qos(name).expect("it is there").id;
    let (own, part) = (id(&cluster, "normal"), id(&cluster, "part"));
    let partitions = std::sync::Arc::make_mut(&mut cluster.state.partitions);
    std::sync::Arc::make_mut(&mut partitions[0].rules).qos = Some("part".to_string());
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 2);
    let used = cluster.state.usage_at(Timestamp(cluster.at + 60));
    let cpus = |qos| used.get(&Purse::Qos(qos)).map(|it| it.seconds[&crate::tres::Tres::Cpu]);
    assert_eq!(cpus(own), cpus(part));
    assert!(cpus(part).is_some_and(|secs| secs >= 119.0));
}

#[test]
fn limits_are_an_operators_to_go_beyond_and_nobody_elses() {
    use crate::job::Beyond;
    let mut cluster = ruled(&["add account physics", "add user alice account=physics MaxWall=10"]);
    let job = cluster.submit(1);
    let mut update = |by: Actor, key: &str, value: &str| {
        let assignment = Assignment { key: key.to_string(), value: value.to_string() };
        let action = JobAction::Update(vec![assignment]);
        let control = Control { action, ..Control::cancel(job, by) };
        cluster.done(Command::Control(Box::new(control)));
        cluster.state = through_a_snapshot(&cluster.state);
        cluster.state.jobs[&job].beyond
    };
    let none = Beyond::default();
    assert_eq!(update(alice(), "TimeLimit", "5"), none);
    assert_eq!(update(Actor::Controller, "TimeLimit", "5"), none, "it is as it was");
    let time = Beyond { time: true, ..none };
    assert_eq!(update(Actor::Controller, "TimeLimit", "60"), time);
    assert_eq!(update(alice(), "NumCPUs", "1"), time);
    let cpus = Beyond { cpus: true, ..time };
    assert_eq!(update(Actor::Controller, "NumCPUs", "2"), cpus);
}

#[test]
fn whoever_comes_back_has_used_nothing() {
    use crate::accounts::limits::Purse;
    let mut cluster = ruled(&["add account physics", "add user alice account=physics"]);
    let all = cluster.state.rules.rules().clone();
    let hers = all.associations.iter().find(|one| one.user_name == "alice").expect("is there").id;
    cluster.state.usage.insert(Purse::Association(hers), Default::default());
    let mut set = |rules: &RulesView| {
        cluster.done(Command::SetRules(Box::new(rules.clone())));
        cluster.state.usage.len()
    };
    assert_eq!(set(&all), 1, "the same again");
    let mut without = all.clone();
    without.associations.retain(|one| one.id != hers);
    assert_eq!((set(&without), set(&all)), (0, 0));
}

#[test]
fn who_asks_for_no_time_has_what_may_be_had_where_the_partition_has_no_usual_one() {
    let mut cluster = ruled(&[
        "add account physics",
        "add user alice account=physics MaxWall=50",
        "add qos short MaxWall=30",
    ]);
    let mut limit = |number, qos: &str, asked: Option<Limit>, usual: &str| {
        let config = format!(
            "cluster_name = \"c\"\n[accounting]\nenforce = [\"limits\"]\n[[partitions]]\n\
             name = \"p\"\nmax_time = \"00:40:00\"\n{usual}\n"
        );
        let mut settings = Settings::of(&crate::config::read(&config).expect("is in order"));
        settings.accounting = true;
        cluster.done(Command::Configure(settings));
        let mut request = submission(number);
        request.spec.qos = qos.to_string();
        request.spec.time_limit = asked;
        let reply = cluster.apply(Command::Submit(Box::new(request))).reply;
        let Ok(Reply::Job(job)) = reply else { panic!("{reply:?}") };
        cluster.state.jobs[&job].spec.time_limit
    };
    assert_eq!(limit(1, "short", None, ""), Some(Limit::Is(30)));
    assert_eq!(limit(2, "", None, ""), None, "the partition lets run for less");
    assert_eq!(limit(3, "short", Some(Limit::Is(35)), ""), Some(Limit::Is(35)));
    assert_eq!(limit(4, "short", None, "default_time = \"00:35:00\""), None);
}
