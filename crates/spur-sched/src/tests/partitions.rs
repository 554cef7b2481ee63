//! What partitions and nodes allow, as real Slurm showed it for the same requests.

use spur_core::config;
use spur_core::job::JobSpec;
use spur_core::node::Inventory;
use spur_core::state::{Command, RegisterNode, Settings};

use super::from_state::{Cluster, cluster};

/// Four nodes of eight processors in two sockets and 16000 MB each, configured like this.
fn configured(text: &str) -> Cluster {
    let config = config::read(text).expect("is in order");
    let mut cluster = cluster(&[]);
    cluster.apply(Command::Configure(Settings::of(&config)));
    for number in 1..=4 {
        let two = Inventory { sockets: 2, cores_per_socket: 4, ..Inventory::simple(8, 16_000) };
        let (name, boot_id) = (format!("n{number}").into(), String::new());
        cluster.apply(Command::RegisterNode(RegisterNode { name, inventory: two, boot_id }));
    }
    cluster
}

fn tasks(count: u32) -> JobSpec {
    JobSpec { ntasks: Some(count), ntasks_said: true, ..JobSpec::default() }
}

fn on_one(count: u32) -> JobSpec {
    JobSpec { nodes_min: Some(1), nodes_max: Some(1), ..tasks(count) }
}

#[test]
fn jobs_of_a_partition_have_no_more_of_a_node_than_it_allows() {
    let text = "[[partitions]]\nname = \"few\"\nmax_cpus_per_node = 4\ndefault = true\n\
                [[partitions]]\nname = \"all\"\n";
    let mut cluster = configured(text);
    for _ in 0..5 {
        cluster = cluster.submit(on_one(3));
    }
    let other = JobSpec { partition: "all".to_string(), ..on_one(5) };
    let plan = cluster.submit(other).plan();
    let starts = ["1 on n1:3", "2 on n2:3", "3 on n3:3", "4 on n4:3", "6 on n1:5"];
    assert_eq!(plan[..5], starts);
    assert_eq!(plan[5], "5 Resources");
    assert_eq!(configured(text).submit(tasks(8)).plan(), ["1 on n1:4 n2:4"]);
    assert_eq!(configured(text).submit(on_one(8)).plan(), ["1 PartitionConfig"]);
    let alone =
        JobSpec { sharing: Some(spur_core::job::spec::Sharing::Exclusive as i32), ..on_one(1) };
    assert_eq!(configured(text).submit(alone).plan(), ["1 PartitionConfig"]);
}

#[test]
fn numbers_of_nodes_are_kept_within_what_the_partition_allows() {
    let most = "[[partitions]]\nname = \"few\"\nmax_nodes = 2\n";
    assert_eq!(configured(most).submit(tasks(16)).plan(), ["1 on n1:8 n2:8"]);
    assert_eq!(configured(most).submit(tasks(20)).plan(), ["1 PartitionConfig"]);
    let least = "[[partitions]]\nname = \"many\"\nmin_nodes = 2\n";
    assert_eq!(configured(least).submit(tasks(1)).plan(), ["1 on n1:1 n2:1"]);
    assert_eq!(configured(least).submit(on_one(1)).plan(), ["1 PartitionNodeLimit"]);
}

#[test]
fn memory_above_what_a_partition_allows_waits_or_costs_processors() {
    let by_node = "[jobs]\ndef_mem_per_cpu = 1000\n\
                   [[partitions]]\nname = \"few\"\nmax_mem_per_node = 4000\n";
    let much = JobSpec { memory_per_node: Some(5000), ..on_one(1) };
    assert_eq!(configured(by_node).submit(much).plan(), ["1 MaxMemPerLimit"]);
    assert_eq!(configured(by_node).submit(on_one(8)).plan(), ["1 MaxMemPerLimit"]);
    assert_eq!(configured(by_node).submit(on_one(2)).plan(), ["1 on n1:2"]);
    let by_cpu = "[[partitions]]\nname = \"few\"\nmax_mem_per_cpu = 1000\n";
    for (memory_per_cpu, memory_per_node, count, cpus, total) in [
        (Some(2000), None, 1, 2, 2000),
        (None, Some(3000), 1, 3, 3000),
        (Some(2500), None, 2, 6, 5004),
    ] {
        let cluster =
            configured(by_cpu).submit(JobSpec { memory_per_cpu, memory_per_node, ..on_one(count) });
        let starts = crate::Planner::default().plan(&cluster.0).starts;
        let share = &starts[0].allocation.shares[0];
        assert_eq!((share.cpus, share.memory_mb), (cpus, total));
    }
}

