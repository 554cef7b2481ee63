//! `scontrol show config`: Slurm's keys in Slurm's order, answered from our configuration. Keys that have no
//! counterpart say what holds here.

use crate::config::{Config, Count, Minutes, Seconds, SecondsOrNever};
use crate::fields::clock;
use crate::limit::Limit;

/// What is asked for beside the configuration.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Where the controllers are, the first one first.
    pub controllers: Vec<String>,
    /// The next job's number.
    pub next_job: u32,
    /// How many nodes there are.
    pub nodes: usize,
    /// Whether a history of jobs is kept.
    pub accounting: bool,
    /// The version of Slurm we are compatible with.
    pub version: &'static str,
    /// The file that the configuration was read from.
    pub file: String,
}

type Get = fn(&Config, &Facts) -> String;

/// Key and value, in Slurm's order. `BOOT_TIME` is left to whoever knows it.
pub fn rows(config: &Config, facts: &Facts) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for (key, get) in ROWS {
        match *key {
            "SlurmctldHost[0]" => {
                let hosts = facts.controllers.iter().enumerate();
                rows.extend(hosts.map(|(n, host)| (format!("SlurmctldHost[{n}]"), host.clone())));
            }
            // Memory is counted by processor or by node, and the other is not told.
            "DefMemPerCPU" if config.jobs.def_mem_per_cpu.is_none() => {}
            "DefMemPerNode" if config.jobs.def_mem_per_cpu.is_some() => {}
            key => rows.push((key.to_string(), get(config, facts))),
        }
    }
    rows
}

