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
        whole: None,
        beyond: Beyond::default(),
    }
}

/// Why a job waits that finds nothing spent.
fn bars(book: &Book, asks: &Asks) -> Option<Reason> {
    spent_bar(book, asks, false, |_| None)
}

fn spent_bar(
    book: &Book,
    asks: &Asks,
    safe: bool,
    of: impl Fn(Purse) -> Option<Spent>,
) -> Option<Reason> {
    waits(book, asks, &Spending { safe, of: &of }).map(|breach| breach.reason)
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
        lines(&claims(&book, &asks("ann", "optics", "normal", &needs), None)),
        ["1 of 3 AssocMaxJobsLimit", "1 of 10 AssocGrpJobsLimit", "4 of 8 AssocGrpCpuLimit"]
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
        lines(&claims(&book, &high, None)),
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
        let asks = asks("ann", "physics", "normal", &needs);
        let bar = |safe| spent_bar(&book, &asks, safe, |_| Some(spent.clone()));
        (bar(false), bar(true))
    };
    let over = Some(Reason::AssocGrpCPUMinutesLimit);
    assert_eq!(bar(40), (None, None));
    // It may run for an hour, and there is less left: who wants to be safe does not begin.
    assert_eq!(bar(41), (None, over));
    assert_eq!(bar(100), (over, over));
}

#[test]
fn a_factor_of_the_qos_stretches_what_associations_may_use() {
    let book = book(&[
        "add account physics GrpTRES=cpu=4 MaxTRES=cpu=4",
        "add user ann account=physics",
        "add qos wide LimitFactor=2",
    ]);
    let needs = needs("cpu=8,node=1");
    let bar = |qos| bars(&book, &asks("ann", "physics", qos, &needs));
    assert_eq!(bar("normal"), Some(Reason::AssocGrpCpuLimit));
    assert_eq!(bar("wide"), None);
    let wide = claims(&book, &asks("ann", "physics", "wide", &needs), None);
    assert_eq!(lines(&wide), ["8 of 8 AssocGrpCpuLimit"]);
}

#[test]
fn a_qos_may_want_some_share_to_be_left() {
    let book = book(&[
        "add account physics",
        "add user ann account=physics",
        "add qos fair UsageThreshold=0.5 Flags=EnforceUsageThreshold",
        "add qos loose UsageThreshold=0.5",
    ]);
    let needs = needs("cpu=1");
    let bar = |qos, factor| threshold_bar(&book, &asks("ann", "physics", qos, &needs), |_| factor);
    assert_eq!(bar("fair", 0.6), None);
    assert_eq!(bar("fair", 0.4), Some(Reason::QOSUsageThreshold));
    assert_eq!(bar("loose", 0.4), None);
}