#[test]
fn cores_and_memory_that_a_node_keeps_are_nobodys() {
    let text = "[[nodes]]\nnames = \"n[1-4]\"\ncpus = 8\nsockets = 2\ncores_per_socket = 4\n\
                threads_per_core = 1\nmemory_mb = 16000\ncore_spec_count = 2\nmem_spec_limit_mb = 1000\n";
    assert_eq!(configured(text).submit(on_one(8)).plan(), ["1 PartitionConfig"]);
    let much = JobSpec { memory_per_node: Some(15_500), ..on_one(1) };
    assert_eq!(configured(text).submit(much).plan(), ["1 PartitionConfig"]);
    let cluster = configured(text).submit(on_one(6));
    let starts = crate::Planner::default().plan(&cluster.0).starts;
    assert_eq!(starts[0].allocation.shares[0].cpu_ids.to_string(), "0-2,4-6");
    let alone =
        JobSpec { sharing: Some(spur_core::job::spec::Sharing::Exclusive as i32), ..on_one(1) };
    assert_eq!(configured(text).submit(alone).plan(), ["1 on n1:6"]);
}

#[test]
fn what_a_job_leaves_to_the_system_is_nobody_elses() {
    let text = "[[nodes]]\nnames = \"n[1-4]\"\ncpus = 8\nsockets = 2\ncores_per_socket = 4\n\
                threads_per_core = 1\nmemory_mb = 16000\n";
    let leaving = |cores: u32, tasks: u32| {
        let mut job = on_one(tasks);
        job.placement_mut().core_spec = Some(cores);
        job.placement_mut().nodelist = "n1".to_string();
        job
    };
    let cluster = configured(text).submit(leaving(3, 1));
    let starts = crate::Planner::default().plan(&cluster.0).starts;
    assert_eq!(starts[0].allocation.shares[0].cpu_ids.to_string(), "0-2,4-5");
    let mut other = on_one(1);
    other.placement_mut().nodelist = "n1".to_string();
    let plan = configured(text).submit(leaving(3, 1)).submit(other).plan();
    assert_eq!(plan, ["1 on n1:5", "2 Resources"], "three cores are free, and nobody's");
    assert_eq!(configured(text).submit(leaving(3, 6)).plan(), ["1 BadConstraints"]);
    assert_eq!(configured(text).submit(leaving(8, 1)).plan(), ["1 BadConstraints"]);
    let kept = format!("{text}core_spec_count = 2\n");
    assert_eq!(configured(&kept).submit(leaving(3, 1)).plan(), ["1 on n1:5"], "no more than said");
    assert_eq!(configured(&kept).submit(leaving(0, 1)).plan(), ["1 on n1:6"], "these are kept");
}

#[test]
fn nodes_are_shared_by_label_where_a_job_says_so() {
    let labelled = |label: &str, sharing: Option<spur_core::job::spec::Sharing>| {
        let mut job = JobSpec { sharing: sharing.map(|it| it as i32), ..on_one(1) };
        job.rare_mut().mcs_label = label.to_string();
        job.placement_mut().nodelist = "n1".to_string();
        job
    };
    let alone = Some(spur_core::job::spec::Sharing::Mcs);
    let plan = configured("")
        .submit(labelled("red", alone))
        .submit(labelled("red", None))
        .submit(labelled("blue", None))
        .submit(labelled("", None))
        .plan();
    assert_eq!(plan, ["1 on n1:1", "2 on n1:1", "3 Resources", "4 ReqNodeNotAvail"]);
}