#[rustfmt::skip]
const ROWS: &[(&str, Get)] = &[
    ("AccountingStorageBackupHost", |_, _| "(null)".into()),
    ("AccountingStorageEnforce", |c, _| words(&c.accounting.enforce, "none", |it| it.word())),
    ("AccountingStorageHost", |c, f| if f.accounting { host_of(&c.accounting.address).into() } else { "(null)".into() }),
    ("AccountingStorageExternalHost", |_, _| "(null)".into()),
    ("AccountingStorageParameters", |_, _| "(null)".into()),
    ("AccountingStoragePort", |c, f| if f.accounting { port_of(&c.accounting.address).into() } else { "0".into() }),
    ("AccountingStorageTRES", |c, _| tracked(&c.accounting.tres)),
    ("AccountingStorageType", |_, f| if f.accounting { "accounting_storage/slurmdbd" } else { "accounting_storage/none" }.into()),
    ("AccountingStorageUser", |_, _| "N/A".into()),
    ("AccountingStoreFlags", |c, _| words(&c.accounting.keep, "(null)", |it| it.word())),
    ("AcctGatherEnergyType", |_, _| "(null)".into()),
    ("AcctGatherFilesystemType", |_, _| "(null)".into()),
    ("AcctGatherInterconnectType", |_, _| "(null)".into()),
    ("AcctGatherNodeFreq", |_, _| "0 sec".into()),
    ("AcctGatherProfileType", |_, _| "(null)".into()),
    ("AllowSpecResourcesUsage", |c, _| yes(c.jobs.allow_spec_resources_usage)),
    ("AuthAltTypes", |_, _| "(null)".into()),
    ("AuthAltParameters", |_, _| "(null)".into()),
    ("AuthInfo", |_, _| "(null)".into()),
    ("AuthType", |_, _| "auth/spur".into()),
    ("BatchStartTimeout", |c, _| secs(c.timeouts.batch_start_timeout)),
    ("BcastExclude", |_, _| "/lib,/usr/lib,/lib64,/usr/lib64".into()),
    ("BcastParameters", |_, _| "(null)".into()),
    ("BurstBufferType", |_, _| "(null)".into()),
    ("CliFilterPlugins", |_, _| "(null)".into()),
    ("ClusterName", |c, _| c.cluster.cluster_name.clone()),
    ("CommunicationParameters", |_, _| "(null)".into()),
    ("CompleteWait", |c, _| secs(c.timeouts.complete_wait)),
    ("CpuFreqDef", |_, _| "Unknown".into()),
    ("CpuFreqGovernors", |_, _| "OnDemand,Performance,UserSpace".into()),
    ("CredType", |_, _| "cred/spur".into()),
    ("DebugFlags", |_, _| "(null)".into()),
    ("DefMemPerCPU", |c, _| c.jobs.def_mem_per_cpu.map_or_else(|| "UNLIMITED".into(), |mb| mb.0.to_string())),
    ("DefMemPerNode", |c, _| c.jobs.def_mem_per_node.map_or_else(|| "UNLIMITED".into(), |mb| mb.0.to_string())),
    ("DependencyParameters", |_, _| "(null)".into()),
    ("DisableRootJobs", |c, _| yes(c.jobs.disable_root_jobs)),
    ("EioTimeout", |_, _| "60".into()),
    ("EnforcePartLimits", |c, _| c.scheduler.enforce_partition_limits.word().to_uppercase()),
    ("Epilog", |c, _| list(&c.hooks.epilog)),
    ("EpilogMsgTime", |_, _| "2000 usec".into()),
    ("EpilogSlurmctld", |c, _| list(&c.hooks.epilog_controller)),
    ("FairShareDampeningFactor", |_, _| "1".into()),
    ("FederationParameters", |_, _| "(null)".into()),
    ("FirstJobId", |c, _| c.limits.first_job_id.to_string()),
    ("GetEnvTimeout", |c, _| secs(c.timeouts.get_env_timeout)),
    ("GresTypes", |c, _| gres_types(c)),
    ("GpuFreqDef", |_, _| "(null)".into()),
    ("GroupUpdateForce", |_, _| "1".into()),
    ("GroupUpdateTime", |_, _| "600 sec".into()),
    ("HASH_VAL", |_, _| "Match".into()),
    ("HealthCheckInterval", |c, _| secs(c.health_check.interval)),
    ("HealthCheckNodeState", |c, _| words(&c.health_check.node_state, "ANY", |it| it.word()).to_uppercase()),
    ("HealthCheckProgram", |c, _| text(&c.health_check.program)),
    ("InactiveLimit", |c, _| secs(c.timeouts.inactive_limit)),
    ("InteractiveStepOptions", |c, _| c.jobs.interactive_step.clone()),
    ("JobAcctGatherFrequency", |c, _| c.accounting.sample_interval.0.to_string()),
    ("JobAcctGatherType", |_, _| "jobacct_gather/cgroup".into()),
    ("JobAcctGatherParams", |_, _| "(null)".into()),
    ("JobCompHost", |_, _| "localhost".into()),
    ("JobCompLoc", |_, _| "(null)".into()),
    ("JobCompPort", |_, _| "0".into()),
    ("JobCompType", |_, _| "jobcomp/none".into()),
    ("JobCompUser", |_, _| "root".into()),
    ("JobContainerType", |_, _| "(null)".into()),
    ("JobDefaults", |c, _| null(&crate::config::job_defaults(c.jobs.def_cpu_per_gpu, c.jobs.def_mem_per_gpu))),
    ("JobFileAppend", |c, _| bit(c.jobs.file_append)),
    ("JobRequeue", |c, _| bit(c.jobs.requeue)),
    ("JobSubmitPlugins", |c, _| list(&c.hooks.job_submit)),
    ("KillOnBadExit", |c, _| bit(c.jobs.kill_on_bad_exit)),
    ("KillWait", |c, _| secs(c.timeouts.kill_wait)),
    ("LaunchParameters", |_, _| "(null)".into()),
    ("Licenses", |c, _| {
        let all = c.cluster.licenses.0.iter().map(|(name, count)| format!("{name}:{count}"));
        list(&all.collect::<Vec<_>>())
    }),
    ("LogTimeFormat", |_, _| "iso8601_ms".into()),
    ("MailDomain", |c, _| text(&c.jobs.mail_domain)),
    ("MailProg", |c, _| c.jobs.mail_program.clone()),
    ("MaxArraySize", |c, _| c.limits.max_array_size.to_string()),
    ("MaxDBDMsgs", |c, f| (u64::from(c.limits.max_job_count) * 2 + 4 * f.nodes as u64).to_string()),
    ("MaxJobCount", |c, _| c.limits.max_job_count.to_string()),
    ("MaxJobId", |c, _| c.limits.max_job_id.to_string()),
    ("MaxMemPerNode", |c, _| c.jobs.max_mem_per_node.map_or_else(|| "UNLIMITED".into(), |mb| mb.0.to_string())),
    ("MaxNodeCount", |c, f| match c.limits.max_node_count { Count(Limit::Is(most)) => most.to_string(), _ => f.nodes.to_string() }),
    ("MaxStepCount", |c, _| c.limits.max_step_count.to_string()),
    ("MaxTasksPerNode", |c, _| c.limits.max_tasks_per_node.to_string()),
    ("MCSPlugin", |_, _| "(null)".into()),
    ("MCSParameters", |_, _| "(null)".into()),
    ("MessageTimeout", |c, _| secs(c.timeouts.message_timeout)),
    ("MinJobAge", |c, _| secs(c.timeouts.min_job_age)),
    ("MpiDefault", |c, _| c.agent.mpi.clone()),
    ("MpiParams", |_, _| "(null)".into()),
    ("MULTIPLE_SLURMD", |_, _| "Yes".into()),
    ("NEXT_JOB_ID", |_, f| f.next_job.to_string()),
    ("NodeFeaturesPlugins", |_, _| "(null)".into()),
    ("OverTimeLimit", |c, _| minutes(c.timeouts.over_time_limit)),
    ("PluginDir", |_, _| "(null)".into()),
    ("PlugStackConfig", |c, _| c.agent.plugstack.clone()),
    ("PreemptMode", |c, _| { let mode = c.preemption.mode; format!("{}{}", if mode.gang { "GANG," } else { "" }, mode.action.word().to_uppercase()) }),
    ("PreemptType", |c, _| match c.preemption.by.word() { "none" => "preempt/none".into(), by => format!("preempt/{}", by.replace("partition", "partition_prio")) }),
    ("PreemptExemptTime", |c, _| span(c.preemption.exempt_time)),
    ("PrEpParameters", |_, _| "(null)".into()),
    ("PrEpPlugins", |_, _| "prep/script".into()),
    ("PriorityParameters", |_, _| "(null)".into()),
    ("PrioritySiteFactorParameters", |_, _| "(null)".into()),
    ("PrioritySiteFactorPlugin", |_, _| "(null)".into()),
    ("PriorityDecayHalfLife", |c, _| clock::span_padded((c.scheduler.fairshare_halflife_days * 86_400.0) as i64)),
    ("PriorityCalcPeriod", |c, _| span(c.priority.calc_period)),
    ("PriorityFavorSmall", |c, _| yes(c.priority.favor_small)),
    ("PriorityFlags", |c, _| words(&c.priority.flags, "", |it| it.word())),
    ("PriorityMaxAge", |c, _| span(c.priority.max_age)),
    ("PriorityUsageResetPeriod", |c, _| c.priority.usage_reset.word().to_uppercase()),
    ("PriorityType", |c, _| format!("priority/{}", c.priority.plugin.word())),
    ("PriorityWeightAge", |c, _| c.priority.weight_age.to_string()),
    ("PriorityWeightAssoc", |c, _| c.priority.weight_association.to_string()),
    ("PriorityWeightFairShare", |c, _| c.priority.weight_fairshare.to_string()),
    ("PriorityWeightJobSize", |c, _| c.priority.weight_job_size.to_string()),
    ("PriorityWeightPartition", |c, _| c.priority.weight_partition.to_string()),
    ("PriorityWeightQOS", |c, _| c.priority.weight_qos.to_string()),
    ("PriorityWeightTRES", |c, _| null(&weights(c))),
    ("PrivateData", |c, _| words(&c.cluster.private_data, "none", |it| it.word())),
    ("ProctrackType", |_, _| "proctrack/cgroup".into()),
    ("Prolog", |c, _| list(&c.hooks.prolog)),
    ("PrologEpilogTimeout", |c, _| match c.hooks.timeout { SecondsOrNever(Limit::Is(secs)) => secs.to_string(), _ => "65534".into() }),
    ("PrologSlurmctld", |c, _| list(&c.hooks.prolog_controller)),
    ("PrologFlags", |c, _| words(&c.hooks.prolog_flags, "(null)", |it| it.word())),
    ("PropagatePrioProcess", |c, _| bit(c.jobs.propagate_nice)),
    ("PropagateResourceLimits", |c, _| list(&c.jobs.propagate_limits)),
    ("PropagateResourceLimitsExcept", |c, _| list(&c.jobs.propagate_limits_except)),
    ("RebootProgram", |c, _| text(&c.agent.reboot_program)),
    ("ReconfigFlags", |_, _| "KeepPartInfo".into()),
    ("RequeueExit", |c, _| list(&c.jobs.requeue_exit)),
    ("RequeueExitHold", |c, _| list(&c.jobs.requeue_exit_hold)),
    ("ResumeFailProgram", |c, _| text(&c.power.resume_fail_program)),
    ("ResumeProgram", |c, _| text(&c.power.resume_program)),
    ("ResumeRate", |c, _| format!("{} nodes/min", c.power.resume_rate)),
    ("ResumeTimeout", |c, _| secs(c.power.resume_timeout)),
    ("ResvEpilog", |c, _| text(&c.hooks.reservation_epilog)),
    ("ResvOverRun", |c, _| minutes(c.timeouts.reservation_over_run)),
    ("ResvProlog", |c, _| text(&c.hooks.reservation_prolog)),
    ("ReturnToService", |c, _| (c.controller.return_to_service as u8).to_string()),
    ("SchedulerParameters", |_, _| "(null)".into()),
    ("SchedulerTimeSlice", |c, _| secs(c.scheduler.time_slice)),
    ("SchedulerType", |c, _| format!("sched/{}", c.scheduler.plugin.word())),
    ("ScronParameters", |_, _| "enable".into()),
    ("SelectType", |_, _| "select/cons_tres".into()),
    ("SelectTypeParameters", |c, _| format!("CR_{}", c.scheduler.consume.word().to_uppercase())),
    ("SlurmUser", |_, _| "root(0)".into()),
    ("SlurmctldAddr", |_, _| "(null)".into()),
    ("SlurmctldDebug", |c, _| c.cluster.log_level.word().into()),
    ("SlurmctldHost[0]", |_, _| String::new()),
    ("SlurmctldLogFile", |_, _| "(null)".into()),
    ("SlurmctldPort", |c, _| c.controller.listen_addr.port().to_string()),
    ("SlurmctldSyslogDebug", |_, _| "(null)".into()),
    ("SlurmctldPrimaryOffProg", |c, _| text(&c.controller.follower_program)),
    ("SlurmctldPrimaryOnProg", |c, _| text(&c.controller.leader_program)),
    ("SlurmctldTimeout", |_, _| "3 sec".into()),
    ("SlurmctldParameters", |_, _| "(null)".into()),
    ("SlurmdDebug", |c, _| c.cluster.log_level.word().into()),
    ("SlurmdLogFile", |_, _| "(null)".into()),
    ("SlurmdParameters", |_, _| "(null)".into()),
    ("SlurmdPidFile", |_, _| "(null)".into()),
    ("SlurmdPort", |c, _| c.agent.listen_addr.port().to_string()),
    ("SlurmdSpoolDir", |c, _| c.agent.spool_dir.clone()),
    ("SlurmdSyslogDebug", |_, _| "(null)".into()),
    ("SlurmdTimeout", |c, _| secs(c.timeouts.node_timeout)),
    ("SlurmdUser", |_, _| "root(0)".into()),
    ("SlurmSchedLogFile", |_, _| "(null)".into()),
    ("SlurmSchedLogLevel", |_, _| "0".into()),
    ("SlurmctldPidFile", |_, _| "(null)".into()),
    ("SlurmctldPlugstack", |_, _| "(null)".into()),
    ("SLURM_CONF", |_, f| null(&f.file)),
    ("SLURM_VERSION", |_, f| f.version.into()),
    ("SrunEpilog", |c, _| text(&c.hooks.srun_epilog)),
    ("SrunPortRange", |c, _| c.agent.srun_ports.clone().unwrap_or_else(|| "0-0".into())),
    ("SrunProlog", |c, _| text(&c.hooks.srun_prolog)),
    ("StateSaveLocation", |c, _| c.controller.state_dir.clone()),
    ("SuspendExcNodes", |c, _| null(c.power.exclude_nodes.text())),
    ("SuspendExcParts", |c, _| list(&c.power.exclude_partitions)),
    ("SuspendProgram", |c, _| text(&c.power.suspend_program)),
    ("SuspendRate", |c, _| format!("{} nodes/min", c.power.suspend_rate)),
    ("SuspendTime", |c, _| match c.power.suspend_time { SecondsOrNever(Limit::Is(secs)) => format!("{secs} sec"), _ => "INFINITE".into() }),
    ("SuspendTimeout", |c, _| secs(c.power.suspend_timeout)),
    ("SwitchParameters", |_, _| "(null)".into()),
    ("SwitchType", |_, _| "(null)".into()),
    ("TaskEpilog", |c, _| text(&c.hooks.task_epilog)),
    ("TaskPlugin", |_, _| "task/cgroup,task/affinity".into()),
    ("TaskPluginParam", |_, _| "(null type)".into()),
    ("TaskProlog", |c, _| text(&c.hooks.task_prolog)),
    ("TCPTimeout", |_, _| "2 sec".into()),
    ("TmpFS", |c, _| c.agent.tmp_fs.clone()),
    ("TopologyParam", |_, _| "(null)".into()),
    ("TopologyPlugin", |c, _| format!("topology/{}", c.scheduler.topology.word())),
    ("TrackWCKey", |c, _| yes(c.accounting.track_wckey)),
    ("TreeWidth", |_, _| "0".into()),
    ("UsePam", |_, _| "No".into()),
    ("UnkillableStepProgram", |c, _| text(&c.hooks.unkillable_step)),
    ("UnkillableStepTimeout", |c, _| secs(c.timeouts.unkillable_step_timeout)),
    ("VSizeFactor", |_, _| "0 percent".into()),
    ("WaitTime", |c, _| secs(c.timeouts.wait_time)),
    ("X11Parameters", |_, _| "(null)".into()),
];

