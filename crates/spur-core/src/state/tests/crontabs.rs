//! Crontabs: each line's job comes back.

use super::*;
use crate::cron::UNSETTLED;

fn table(lines: &[(&str, &str)]) -> Command {
    let text: String = lines.iter().map(|(when, name)| format!("{when} {name}\n")).collect();
    let line = |(at, (when, name)): (u32, &(&str, &str))| {
        let mut submit = submission(u128::from(name.as_bytes()[0]));
        submit.spec.name = name.to_string();
        submit.spec.begin = Some(5000 + i64::from(at));
        NewLine { first: at, last: at, when: when.to_string(), submit }
    };
    let owner = submission(0).owner;
    let lines = (1..).zip(lines).map(line).collect();
    Command::SetCrontab(Box::new(SetCrontab { by: alice(), owner, text, lines }))
}

fn jobs(cluster: &Cluster) -> Vec<JobId> {
    cluster.state.crontabs[&Uid(1000)].lines.iter().map(|line| line.job).collect()
}

#[test]
fn a_job_comes_back_with_its_number_and_waits_to_be_told_when() {
    let mut cluster = cluster();
    cluster.done(table(&[("@hourly", "a")]));
    let [job] = jobs(&cluster)[..] else { panic!("one line, one job") };
    assert_eq!(cluster.state.jobs[&job].begin, Some(Timestamp(5001)));
    cluster.start(job, 1, "n1", 1);
    cluster.finish(job, 1, "n1", Outcome::Exited(ExitStatus { code: 3, signal: 0 }));
    let again = &cluster.state.jobs[&job];
    assert_eq!((&again.phase, again.begin, again.restarts), (&Phase::Pending, Some(UNSETTLED), 0));
    assert_eq!(cluster.start(job, 2, "n1", 1), 1, "and runs again");
}

#[test]
fn a_line_that_stays_keeps_its_job_and_one_that_goes_loses_it() {
    let mut cluster = cluster();
    cluster.done(table(&[("@hourly", "a"), ("@daily", "b")]));
    let [a, b] = jobs(&cluster)[..] else { panic!("two lines") };
    cluster.done(table(&[("@daily", "c"), ("@hourly", "a")]));
    let [c, still] = jobs(&cluster)[..] else { panic!("two lines") };
    assert_eq!(still, a);
    assert!(c > b);
    assert!(matches!(cluster.phase(b), Phase::Ended { cause: Cause::Cancelled { by: 1000 }, .. }));
    cluster.start(a, 1, "n1", 1);
    cluster.done(table(&[]));
    assert!(cluster.state.crontabs.is_empty());
    cluster.finish(a, 1, "n1", OK);
    assert!(cluster.phase(a).is_over(), "its last run");
}

#[test]
fn whoever_cancels_the_job_takes_its_line_out_of_force() {
    let mut cluster = cluster();
    cluster.done(table(&[("@hourly", "a"), ("@daily", "b")]));
    let [a, b] = jobs(&cluster)[..] else { panic!("two lines") };
    cluster.start(a, 1, "n1", 1);
    cluster.done(cancel(a, alice()));
    assert_eq!(cluster.state.crontabs[&Uid(1000)].text, "#DISABLED: @hourly a\n@daily b\n");
    assert_eq!(jobs(&cluster), [b]);
    cluster.finish(a, 1, "n1", OK);
    assert!(cluster.phase(a).is_over());
}

#[test]
fn a_crontab_is_taken_as_a_whole_or_not_at_all() {
    let mut cluster = cluster();
    cluster.done(table(&[("@hourly", "a")]));
    let before = cluster.state.clone();
    let Command::SetCrontab(mut bad) = table(&[("@daily", "b"), ("@daily", "c")]) else { panic!() };
    bad.lines[1].submit.spec.partition = "nowhere".to_string();
    let refused = cluster.apply(Command::SetCrontab(bad.clone()));
    assert_eq!(refused.reply, Err(SlurmError::InvalidPartitionName));
    assert!(refused.effects.is_empty());
    assert_eq!((&cluster.state.jobs, &cluster.state.crontabs), (&before.jobs, &before.crontabs));
    bad.by = Actor::user(Uid(7), Gid(7), Level::None);
    let refused = cluster.apply(Command::SetCrontab(bad));
    assert_eq!(refused.reply, Err(SlurmError::AccessDenied));
}

#[test]
fn jobs_of_crontabs_are_not_changed_behind_their_back() {
    let mut cluster = cluster();
    cluster.done(table(&[("@hourly", "a")]));
    let job = jobs(&cluster)[0];
    let update = |by: Actor| {
        let begin = Assignment { key: "StartTime".to_string(), value: "9000".to_string() };
        let action = JobAction::Update(vec![begin]);
        Command::Control(Box::new(Control { job, tasks: None, action, by, request: None }))
    };
    assert_eq!(cluster.apply(update(alice())).reply, Err(SlurmError::CannotModifyCronJob));
    cluster.done(update(Actor::Controller));
    assert_eq!(cluster.state.jobs[&job].begin, Some(Timestamp(9000)));
}
