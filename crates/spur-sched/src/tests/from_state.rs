//! Plans about the controllers' state.

use crate::Planner;
use spur_core::auth::Actor;
use spur_core::blob::BlobHash;
use spur_core::ids::{Epoch, Gid, JobId, StepId, Uid};
use spur_core::job::{ExitStatus, JobSpec, Owner, Removal, RequestId};
use spur_core::limit::Limit;
use spur_core::node::Inventory;
use spur_core::state::State;
use spur_core::state::{
    Blob, Command, Control, Entry, Finish, JobAction, JobStart, Origin, Outcome, RegisterNode,
    Settings, Submit, apply,
};
use spur_core::time::Timestamp;
use spur_core::views::{AssociationView, QosView, RulesView};

/// A cluster of nodes `n1`, `n2` … with so many processors each, and its jobs.
#[derive(Clone)]
pub struct Cluster(pub State);

pub fn cluster(cpus: &[u32]) -> Cluster {
    let mut cluster = Cluster(State::new());
    cluster.apply(Command::Configure(Settings::default()));
    for (number, cpus) in (1..).zip(cpus) {
        cluster.apply(Command::RegisterNode(RegisterNode {
            name: format!("n{number}").into(),
            inventory: Inventory::simple(*cpus, 0),
            boot_id: String::new(),
        }));
    }
    cluster
}

impl Cluster {
    pub fn apply(&mut self, command: Command) {
        let entry = Entry { at: Timestamp(1), origin: Origin::default(), command };
        apply(&mut self.0, &entry).reply.expect("is accepted");
    }

    fn job(self, nodes: u32, tasks: u32) -> Cluster {
        let (nodes_min, ntasks) = (Some(nodes).filter(|n| *n > 0), Some(tasks));
        self.submit(JobSpec { nodes_min, ntasks, ..JobSpec::default() })
    }

    /// What a pass starts runs from now on.
    pub fn started(mut self) -> Cluster {
        let starts = Planner::default().plan(&self.0).starts;
        self.apply(Command::Start(starts));
        self
    }

    pub fn submit(self, spec: JobSpec) -> Cluster {
        self.submit_as(Owner::default(), spec)
    }

    fn submit_as(mut self, owner: Owner, spec: JobSpec) -> Cluster {
        let request = RequestId(u128::from(self.0.next_job.0));
        let hash = BlobHash::of(b"");
        self.apply(Command::Submit(Box::new(Submit {
            request,
            owner,
            spec,
            others: Vec::new(),
            script: hash,
            environment: hash,
            blobs: vec![Blob { bytes: Vec::new() }],
        })));
        self
    }

    /// `1 on n1:4 n2:1` for a start, `2 Resources` for a wait.
    pub fn plan(&self) -> Vec<String> {
        let plan = Planner::default().plan(&self.0);
        let starts = plan.starts.iter().map(|start| {
            let shares: Vec<String> = start
                .allocation
                .shares
                .iter()
                .map(|share| format!("{}:{}", share.node, share.cpus))
                .collect();
            format!("{} on {}", start.job, shares.join(" "))
        });
        starts
            .chain(plan.waits.iter().map(|(job, why)| format!("{job} {}", why.reason.name())))
            .collect()
    }
}

#[test]
fn first_come_first_served_and_the_rest_know_why() {
    let plan = cluster(&[4]).job(0, 3).job(0, 4).job(0, 2).job(0, 1).plan();
    assert_eq!(plan, ["1 on n1:3", "4 on n1:1", "2 Resources", "3 Priority"]);
}

#[test]
fn a_job_that_never_fits_stands_in_nobodys_way() {
    let plan = cluster(&[4]).job(2, 2).job(0, 9).job(0, 1).plan();
    assert_eq!(plan, ["3 on n1:1", "1 PartitionNodeLimit", "2 PartitionConfig"]);
}

#[test]
fn tasks_fill_the_first_nodes() {
    assert_eq!(cluster(&[4, 4]).job(0, 6).plan(), ["1 on n1:4 n2:2"]);
    assert_eq!(cluster(&[8, 8]).job(2, 6).plan(), ["1 on n1:5 n2:1"]);
}

#[test]
fn a_range_of_nodes_is_taken_to_its_end() {
    let spec = |max| JobSpec {
        nodes_min: Some(1),
        nodes_max: Some(max),
        ntasks: Some(6),
        ntasks_said: true,
        ..JobSpec::default()
    };
    assert_eq!(cluster(&[8, 8, 8]).submit(spec(2)).plan(), ["1 on n1:5 n2:1"]);
    assert_eq!(cluster(&[8, 8, 8]).submit(spec(5)).plan(), ["1 on n1:4 n2:1 n3:1"]);
    let mut few = spec(3);
    few.placement_mut().use_min_nodes = true;
    assert_eq!(cluster(&[8, 8, 8]).submit(few).plan(), ["1 on n1:6"]);
}

