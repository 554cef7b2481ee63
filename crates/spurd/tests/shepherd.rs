//! Real shepherds on a temporary spool.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use common::{Spool, launch, until};
use spurd::ending::Ending;
use spurd::shepherd::{FORGOTTEN, TAKEN};

const SIGTERM: u32 = 15;
const SIGKILL: u32 = 9;

#[test]
fn output_and_exit_code_are_exact() {
    let spool = Spool::new();
    let script = "#!/bin/sh\nprintf 'a\\000b\\n'\necho two >&2\nexit 7\n";
    assert_eq!(spool.run(launch(script)), Ending::Exited(7 << 8));
    assert_eq!(spool.output("slurm-1.out"), b"a\0b\ntwo\n");
    let mode = fs::metadata(spool.work_dir().join("slurm-1.out")).expect("is there").mode();
    assert_eq!(mode & 0o777, 0o644);
    assert!(!spool.path().join("scripts/1.1").exists(), "the script goes with its run");
}

#[test]
fn a_signal_is_told_as_the_kernel_told_it() {
    let spool = Spool::new();
    assert_eq!(spool.run(launch("#!/bin/sh\nkill -KILL $$\n")), Ending::Exited(SIGKILL));
    // A real-time signal has no name, only a number.
    assert_eq!(spool.again(launch("#!/bin/bash\nkill -40 $$\n")), Ending::Exited(40));
}

#[test]
fn errors_go_to_their_own_file_and_files_are_added_to_when_asked() {
    let spool = Spool::new();
    let mut launch = launch("#!/bin/sh\necho out $1\necho err >&2\n");
    let spec = launch.spec.get_or_insert_default();
    spec.output = "%x-%j.txt".to_string();
    spec.error = "err%%".to_string();
    spec.arguments = vec!["an argument".to_string()];
    spec.open_append = Some(true);
    assert_eq!(spool.run(launch.clone()), Ending::Exited(0));
    assert_eq!(spool.again(launch), Ending::Exited(0));
    assert_eq!(spool.output("test-1.txt"), b"out an argument\nout an argument\n");
    assert_eq!(spool.output("err%"), b"err\nerr\n");
}

#[test]
fn an_output_file_is_emptied_first() {
    let spool = Spool::new();
    fs::write(spool.work_dir().join("slurm-1.out"), "old").expect("writes");
    assert_eq!(spool.run(launch("#!/bin/sh\necho new\n")), Ending::Exited(0));
    assert_eq!(spool.output("slurm-1.out"), b"new\n");
}

#[test]
fn an_output_file_that_cannot_be_opened_is_the_users_fault() {
    let spool = Spool::new();
    let mut launch = launch("#!/bin/sh\ntouch ran\n");
    launch.spec.get_or_insert_default().output = "no/such/folder".to_string();
    let Ending::CouldNotStart(reason) = spool.run(launch) else { panic!("it started") };
    assert!(reason.contains("no/such/folder"), "{reason}");
    assert!(!spool.work_dir().join("ran").exists());
}

#[test]
fn a_missing_interpreter_is_told_in_slurms_words() {
    let spool = Spool::new();
    assert_eq!(spool.run(launch("#!/no/such/sh\n")), Ending::Exited(2 << 8));
    let expected =
        b"slurmstepd: error: execve(): bad interpreter(/no/such/sh): No such file or directory\n";
    assert_eq!(spool.output("slurm-1.out"), expected);
}

#[test]
fn a_missing_work_directory_becomes_tmp() {
    let spool = Spool::new();
    let mut launch = launch("#!/bin/sh\npwd\n");
    let spec = launch.spec.get_or_insert_default();
    spec.output = spool.work_dir().join("out").display().to_string();
    spec.work_dir = "/no/such/folder".to_string();
    assert_eq!(spool.run_as_is(launch), Ending::Exited(0));
    let complaint = "slurmstepd: error: couldn't chdir to `/no/such/folder': No such file or \
                     directory: going to /tmp instead\n";
    assert_eq!(spool.output("out"), format!("{complaint}{complaint}/tmp\n").as_bytes());
}

#[test]
fn the_environment_is_what_was_submitted_and_what_slurm_tells() {
    let spool = Spool::new();
    let mut launch =
        launch("#!/bin/sh\nenv -0; echo zero=$0; pwd; umask; ls -l /proc/self/fd | wc -l");
    launch.environment = b"PATH=/usr/bin:/bin\0OF_USER=x y\0SLURM_JOB_ID=99\0".to_vec();
    assert_eq!(spool.run(launch), Ending::Exited(0));
    let output = String::from_utf8(spool.output("slurm-1.out")).expect("is text");
    let has = |entry: &str| output.split(['\0', '\n']).any(|it| it == entry);
    let script = spool.path().join("scripts/1.1/slurm_script");
    let expected = [
        "OF_USER=x y",
        "SLURM_JOB_ID=1",
        "SLURM_JOB_NODELIST=n1",
        "SLURMD_NODENAME=n1",
        "SLURM_JOB_NAME=test",
        "0022",
        &spool.work_dir().display().to_string(),
        &format!("zero={}", script.display()),
        // Three of its own, the folder it lists, and the line with the total.
        "5",
    ];
    for entry in expected {
        assert!(has(entry), "{entry} in {output}");
    }
    assert!(!output.contains("CARGO"), "nothing of our own environment");
}

