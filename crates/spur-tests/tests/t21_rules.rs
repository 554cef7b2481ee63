//! Rules of accounting in force, with the real binaries: accounts, QOS, limits, priorities.

use std::fs;

use spur_tests::harness::{Cluster, until};

const CONFIG: &str = r#"
[accounting]
enforce = ["associations", "limits", "qos"]
keep = ["script", "environment"]

[priority]
weight_fairshare = 10000
weight_qos = 2000
weight_job_size = 1000
"#;

fn cluster() -> Cluster {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("spur.toml");
    fs::write(&config, CONFIG).expect("a file");
    let cluster = Cluster::up_with("n1", 4, &["--config", &config.display().to_string()]);
    done(&cluster, "sacctmgr -i add account physics");
    cluster
}

fn done(cluster: &Cluster, line: &str) -> String {
    let output = cluster.run(line);
    assert_eq!(output.status, 0, "{line}: {}{}", output.stdout, output.stderr);
    output.stdout
}

fn submit(cluster: &Cluster, words: &[&str]) -> Result<String, String> {
    let words: Vec<&str> = ["--parsable"].iter().chain(words).copied().collect();
    let output = cluster.run_words("sbatch", &words);
    match output.status {
        0 => Ok(output.stdout.trim().to_string()),
        _ => Err(output.stderr),
    }
}

fn me() -> String {
    nix::unistd::User::from_uid(nix::unistd::Uid::current()).expect("users").expect("me").name
}

#[test]
fn jobs_are_held_to_associations_qos_and_limits() {
    let cluster = cluster();
    let me = me();
    done(&cluster, "sacctmgr -i add qos high Priority=10 MaxJobsPU=1");
    done(&cluster, &format!("sacctmgr -i add user {me} account=physics MaxSubmitJobs=5"));
    done(&cluster, &format!("sacctmgr -i modify user {me} set qos+=normal,high"));
    let refused = |words: &[&str]| submit(&cluster, words).expect_err("it is refused");
    let nowhere = refused(&["-v", "-A", "nosuch", "--wrap", "true"]);
    assert!(nowhere.lines().any(|line| {
        line.ends_with("Invalid account or account/partition combination specified")
    }));
    assert!(nowhere.contains(&format!("user {me} has the accounts physics")), "{nowhere}");
    assert!(refused(&["--qos=nosuch", "--wrap", "true"]).contains("Invalid qos specification"));

    let long = ["-A", "physics", "--qos=high", "--wrap", "sleep 300"];
    let first = submit(&cluster, &long).expect("it is taken");
    let second = submit(&cluster, &long).expect("it is taken");
    until("one of the two runs", || (cluster.squeue(&first, "%t") == "R").then_some(()));
    until("the other waits for the limit", || {
        (cluster.squeue(&second, "%r %a %q") == "QOSMaxJobsPerUserLimit physics high").then_some(())
    });
    done(&cluster, "sacctmgr -i modify account physics set GrpTRES=cpu=1");
    let third = submit(&cluster, &["-A", "physics", "--wrap", "sleep 300"]).expect("it is taken");
    until("the account has no processor left", || {
        (cluster.squeue(&third, "%r") == "AssocGrpCpuLimit").then_some(())
    });
    for _ in 0..2 {
        submit(&cluster, &["-A", "physics", "-H", "--wrap", "true"]).expect("it is taken");
    }
    let sixth = refused(&["-A", "physics", "-H", "--wrap", "true"]);
    assert!(sixth.starts_with("sbatch: error: AssocMaxSubmitJobLimit\n"), "{sixth}");
    assert!(sixth.contains("Job violates accounting/QOS policy"), "{sixth}");
    done(&cluster, &format!("sacctmgr -i modify user {me} set MaxSubmitJobs=20"));
    done(&cluster, "sacctmgr -i add qos small MaxTRESPerJob=cpu=1 Flags=DenyOnLimit");
    done(&cluster, "sacctmgr -i add qos booked Flags=RequiresReservation");
    done(&cluster, &format!("sacctmgr -i modify user {me} set qos+=small,booked"));
    let large = refused(&["-A", "physics", "--qos=small", "-n2", "--wrap", "true"]);
    assert!(large.starts_with("sbatch: error: QOSMaxCpuPerJobLimit\n"), "{large}");
    let unbooked = refused(&["-A", "physics", "--qos=booked", "--wrap", "true"]);
    assert!(unbooked.contains("Invalid qos specification"), "{unbooked}");

    let told = done(&cluster, "scontrol show assoc_mgr accounts=physics flags=assoc,qos");
    assert!(told.contains("\n    GrpTRES=cpu=1(1),mem="), "{told}");
    assert!(told.contains("\n        MaxJobsPU=1(1) MaxJobsAccruePU=N("), "{told}");
    assert!(!told.contains("Account=root "), "{told}");

    // What a job that waits is weighed by is what orders it.
    let terms = done(&cluster, &format!("sprio -h -j {second} -o %i|%Y|%F|%Q|%J"));
    let terms: Vec<f64> = terms.trim().split('|').map(|it| it.parse().expect("a number")).collect();
    assert_eq!(terms[3], 2000.0, "the largest QOS weighs all");
    assert!((terms[1] - terms[2..].iter().sum::<f64>()).abs() <= 2.0, "{terms:?}");
    assert_eq!(cluster.squeue(&second, "%Q"), format!("{}", terms[1]));
    let shares = done(&cluster, "sshare -n -P -a -o Account,User,RawShares");
    assert!(shares.lines().any(|line| line == format!("  physics|{me}|1")), "{shares}");

    done(&cluster, &format!("scancel {first}"));
    until("the next one runs", || (cluster.squeue(&second, "%t") == "R").then_some(()));
    let kept =
        done(&cluster, &format!("sacct -n -P -X -j {second} -o Account,QOS,Reason,Priority"));
    assert!(kept.starts_with("physics|high|QOSMaxJobsPerUserLimit|"), "{kept}");
    assert!(!kept.ends_with("|0\n"), "{kept}");
    let reset = "sacctmgr -i modify account physics set RawUsage=0";
    assert!(done(&cluster, reset).starts_with("No cluster specified, resetting on local cluster"));
    let script = done(&cluster, &format!("sacct --batch-script -j {second}"));
    assert!(script.starts_with(&format!("Batch Script for {second}\n")), "{script}");
    assert!(script.contains("sleep 300"), "{script}");
    let variables = done(&cluster, &format!("sacct --env-vars -j {second}"));
    assert!(variables.lines().any(|line| line.starts_with("PATH=")), "{variables}");
    done(&cluster, "scontrol update nodename=n1 state=drain reason=broken");
    until("the node's trouble is known", || {
        let events = done(&cluster, "sacctmgr -n -P show event format=NodeName,State,Reason");
        let lines: Vec<&str> = events.lines().collect();
        (lines == ["||Cluster Registered TRES", "n1|DRAIN|broken"]).then_some(())
    });
    done(&cluster, &format!("scancel -u {me}"));
}

