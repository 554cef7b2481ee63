//! Reservations, as an administrator makes them and jobs feel them.

use spur_tests::harness::{Cluster, until};

#[test]
fn nodes_are_kept_for_those_they_are_reserved_for() {
    let cluster = Cluster::up("n[1-2]", 2);
    let me = cluster.squeue("1", "%u");
    let made = cluster
        .run(&format!("scontrol create reservation starttime=now duration=60 user={me} nodes=n1"));
    assert_eq!(made.stdout, format!("Reservation created: {me}_1\n"), "{}", made.stderr);
    let twice = cluster
        .run(&format!("scontrol create reservation starttime=now duration=60 user={me} nodes=n1"));
    let refusal = "Error creating the reservation: Requested reservation overlaps with another \
                   reservation\n";
    assert_eq!((twice.status, twice.stdout + &twice.stderr), (1, refusal.to_string()));
    let shown = cluster.run("scontrol show reservation").stdout;
    assert!(shown.contains("   Nodes=n1 NodeCnt=1 CoreCnt=2 Features=(null) PartitionName=(null) Flags=SPEC_NODES\n"), "{shown}");
    assert!(shown.contains("State=ACTIVE"), "{shown}");
    assert!(cluster.run("sinfo -h -T").stdout.starts_with(&format!("{me}_1")));
    let resv = format!("--reservation={me}_1");
    let submit = |words: &[&str]| {
        let words = [words, &["-t", "5", "--wrap", "sleep 300"]].concat();
        cluster.run_words("sbatch", &words)
    };
    let unknown = submit(&["--reservation=nope"]).stderr;
    let refusal = "sbatch: error: Batch job submission failed: Requested reservation is invalid\n";
    assert!(unknown.starts_with(refusal), "{unknown}");
    submit(&["-w", "n1"]);
    submit(&[&resv]);
    until("the reservation's own job runs there", || {
        (cluster.squeue("3", "%t %N") == "R n1").then_some(())
    });
    until("the other knows what keeps it out", || {
        let told = cluster.squeue("2", "%r");
        (told == "ReqNodeNotAvail, May be reserved for other job").then_some(())
    });
    let busy = cluster.run(&format!("scontrol delete reservation={me}_1"));
    assert!((busy.stdout + &busy.stderr).contains("Requested reservation is in use\n"));
    cluster.run("scancel 3");
    until("it is let go", || {
        let deleted = cluster.run(&format!("scontrol delete reservation={me}_1"));
        (deleted.status == 0).then_some(())
    });
    until("the other runs", || (cluster.squeue("2", "%t") == "R").then_some(()));
}

#[test]
fn what_is_kept_and_not_used_is_charged_to_those_it_is_kept_for() {
    let cluster = Cluster::up("n[1-2]", 2);
    let done = |line: &str| {
        let output = cluster.run(line);
        assert_eq!(output.status, 0, "{line}: {}{}", output.stdout, output.stderr);
        output.stdout
    };
    done("sacctmgr -i add account physics");
    done("sacctmgr -i add user nobody account=physics");
    done("scontrol create reservation starttime=now duration=60 user=nobody nodes=n1");
    let sreport = |report: &str| {
        done(&format!("sreport -n -P -t seconds cluster {report} start=now-1hour end=now+1hour"))
    };
    let row = until("the time that nobody used is somebody's", || {
        let told = sreport("userutilizationbyaccount");
        let row = told.lines().find(|line| line.split('|').nth(1) == Some("nobody"))?;
        Some(row.split('|').map(str::to_string).collect::<Vec<_>>())
    });
    assert_eq!(row[3], "physics");
    assert!(row[4].parse::<u64>().expect("seconds") >= 2, "{row:?}");
    let told = sreport("accountutilizationbyuser");
    assert!(told.lines().any(|line| line.split('|').nth(1) == Some("physics")), "{told}");
    done("scontrol create reservation starttime=now duration=60 user=root nodes=n2 flags=maint");
    until("maintenance is planned", || {
        let told = sreport("utilization");
        told.split('|').nth(3).is_some_and(|down| down != "0").then_some(())
    });
}