#[test]
fn signals_and_session_are_the_scripts_own() {
    let spool = Spool::new();
    let script = "#!/bin/sh\nexec /bin/sh -c 'grep -E \"Sig(Blk|Ign)\" /proc/self/status; ps -o sid= -p $$; echo $$'\n";
    assert_eq!(spool.run(launch(script)), Ending::Exited(0));
    let output = String::from_utf8(spool.output("slurm-1.out")).expect("is text");
    let lines: Vec<&str> = output.lines().map(str::trim).collect();
    assert_eq!(lines[..2], ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]);
    assert_eq!(lines[2], lines[3], "leads its session");
}

#[test]
fn nothing_outlives_the_script() {
    let spool = Spool::new();
    let script = "#!/bin/bash
        sleep 1000 & echo $! >> pids
        setsid sleep 1001 & echo $! >> pids
        (setsid bash -c 'echo $$ >> pids; trap \"\" TERM; sleep 1002 & echo $! >> pids; wait' &)
        env -i setsid bash -c '(sleep 1003 & echo $! >> pids; echo x >> done)' &
        until [ -e done ] && [ $(wc -l < pids) = 5 ]; do sleep 0.01; done
        exit 3
    ";
    assert_eq!(spool.run(launch(script)), Ending::Exited(3 << 8));
    let pids = spool.output("pids");
    let pids = String::from_utf8(pids).expect("is text");
    assert_eq!(pids.lines().count(), 5);
    for pid in pids.lines() {
        assert!(!common::lives(pid), "{pid} lives");
    }
}

#[test]
fn a_run_asked_to_end_may_end_by_itself() {
    let spool = Spool::new();
    let script = "#!/bin/bash\ntrap 'echo bye; exit 4' TERM\nexec 2> /dev/null\nmkfifo f\nexec 3<>f\n: > ready\nwhile :; do read -t 0.01 -u 3; done\n";
    let shepherd = spool.start(launch(script));
    until(|| spool.work_dir().join("ready").exists());
    shepherd.terminate();
    assert_eq!(shepherd.wait(), Some(0));
    assert_eq!(spool.ending(), Ending::Exited(4 << 8));
    assert_eq!(spool.output("slurm-1.out"), b"bye\n");
}

/// Told at once it would hear the second first, if it did not forget it. A machine that is busy may keep the shell from
/// running in between, but not time and again.
#[test]
fn a_run_asked_to_end_hears_both_signals_in_their_order() {
    let script = "#!/bin/bash\ntrap 'echo go on' CONT\ntrap 'echo end' TERM\nsleep 1000 &\n\
                  : > ready\nwait\nwait\n";
    let hears = |_| {
        let spool = Spool::new();
        let shepherd = spool.start(launch(script));
        until(|| spool.work_dir().join("ready").exists());
        shepherd.terminate();
        assert_eq!(shepherd.wait(), Some(0));
        spool.output("slurm-1.out") == b"go on\nend\n"
    };
    assert!((0..20).any(hears));
}

#[test]
fn a_run_that_will_not_end_is_killed() {
    let spool = Spool::new();
    let mut launch = launch(
        "#!/bin/bash\ntrap 'echo no' TERM\nsetsid sleep 1000 &\necho $! > pid\nexec 2> /dev/null\nmkfifo f\nexec 3<>f\n: > ready\nwhile :; do read -t 0.01 -u 3; done\n",
    );
    launch.kill_wait_secs = Some(1);
    let shepherd = spool.start(launch);
    until(|| spool.work_dir().join("ready").exists());
    shepherd.terminate();
    until(|| spool.output("slurm-1.out") == b"no\n");
    shepherd.terminate();
    assert_eq!(shepherd.wait(), Some(0));
    assert_eq!(spool.ending(), Ending::Exited(SIGKILL));
    let pid = String::from_utf8(spool.output("pid")).expect("is text");
    assert!(!common::lives(pid.trim()));
}

#[test]
fn a_stopped_run_can_be_ended() {
    let spool = Spool::new();
    let shepherd =
        spool.start(launch("#!/bin/sh\necho $$ > pid\nkill -STOP $$\nexec sleep 1000\n"));
    until(|| spool.work_dir().join("pid").exists());
    let pid = || String::from_utf8(spool.output("pid")).expect("is text").trim().to_string();
    until(|| common::state(&pid()) == Some('T'));
    shepherd.terminate();
    assert_eq!(shepherd.wait(), Some(0));
    assert_eq!(spool.ending(), Ending::Exited(SIGTERM));
}

