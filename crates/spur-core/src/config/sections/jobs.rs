//! What holds for every job, and what is run around it.

use crate::config::amounts::{Count, Megabytes, Minutes, Seconds, SecondsOrNever};
use crate::config::keys::section;
use crate::config::things::NodeList;
use crate::config::words::{HealthStates, PrologFlag};
use crate::ids::JobId;
use crate::limit::Limit;

section! {
    /// What a job gets when it does not ask.
    Jobs = "jobs", repeated false;
    /// Memory for each CPU. None of the three: the node's memory divided by its CPUs, for each CPU.
    def_mem_per_cpu: Option<Megabytes> = None, Now, ["DefMemPerCPU"];
    /// Memory on each node; 0 is all of it.
    def_mem_per_node: Option<Megabytes> = None, Now, ["DefMemPerNode"];
    /// Memory for each GPU.
    def_mem_per_gpu: Option<Megabytes> = None, Now, ["DefMemPerGPU"];
    /// CPUs for each GPU.
    def_cpu_per_gpu: Option<u32> = None, Now, ["DefCpuPerGPU"];
    /// The most memory for each CPU; 0 is no limit.
    max_mem_per_cpu: Option<Megabytes> = None, Now, ["MaxMemPerCPU"];
    /// The most memory on each node; 0 is no limit.
    max_mem_per_node: Option<Megabytes> = None, Now, ["MaxMemPerNode"];
    /// Jobs may be started again after a node failed or they were displaced, unless they say no.
    requeue: bool = true, Now, ["JobRequeue"];
    /// Output files are appended to, unless a job says otherwise.
    file_append: bool = false, Now, ["JobFileAppend"];
    /// A step ends when one of its tasks fails.
    kill_on_bad_exit: bool = false, Now, ["KillOnBadExit"];
    /// Jobs may say how many cores of their nodes they leave to the system, with `--core-spec` and `--thread-spec`.
    allow_spec_resources_usage: bool = false, Now, ["AllowSpecResourcesUsage"];
    /// Root may not submit jobs.
    disable_root_jobs: bool = false, Now, ["DisableRootJobs"];
    /// Exit codes after which a batch job is started again.
    requeue_exit: Vec<String> = vec![], Now, ["RequeueExit"];
    /// How often a batch job is started again for its exit code before it is held.
    max_batch_requeue: u32 = 5, Now, ["MaxBatchRequeue"];
    /// Exit codes after which a batch job is put back and held.
    requeue_exit_hold: Vec<String> = vec![], Now, ["RequeueExitHold"];
    /// How long a job that goes back to the queue waits before it may start again; 0 is not at all.
    requeue_delay: Seconds = Seconds(120), Now, [];
    /// How long a job with `--max-restarts` waits after its first failure; twice as long after each further one.
    restart_delay: Seconds = Seconds(10), Now, [];
    /// The longest such wait.
    restart_delay_max: Seconds = Seconds(600), Now, [];
    /// Resource limits of the submitting shell that tasks get, as `ALL`, `NONE` or names.
    propagate_limits: Vec<String> = vec!["ALL".to_string()], Now, ["PropagateResourceLimits"];
    /// Resource limits that tasks do not get.
    propagate_limits_except: Vec<String> = vec![], Now, ["PropagateResourceLimitsExcept"];
    /// Tasks get the submitting shell's nice value.
    propagate_nice: bool = false, Now, ["PropagatePrioProcess"];
    /// What `salloc` and `srun --pty` start when no command is given.
    interactive_step: String = "--interactive --preserve-env --pty $SHELL".to_string(), Now,
        ["InteractiveStepOptions"];
    /// What sends mail.
    mail_program: String = "/bin/mail".to_string(), Now, ["MailProg"];
    /// Added to a user's name that has no `@`.
    mail_domain: Option<String> = None, Now, ["MailDomain"];
}

section! {
    /// Bounds on numbers.
    Limits = "limits", repeated false;
    /// The highest index of an array, plus one.
    max_array_size: u32 = 100_001, Now, ["MaxArraySize"];
    /// Jobs known at a time; submission is refused beyond.
    max_job_count: u32 = 1_000_000, Now, ["MaxJobCount"];
    /// The first job's number; a site that moves here continues its own.
    first_job_id: u32 = 1, Now, ["FirstJobId"];
    /// The last job's number.
    max_job_id: u32 = JobId::MAX.0, Now, ["MaxJobId"];
    /// Steps of one job.
    max_step_count: u32 = 40_000, Now, ["MaxStepCount"];
    /// Tasks of one job on one node.
    max_tasks_per_node: u32 = 512, Now, ["MaxTasksPerNode"];
    /// Nodes that can join.
    max_node_count: Count = Count(Limit::Unlimited), Now, ["MaxNodeCount"];
    /// Requests of one user in a second; more are delayed, not refused.
    requests_per_second: Count = Count(Limit::Is(20_000)), Now, [];
}