fn secs(seconds: Seconds) -> String {
    format!("{} sec", seconds.0)
}

fn minutes(minutes: Minutes) -> String {
    match minutes.0 {
        Limit::Is(minutes) => format!("{minutes} min"),
        _ => "UNLIMITED".into(),
    }
}

fn span(minutes: Minutes) -> String {
    match minutes.0 {
        Limit::Is(minutes) => clock::span_padded((minutes as i64).saturating_mul(60)),
        _ => "UNLIMITED".into(),
    }
}

fn yes(is: bool) -> String {
    if is { "Yes" } else { "No" }.into()
}

fn bit(is: bool) -> String {
    u8::from(is).to_string()
}

fn null(text: &str) -> String {
    if text.is_empty() { "(null)" } else { text }.into()
}

fn text(text: &Option<String>) -> String {
    null(text.as_deref().unwrap_or_default())
}

fn list(items: &[String]) -> String {
    null(&items.join(","))
}

fn words<T: Copy>(items: &[T], none: &str, word: fn(T) -> &'static str) -> String {
    match items.is_empty() {
        true => none.into(),
        false => items.iter().map(|item| word(*item)).collect::<Vec<_>>().join(","),
    }
}

/// What is always recorded, and what the site adds.
fn tracked(more: &[String]) -> String {
    let always = "cpu,mem,energy,node,billing,fs/disk,vmem,pages";
    std::iter::once(always.to_string()).chain(more.iter().cloned()).collect::<Vec<_>>().join(",")
}