#[test]
fn so_many_tasks_for_each_node_are_on_one_node_unless_more_are_asked_for() {
    let each = JobSpec { ntasks: Some(2), ntasks_per_node: Some(2), ..JobSpec::default() };
    assert_eq!(configured("").submit(each).plan(), ["1 on n1:2"]);
}

#[test]
fn what_is_given_whole_is_what_the_configuration_says() {
    let sockets = "[scheduler]\nconsume = \"socket\"\n";
    let plan = configured(sockets).submit(on_one(1)).submit(on_one(5)).submit(on_one(2)).plan();
    assert_eq!(plan, ["1 on n1:4", "2 on n2:8", "3 on n1:4"]);
    let nodes = "[scheduler]\nconsume = \"node\"\n";
    let plan = configured(nodes).submit(on_one(1)).submit(on_one(1)).plan();
    assert_eq!(plan, ["1 on n1:8", "2 on n2:8"]);
    let cores = "[scheduler]\nconsume = \"core\"\n";
    let much = || JobSpec { memory_per_node: Some(15_000), ..on_one(1) };
    let plan = configured(cores).submit(much()).submit(much()).plan();
    assert_eq!(plan, ["1 on n1:1", "2 on n1:1"], "memory is nobody's");
    let mut threads = configured("[scheduler]\nconsume = \"cpu\"\n");
    threads.apply(Command::RegisterNode(RegisterNode {
        name: "m1".into(),
        inventory: Inventory {
            sockets: 1,
            cores_per_socket: 4,
            threads_per_core: 2,
            ..Inventory::simple(8, 16_000)
        },
        boot_id: String::new(),
    }));
    let mut named = on_one(1);
    named.placement_mut().nodelist = "m1".to_string();
    assert_eq!(threads.submit(named.clone()).submit(named).plan(), ["1 on m1:1", "2 on m1:1"]);
}

#[test]
fn who_waits_behind_a_higher_tier_says_that_its_nodes_are_kept() {
    let text = "[[partitions]]\nname = \"low\"\ndefault = true\n\
                [[partitions]]\nname = \"high\"\npriority_tier = 10\n";
    let in_high = JobSpec { partition: "high".to_string(), ..on_one(1) };
    let full = configured(text).submit(JobSpec { nodes_min: Some(4), ..tasks(32) }).started();
    let plan = full.submit(on_one(1)).submit(in_high).submit(on_one(1)).plan();
    assert_eq!(plan, ["2 ReqNodeNotAvail", "3 Resources", "4 Priority"]);
}

/// Asks for these nodes by name.
fn named(nodes: &str, spec: JobSpec) -> JobSpec {
    let mut spec = spec;
    spec.placement_mut().nodelist = nodes.to_string();
    spec
}

#[test]
fn nodes_asked_for_by_name_are_kept_and_no_others() {
    let text = "[[partitions]]\nname = \"all\"\ndefault = true\nnodes = \"n[1-4]\"\n\
                [[partitions]]\nname = \"some\"\nnodes = \"n[3-4]\"\n";
    let n3 = |count| named("n3", on_one(count));
    let busy = configured(text).submit(n3(8)).started();
    let both = JobSpec { nodes_min: Some(2), nodes_max: Some(2), ..tasks(2) };
    let every = JobSpec { nodes_min: Some(4), nodes_max: Some(4), ..tasks(4) };
    let plan = busy.submit(n3(8)).submit(named("n[3-4]", both)).submit(n3(8)).submit(every.clone());
    let decided = crate::Planner::default().plan(&plan.0).waits;
    let told: Vec<_> = decided.iter().map(|(job, wait)| format!("{job} {}", wait.reason)).collect();
    assert_eq!(
        told,
        ["2 Resources", "3 ReqNodeNotAvail", "4 ReqNodeNotAvail", "5 ReqNodeNotAvail"]
    );
    let missing = |job| decided.unavailable(spur_core::ids::JobId(job)).to_vec();
    assert_eq!((missing(3), missing(4)), (vec!["n3".into()], vec!["n3".into()]));
    let behind = plan.submit(n3(1)).plan();
    assert!(behind.contains(&"6 Priority".to_string()), "who is behind no name: {behind:?}");
}

