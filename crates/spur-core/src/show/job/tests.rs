//! Compared with what Slurm 22.05 printed for the same jobs.

use super::*;
use crate::fields::RenderContext;
use crate::show::text;
use crate::time::Timestamp;
use crate::views::{JobDetail, JobNodeShare};

fn running() -> JobView {
    JobView {
        job_id: 7,
        name: "run2".into(),
        user_name: "root".into(),
        priority: 10_365,
        account: "root".into(),
        qos: "normal".into(),
        state: 1,
        submit_time: 1_794_766_042,
        eligible_time: 1_794_766_042,
        accrue_time: 1_794_766_042,
        start_time: 1_794_766_045,
        end_time: 1_794_773_245,
        time_limit: Some(Limit::Is(120)),
        partition: "debug".into(),
        nodes: "n[1-2]".into(),
        num_nodes: 2,
        num_cpus: 8,
        num_tasks: 8,
        detail: Some(Box::new(JobDetail {
            group_name: "root".into(),
            requeue: true,
            batch_flag: true,
            last_sched_eval: 1_794_766_045,
            alloc_node: "localhost".into(),
            alloc_sid: 2468,
            batch_host: "n1".into(),
            cpus_per_task: Some(1),
            tres_allocated: "cpu=8,mem=8000M,node=2,billing=8".into(),
            min_cpus_per_node: 1,
            memory_per_cpu_mb: Some(1000),
            work_dir: "/home/user/work".into(),
            comment: "a comment".into(),
            resources: vec![
                JobNodeShare {
                    name: "n1".into(),
                    cores: vec![4, 6, 7, 8, 36, 37, 38],
                    memory_mb: 7000,
                    ..Default::default()
                },
                JobNodeShare {
                    name: "n2".into(),
                    cores: vec![0],
                    memory_mb: 1000,
                    ..Default::default()
                },
            ],
            ..JobDetail::default()
        })),
        ..JobView::default()
    }
}

fn shown(job: &JobView, details: bool, one_line: bool) -> String {
    let context = RenderContext { now: Timestamp(1_794_766_045 + 113), ..RenderContext::default() };
    text(JOB, job, &Scene { context, details }, one_line)
}

const DETAILED: &str = "\
JobId=7 JobName=run2
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   Priority=10365 Nice=0 Account=root QOS=normal
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   DerivedExitCode=0:0
   RunTime=00:01:53 TimeLimit=02:00:00 TimeMin=N/A
   SubmitTime=2026-11-15T18:07:22 EligibleTime=2026-11-15T18:07:22
   AccrueTime=2026-11-15T18:07:22
   StartTime=2026-11-15T18:07:25 EndTime=2026-11-15T20:07:25 Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-15T18:07:25 Scheduler=Main
   Partition=debug AllocNode:Sid=localhost:2468
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=n[1-2]
   BatchHost=n1
   NumNodes=2 NumCPUs=8 NumTasks=8 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=8,mem=8000M,node=2,billing=8
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   JOB_GRES=(null)
     Nodes=n1 CPU_IDs=4,6-8,36-38 Mem=7000 GRES=
     Nodes=n2 CPU_IDs=0 Mem=1000 GRES=
   MinCPUsNode=1 MinMemoryCPU=1000M MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Command=(null)
   WorkDir=/home/user/work
   Comment=a comment 
   StdErr=/home/user/work/slurm-7.out
   StdIn=/dev/null
   StdOut=/home/user/work/slurm-7.out
   Power=
   ";

#[test]
fn a_running_job_in_full() {
    assert_eq!(shown(&running(), true, false), DETAILED);
}

#[test]
fn a_running_job_in_one_line() {
    let line = shown(
        &{
            let mut told = running();
            told.comment = String::new();
            told
        },
        false,
        true,
    );
    assert!(
        line.starts_with(
            "JobId=7 JobName=run2 UserId=root(0) GroupId=root(0) MCS_label=N/A Priority"
        )
    );
    assert!(line.ends_with("StdOut=/home/user/work/slurm-7.out Power= "), "{line}");
    assert!(!line.contains('\n') && !line.contains("JOB_GRES"));
}

#[test]
fn arrays_components_and_pending_jobs() {
    let first =
        |job: &JobView| shown(job, false, false).lines().next().unwrap_or_default().to_string();
    let task = JobView {
        job_id: 10,
        array_job_id: 9,
        array_task_id: Some(1),
        array_max_tasks: 2,
        ..running()
    };
    assert_eq!(
        first(&task),
        "JobId=10 ArrayJobId=9 ArrayTaskId=1 ArrayTaskThrottle=2 JobName=run2"
    );
    assert!(shown(&task, false, false).contains("StdOut=/home/user/work/slurm-9_1.out"));
    let array =
        JobView { job_id: 9, array_job_id: 9, array_task_string: "0,3%2".into(), ..running() };
    assert_eq!(first(&array), "JobId=9 ArrayJobId=9 ArrayTaskId=0,3%2 JobName=run2");
    let component = JobView {
        job_id: 28,
        het_job_id: 27,
        het_job_offset: 1,
        het_job_id_set: "27-28".into(),
        ..running()
    };
    assert_eq!(first(&component), "JobId=28 HetJobId=27 HetJobOffset=1 JobName=run2");
    assert!(shown(&component, false, false).contains("\n   HetJobIdSet=27-28\n   UserId="));
    let pending = {
        let mut told = JobView {
            state: 0,
            state_description: "ReqNodeNotAvail, UnavailableNodes:n4".into(),
            num_nodes: 3,
            max_nodes: 3,
            nodes: String::new(),
            scheduled_nodes: "n[1-3]".into(),
            ..running()
        };
        told.batch_host = String::new();
        told
    };
    let told = shown(&pending, false, false);
    assert!(told.contains("Reason=ReqNodeNotAvail,_UnavailableNodes:n4 "), "{told}");
    assert!(told.contains("\n   NodeList= SchedNodeList=n[1-3]\n   NumNodes=3-3 NumCPUs=8"));
}