#[test]
fn who_cannot_end_before_the_deadline_does_not_start() {
    let spec = |minutes| {
        let limit = Some(spur_core::limit::Limit::Is(minutes));
        let mut spec = JobSpec { time_limit: limit, ..JobSpec::default() };
        spec.lifecycle_mut().deadline = Some(601);
        spec
    };
    assert_eq!(cluster(&[8]).submit(spec(10)).plan(), ["1 on n1:1"]);
    assert_eq!(cluster(&[8]).submit(spec(11)).plan(), ["1 DeadLine"]);
    let mut less = spec(30);
    less.lifecycle_mut().time_min = Some(spur_core::limit::Limit::Is(5));
    let cluster = cluster(&[8]).submit(less);
    let plan = crate::Planner::default().plan(&cluster.0);
    assert_eq!(plan.starts[0].minutes, Some(10));
}

#[test]
fn a_plan_that_is_applied_leaves_the_next_what_is_left() {
    let mut cluster = cluster(&[2, 2]).job(2, 2).job(2, 2).job(1, 1);
    assert_eq!(cluster.plan(), ["1 on n1:1 n2:1", "2 on n1:1 n2:1", "3 Resources"]);
    let starts = Planner::default().plan(&cluster.0).starts;
    assert!(starts.iter().all(|start| start.epoch == Epoch(1)));
    cluster.apply(Command::Start(starts));
    assert_eq!(cluster.plan(), ["3 Resources"]);
}

#[test]
fn a_job_of_several_partitions_runs_where_there_is_room() {
    let text = "[[partitions]]\nname = \"a\"\nnodes = \"n1\"\n[[partitions]]\nname = \"b\"\nnodes = \"n2\"\n\
                [[nodes]]\nnames = \"n[1-2]\"\ncpus = 2\n";
    let config = spur_core::config::read(text).expect("is in order");
    let mut cluster = cluster(&[2, 2]);
    cluster.apply(Command::Configure(Settings::of(&config)));
    let job = |partition: &str| JobSpec {
        partition: partition.to_string(),
        ntasks: Some(2),
        ..JobSpec::default()
    };
    let cluster = cluster.submit(job("a")).submit(job("a,b")).submit(job("a,b"));
    assert_eq!(cluster.plan(), ["1 on n1:2", "2 on n2:2", "3 Resources"]);
    let cluster = cluster.started();
    let run = &cluster.0.jobs[&spur_core::ids::JobId(2)];
    assert_eq!(cluster.0.partition_of(run).map(|it| it.name.as_str()), Some("b"));
}

#[test]
fn a_job_displaces_others_by_the_highest_of_its_partitions() {
    let text = "[preemption]\nby = \"partition_tier\"\nmode = \"requeue\"\n\
                [[partitions]]\nname = \"low\"\n[[partitions]]\nname = \"small\"\n\
                [[partitions]]\nname = \"high\"\npriority_tier = 2\n";
    let config = spur_core::config::read(text).expect("is in order");
    let mut cluster = cluster(&[2]);
    cluster.apply(Command::Configure(Settings::of(&config)));
    let job = |partition: &str| JobSpec {
        partition: partition.to_string(),
        ntasks: Some(2),
        ..JobSpec::default()
    };
    let cluster = cluster.submit(job("low")).started();
    let victims = |spec| Planner::default().plan(&cluster.clone().submit(spec).0).preempts.len();
    assert_eq!(victims(job("small,low")), 0);
    assert_eq!(victims(job("small,high")), 1);
}

#[test]
fn partitions_are_for_accounts_and_qos_that_they_name() {
    let text = "[[partitions]]\nname = \"theirs\"\nallow_accounts = [\"a\"]\n\
                [[partitions]]\nname = \"not\"\ndeny_accounts = [\"a\"]\nallow_qos = [\"q\"]\n";
    let config = spur_core::config::read(text).expect("is in order");
    let mut cluster = cluster(&[8]);
    cluster.apply(Command::Configure(Settings::of(&config)));
    let job = |partition: &str, account: &str, qos: &str| JobSpec {
        partition: partition.to_string(),
        account: account.to_string(),
        qos: qos.to_string(),
        ..JobSpec::default()
    };
    let cluster = cluster
        .submit(job("theirs", "", ""))
        .submit(job("theirs", "b", ""))
        .submit(job("theirs", "a", ""))
        .submit(job("not", "a", "q"))
        .submit(job("not", "b", ""))
        .submit(job("not", "b", "q"))
        .submit(job("theirs,not", "b", "q"));
    let barred = ["1 AccountNotAllowed", "2 AccountNotAllowed", "4 AccountNotAllowed"];
    let plan = cluster.plan();
    assert!(barred.iter().all(|it| plan.contains(&(*it).to_string())), "{plan:?}");
    assert!(plan.contains(&"5 QOSNotAllowed".to_string()), "{plan:?}");
    assert_eq!(plan.iter().filter(|it| it.contains(" on n1")).count(), 3, "{plan:?}");
}

