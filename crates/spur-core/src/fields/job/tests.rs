//! Lines compared with what Slurm 22.05 printed for the same jobs.

use super::*;
use crate::fields::format::{letters, names};
use crate::fields::render::{self, RenderContext};
use crate::fields::{Format, check_table};
use crate::time::Timestamp;
use crate::views::JobDetail;

fn running() -> JobView {
    JobView {
        job_id: 7,
        name: "run2".into(),
        partition: "debug".into(),
        account: "root".into(),
        user_name: "root".into(),
        state: 1,
        submit_time: 1_794_766_042,
        start_time: 1_794_766_045,
        end_time: 1_794_773_245,
        time_limit: Some(Limit::Is(120)),
        nodes: "n[1-2]".into(),
        num_nodes: 2,
        num_tasks: 8,
        num_cpus: 8,
        priority: 10_365,
        qos: "normal".into(),
        detail: Some(Box::new(JobDetail {
            group_name: "root".into(),
            batch_host: "n1".into(),
            comment: "a comment".into(),
            cpus_per_task: Some(1),
            memory_per_cpu_mb: Some(1000),
            min_cpus_per_node: 1,
            work_dir: "/home/user/work".into(),
            tres_allocated: "cpu=8,mem=8000M,node=2,billing=8".into(),
            ..JobDetail::default()
        })),
        ..JobView::default()
    }
}

fn pending() -> JobView {
    {
        let mut told = JobView {
            job_id: 24,
            name: "wn4".into(),
            state: 0,
            reason: 15,
            state_description: "ReqNodeNotAvail, UnavailableNodes:n4".into(),
            time_limit: Some(Limit::Is(60)),
            start_time: 0,
            end_time: 0,
            nodes: String::new(),
            num_nodes: 1,
            ..running()
        };
        told.required_nodes = "n4".into();
        told
    }
}

fn array() -> JobView {
    JobView {
        job_id: 9,
        array_job_id: 9,
        array_task_string: "3-6%2".into(),
        array_max_tasks: 2,
        name: "arr".into(),
        reason: 72,
        state_description: String::new(),
        time_limit: Some(Limit::Is(30)),
        ..pending()
    }
}

const NOW: Timestamp = Timestamp(1_794_766_045 + 87);

fn lines(format: Format<JobView>, jobs: &[JobView]) -> Vec<String> {
    let context = RenderContext { now: NOW, ..RenderContext::default() };
    let mut lines = vec![render::header(&format.columns)];
    lines.extend(jobs.iter().map(|job| render::row(&format.columns, job, &context)));
    lines
}

fn by_letters(format: &str, jobs: &[JobView]) -> Vec<String> {
    lines(letters(JOB_FIELDS, format), jobs)
}

fn by_names(format: &str, jobs: &[JobView]) -> Vec<String> {
    lines(names(JOB_FIELDS, format), jobs)
}

#[test]
fn the_table_is_sound() {
    check_table(JOB_FIELDS);
}

#[test]
fn default_layout() {
    let expected = [
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)",
        "                24     debug      wn4     root PD       0:00      1 (ReqNodeNotAvail, UnavailableNodes:n4)",
        "         9_[3-6%2]     debug      arr     root PD       0:00      1 (JobArrayTaskLimit)",
        "                 7     debug     run2     root  R       1:27      2 n[1-2]",
    ];
    assert_eq!(by_letters(DEFAULT, &[pending(), array(), running()]), expected);
}

#[test]
fn long_layout_cuts_words_but_not_spans() {
    let mut suspended = running();
    suspended.state = 2;
    suspended.suspend_time = suspended.start_time + 5;
    suspended.run_secs_before_suspend = 5;
    suspended.time_limit = Some(Limit::Is(1440));
    let expected = [
        "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)",
        "                 7     debug     run2     root SUSPENDE       0:05 1-00:00:00      2 n[1-2]",
    ];
    assert_eq!(by_letters(LONG, &[suspended]), expected);
}