/// A limit, what a job needs, and the word for why it waits: for ever, or until others have ended.
const WORDS: &[(&str, &str, &str)] = &[
    ("user MaxJobs=1", "cpu=1", "AssocMaxJobsLimit"),
    ("user MaxWall=30", "cpu=1", "AssocMaxWallDurationPerJobLimit"),
    ("user MaxTRES=cpu=1", "cpu=2", "AssocMaxCpuPerJobLimit"),
    ("user MaxTRES=mem=1", "mem=2", "AssocMaxMemPerJob"),
    ("user MaxTRES=node=1", "node=2", "AssocMaxNodePerJobLimit"),
    ("user MaxTRES=billing=1", "billing=2", "AssocMaxBillingPerJob"),
    ("user MaxTRES=license/x=1", "license/x=2", "AssocMaxLicensePerJob"),
    ("user MaxTRESPerNode=cpu=1", "cpu=2", "AssocMaxCpuPerNode"),
    ("user MaxTRESPerNode=gres/gpu=1", "gres/gpu=2", "AssocMaxGRESPerNode"),
    ("user MaxTRESMins=cpu=1", "cpu=1", "AssocMaxCpuMinutesPerJobLimit"),
    ("account GrpJobs=1", "cpu=1", "AssocGrpJobsLimit"),
    ("account GrpTRES=cpu=4", "cpu=1", "AssocGrpCpuLimit"),
    ("account GrpTRES=mem=4", "mem=1", "AssocGrpMemLimit"),
    ("account GrpTRES=node=4", "node=1", "AssocGrpNodeLimit"),
    ("account GrpTRES=gres/gpu=4", "gres/gpu=1", "AssocGrpGRES"),
    ("account GrpTRES=billing=4", "billing=1", "AssocGrpBilling"),
    ("account GrpTRES=license/x=4", "license/x=1", "AssocGrpLicense"),
    ("account GrpTRESRunMins=cpu=600", "cpu=1", "AssocGrpCPURunMinutesLimit"),
    ("account GrpTRESRunMins=gres/gpu=600", "gres/gpu=1", "AssocGrpGRESRunMinutes"),
    ("qos GrpJobs=1", "cpu=1", "QOSGrpJobsLimit"),
    ("qos GrpTRES=cpu=4", "cpu=1", "QOSGrpCpuLimit"),
    ("qos GrpTRES=gres/gpu=4", "gres/gpu=1", "QOSGrpGRES"),
    ("qos GrpTRES=mem=4", "mem=1", "QOSGrpMemLimit"),
    ("qos GrpTRES=node=4", "node=1", "QOSGrpNodeLimit"),
    ("qos GrpTRESRunMins=cpu=600", "cpu=1", "QOSGrpCPURunMinutesLimit"),
    ("qos MaxJobsPerUser=1", "cpu=1", "QOSMaxJobsPerUserLimit"),
    ("qos MaxJobsPerAccount=1", "cpu=1", "MaxJobsPerAccount"),
    ("qos MaxTRESPerUser=cpu=4", "cpu=1", "QOSMaxCpuPerUserLimit"),
    ("qos MaxTRESPerUser=gres/gpu=4", "gres/gpu=1", "QOSMaxGRESPerUser"),
    ("qos MaxTRESPerUser=mem=4", "mem=1", "QOSMaxMemoryPerUser"),
    ("qos MaxTRESPerUser=node=4", "node=1", "QOSMaxNodePerUserLimit"),
    ("qos MaxTRESPerAccount=cpu=4", "cpu=1", "MaxCpuPerAccount"),
    ("qos MaxTRESPerAccount=gres/gpu=4", "gres/gpu=1", "MaxGRESPerAccount"),
    ("qos MaxTRESRunMinsPerUser=cpu=600", "cpu=1", "MaxCpuRunMinsPerUser"),
    ("qos MaxTRESRunMinsPerAccount=cpu=600", "cpu=1", "MaxCpuRunMinsPerAccount"),
    ("qos MaxTRESPerJob=cpu=1", "cpu=2", "QOSMaxCpuPerJobLimit"),
    ("qos MaxTRESPerJob=gres/gpu=1", "gres/gpu=2", "QOSMaxGRESPerJob"),
    ("qos MaxTRESPerNode=cpu=1", "cpu=2", "QOSMaxCpuPerNode"),
    ("qos MaxTRESPerNode=gres/gpu=1", "gres/gpu=2", "QOSMaxGRESPerNode"),
    ("qos MaxTRESMinsPerJob=cpu=1", "cpu=1", "QOSMaxCpuMinutesPerJobLimit"),
    ("qos MaxWall=30", "cpu=1", "QOSMaxWallDurationPerJobLimit"),
    ("qos MinTRES=cpu=2", "cpu=1", "QOSMinCpuNotSatisfied"),
    ("qos MinTRES=gres/gpu=1", "cpu=1", "QOSMinGRES"),
    ("qos MinTRES=mem=2", "mem=1", "QOSMinMemory"),
    ("qos MinTRES=node=2", "node=1", "QOSMinNode"),
];

#[test]
fn every_limit_has_slurms_word() {
    for (limit, wants, word) in WORDS {
        let (whose, set) = limit.split_once(' ').expect("whose, and what");
        let of = |one: &str| if whose == one { set } else { "" };
        let book = book(&[
            &format!("add account physics {}", of("account")),
            &format!("add user ann account=physics {}", of("user")),
            &format!("add qos high {}", of("qos")),
        ]);
        let needs = needs(wants);
        let asks = asks("ann", "physics", "high", &needs);
        let shared = || claims(&book, &asks, None).first().map(|claim| claim.reason);
        let told = bars(&book, &asks).or_else(shared).map(Reason::name);
        assert_eq!(told, Some(*word), "{limit} with {wants}");
    }
}