/// Of an array that may run one task at a time, one came back to the queue and the last of the others runs: the
/// throttle holds for whoever came back, also in the eyes of a planner that has seen it all.
#[test]
fn a_task_that_came_back_waits_for_the_others_of_its_array() {
    let mut planner = Planner::default();
    let spec = JobSpec { ntasks: Some(1), array: "0-1%1".to_string(), ..JobSpec::default() };
    let mut cluster = cluster(&[4]).submit(spec);
    let starts = planner.plan(&cluster.0).starts;
    assert_eq!(starts.len(), 1, "{starts:?}");
    let first = JobStart { task: Some(0), ..starts[0].clone() };
    let second = JobStart { task: Some(1), ..first.clone() };
    cluster.apply(Command::Start(vec![first]));
    planner.plan(&cluster.0);
    let task = cluster.0.task_of(JobId(1), 0).expect("it runs").id;
    let action = JobAction::Requeue { hold: false };
    let (by, tasks, request) = (Actor::Controller, None, None);
    cluster.apply(Command::Control(Box::new(Control { job: task, tasks, action, by, request })));
    let finish = Finish::lost(task, Epoch(1), StepId::BATCH);
    cluster.apply(Command::Finished { node: "n1".into(), finishes: vec![finish] });
    planner.plan(&cluster.0);
    cluster.apply(Command::Start(vec![second]));
    let running = cluster.0.jobs.values().filter(|job| job.phase.holds().is_some()).count();
    assert_eq!(running, 1, "only the second runs");
    assert!(planner.plan(&cluster.0).starts.is_empty());
    assert!(Planner::default().plan(&cluster.0).starts.is_empty());
}

/// A cluster of one node where jobs of `high` displace those of `low`, as these words say.
fn with_qos(preemption: &str) -> Cluster {
    let text = format!("[preemption]\nby = \"qos\"\n{preemption}");
    let config = spur_core::config::read(&text).expect("is in order");
    let mut cluster = cluster(&[2]);
    let mut settings = Settings::of(&config);
    settings.accounting = true;
    cluster.apply(Command::Configure(settings));
    let qos = |id: u32, name: &str, preempt: &[&str]| QosView {
        id,
        name: name.to_string(),
        preempt: preempt.iter().map(ToString::to_string).collect(),
        preempt_mode: "cluster".to_string(),
        ..QosView::default()
    };
    let qos = vec![qos(1, "normal", &[]), qos(2, "high", &["low"]), qos(3, "low", &[])];
    let cluster_name = cluster.0.settings.cluster_name.clone();
    let root = AssociationView {
        cluster: cluster_name,
        account: "root".to_string(),
        ..AssociationView::default()
    };
    let rules = RulesView { qos, associations: vec![root], ..RulesView::default() };
    cluster.apply(Command::SetRules(Box::new(rules)));
    cluster
}

