use super::*;
use crate::accounts::book::tests::book;

fn needs(text: &str) -> Needs {
    amounts(text).into_iter().collect()
}

fn asks<'a>(user: &'a str, account: &'a str, qos: &'a str, needs: &'a Needs) -> Asks<'a> {
    let nodes = needs.get(&Tres::Node).copied().unwrap_or(1);
    Asks {
        user,
        account,
        partition: "debug",
        qos,
        partition_qos: "",
        needs,
        nodes,
        minutes: Some(60),
    }
}

fn lines(claims: &[Claim]) -> Vec<String> {
    claims.iter().map(|it| format!("{} of {} {:?}", it.amount, it.max, it.reason)).collect()
}

#[test]
fn group_limits_hold_on_every_level_of_the_tree() {
    let book = book(&[
        "add account physics GrpJobs=10",
        "add account optics parent=physics GrpTRES=cpu=8,gres/gpu=2",
        "add user ann account=optics MaxJobs=3",
    ]);
    let needs = needs("cpu=4,mem=100,node=1");
    assert_eq!(
        lines(&claims(&book, &asks("ann", "optics", "normal", &needs))),
        ["1 of 3 AssocMaxJobsLimit", "4 of 8 AssocGrpCpuLimit", "1 of 10 AssocGrpJobsLimit"]
    );
}

#[test]
fn a_qos_goes_before_the_association() {
    let book = book(&[
        "add account physics GrpTRES=cpu=8 MaxWall=10",
        "add user ann account=physics MaxJobs=3",
        "add qos high GrpTRES=cpu=100 MaxJobsPU=7 MaxWall=120 MaxTRESPU=node=2",
    ]);
    let needs = needs("cpu=4,node=1");
    let high = asks("ann", "physics", "high", &needs);
    assert_eq!(
        lines(&claims(&book, &high)),
        [
            "1 of 7 QOSMaxJobsPerUserLimit",
            "4 of 100 QOSGrpCpuLimit",
            "1 of 2 QOSMaxNodePerUserLimit"
        ]
    );
    assert_eq!(bars(&book, &high), None);
    let normal = asks("ann", "physics", "normal", &needs);
    assert_eq!(bars(&book, &normal), Some(Reason::AssocMaxWallDurationPerJobLimit));
}

#[test]
fn what_no_job_may_have_bars_it() {
    let book = book(&[
        "add account physics MaxTRES=gres/gpu=1",
        "add user ann account=physics",
        "add qos big MinTRES=cpu=16",
        "add qos small MaxTRESPU=cpu=4",
    ]);
    let two = needs("cpu=8,gres/gpu=2,node=1");
    let bar = |qos, needs| bars(&book, &asks("ann", "physics", qos, needs));
    assert_eq!(bar("normal", &two), Some(Reason::AssocMaxGRESPerJob));
    let cpus = needs("cpu=8,node=1");
    assert_eq!(bar("normal", &cpus), None);
    assert_eq!(bar("big", &cpus), Some(Reason::QOSMinCpuNotSatisfied));
    assert_eq!(bar("small", &cpus), Some(Reason::QOSMaxCpuPerUserLimit));
}

#[test]
fn submissions_are_counted_by_association_and_by_account() {
    let book =
        book(&["add account physics GrpSubmitJobs=5", "add user ann account=physics MaxSubmit=3"]);
    let needs = needs("cpu=1");
    let may = |tasks, own, below| {
        let there = Submitted { association: own, ..Submitted::default() };
        bars_submission(&book, &asks("ann", "physics", "normal", &needs), tasks, there, |_| below)
            .is_none()
    };
    assert!(may(1, 2, 4));
    assert!(!may(1, 3, 4));
    assert!(!may(2, 0, 4), "the account has room for one");
}

#[test]
fn minutes_that_are_used_up_bar() {
    let book = book(&["add account physics GrpTRESMins=cpu=100", "add user ann account=physics"]);
    let needs = needs("cpu=1");
    let bar = |minutes| {
        let minutes = BTreeMap::from([(Tres::Cpu, minutes)]);
        let spent = Spent { minutes, wall_minutes: 0 };
        spent_bar(&book, &asks("ann", "physics", "normal", &needs), |_| Some(spent.clone()))
    };
    assert_eq!(bar(99), None);
    assert_eq!(bar(100), Some(Reason::AssocGrpCPUMinutesLimit));
}