/// Processes that are always elsewhere: each begins the next and ends. Their number stays the same, and
/// they give up by themselves, so that a failing test costs nobody the machine.
#[test]
fn processes_on_the_run_are_caught_up_with() {
    let spool = Spool::new();
    let script = "#!/bin/bash
        hop() { if [ $1 -gt 0 ]; then echo > hopped; hop $(($1 - 1)) & else echo > escaped; fi; }
        for runner in 1 2 3; do hop 3000 & done
        until [ -e hopped ]; do :; done
        exit 0
    ";
    assert_eq!(spool.run(launch(script)), Ending::Exited(0));
    assert!(!spool.work_dir().join("escaped").exists());
    let script = spool.path().display().to_string();
    assert!(!common::commands().contains(&script));
}

/// Run as a user whom the kernel holds to forty processes; root would not be held to any number.
#[test]
fn a_fork_bomb_is_caught_up_with() {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("SKIPPED: only root can run another user's job");
        return;
    }
    let spool = Spool::new();
    fs::set_permissions(spool.work_dir(), fs::Permissions::from_mode(0o777)).expect("opens up");
    let script = "#!/bin/bash
        [ $(id -u) != 0 ] && ulimit -u 40 && [ $(ulimit -u) = 40 ] || exit 9
        exec 2> /dev/null
        bomb() { echo >> born; bomb & bomb & }
        bomb &
        until mapfile -t born < born && [ ${#born[@]} -ge 25 ]; do :; done
        exit 0
    ";
    let mut launch = launch(script);
    // The kernel counts all processes of a user: this one is unlikely to have others.
    let games = nix::unistd::User::from_name("games").expect("asks");
    launch.uid = games.map_or(65534, |user| user.uid.as_raw());
    launch.gid = 65534;
    assert_eq!(spool.run(launch), Ending::Exited(0));
    let script = spool.path().display().to_string();
    assert!(!common::commands().contains(&script));
}

#[test]
fn a_second_shepherd_leaves_the_run_alone() {
    let spool = Spool::new();
    let shepherd = spool
        .start(launch("#!/bin/sh\necho once\n: > ready\nuntil [ -e go ]; do sleep 0.01; done\n"));
    until(|| spool.work_dir().join("ready").exists());
    assert_eq!(spool.shepherd().wait(), Some(TAKEN.into()));
    fs::write(spool.work_dir().join("go"), "").expect("writes");
    assert_eq!(shepherd.wait(), Some(0));
    assert_eq!(spool.shepherd().wait(), Some(TAKEN.into()), "also after its end");
    assert_eq!(spool.output("slurm-1.out"), b"once\n");
}

#[test]
fn a_shepherd_that_comes_too_late_does_nothing() {
    let spool = Spool::new();
    assert_eq!(spool.shepherd().wait(), Some(FORGOTTEN.into()));
    assert_eq!(fs::read_dir(spool.path().join("runs")).expect("lists").count(), 0);
}

#[test]
fn another_users_job_runs_as_that_user() {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("SKIPPED: only root can run other users' jobs");
        return;
    }
    let spool = Spool::new();
    fs::set_permissions(spool.work_dir(), fs::Permissions::from_mode(0o777)).expect("opens up");
    let mut launch = launch(
        "#!/bin/sh\nid -u; id -g; id -G; cat $0 | head -1; cat /proc/self/status | grep CapEff\n",
    );
    launch.uid = 65534;
    launch.gid = 65534;
    launch.user_name = "nobody".to_string();
    assert_eq!(spool.run(launch), Ending::Exited(0));
    let expected = "65534\n65534\n65534\n#!/bin/sh\nCapEff:\t0000000000000000\n";
    assert_eq!(String::from_utf8_lossy(&spool.output("slurm-1.out")), expected);
    let owner = fs::metadata(spool.work_dir().join("slurm-1.out")).expect("is there").uid();
    assert_eq!(owner, 65534);
}

#[test]
fn root_opens_no_file_for_a_user() {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("SKIPPED: only root can run other users' jobs");
        return;
    }
    let spool = Spool::new();
    let mut launch = launch("#!/bin/sh\n");
    launch.uid = 65534;
    launch.gid = 65534;
    let Ending::CouldNotStart(reason) = spool.run(launch) else { panic!("it started") };
    assert!(reason.contains("Permission denied"), "{reason}");
    assert!(!spool.work_dir().join("slurm-1.out").exists());
}

#[test]
fn a_user_with_another_name_here_is_refused() {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("SKIPPED: only root can run other users' jobs");
        return;
    }
    let spool = Spool::new();
    let mut launch = launch("#!/bin/sh\n");
    launch.uid = 65534;
    launch.user_name = "mallory".to_string();
    assert!(matches!(spool.run(launch), Ending::CouldNotStart(_)));
}