#[test]
fn letters_without_a_width() {
    let expected = [
        "JOBID ACCOUNT EXEC_HOST MIN_CPUS CPUS MIN_TMP_DISK END_TIME DEPENDENCY FEATURES ARRAY_JOB_ID GROUP GROUP OVER_SUBSCRIBE",
        "7 root n1 1 8 0 2026-11-15T20:07:25 (null) (null) 7 root 0 OK",
    ];
    let told = by_letters("%A %a %B %c %C %d %e %E %f %F %g %G %h", &[running()]);
    assert_eq!(told, expected);
    let told = by_letters("%H %i %I %j %J %k %K %l %L %m %M %n %N %o", &[running(), array()]);
    assert_eq!(told[1], "* 7 * run2 * a comment N/A 2:00:00 1:58:33 1000M 1:27  n[1-2] (null)");
    assert_eq!(told[2], "* 9_[3-6%2] * arr * a comment 3-6%2 30:00 30:00 1000M 0:00 n4  (null)");
    let format = "%O %p %P %q %Q %r %R %S %s %t %T %u %U %v %V %w %W %x %X %y %Y %z %Z %b";
    let told = by_letters(format, &[running()]);
    assert_eq!(
        told,
        [
            "CONTIGUOUS PRIORITY PARTITION QOS PRIORITY REASON NODELIST(REASON) START_TIME  ST STATE USER UID RESERVATION SUBMIT_TIME WCKEY LICENSES EXC_NODES CORE_SPEC NICE SCHEDNODES S:C:T WORK_DIR TRES_PER_NODE",
            "0 0.00000241328962 debug normal 10365 None n[1-2] 2026-11-15T18:07:25  R RUNNING root 0 (null) 2026-11-15T18:07:22 (null) (null)  N/A 0 (null) *:*:* /home/user/work N/A",
        ]
    );
}

#[test]
fn narrow_columns_cut_as_squeue_does() {
    let format = "[%2a][%.2a][%2E][%.2E][%2l][%.2l][%2N][%.2N][%2Y][%.2Y]";
    let told = by_letters(format, &[running()]);
    assert_eq!(told[0], "[AC][AC][DE][DE][TI][TI][NO][NODELIST][SC][SCHEDNODES]");
    assert_eq!(told[1], "[ro][ro][  ][(n][2:][2:00:00][n[][n[1-2]][  ][(null)]");
    let unlimited = JobView { time_limit: Some(Limit::Unlimited), ..running() };
    assert_eq!(by_letters("%.3l|%.5R", &[unlimited, array()])[1..], ["UNL|n[1-2]", "30:00|(JobA"]);
}

#[test]
fn names_take_twenty_characters_or_their_own() {
    let told = by_names("JobID,name:.7,state:,reason:x,account:4-,NumNodes:3", &[running()]);
    assert_eq!(told[0], "JOBID                  NAMESTATEREASONxACCO-NOD");
    assert_eq!(told[1], "7                      run2RUNNINGNonexroot-2  ");
}

#[test]
fn a_wrong_letter_or_name_is_told_and_kept() {
    let parsed = letters(JOB_FIELDS, "lit %i%% %j%5.3j|%!");
    let problems: Vec<_> = parsed.problems.iter().map(|problem| problem.0.as_str()).collect();
    assert_eq!(problems, [" ", ".", "!"]);
    assert_eq!(lines(parsed, &[running()])[1], "lit 7% run2%5.3j|%!");
    let parsed = names(JOB_FIELDS, "jobid:5,ST:5,bogusfield");
    let problems: Vec<_> = parsed.problems.iter().map(|problem| problem.0.as_str()).collect();
    assert_eq!(problems, ["ST", "bogusfield"]);
    assert_eq!(lines(parsed, &[running()])[1], "7    ");
}

#[test]
fn all_letters_with_bars() {
    let told = by_letters("%all", &[running()]);
    assert_eq!(
        told[0],
        "ACCOUNT|TRES_PER_NODE|MIN_CPUS|MIN_TMP_DISK|END_TIME|FEATURES|GROUP|OVER_SUBSCRIBE|JOBID|NAME|COMMENT|TIME_LIMIT|MIN_MEMORY|REQ_NODES|COMMAND|PRIORITY|QOS|REASON||ST|USER|RESERVATION|WCKEY|EXC_NODES|NICE|S:C:T|JOBID|EXEC_HOST|CPUS|NODES|DEPENDENCY|ARRAY_JOB_ID|GROUP|SOCKETS_PER_NODE|CORES_PER_SOCKET|THREADS_PER_CORE|ARRAY_TASK_ID|TIME_LEFT|TIME|NODELIST|CONTIGUOUS|PARTITION|PRIORITY|NODELIST(REASON)|START_TIME|STATE|UID|SUBMIT_TIME|LICENSES|CORE_SPEC|SCHEDNODES|WORK_DIR"
    );
}