#[test]
fn nodes_of_a_partition_are_kept_from_the_others_in_the_order_of_the_queue() {
    let text = "[[partitions]]\nname = \"all\"\ndefault = true\nnodes = \"n[1-4]\"\n\
                [[partitions]]\nname = \"some\"\nnodes = \"n[3-4]\"\n";
    let every = JobSpec { nodes_min: Some(4), nodes_max: Some(4), ..tasks(32) };
    let some = |spec| JobSpec { partition: "some".to_string(), ..spec };
    let full = configured(text).submit(every).started();
    let plan = full.clone().submit(on_one(1)).submit(some(on_one(1))).submit(some(on_one(1)));
    assert_eq!(plan.plan(), ["2 Resources", "3 ReqNodeNotAvail", "4 Priority"]);
    let other = full.submit(some(named("n3", on_one(1)))).submit(named("n3", on_one(1)));
    let plan = other.submit(on_one(1)).submit(some(on_one(1))).plan();
    let told = ["2 Resources", "3 ReqNodeNotAvail", "4 Resources", "5 ReqNodeNotAvail"];
    assert_eq!(plan, told);
}

#[test]
fn of_several_partitions_the_last_word_counts() {
    let text = "[[partitions]]\nname = \"a\"\ndefault = true\n[[partitions]]\nname = \"b\"\n";
    let full = configured(text).submit(tasks(32)).started();
    let of = |partition: &str| JobSpec { partition: partition.to_string(), ..on_one(1) };
    assert_eq!(full.clone().submit(of("a")).plan(), ["2 Resources"]);
    // Its own first partition keeps the nodes from the other.
    assert_eq!(full.submit(of("a,b")).plan(), ["2 ReqNodeNotAvail"]);
}

#[test]
fn being_behind_somebody_is_a_last_word_too() {
    let text = "[[partitions]]\nname = \"a\"\ndefault = true\nnodes = \"n[1-2]\"\n\
                [[partitions]]\nname = \"b\"\nnodes = \"n[3-4]\"\n";
    let of = |partition: &str| JobSpec { partition: partition.to_string(), ..on_one(1) };
    let whole = |partition: &str| JobSpec { ntasks: Some(16), ..of(partition) };
    let whole =
        |partition: &str| JobSpec { nodes_min: Some(2), nodes_max: Some(2), ..whole(partition) };
    let full = configured(text).submit(whole("a")).submit(whole("b")).started();
    let plan = full.submit(of("b")).submit(of("a,b")).plan();
    assert_eq!(plan, ["3 Resources", "4 Priority"], "although it is the first of a");
}

#[test]
fn each_partition_has_a_priority_of_its_own() {
    let text = "[priority]\nplugin = \"multifactor\"\nweight_partition = 1000\n\
                weight_job_size = 1000\n\
                [[partitions]]\nname = \"a\"\ndefault = true\nnodes = \"n[1-2]\"\n\
                [[partitions]]\nname = \"b\"\nnodes = \"n[3-4]\"\npriority_job_factor = 10\n";
    let of = |partition: &str, count| JobSpec { partition: partition.to_string(), ..on_one(count) };
    let full = configured(text).submit(of("b", 8)).submit(of("b", 8)).started();
    // In b it comes first, in a behind who is larger.
    let plan = full.submit(of("b,a", 1)).submit(of("a", 8)).submit(of("a", 8)).plan();
    assert_eq!(plan, ["4 on n1:8", "5 on n2:8", "3 Resources"]);
}

