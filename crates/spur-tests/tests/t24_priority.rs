//! Priorities and shares: what waiting jobs are weighed by, and who has a right to how much.

use std::fs;

use spur_tests::harness::{Cluster, until};

const CONFIG: &str = r#"
[priority]
weight_age = 1000
weight_fairshare = 10000
weight_job_size = 1000
weight_partition = 1000
weight_qos = 2000

[[partitions]]
name = "plain"
default = true

[[partitions]]
name = "urgent"
priority_job_factor = 10
"#;

fn cluster() -> Cluster {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("spur.toml");
    fs::write(&config, CONFIG).expect("a file");
    Cluster::up_with("n1", 4, &["--config", &config.display().to_string()])
}

fn done(cluster: &Cluster, line: &str) -> String {
    let output = cluster.run(line);
    assert_eq!(output.status, 0, "{line}: {}{}", output.stdout, output.stderr);
    output.stdout
}

/// A job that waits: the one before it has the node.
fn submit(cluster: &Cluster, words: &str) -> String {
    let line = format!("--parsable -o /dev/null --exclusive {words} --wrap");
    let mut words: Vec<&str> = line.split_whitespace().collect();
    words.push("sleep 100");
    let output = cluster.run_words("sbatch", &words);
    assert_eq!(output.status, 0, "{}", output.stderr);
    output.stdout.trim().to_string()
}

#[test]
fn what_jobs_are_weighed_by_is_what_orders_them() {
    let cluster = cluster();
    let first = submit(&cluster, "-J first");
    until("the first one runs", || (cluster.squeue(&first, "%t") == "R").then_some(()));
    let plain = submit(&cluster, "-J plain");
    let nice = submit(&cluster, "-J nice --nice=300");
    let urgent = submit(&cluster, "-J urgent -p urgent");
    let weights = done(&cluster, "sprio -w -h");
    let weights: Vec<&str> = weights.split_whitespace().collect();
    assert_eq!(weights, ["Weights", "1", "1000", "10000", "1000", "1000", "2000"]);
    let terms = |job: &str| -> Vec<f64> {
        let line = format!("sprio -h -j {job} -o %Y|%A|%F|%J|%P|%Q|%N");
        done(&cluster, &line).trim().split('|').map(|it| it.parse().expect("a number")).collect()
    };
    for job in [&plain, &nice, &urgent] {
        let terms = terms(job);
        let sum = terms[1..6].iter().sum::<f64>() - terms[6];
        assert!((terms[0] - sum).abs() <= 2.0, "{terms:?}");
        assert_eq!(cluster.squeue(job, "%Q"), format!("{}", terms[0]));
    }
    let by_rank = |wanted: [&str; 3]| {
        let shown = done(&cluster, "squeue -h -t PD -S -p -o %j");
        let shown: Vec<&str> = shown.lines().collect();
        assert_eq!(shown, wanted);
    };
    by_rank(["urgent", "plain", "nice"]);
    assert_eq!(terms(&nice)[6], 300.0);
    done(&cluster, &format!("scontrol update jobid={plain} nice=500"));
    by_rank(["urgent", "nice", "plain"]);
    done(&cluster, &format!("scontrol top {plain}"));
    by_rank(["plain", "urgent", "nice"]);
    let both = submit(&cluster, "-J both -p urgent,plain");
    let told = done(&cluster, &format!("sprio -h -j {both} -o %r|%P"));
    assert_eq!(told, "urgent|1000\nplain|100\n", "each partition weighs it by itself");
    let unknown = cluster.run("sprio -j 99999");
    assert_eq!(unknown.stdout, "Unable to find jobs matching user/id(s) specified\n");
    done(&cluster, "scancel --state=PENDING --me");
}

#[test]
fn shares_are_parts_of_the_account_above() {
    let cluster = cluster();
    done(&cluster, "sacctmgr -i add account large fairshare=3");
    done(&cluster, "sacctmgr -i add account small fairshare=1");
    let shares = until("the accounts are known", || {
        let told = done(&cluster, "sshare -n -P -l -A large,small -o Account,RawShares,NormShares");
        (told.lines().count() == 2).then_some(told)
    });
    let part = |name: &str| -> (String, f64) {
        let line = shares.lines().find(|line| line.trim_start().starts_with(name));
        let columns: Vec<&str> = line.expect("a line").split('|').collect();
        (columns[1].to_string(), columns[2].parse().expect("a number"))
    };
    let ((large, of_large), (small, of_small)) = (part("large"), part("small"));
    assert_eq!((large.as_str(), small.as_str()), ("3", "1"));
    assert!((of_large - 3.0 * of_small).abs() < 0.001, "{shares}");
}

/// Some nine seconds.
const HALF_LIFE: &str = "scheduler.fairshare_halflife_days=0.0001";

#[test]
fn usage_fades_is_kept_over_a_restart_and_forgotten_when_somebody_says_so() {
    let settings = ["--set", HALF_LIFE];
    let cluster = Cluster::up_with("n1", 64, &settings);
    let me = nix::unistd::User::from_uid(nix::unistd::Uid::current());
    let me = me.expect("users").expect("me").name;
    done(&cluster, "sacctmgr -i add account lab");
    done(&cluster, &format!("sacctmgr -i add user {me} account=lab"));
    let usage = || -> u64 {
        let told = done(&cluster, "sshare -n -P -A lab -o Account,RawUsage");
        let line = told.lines().find(|line| line.trim_start().starts_with("lab|"));
        line.and_then(|line| line.split('|').nth(1)?.parse().ok()).unwrap_or(0)
    };
    let words = ["-A", "lab", "-n64", "-o", "/dev/null", "--wait", "--wrap", "sleep 2"];
    assert_eq!(cluster.run_words("sbatch", &words).status, 0);
    let used = until("it is counted", || Some(usage()).filter(|used| *used > 60));
    assert!(used < 64 * 20, "{used}");
    until("half of it is forgotten", || (usage() <= used / 2).then_some(()));
    cluster.down();
    cluster.start_with("n1", 64, &settings);
    let kept = until("shares are told again", || Some(usage()).filter(|kept| *kept > 0));
    assert!(kept <= used / 2, "{kept} of {used}");
    done(&cluster, "sacctmgr -i modify account where name=lab set rawusage=0");
    until("nothing is left", || (usage() == 0).then_some(()));
}
