//! Columns: what `-o` and `-O` make of a job and of nodes, as real Slurm printed it.

mod recorded;

use spur_tests::harness::until;

/// Command lines with Slurm's answers; see the file's head.
const RECORDED: &str = include_str!("data/formats.tsv");

#[test]
fn columns_are_as_wide_and_as_full_as_slurms() {
    let cluster = recorded::cluster(&[]);
    until("all nodes are idle", || {
        (cluster.run("sinfo -h -p debug -t idle -o %D").stdout == "4\n").then_some(())
    });
    let held = "-H -J a-long-name -N2 -n4 -c2 -t 90 --mem=100 -C gpu --nice=5 -w n[1-2] -x n4 \
                --gres=gpu:2 --tmp=1G --begin=2030-01-02T03:04:05 --wrap=true";
    let mut words: Vec<&str> = held.split(' ').filter(|word| !word.is_empty()).collect();
    words.insert(0, "--comment=some words");
    let submitted = cluster.run_words("sbatch", &words);
    assert_eq!(submitted.status, 0, "{}", submitted.stderr);
    until("the first job is forgotten or over", || {
        (cluster.run("squeue -h -o %j").stdout == "a-long-name\n").then_some(())
    });
    let mut wrong = Vec::new();
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [command, status, printed] = columns[..] else { panic!("{line}") };
        let words = recorded::words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = cluster.run_words(words[0], &words[1..]);
        let printed = printed.replace("\\n", "\n");
        if (answer.status.to_string().as_str(), &answer.stdout) != (status, &printed) {
            wrong.push(format!("{command}:\n{:?}, not\n{printed:?}", answer.stdout));
        }
    }
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}
