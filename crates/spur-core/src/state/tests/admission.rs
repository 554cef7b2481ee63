//! Who is let into which partition.

use super::*;
use crate::config;
use crate::limit::Limit;

fn configured(text: &str) -> Cluster {
    let mut cluster = cluster();
    let config = config::read(text).expect("is in order");
    cluster.done(Command::Configure(Settings::of(&config)));
    cluster
}

fn submit(cluster: &mut Cluster, uid: u32, spec: JobSpec) -> Result<Reply, SlurmError> {
    let request = RequestId(u128::from(cluster.state.next_job.0));
    let owner = Owner { uid: Uid(uid), ..Owner::default() };
    let hash = BlobHash::of(b"");
    let (others, blobs) = (Vec::new(), vec![Blob { bytes: Vec::new() }]);
    let (script, environment) = (hash, hash);
    let submit = Submit { request, owner, spec, others, script, environment, blobs };
    cluster.apply(Command::Submit(Box::new(submit))).reply
}

fn to(partition: &str) -> JobSpec {
    JobSpec { partition: partition.to_string(), ..JobSpec::default() }
}

#[test]
fn some_partitions_are_for_root_and_some_are_not() {
    let mut cluster = configured(
        "[[partitions]]\nname = \"root\"\nroot_only = true\n\
         [[partitions]]\nname = \"users\"\ndisable_root_jobs = true\n\
         [[partitions]]\nname = \"kept\"\nrequire_reservation = true\n",
    );
    assert_eq!(submit(&mut cluster, 1000, to("root")), Err(SlurmError::AccessDenied));
    assert!(submit(&mut cluster, 0, to("root")).is_ok());
    assert_eq!(submit(&mut cluster, 0, to("users")), Err(SlurmError::UserIdMissing));
    assert!(submit(&mut cluster, 1000, to("users")).is_ok());
    assert_eq!(submit(&mut cluster, 1000, to("kept")), Err(SlurmError::AccessDenied));
    assert!(submit(&mut cluster, 1000, to("kept,users")).is_ok(), "one of them will do");
}

#[test]
fn who_must_end_by_a_deadline_and_has_no_time_takes_what_is_left() {
    let mut cluster = configured(
        "[[partitions]]\nname = \"usual\"\ndefault_time = 10\n\
         [[partitions]]\nname = \"open\"\nmax_time = 60\n",
    );
    let mut least = |partition: &str, time_limit: Option<Limit>| {
        let mut spec = JobSpec { time_limit, ..to(partition) };
        spec.lifecycle_mut().deadline = Some(cluster.state.now.0 + 1_800);
        let Ok(Reply::Job(id)) = submit(&mut cluster, 1000, spec) else { panic!("is taken") };
        cluster.state.jobs[&id].spec.lifecycle().time_min
    };
    assert_eq!(least("open", None), Some(Limit::Is(1)));
    assert_eq!(least("open,usual", None), Some(Limit::Is(1)));
    assert_eq!(least("usual", None), None);
    assert_eq!(least("usual,open", None), None);
    assert_eq!(least("open", Some(Limit::Is(5))), None);
}

#[test]
fn jobs_of_a_closed_partition_go_to_its_alternative() {
    let mut cluster = configured(
        "[[partitions]]\nname = \"a\"\nstate = \"drain\"\nalternate = \"b\"\n\
         [[partitions]]\nname = \"b\"\nstate = \"inactive\"\nalternate = \"c\"\n\
         [[partitions]]\nname = \"c\"\n\
         [[partitions]]\nname = \"d\"\nstate = \"down\"\nalternate = \"c\"\n",
    );
    for (asked, given) in [("a", "c"), ("c", "c"), ("a,c", "c,c"), ("d", "d")] {
        let Ok(Reply::Job(id)) = submit(&mut cluster, 1000, to(asked)) else {
            panic!("{asked} is taken")
        };
        assert_eq!(cluster.state.jobs[&id].spec.partition, given);
    }
}

#[test]
fn limits_are_told_at_submission_where_they_are_enforced() {
    let text = |rule: &str| {
        format!(
            "[scheduler]\nenforce_partition_limits = \"{rule}\"\n\
             [[partitions]]\nname = \"short\"\nmax_time = 10\n\
             [[partitions]]\nname = \"few\"\nmax_nodes = 1\nmax_mem_per_node = 100\n\
             [[partitions]]\nname = \"any\"\n"
        )
    };
    let long = |partition| JobSpec { time_limit: Some(Limit::Is(20)), ..to(partition) };
    let wide = |partition, nodes| JobSpec { nodes_min: Some(nodes), ..to(partition) };
    let mut free = configured(&text("no"));
    assert!(submit(&mut free, 1000, long("short")).is_ok());
    for rule in ["all", "any"] {
        let mut cluster = configured(&text(rule));
        let mut refused = |spec| submit(&mut cluster, 1000, spec).err();
        assert_eq!(refused(long("short")), Some(SlurmError::InvalidTimeLimit));
        assert_eq!(refused(wide("few", 2)), Some(SlurmError::InvalidNodeCount));
        assert_eq!(refused(wide("any", 3)), Some(SlurmError::InvalidNodeCount));
        let much = JobSpec { memory_per_node: Some(200), ..to("few") };
        assert_eq!(refused(much), Some(SlurmError::InvalidTaskMemory));
        let tasks = JobSpec { ntasks: Some(9), ..to("any") };
        assert_eq!(refused(tasks), Some(SlurmError::TooManyRequestedCpus));
        let either = (rule == "all").then_some(SlurmError::InvalidTimeLimit);
        assert_eq!(refused(long("short,any")), either);
    }
}

#[test]
fn an_operator_hands_a_hold_over_to_the_owner() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    let mut hold = |as_user: bool| {
        let action = JobAction::Hold { as_user };
        let control = Control { action, ..Control::cancel(job, Actor::Controller) };
        cluster.done(Command::Control(Box::new(control)));
        cluster.state.jobs[&job].hold
    };
    assert_eq!((hold(false), hold(true)), (crate::job::Hold::Admin, crate::job::Hold::User));
}

#[test]
fn jobs_come_from_machines_that_a_partition_allows() {
    let mut cluster = configured("[[partitions]]\nname = \"a\"\nalloc_nodes = \"login[1-2]\"\n");
    let from = |host: &str| JobSpec { submit_host: host.to_string(), ..to("a") };
    assert!(submit(&mut cluster, 1000, from("login2")).is_ok());
    assert_eq!(submit(&mut cluster, 1000, from("login3")), Err(SlurmError::AccessDenied));
}