/// Names of devices that nodes declare or that are looked for.
fn gres_types(config: &Config) -> String {
    let declared = config.nodes.iter().flat_map(|node| &node.gres);
    let mut names: Vec<String> = declared
        .map(|gres| gres.name.clone())
        .chain(config.gres.iter().map(|gres| gres.name.clone()))
        .collect();
    names.sort();
    names.dedup();
    list(&names)
}

/// `http://localhost:6819` is at `localhost`.
fn host_of(address: &str) -> &str {
    let place = address.rsplit("://").next().unwrap_or(address);
    place.rsplit_once(':').map_or(place, |(host, _)| host)
}

fn port_of(address: &str) -> &str {
    address.rsplit_once(':').map_or("0", |(_, port)| port)
}

fn weights(config: &Config) -> String {
    let all = &config.priority.weight_tres.0;
    let one =
        |(name, weight): (&String, &crate::config::Weight)| format!("{name}={}", weight.factor);
    all.iter().map(one).collect::<Vec<_>>().join(",")
}

/// One line: `Key                     = value`.
pub fn line(key: &str, value: &str) -> String {
    format!("{key:<23} = {value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_slurms_order_with_slurms_units() {
        let facts = Facts {
            controllers: vec!["a".into(), "b".into()],
            version: "25.11.0",
            ..Facts::default()
        };
        let rows = rows(&Config::default(), &facts);
        let value = |key: &str| {
            rows.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
        };
        assert_eq!(value("MinJobAge"), Some("300 sec"));
        assert_eq!(value("PriorityMaxAge"), Some("7-00:00:00"));
        assert_eq!(value("Prolog"), Some("(null)"));
        assert_eq!((value("SlurmctldHost[0]"), value("SlurmctldHost[1]")), (Some("a"), Some("b")));
        assert_eq!(value("SelectTypeParameters"), Some("CR_CORE_MEMORY"));
        let keys: Vec<&str> = ROWS.iter().map(|(key, _)| *key).collect();
        let mut unique = keys.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), keys.len());
        assert_eq!(line("TmpFS", "/tmp"), "TmpFS                   = /tmp\n");
    }
}