/// The same for what was used before.
#[test]
fn every_limit_of_minutes_has_slurms_word() {
    let table = [
        ("account GrpTRESMins=cpu=1", "AssocGrpCPUMinutesLimit"),
        ("account GrpTRESMins=gres/gpu=1", "AssocGrpGRESMinutes"),
        ("account GrpTRESMins=billing=1", "AssocGrpBillingMinutes"),
        ("account GrpWall=1", "AssocGrpWallLimit"),
        ("qos GrpTRESMins=cpu=1", "QOSGrpCPUMinutesLimit"),
        ("qos GrpTRESMins=gres/gpu=1", "QOSGrpGRESMinutes"),
        ("qos GrpWall=1", "QOSGrpWallLimit"),
    ];
    for (limit, word) in table {
        let (whose, set) = limit.split_once(' ').expect("whose, and what");
        let of = |one: &str| if whose == one { set } else { "" };
        let book = book(&[
            &format!("add account physics {}", of("account")),
            "add user ann account=physics",
            &format!("add qos high {}", of("qos")),
        ]);
        let needs = needs("cpu=1,gres/gpu=1,billing=1");
        let spent = Spent { minutes: needs.clone(), wall_minutes: 1 };
        let asks = asks("ann", "physics", "high", &needs);
        let told = spent_bar(&book, &asks, false, |_| Some(spent.clone())).map(Reason::name);
        assert_eq!(told, Some(word), "{limit}");
    }
}

#[test]
fn a_job_that_alone_would_use_up_everything_is_denied() {
    let book = book(&[
        "add account physics GrpTRESMins=cpu=100",
        "add user ann account=physics",
        "add qos wall GrpWall=30 Flags=DenyOnLimit",
        "add qos short GrpTRESRunMins=gres/gpu=10",
    ]);
    let small = needs("cpu=1");
    assert_eq!(denied(&book, &asks("ann", "physics", "normal", &small)), None);
    let large = needs("cpu=2");
    let asked = asks("ann", "physics", "normal", &large);
    assert_eq!(denied(&book, &asked), Some(Reason::AssocGrpCPUMinutesLimit));
    let asked = asks("ann", "physics", "wall", &small);
    assert_eq!(denied(&book, &asked), Some(Reason::QOSGrpWallLimit));
    let gpu = needs("cpu=1,gres/gpu=1");
    let asked = asks("ann", "physics", "short", &gpu);
    assert_eq!(denied(&book, &asked), Some(Reason::QOSGrpGRESRunMinutes));
}

#[test]
fn relative_limits_are_parts_of_what_there_is() {
    let book = book(&[
        "add account physics",
        "add user ann account=physics",
        "add qos half GrpTRES=cpu=50 MaxTRESPU=gres/gpu=25 Flags=Relative",
    ]);
    let whole = Whole {
        cluster: needs("cpu=100,gres/gpu=8"),
        partitions: BTreeMap::from([("debug".to_string(), needs("cpu=10"))]),
    };
    let need = needs("cpu=4,gres/gpu=1");
    let asked = Asks { whole: Some(&whole), ..asks("ann", "physics", "half", &need) };
    assert_eq!(
        lines(&claims(&book, &asked, None)),
        ["4 of 50 QOSGrpCpuLimit", "1 of 2 QOSMaxGRESPerUser"]
    );
    let need = needs("cpu=60");
    let asked = Asks { needs: &need, ..asked };
    assert_eq!(bars(&book, &asked), Some(Reason::QOSGrpCpuLimit));
    // Of the partition that the QOS belongs to, the part is one of what that has.
    let asked = Asks { qos: "normal", partition_qos: "half", needs: &whole.cluster, ..asked };
    assert_eq!(lines(&claims(&book, &asked, None))[0], "100 of 5 QOSGrpCpuLimit");
}

#[test]
fn some_jobs_hold_no_place_in_the_future() {
    let book = book(&[
        "add account physics MinPrioThreshold=100",
        "add user ann account=physics",
        "add qos standby Flags=NoReserve",
    ]);
    let need = needs("cpu=1");
    let normal = asks("ann", "physics", "normal", &need);
    assert!(!holds_no_place(&book, &normal, 100));
    assert!(holds_no_place(&book, &normal, 99));
    assert!(holds_no_place(&book, &asks("ann", "physics", "standby", &need), 1000));
}

