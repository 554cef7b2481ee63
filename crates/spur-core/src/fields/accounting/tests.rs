//! Lines compared with what Slurm 22.05 printed for the same jobs.

use super::*;
use crate::fields::check_table;
use crate::fields::format::{FormatError, accounting};
use crate::fields::render::{Layout, RenderContext, accounting_header, accounting_row};

fn job() -> AccountingView {
    AccountingView {
        cluster: "oracle".into(),
        job_id: 5,
        name: "steps".into(),
        account: "root".into(),
        user_name: "root".into(),
        group_name: "root".into(),
        partition: "debug".into(),
        qos: "normal".into(),
        qos_id: 1,
        state: 3,
        submit_time: 1_794_766_042,
        eligible_time: 1_794_766_042,
        start_time: 1_794_766_042,
        end_time: 1_794_766_044,
        derived_exit_status: 256,
        time_limit: Some(Limit::Is(60)),
        nodes: "n[1-2]".into(),
        node_count: 2,
        nodes_requested: 2,
        cpus_allocated: 4,
        cpus_requested: 4,
        memory_per_cpu_mb: Some(1000),
        tres_allocated: "billing=4,cpu=4,mem=4000M,node=2".into(),
        tres_requested: "billing=4,cpu=4,mem=4000M,node=2".into(),
        consumed_energy_joules: Some(0),
        priority: 10_357,
        user_cpu_micros: 31_500,
        system_cpu_micros: 16_700,
        ..AccountingView::default()
    }
}

fn step() -> AccountingView {
    let usage = |name: &str, max| TresUsage {
        name: name.into(),
        max,
        max_node: "n1".into(),
        average: max,
        ..TresUsage::default()
    };
    AccountingView {
        step_id: "0".into(),
        name: "stepA".into(),
        end_time: 1_794_766_043,
        tasks: 4,
        tres_allocated: "cpu=4,mem=4000M,node=2".into(),
        usage_in: vec![usage("cpu", 0), usage("fs/disk", 1_685_840), usage("mem", 13_934_592)],
        usage_out: vec![usage("energy", 0), usage("fs/disk", 308_899)],
        ..job()
    }
}

fn fixed(format: &str, rows: &[AccountingView]) -> Vec<String> {
    let columns = accounting(ACCOUNTING_FIELDS, format).unwrap();
    let mut lines = accounting_header(&columns, &Layout::Fixed);
    let context = RenderContext::default();
    lines.extend(rows.iter().map(|row| accounting_row(&columns, row, &Layout::Fixed, &context)));
    lines
}

fn parsable(format: &str, row: &AccountingView) -> String {
    let columns = accounting(ACCOUNTING_FIELDS, format).unwrap();
    let layout = Layout::Parsable { delimiter: "|".into(), ends: false };
    accounting_row(&columns, row, &layout, &RenderContext::default())
}

#[test]
fn the_tables_are_sound() {
    check_table(ACCOUNTING_FIELDS);
    check_table(JOB_JSON);
    check_table(STEP_JSON);
}

#[test]
fn default_layout() {
    let cancelled = AccountingView {
        job_id: 6,
        name: "cancelme".into(),
        state: 4,
        cancelled_by: Some(0),
        cpus_allocated: 1,
        ..job()
    };
    let expected = [
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
        "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
        "5                 steps      debug       root          4  COMPLETED      0:0 ",
        "5.0               stepA                  root          4  COMPLETED      0:0 ",
        "6              cancelme      debug       root          1 CANCELLED+      0:0 ",
    ];
    assert_eq!(fixed(DEFAULT, &[job(), step(), cancelled.clone()]), expected);
    assert_eq!(parsable("jobid,state", &cancelled), "6|CANCELLED by 0");
}

#[test]
fn widths_and_shortened_names() {
    let told = fixed("Elap,jobid%-8,state%3,JobName%20", &[job()]);
    assert_eq!(
        told,
        [
            "   Elapsed JobID    Sta              JobName ",
            "---------- -------- --- -------------------- ",
            "  00:00:02 5        CO+                steps ",
        ]
    );
    assert_eq!(accounting(ACCOUNTING_FIELDS, "nosuch").err(), Some(FormatError("nosuch".into())));
    assert_eq!(fixed("jobid%0,jobname%x", &[job()]), ["  ", "  ", "  "]);
}

#[test]
fn values_of_jobs_and_steps() {
    let format = "CPUTime,CPUTimeRAW,DerivedExitCode,Elapsed,ElapsedRaw,End,NTasks,ReqMem,Reserved,\
        Start,Suspended,SystemCPU,Timelimit,TimelimitRaw,TotalCPU,UID,User,UserCPU,QOSRAW,Layout";
    assert_eq!(
        parsable(format, &job()),
        "00:00:08|8|1:0|00:00:02|2|2026-11-15T18:07:24||4000M|00:00:00|2026-11-15T18:07:22|00:00:00|00:00.016|01:00:00|60|00:00.048|0|root|00:00.031|1|"
    );
    let format = "CPUTime,DerivedExitCode,NTasks,ReqMem,Timelimit,UID,MaxRSS,MaxRSSNode,MaxRSSTask,\
        MaxDiskRead,AveDiskWrite,AveCPU,TRESUsageInMax,TRESUsageOutMax";
    assert_eq!(
        parsable(format, &step()),
        "00:00:04||4||||13608K|n1|0|1.61M|0.29M|00:00:00|cpu=00:00:00,fs/disk=1685840,mem=13608K|energy=0,fs/disk=308899"
    );
}

#[test]
fn ids_of_arrays_components_and_steps() {
    let task = AccountingView { job_id: 10, array_job_id: 9, array_task_id: Some(1), ..step() };
    assert_eq!(parsable("JobID,JobIDRaw", &task), "9_1.0|10.0");
    let component = AccountingView { job_id: 27, het_job_id: 27, step_id: "batch".into(), ..job() };
    assert_eq!(parsable("JobID", &component), "27+0.batch");
}

#[test]
fn json_has_steps() {
    let job = AccountingView { steps: vec![step()], ..job() };
    let told = render::json(JOB_JSON, &job);
    assert_eq!(told["time"]["elapsed"], 2);
    assert_eq!(told["state"], json!({"current": ["COMPLETED"], "reason": "None"}));
    assert_eq!(told["steps"][0]["step"], json!({"id": "5.0", "name": "stepA"}));
    assert_eq!(told["steps"][0]["nodes"]["list"], json!(["n1", "n2"]));
    assert_eq!(
        told["tres"]["allocated"][2],
        json!({"type": "mem", "name": "", "id": 2, "count": 4000})
    );
}