#[test]
fn requests_and_sizes() {
    let job = {
        let mut told = running();
        told.tres_per_node = "gres/gpu:mi300x:4".into();
        told.memory_per_cpu_mb = None;
        told.memory_per_node_mb = Some(16_384);
        told
    };
    assert_eq!(by_letters("%b %m", std::slice::from_ref(&job))[1], "gres:gpu:mi300x:4 16G");
    let context = RenderContext { no_convert: true, ..RenderContext::default() };
    let columns = letters(JOB_FIELDS, "%i %m").columns;
    assert_eq!(render::row(&columns, &job, &context), "7 16384M");
}

#[test]
fn ids_of_arrays_and_components() {
    let task = JobView { job_id: 10, array_task_id: Some(1), ..array() };
    let component = JobView { job_id: 28, het_job_id: 27, het_job_offset: 1, ..running() };
    assert_eq!(
        by_letters("%i %A %F %K", &[task, component])[1..],
        ["9_1 10 9 1", "27+1 28 28 N/A"]
    );
}

#[test]
fn json_wraps_numbers() {
    let told = render::json(JOB_FIELDS, &running());
    assert_eq!(told["job_id"], 7);
    assert_eq!(told["job_state"], json!(["RUNNING"]));
    assert_eq!(told["time_limit"], json!({"set": true, "infinite": false, "number": 120}));
    assert_eq!(told["array_task_id"], json!({"set": false, "infinite": false, "number": 0}));
    assert_eq!(told["tasks_per_core"], json!({"set": false, "infinite": true, "number": 0}));
    assert_eq!(told["dependency"], "");
    assert_eq!(told["power"], json!({"flags": []}));
    assert_eq!(told["exit_code"]["status"], json!(["SUCCESS"]));
}

/// A list is asked for the members that its columns say they read: what they do not name must not matter.
#[test]
fn a_column_reads_the_members_it_names_and_no_others() {
    use crate::views::JOB_MEMBERS;
    use crate::views::table::Given;
    let words = [Vec::new(), b"x".to_vec(), b"gres/gpu:1".to_vec()];
    let array = JobView { array_job_id: 7, array_task_id: Some(3), ..running() };
    let waiting =
        JobView { array_job_id: 7, array_task_string: "1-3".into(), ..JobView::default() };
    let het = JobView { het_job_id: 7, state: 3, ..running() };
    let failed = JobView { state: 5, suspend_time: 3, ..running() };
    for base in [running(), array, waiting, het, failed, JobView::default()] {
        for field in JOB_FIELDS {
            let told = (field.get)(&base);
            let names: Vec<&str> = field.reads.split_whitespace().collect();
            let known = |name: &&str| JOB_MEMBERS.iter().any(|member| member.name == *name);
            assert!(names.iter().all(known), "{} reads {}", field.name, field.reads);
            for member in JOB_MEMBERS.iter().filter(|member| !names.contains(&member.name)) {
                for value in [0, 1, 2] {
                    let mut other = base.clone();
                    (member.set)(&mut other, Given::new(value, &words));
                    let name = format!("{}{}", field.name, field.json);
                    assert_eq!((field.get)(&other), told, "{name} reads {}", member.name);
                }
            }
        }
    }
}

#[test]
fn a_cell_is_written_anew_when_a_member_of_it_changes() {
    use crate::fields::lines::{Lines, Objects};
    use crate::views::{JOB_MEMBERS, Members};
    let other = JobView { job_id: 8, name: "other".into(), ..running() };
    let changed = Members::named(JOB_MEMBERS, "job_id name");
    let Format { columns, .. } = letters(JOB_FIELDS, "%.5i|%j|%u %N");
    let context = RenderContext::default();
    let (mut lines, mut text) = (Lines::new(&columns, JOB_MEMBERS), String::new());
    lines.put(&mut text, &running(), &Members::ALL, &context);
    lines.put(&mut text, &other, &changed, &context);
    let expected = [running(), other.clone()].map(|job| render::row(&columns, &job, &context));
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    let mut objects = Objects::new(JOB_FIELDS, JOB_MEMBERS);
    let mut text = "{\n  \"jobs\": [".to_string();
    objects.put(&mut text, &running(), &Members::ALL);
    objects.put(&mut text, &other, &changed);
    text.push_str("\n  ]\n}");
    let list = [running(), other].map(|job| render::json(JOB_FIELDS, &job));
    assert_eq!(text, format!("{:#}", json!({ "jobs": list })));
}
