//! Which members of a job's view are asked for, and what has to be done for them.

use std::sync::LazyLock;

use spur_core::hostlist;
use spur_core::ids::NodeName;
use spur_core::job::{Job, Phase};
use spur_core::views::{JOB_MEMBERS, JobView, Members, TOLD, Told};

use super::read::{default_output, dependency, file, memory_by_default, resources};
use crate::shell::Published;

/// Finds out some members of the detail that the request does not tell by itself.
type Found = fn(&mut JobView, &Published, &Job);

/// Members, and how they are found.
static FOUND: &[(&str, Found)] = &[
    ("standard_output", |view, _, job| {
        view.standard_output = file(job, &job.spec.output, default_output(job));
    }),
    ("standard_error", |view, _, job| {
        let spec = &job.spec;
        let error = if spec.error.is_empty() { &spec.output } else { &spec.error };
        view.standard_error = file(job, error, default_output(job));
    }),
    ("standard_input", |view, _, job| {
        view.standard_input = file(job, &job.spec.input, "/dev/null");
    }),
    ("restarts", |view, _, job| view.restarts = job.restarts),
    ("derived_exit_status", |view, _, job| {
        view.derived_exit_status = job.steps.derived_exit.to_wait();
    }),
    ("dependency", |view, _, job| view.dependency = dependency(job)),
    ("failures preemptions node_losses avoided_nodes", |view, _, job| {
        if let Some(setbacks) = &job.setbacks {
            view.failures = setbacks.failures;
            view.preemptions = setbacks.preemptions;
            view.node_losses = setbacks.node_losses;
            view.avoided_nodes = hostlist::compress(setbacks.avoid.iter().map(NodeName::as_str));
        }
    }),
    ("mail_user", |view, _, job| {
        if view.mail_user.is_empty() {
            view.mail_user.clone_from(&job.owner.name);
        }
    }),
    ("cluster", |view, published, _| {
        view.cluster.clone_from(&published.state.settings.cluster_name);
    }),
    ("requeue", |view, published, job| {
        let usual = published.state.settings.config.jobs.requeue;
        view.requeue = job.spec.requeue.unwrap_or(usual);
    }),
    ("cron", |view, published, job| {
        let line = published.state.cron_line(job);
        view.cron = line.map(|line| line.when.clone()).unwrap_or_default();
    }),
    (MEMORY, |view, published, job| {
        let state = &published.state;
        let says = job.phase != Phase::Pending && job.spec.gpu().memory_per_gpu.is_some();
        if let (None, None, Some(partition), false) =
            (view.memory_per_cpu_mb, view.memory_per_node_mb, state.partition_of(job), says)
        {
            memory_by_default(view, &state.settings.config, &partition.rules);
        }
    }),
    ("last_sched_eval", |view, published, job| {
        view.last_sched_eval = match &job.phase {
            // Every pass looks at every job that waits.
            Phase::Pending => published.state.now.0,
            _ => view.start_time,
        };
    }),
    ("batch_host tres_allocated tres_requested gres_detail resources", resources),
];

/// What a job that waits will hold follows from these and from its amounts.
const MEMORY: &str = "memory_per_cpu_mb memory_per_node_mb";

/// What is wanted of each job.
pub struct Wanted {
    /// The members.
    pub members: Members,
    pub name: bool,
    pub user_name: bool,
    pub account: bool,
    pub qos: bool,
    pub partition: bool,
    /// When it was, is and will be what.
    pub times: bool,
    /// How many of what, and where.
    pub amounts: bool,
    /// More than the reason says.
    pub description: bool,
    /// What its request tells.
    pub told: Vec<Told>,
    /// What is found out beside that.
    pub found: Vec<fn(&mut JobView, &Published, &Job)>,
}

impl Wanted {
    /// Everything.
    pub fn all() -> &'static Wanted {
        static ALL: LazyLock<Wanted> = LazyLock::new(|| Wanted::of(Members::ALL));
        &ALL
    }

    /// The members with these names; all where none is named. A name that nobody knows is an error.
    pub fn named(names: &[String]) -> Result<Wanted, String> {
        if names.is_empty() {
            return Ok(Wanted::of(Members::ALL));
        }
        let mut members = Members::default();
        for name in names {
            let place = JOB_MEMBERS.iter().position(|member| member.name == name);
            members.insert(place.ok_or_else(|| format!("a job has no member {name}"))?);
        }
        Ok(Wanted::of(members))
    }

    fn of(members: Members) -> Wanted {
        let any = |names: &str| members.meets(&Members::named(JOB_MEMBERS, names));
        let holds = any("batch_host tres_allocated tres_requested gres_detail resources");
        let told = |name: &str| any(name) || (holds && MEMORY.contains(name));
        let found = |names: &str| any(names) || (holds && names == MEMORY);
        Wanted {
            members,
            name: any("name"),
            user_name: any("user_name"),
            account: any("account"),
            qos: any("qos"),
            partition: any("partition"),
            times: any(
                "submit_time start_time end_time time_limit exit_status eligible_time accrue_time \
                 suspend_time run_secs_before_suspend scheduled_nodes last_sched_eval",
            ),
            amounts: holds || any("nodes num_nodes num_tasks num_cpus max_nodes"),
            description: any("state_description"),
            told: TOLD.iter().filter(|(name, _)| told(name)).map(|(_, tell)| *tell).collect(),
            found: FOUND.iter().filter(|(names, _)| found(names)).map(|(_, find)| *find).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::read::{job_part, job_view};
    use spur_core::blob::BlobHash;
    use spur_core::ids::Uid;
    use spur_core::job::{JobSpec, Owner, RequestId};
    use spur_core::state::{Blob, Command, Entry, Origin, Settings, State, Submit, apply};
    use spur_core::time::Timestamp;
    use spur_core::views::TableWriter;

    #[allow(clippy::field_reassign_with_default, reason = "its other members are its own")]
    fn published() -> Published {
        let config = spur_core::config::read("[[partitions]]\nname = \"p\"\ndefault = true\n");
        let nothing = BlobHash::of(&[]);
        let spec = JobSpec {
            name: "own".to_string(),
            account: "a".to_string(),
            work_dir: "/tmp".to_string(),
            ntasks: Some(3),
            memory_per_node: Some(300),
            ..JobSpec::default()
        };
        let submit = Submit {
            request: RequestId(1),
            owner: Owner { uid: Uid(5), name: "ann".to_string(), ..Owner::default() },
            spec,
            others: Vec::new(),
            script: nothing,
            environment: nothing,
            blobs: vec![Blob { bytes: Vec::new() }],
        };
        let settings = Settings::of(&config.expect("is in order"));
        let mut state = State::new();
        for command in [Command::Configure(settings), Command::Submit(Box::new(submit))] {
            let entry = Entry { at: Timestamp(1), origin: Origin::default(), command };
            apply(&mut state, &entry).reply.expect("is accepted");
        }
        let mut published = Published::default();
        published.state = state;
        published
    }

    #[test]
    fn a_member_that_is_asked_for_alone_is_what_it_is_among_all() {
        let published = published();
        let job = published.state.jobs.values().next().expect("is there");
        let whole = job_view(&published, job);
        for member in JOB_MEMBERS {
            let wanted = Wanted::named(&[member.name.to_string()]).expect("is known");
            let told = |view: &JobView| {
                let mut table = TableWriter::new(JOB_MEMBERS, wanted.members);
                table.add(view);
                table.page()
            };
            let part = job_part(&published, job, &wanted);
            assert_eq!(told(&part), told(&whole), "{}", member.name);
        }
        assert!(Wanted::named(&["nosuch".to_string()]).is_err());
    }
}