#[test]
fn advice_keeps_within_the_limits_of_a_qos() {
    let mut cluster = with_qos("mode = \"requeue\"\n");
    let text = "[accounting]\nenforce = [\"limits\"]\n";
    let mut settings = Settings::of(&spur_core::config::read(text).expect("is in order"));
    settings.accounting = true;
    cluster.apply(Command::Configure(settings));
    let qos = QosView {
        id: 1,
        name: "normal".to_string(),
        max_wall: Some(Limit::Is(10)),
        max_tres_per_job: "cpu=1".to_string(),
        ..QosView::default()
    };
    let root = AssociationView {
        cluster: cluster.0.settings.cluster_name.clone(),
        account: "root".to_string(),
        qos: vec!["normal".to_string()],
        ..AssociationView::default()
    };
    let hers = AssociationView { user_name: "alice".to_string(), is_default: true, ..root.clone() };
    let rules =
        RulesView { qos: vec![qos], associations: vec![root, hers], ..RulesView::default() };
    cluster.apply(Command::SetRules(Box::new(rules)));
    let of = |tasks, minutes| JobSpec {
        ntasks: Some(tasks),
        ntasks_said: true,
        time_limit: Some(Limit::Is(minutes)),
        account: "root".to_string(),
        ..of_qos("normal")
    };
    let alice = || Owner { uid: Uid(1000), gid: Gid(1000), name: "alice".to_string() };
    let cluster = cluster.submit_as(alice(), of(1, 60)).submit_as(alice(), of(2, 5));
    let plan = ["1 QOSMaxWallDurationPerJobLimit", "2 QOSMaxCpuPerJobLimit"];
    assert_eq!(cluster.plan(), plan);
    let advised = |job, numbers| {
        let mut planner = Planner::default();
        let told = planner.explain(&cluster.0, JobId(job)).expect("waits");
        let [limit] = &told.limits[..] else { panic!("{told:?}") };
        assert_eq!((limit.used, limit.needed, limit.max), numbers, "{}", limit.name);
        format!("{:?}", planner.advise(&cluster.0, JobId(job), &told))
    };
    for (job, numbers, change) in [
        (1, (0, 60, 10), r#"key: "TimeLimit", value: "10""#),
        (2, (0, 2, 1), r#"key: "NumTasks", value: "1""#),
    ] {
        let advice = advised(job, numbers);
        assert!(advice.contains(change), "{advice}");
    }
}

fn of_qos(qos: &str) -> JobSpec {
    JobSpec { qos: qos.to_string(), ntasks: Some(2), ..JobSpec::default() }
}

#[test]
fn a_qos_displaces_those_it_names_and_no_others() {
    for (first, displaced) in [("low", true), ("normal", false)] {
        let cluster = with_qos("mode = \"requeue\"\n").submit(of_qos(first)).started();
        let plan = Planner::default().plan(&cluster.submit(of_qos("high")).0);
        assert_eq!(!plan.preempts.is_empty(), displaced, "{first}");
    }
}

#[test]
fn what_was_put_to_sleep_wakes_when_the_other_is_over() {
    let cluster = with_qos("mode = \"suspend,gang\"\n").submit(of_qos("low")).started();
    let mut cluster = cluster.submit(of_qos("high"));
    let plan = Planner::default().plan(&cluster.0);
    assert_eq!(plan.preempts[0].how, Removal::Suspend);
    cluster.apply(Command::Preempt(plan.preempts));
    assert_eq!(cluster.plan(), ["2 on n1:2"]);
    let mut cluster = cluster.started();
    assert_eq!(Planner::default().plan(&cluster.0).preempts, []);
    let high = Control::cancel(spur_core::ids::JobId(2), Actor::Controller);
    cluster.apply(Command::Control(Box::new(high)));
    let step = spur_core::ids::StepId::BATCH;
    let outcome = Outcome::Exited(ExitStatus::default());
    let finish = Finish { outcome, ..Finish::lost(spur_core::ids::JobId(2), Epoch(1), step) };
    cluster.apply(Command::Finished { node: "n1".into(), finishes: vec![finish] });
    let plan = Planner::default().plan(&cluster.0);
    assert_eq!(plan.preempts[0].how, Removal::Resume);
    cluster.apply(Command::Preempt(plan.preempts));
    assert!(!cluster.0.jobs[&spur_core::ids::JobId(1)].asleep);
}

#[test]
fn a_qos_that_reserves_nothing_lets_later_jobs_go_first() {
    for (flags, goes) in [(&[][..], false), (&["NoReserve".to_string()][..], true)] {
        let mut cluster = cluster(&[2, 2]);
        let mut settings = Settings::default();
        settings.accounting = true;
        cluster.apply(Command::Configure(settings));
        let qos = |id: u32, name: &str, flags: &[String]| QosView {
            id,
            name: name.to_string(),
            flags: flags.to_vec(),
            ..QosView::default()
        };
        let root = AssociationView {
            cluster: cluster.0.settings.cluster_name.clone(),
            account: "root".to_string(),
            ..AssociationView::default()
        };
        let qos = vec![qos(1, "normal", &[]), qos(2, "standby", flags)];
        let rules = RulesView { qos, associations: vec![root], ..RulesView::default() };
        cluster.apply(Command::SetRules(Box::new(rules)));
        let job = |qos: &str, nodes: u32, minutes: u64| JobSpec {
            qos: qos.to_string(),
            nodes_min: Some(nodes),
            ntasks: Some(2 * nodes),
            time_limit: Some(spur_core::limit::Limit::Is(minutes)),
            ..JobSpec::default()
        };
        let cluster = cluster.submit(job("normal", 1, 10)).started();
        let cluster = cluster.submit(job("standby", 2, 10)).submit(job("normal", 1, 60));
        let plan = cluster.plan();
        assert!(plan.contains(&"2 Resources".to_string()), "{plan:?}");
        assert_eq!(plan.iter().any(|it| it.starts_with("3 on ")), goes, "{plan:?}");
    }
}