#[test]
fn more_processors_than_a_partition_has_are_told_before_its_nodes() {
    let never = |nodes, tasks| JobSpec { nodes_min: Some(nodes), ..self::tasks(tasks) };
    let nodes = configured("");
    assert_eq!(nodes.clone().submit(never(6, 6)).plan(), ["1 PartitionNodeLimit"]);
    assert_eq!(nodes.submit(never(6, 40)).plan(), ["1 PartitionConfig"]);
}

#[test]
fn no_node_is_heavier_than_is_needed() {
    let text = "[[nodes]]\nnames = \"n[1-2]\"\nweight = 10\n[[nodes]]\nnames = \"n3\"\nweight = 5\n\
                [[nodes]]\nnames = \"n[4-5]\"\nweight = 1\n";
    let mut cluster = configured(text);
    let (name, boot_id) = ("n5".into(), String::new());
    let inventory = Inventory { sockets: 2, cores_per_socket: 4, ..Inventory::simple(8, 16_000) };
    cluster.apply(Command::RegisterNode(RegisterNode { name, inventory, boot_id }));
    let two = JobSpec { nodes_min: Some(2), nodes_max: Some(2), ..tasks(16) };
    let plan = cluster.submit(on_one(1)).started().submit(two).plan();
    assert_eq!(plan, ["2 on n3:8 n5:8"], "n4 has too little left");
}

#[test]
fn the_emptiest_node_is_the_first_where_the_partition_says_so() {
    let text = "[[partitions]]\nname = \"even\"\nleast_loaded = true\n";
    let cluster = configured(text).submit(on_one(1)).started().submit(on_one(1)).started();
    // As Slurm showed it: not where it would fit more tightly.
    assert_eq!(cluster.submit(tasks(2)).plan(), ["3 on n3:2"]);
}

#[test]
fn how_large_a_job_is_counts_as_soon_as_nodes_have_come() {
    let rules = "[priority]\nplugin = \"multifactor\"\nweight_job_size = 1000\n";
    let mut cluster = cluster(&[]);
    let config = config::read(rules).expect("is in order");
    cluster.apply(Command::Configure(Settings::of(&config)));
    let mut planner = crate::Planner::default();
    planner.plan(&cluster.0);
    let (name, boot_id) = ("n1".into(), String::new());
    let inventory = Inventory::simple(8, 16_000);
    cluster.apply(Command::RegisterNode(RegisterNode { name, inventory, boot_id }));
    let cluster = cluster.submit(on_one(1)).submit(on_one(8));
    let starts = planner.plan(&cluster.0).starts;
    assert_eq!(starts.iter().map(|it| it.job.0).collect::<Vec<_>>(), [2], "the larger one");
}

#[test]
fn gpus_of_a_job_need_no_processors_beside_those_of_its_tasks() {
    let mut cluster = cluster(&[]);
    cluster.apply(Command::Configure(Settings::default()));
    for number in 1..=2 {
        let gpu = spur_core::node::Gres { name: "gpu".to_string(), count: 4, ..Default::default() };
        let inventory = Inventory { gres: vec![gpu], ..Inventory::simple(8, 16_000) };
        let (name, boot_id) = (format!("n{number}").into(), String::new());
        cluster.apply(Command::RegisterNode(RegisterNode { name, inventory, boot_id }));
    }
    let mut spec = JobSpec { nodes_min: Some(2), nodes_max: Some(2), ..JobSpec::default() };
    spec.gpu_mut().gpus = "3".to_string();
    assert_eq!(cluster.clone().submit(spec).plan(), ["1 on n1:1 n2:1"]);
    // A node gives what as many tasks need as it may have.
    let spec = JobSpec { ntasks_per_node: Some(2), ..tasks(3) };
    assert_eq!(cluster.submit(spec).plan(), ["1 on n1:2 n2:2"]);
}
