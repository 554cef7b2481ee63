//! Slurm's words, end to end: what real Slurm answered to lines of options is what our binaries answer.

mod recorded;

use std::collections::BTreeMap;

use spur_tests::harness::Cluster;

/// Lines of options with Slurm's answers; see the file's head.
const RECORDED: &str = include_str!("data/sbatch.tsv");

type Shown = BTreeMap<String, String>;

/// What `scontrol show job` tells of a new job that is held, without what differs from run to run.
fn shown(cluster: &Cluster, job: &str) -> Shown {
    const OTHER: [&str; 11] = [
        "JobId",
        "ArrayJobId",
        "Priority",
        "SubmitTime",
        "EligibleTime",
        "AccrueTime",
        "StartTime",
        "EndTime",
        "LastSchedEval",
        "AllocNode:Sid",
        "Deadline",
    ];
    let text = cluster.run(&format!("scontrol show job -o {job}")).stdout;
    let mut shown = Shown::new();
    for word in text.split_whitespace() {
        let Some((key, value)) = word.split_once('=') else { continue };
        if !OTHER.contains(&key) {
            shown.insert(key.to_string(), value.to_string());
        }
    }
    shown
}

#[test]
fn options_mean_what_they_mean_to_slurm() {
    let cluster = recorded::cluster(&[]);
    let submit = |options: &[String]| {
        let mut words = vec!["--hold"];
        words.extend(options.iter().map(String::as_str));
        words.push("--wrap=true");
        cluster.run_words("sbatch", &words)
    };
    let number = |stdout: &str| stdout.split_whitespace().last().unwrap_or_default().to_string();
    let plain = shown(&cluster, &number(&submit(&[]).stdout));
    assert_eq!(plain.get("Reason").map(String::as_str), Some("JobHeldUser"));
    let mut wrong = Vec::new();
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (options, status, error, differs) = (next(), next(), next(), next());
        let answer = submit(&recorded::words(options));
        let said = answer.stderr.lines().next().unwrap_or_default();
        if (answer.status.to_string().as_str(), said) != (status, error) {
            wrong.push(format!("{options}: {} {said:?}, not {status} {error:?}", answer.status));
        }
        if status != "0" || answer.status != 0 {
            continue;
        }
        let job = number(&answer.stdout);
        let told = shown(&cluster, &job);
        let keys = plain.keys().chain(told.keys());
        let different: Shown = keys
            .filter(|key| plain.get(*key) != told.get(*key))
            .map(|key| (key.clone(), told.get(key).cloned().unwrap_or_default()))
            .filter(|(key, _)| !key.starts_with("Std"))
            .filter(|(key, _)| key != "TRES" || format!(" {differs}").contains(" TRES="))
            .collect();
        let expected: Shown = differs
            .split(" ; ")
            .filter_map(|word| word.split_once('='))
            .filter(|(key, _)| !key.starts_with("Std"))
            .map(|(key, value)| {
                // Words are told apart at blanks here.
                let value = value.split_whitespace().next().unwrap_or_default();
                (key.to_string(), value.to_string())
            })
            .collect();
        if different != expected {
            wrong.push(format!("{options}: {different:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}