section! {
    /// How long to wait for what.
    Timeouts = "timeouts", repeated false;
    /// Between SIGTERM and SIGKILL when a job ends at its limit.
    kill_wait: Seconds = Seconds(30), Now, ["KillWait"];
    /// How long an ended job is still shown by `squeue` and `scontrol`.
    min_job_age: Seconds = Seconds(300), Now, ["MinJobAge"];
    /// How long a job may run beyond its limit.
    over_time_limit: Minutes = Minutes(Limit::Is(0)), Now, ["OverTimeLimit"];
    /// An allocation whose `salloc` or `srun` is gone for this long ends; 0 is never.
    inactive_limit: Seconds = Seconds(0), Now, ["InactiveLimit"];
    /// A message is answered within this.
    message_timeout: Seconds = Seconds(10), Now, ["MessageTimeout"];
    /// A node that is silent for this long is DOWN.
    node_timeout: Seconds = Seconds(300), Now, ["SlurmdTimeout"];
    /// A batch job's script starts within this.
    batch_start_timeout: Seconds = Seconds(10), Now, ["BatchStartTimeout"];
    /// How long the queue waits for an ending job's resources before it looks elsewhere.
    complete_wait: Seconds = Seconds(0), Now, ["CompleteWait"];
    /// After the first task ended, the others are ended this much later; 0 is never.
    wait_time: Seconds = Seconds(0), Now, ["WaitTime"];
    /// How long a job may run beyond its reservation.
    reservation_over_run: Minutes = Minutes(Limit::Is(0)), Now, ["ResvOverRun"];
    /// Processes that survive SIGKILL for this long drain the node.
    unkillable_step_timeout: Seconds = Seconds(60), Now, ["UnkillableStepTimeout"];
    /// How long `--get-user-env` may take.
    get_env_timeout: Seconds = Seconds(2), Now, ["GetEnvTimeout"];
}

section! {
    /// Programs run around jobs. Several of one kind: each in turn; `*` matches names.
    Hooks = "hooks", repeated false;
    /// As root on each node before a job's first task there.
    prolog: Vec<String> = vec![], Now, ["Prolog"];
    /// As root on each node after a job's last task there.
    epilog: Vec<String> = vec![], Now, ["Epilog"];
    /// On the controller when a job starts.
    prolog_controller: Vec<String> = vec![], Now, ["PrologSlurmctld"];
    /// On the controller when a job has ended.
    epilog_controller: Vec<String> = vec![], Now, ["EpilogSlurmctld"];
    /// As the user before each task; lines `export NAME=value` set the task's environment.
    task_prolog: Option<String> = None, Now, ["TaskProlog"];
    /// As the user after each task.
    task_epilog: Option<String> = None, Now, ["TaskEpilog"];
    /// As the user, by `srun`, before a step.
    srun_prolog: Option<String> = None, Now, ["SrunProlog"];
    /// As the user, by `srun`, after a step.
    srun_epilog: Option<String> = None, Now, ["SrunEpilog"];
    /// On the controller when a reservation begins.
    reservation_prolog: Option<String> = None, Now, ["ResvProlog"];
    /// On the controller when a reservation ends.
    reservation_epilog: Option<String> = None, Now, ["ResvEpilog"];
    /// When prologs run.
    prolog_flags: Vec<PrologFlag> = vec![], Now, ["PrologFlags"];
    /// A prolog or epilog that runs longer is ended and drains its node.
    timeout: SecondsOrNever = SecondsOrNever(Limit::Unlimited), Now, ["PrologEpilogTimeout"];
    /// Programs that look at each submission; they may change or refuse it.
    job_submit: Vec<String> = vec![], Now, [];
    /// Run on a node whose processes survive SIGKILL.
    unkillable_step: Option<String> = None, Now, ["UnkillableStepProgram"];
}

section! {
    /// A program that looks after nodes; it drains one with `scontrol`.
    HealthCheck = "health_check", repeated false;
    /// The program.
    program: Option<String> = None, Now, ["HealthCheckProgram"];
    /// How often it runs; 0 is never.
    interval: Seconds = Seconds(0), Now, ["HealthCheckInterval"];
    /// On which nodes.
    node_state: Vec<HealthStates> = vec![HealthStates::Any], Now, ["HealthCheckNodeState"];
}

section! {
    /// Nodes that sleep while there is nothing to do.
    Power = "power", repeated false;
    /// Puts the nodes of its argument to sleep.
    suspend_program: Option<String> = None, Now, ["SuspendProgram"];
    /// Wakes the nodes of its argument.
    resume_program: Option<String> = None, Now, ["ResumeProgram"];
    /// Told about nodes that did not wake.
    resume_fail_program: Option<String> = None, Now, ["ResumeFailProgram"];
    /// A node idle for this long goes to sleep.
    suspend_time: SecondsOrNever = SecondsOrNever(Limit::Unlimited), Now, ["SuspendTime"];
    /// Going to sleep takes at most this.
    suspend_timeout: Seconds = Seconds(30), Now, ["SuspendTimeout"];
    /// Waking takes at most this.
    resume_timeout: Seconds = Seconds(60), Now, ["ResumeTimeout"];
    /// Nodes put to sleep in a minute; 0 is no limit.
    suspend_rate: u32 = 60, Now, ["SuspendRate"];
    /// Nodes woken in a minute; 0 is no limit.
    resume_rate: u32 = 300, Now, ["ResumeRate"];
    /// Nodes that never sleep.
    exclude_nodes: NodeList = NodeList::default(), Now, ["SuspendExcNodes"];
    /// Partitions whose nodes never sleep.
    exclude_partitions: Vec<String> = vec![], Now, ["SuspendExcParts"];
}