#[test]
fn shares_names_and_files_of_rules() {
    let cluster = cluster();
    let me = me();
    done(&cluster, &format!("sacctmgr -i add user {me} account=physics fairshare=parent"));
    done(&cluster, "sacctmgr -i add qos brief GrpWall=5 Flags=DenyOnLimit");
    done(&cluster, &format!("sacctmgr -i modify user {me} set qos+=brief"));
    let long = ["-A", "physics", "--qos=brief", "-t", "10", "--wrap", "true"];
    let refused = submit(&cluster, &long).expect_err("it is refused");
    assert!(refused.starts_with("sbatch: error: QOSGrpWallLimit\n"), "{refused}");

    let shares = done(&cluster, "sshare --json");
    let shares: serde_json::Value = serde_json::from_str(&shares).expect("JSON");
    let rows = shares["shares"]["shares"].as_array().expect("a list");
    let root = rows.iter().find(|row| row["id"] == 1).expect("root");
    let names: Vec<&str> = root["tres"]["run_seconds"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names[..3], ["cpu", "mem", "energy"], "{names:?}");
    assert!(names.contains(&"gres/gpu"), "{names:?}");
    let parent = done(&cluster, &format!("sshare -n -P -u {me} -o User,RawShares,LevelFS"));
    assert!(parent.lines().any(|line| line == format!("{me}|parent|")), "{parent}");

    done(&cluster, "sacctmgr -i add user daemon account=physics");
    done(&cluster, "sacctmgr -i modify user daemon set newname=games");
    let users = done(&cluster, "sacctmgr -n -P show assoc account=physics format=user");
    assert!(users.lines().any(|line| line == "games"), "{users}");
    assert!(!users.lines().any(|line| line == "daemon"), "{users}");
    // The newest first, and what one command adds in its order.
    done(&cluster, "sacctmgr -i add account zeta,alpha");
    done(&cluster, "sacctmgr -i add account last");
    let standing = || {
        let told = done(&cluster, "sacctmgr -n -P show assoc format=lft,account where user=");
        let place =
            |line: &str| line.split_once('|').map(|(at, name)| (at.parse().ok(), name.to_string()));
        let mut places: Vec<(Option<u32>, String)> = told.lines().filter_map(place).collect();
        places.sort();
        places.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(standing(), "root last zeta alpha physics");
    done(&cluster, "sacctmgr -i modify account alpha set parent=last");
    done(&cluster, "sacctmgr -i modify account alpha set parent=root");
    assert_eq!(standing(), "root alpha last zeta physics");
    let file = cluster.work_dir().join("rules.cfg");
    // What is no width is the column's own.
    let own = done(&cluster, "sacctmgr -n show cluster format=cluster");
    for none in ["%0", "%x", "%.3", "%-0", "%"] {
        let line = format!("sacctmgr -n show cluster format=cluster{none}");
        assert_eq!(done(&cluster, &line), own, "{line}");
    }
    let name = done(&cluster, "sacctmgr -n -P show cluster format=cluster").trim().to_string();
    done(&cluster, &format!("sacctmgr dump {name} file={}", file.display()));
    let text = fs::read_to_string(&file).expect("a file");
    assert!(text.contains("Fairshare=parent"), "{text}");
    let without: Vec<&str> = text.lines().filter(|line| !line.contains("'games'")).collect();
    fs::write(&file, without.join("\n") + "\n").expect("a file");
    done(&cluster, &format!("sacctmgr -i load clean file={}", file.display()));
    let users = done(&cluster, "sacctmgr -n -P show assoc account=physics format=user");
    assert!(!users.lines().any(|line| line == "games"), "{users}");
    assert!(users.lines().any(|line| line == me), "{users}");
}

#[test]
fn minutes_count_by_the_usage_factor_of_their_qos() {
    let cluster = cluster();
    let me = me();
    done(&cluster, &format!("sacctmgr -i add user {me} account=physics"));
    done(&cluster, "sacctmgr -i add qos twice UsageFactor=2 GrpTRESRunMins=cpu=25");
    done(&cluster, &format!("sacctmgr -i modify user {me} set qos+=twice"));
    let words = ["-A", "physics", "--qos=twice", "-n1", "-t10", "--wrap", "sleep 300"];
    let first = submit(&cluster, &words).expect("it is taken");
    until("it runs", || (cluster.squeue(&first, "%t") == "R").then_some(()));
    // What runs counts twice, what is to run once.
    let second = submit(&cluster, &words).expect("it is taken");
    let waits = |reason: &str| {
        until(reason, || (cluster.squeue(&second, "%r") == reason).then_some(()));
    };
    waits("QOSGrpCPURunMinutesLimit");
    // With this flag what is to run counts twice, too.
    let change = "sacctmgr -i modify qos twice set Flags=UsageFactorSafe";
    done(&cluster, &format!("{change} GrpTRESRunMins=cpu=-1 MaxTRESMins=cpu=15"));
    waits("QOSMaxCpuMinutesPerJobLimit");
    done(&cluster, "sacctmgr -i modify qos twice set MaxTRESMins=cpu=-1 MaxWall=15");
    waits("QOSMaxWallDurationPerJobLimit");
    done(&cluster, "sacctmgr -i modify qos twice set MaxWall=20");
    until("it runs", || (cluster.squeue(&second, "%t") == "R").then_some(()));
    done(&cluster, &format!("scancel {first} {second}"));
}

#[test]
fn who_asks_for_no_time_has_what_the_qos_lets_run_and_who_asks_for_more_is_told_what_would_do() {
    let cluster = cluster();
    let me = me();
    done(&cluster, &format!("sacctmgr -i add user {me} account=physics"));
    done(&cluster, "sacctmgr -i add qos short MaxWall=30");
    done(&cluster, &format!("sacctmgr -i modify user {me} set qos+=short"));
    let words = ["-A", "physics", "--qos=short", "--mem=1", "--wrap", "sleep 300"];
    let unsaid = until("the rules are known", || submit(&cluster, &words).ok());
    until("it runs", || (cluster.squeue(&unsaid, "%t %l") == "R 30:00").then_some(()));
    let long = submit(&cluster, &[&["-t", "60"], &words[..]].concat()).expect("it is taken");
    let reason = "QOSMaxWallDurationPerJobLimit";
    until("it waits", || (cluster.squeue(&long, "%r") == reason).then_some(()));
    let told = done(&cluster, &format!("spur why {long}"));
    assert!(told.contains("its QOS lets no job run for so long"), "{told}");
    let advice = format!("Would start now with: scontrol update jobid={long} TimeLimit=30");
    assert!(told.contains(&advice), "{told}");
    done(&cluster, &format!("scancel {unsaid} {long}"));
}