/// A job that is above every limit hears of them one after the other, in the order that real Slurm 22.05 has.
#[test]
fn limits_are_asked_for_in_slurms_order() {
    let qos = "MaxTRESMins=cpu=1 GrpTRES=cpu=2 MaxTRESPA=cpu=2 MaxTRESPU=cpu=2 MaxTRES=cpu=2 \
               MaxTRESPerNode=cpu=2 MinTRES=mem=3000 MaxWall=10 GrpTRESMins=cpu=1 GrpTRESRunMins=cpu=1 \
               GrpWall=10";
    let association = "MaxTRESMins=cpu=1 GrpTRES=cpu=2 MaxTRES=cpu=2 MaxTRESPerNode=cpu=2 MaxWall=10 \
                       GrpTRESMins=cpu=1 GrpTRESRunMins=cpu=1 GrpWall=10";
    let needs = needs("cpu=3,mem=100,node=1");
    let spent = Spent { minutes: BTreeMap::from([(Tres::Cpu, 1)]), wall_minutes: 10 };
    let told = |whose: &str, words: &str, deny: bool| {
        let mut left: Vec<&str> = words.split_whitespace().collect();
        let mut order = String::new();
        while !left.is_empty() {
            let of = |one: &str| if whose == one { left.join(" ") } else { String::new() };
            let book = book(&[
                "add account physics",
                format!("add user ann account=physics {}", of("user")).trim_end(),
                format!("add qos high {}", of("qos")).trim_end(),
            ]);
            let asks = asks("ann", "physics", "high", &needs);
            let why = |book: &Book| match deny {
                true => denied(book, &asks),
                false => spent_bar(book, &asks, false, |_| Some(spent.clone())),
            };
            let reason = why(&book).expect("some limit is left").name();
            let word = match reason {
                it if it.contains("GrpWall") => "GrpWall",
                it if it.contains("MaxWall") => "MaxWall",
                it if it.contains("GrpCPUMinutes") => "GrpTRESMins",
                it if it.contains("GrpCPURun") => "GrpTRESRunMins",
                it if it.contains("GrpCpu") => "GrpTRES",
                it if it.contains("MinutesPerJob") => "MaxTRESMins",
                it if it.contains("PerJob") => "MaxTRES",
                it if it.contains("PerNode") => "MaxTRESPerNode",
                it if it.contains("MinMemory") => "MinTRES",
                it if it.contains("PerAccount") => "MaxTRESPA",
                _ => "MaxTRESPU",
            };
            order.push_str(&format!(" {word}"));
            left.retain(|it| !it.starts_with(&format!("{word}=")));
        }
        order
    };
    assert_eq!(
        told("qos", qos, true),
        " MaxTRESPA MaxTRESPU GrpTRES MaxTRESMins GrpTRESMins GrpTRESRunMins MaxWall GrpWall MaxTRES \
         MaxTRESPerNode MinTRES"
    );
    assert_eq!(
        told("qos", qos, false),
        " GrpWall MaxWall GrpTRESMins GrpTRES GrpTRESRunMins MaxTRESMins MaxTRES MaxTRESPerNode MinTRES \
         MaxTRESPA MaxTRESPU"
    );
    assert_eq!(
        told("user", association, true),
        " GrpTRES GrpTRESMins GrpTRESRunMins GrpWall MaxTRES MaxTRESPerNode MaxTRESMins MaxWall"
    );
    assert_eq!(
        told("user", association, false),
        " GrpWall MaxWall GrpTRESMins GrpTRES GrpTRESRunMins MaxTRESMins MaxTRES MaxTRESPerNode"
    );
}

#[test]
fn what_an_operator_has_set_is_held_against_few_limits() {
    let book = book(&[
        "add account physics GrpTRES=cpu=2 MaxWall=10 MaxTRES=mem=50",
        "add user ann account=physics",
    ]);
    let needs = needs("cpu=4,mem=100,node=1");
    let asked = asks("ann", "physics", "normal", &needs);
    let bar = |beyond: Beyond| bars(&book, &Asks { beyond, ..asked });
    let (mut cpus, mut all) = (Beyond::default(), Beyond { time: true, ..Beyond::default() });
    cpus.cpus = true;
    assert_eq!(bar(cpus), Some(Reason::AssocMaxWallDurationPerJobLimit));
    assert_eq!(bar(all), Some(Reason::AssocGrpCpuLimit));
    all.cpus = true;
    assert_eq!(bar(all), Some(Reason::AssocMaxMemPerJob));
    all.memory = true;
    assert_eq!(bar(all), None);
    assert_eq!(lines(&claims(&book, &Asks { beyond: all, ..asked }, None)), [""; 0]);
    // Minutes that are everybody's stay so.
    let spare = book_of_minutes();
    let over = bars(&spare, &Asks { beyond: all, ..asked });
    assert_eq!(over, Some(Reason::AssocGrpCPURunMinutesLimit));
}

fn book_of_minutes() -> Book {
    book(&["add account physics GrpTRESRunMins=cpu=10", "add user ann account=physics"])
}
