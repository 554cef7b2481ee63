use super::carry::{MAIN, by_slurm_name};
use super::written::{Document, Origin};
use super::*;
use crate::config::sections::TABLES;
use crate::config::words::{Consume, Plugin, PreemptAction, ReturnToService, TopologyKind};
use crate::config::{Config, DefaultMemory, Megabytes, Members, Minutes, Seconds, read};
use crate::limit::Limit;
use proptest::prelude::*;

const SLURM: &str = r#"
# A university's cluster, as such files grow over the years.
ClusterName=hydra
SlurmctldHost=ctl1(10.1.0.1)
SlurmctldHost=ctl2(10.1.0.2)
SlurmUser=slurm
slurmctldport=6817
AuthType=auth/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
ReturnToService=2
KillWait=45
MinJobAge = 600
InactiveLimit=0
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory,CR_LLN
SchedulerParameters=bf_max_job_test=500,bf_window=4320,nohold_on_prolog_fail
PriorityType=priority/multifactor
PriorityDecayHalfLife=14-0
PriorityMaxAge=7-0
PriorityWeightAge=1000
PriorityWeightFairshare=100000
PriorityWeightTRES=CPU=1000,Mem=2000,GRES/gpu=3000
PriorityFlags=FAIR_TREE,MAX_TRES
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=db1
AccountingStorageEnforce=associations,limits,qos,safe
AccountingStorageTRES=gres/gpu,license/matlab
JobAcctGatherFrequency=task=15,energy=60
Licenses=matlab:20,ansys@flex:5
GresTypes=gpu
MaxArraySize=10001
MaxJobCount=50000
DefMemPerCPU=2000
Prolog=/etc/slurm/prolog.d/*
Epilog=/etc/slurm/epilog.d/*
PrologFlags=Alloc,Contain
HealthCheckProgram=/usr/sbin/nhc
HealthCheckInterval=300
HealthCheckNodeState=ANY,CYCLE
JobSubmitPlugins=lua
TopologyPlugin=topology/tree
Frobnicate=yes
Include /etc/slurm/missing.conf
Include nodes.conf
DownNodes=c007 State=DRAIN Reason="bad DIMM, ticket \#42"
NodeSet=amd Feature=epyc
PartitionName=DEFAULT State=UP MaxTime=7-00:00:00 DefaultTime=1:00:00
PartitionName=compute Nodes=c[001-128] Default=YES OverSubscribe=NO \
    TRESBillingWeights="CPU=1.0,Mem=0.25G"
PartitionName=gpu Nodes=g[01-16] MaxTime=3-0 DefCpuPerGPU=8 AllowAccounts=ml,physics PriorityTier=10
PartitionName=epyc Nodes=amd AllowGroups=ALL MaxNodes=UNLIMITED Hidden=YES
PartitionName=debug Nodes=ALL MaxTime=30 MaxNodes=2 AllowQos=debug Shared=FORCE:2 Colour=red
PartitionName=later
"#;

const NODES: &str = "\
NodeName=DEFAULT Sockets=2 CoresPerSocket=32 ThreadsPerCore=2 RealMemory=256000 State=UNKNOWN
NodeName=c[001-096] Feature=xeon Weight=10
NodeName=c[097-128] Feature=epyc,bigmem RealMemory=1024000 Weight=50
NodeName=DEFAULT TmpDisk=800000
NodeName=g[01-16] Gres=gpu:a100:4 Feature=a100 NodeAddr=10.1.2.[1-16] MemSpecLimit=8192
";

fn hydra() -> (Config, Imported) {
    let imported = slurm(&[
        ("/etc/slurm/slurm.conf", SLURM),
        ("/etc/slurm/nodes.conf", NODES),
        (
            "/etc/slurm/gres.conf",
            "AutoDetect=nvml\nNodeName=g[01-16] Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-31\n",
        ),
        (
            "topology.conf",
            "SwitchName=leaf1 Nodes=c[001-064]\nSwitchName=leaf2 Nodes=c[065-128],g[01-16]\n\
             SwitchName=spine Switches=leaf[1-2] LinkSpeed=100\n",
        ),
        ("cgroup.conf", "CgroupPlugin=autodetect\nConstrainRAMSpace=yes\nConstrainDevices=no\n"),
        (
            "slurmdbd.conf",
            "DbdHost=db1\nDbdPort=7819\nStorageType=accounting_storage/mysql\nStoragePass=secret\n\
             PurgeJobAfter=12months\n",
        ),
    ]);
    let config = read(&imported.toml).unwrap_or_else(|problems| panic!("{problems}"));
    (config, imported)
}

#[test]
fn the_cluster_is_carried_over() {
    let (config, _) = hydra();
    assert_eq!(config.cluster.cluster_name, "hydra");
    assert_eq!(config.controller.hosts.len(), 2);
    assert_eq!(config.controller.hosts[1].address.as_deref(), Some("10.1.0.2"));
    assert_eq!(config.controller.return_to_service, ReturnToService::Always);
    assert_eq!(config.timeouts.kill_wait, Seconds(45));
    assert_eq!(config.timeouts.min_job_age, Seconds(600));
    assert_eq!(config.scheduler.plugin, Plugin::Backfill);
    assert_eq!(config.scheduler.consume, Consume::CoreMemory);
    assert!(config.scheduler.least_loaded);
    assert_eq!(config.scheduler.fairshare_halflife_days, 14.0);
    assert_eq!(config.scheduler.topology, TopologyKind::Tree);
    assert_eq!(config.priority.weight_fairshare, 100_000);
    assert_eq!(config.priority.weight_tres.0["gres/gpu"].factor, 3000.0);
    assert_eq!(config.priority.flags.len(), 1, "FAIR_TREE is how it is anyway");
    assert_eq!(config.preemption.mode.action, PreemptAction::Requeue);
    assert_eq!(config.accounting.enforce.len(), 4);
    assert_eq!(config.accounting.sample_interval, Seconds(15));
    assert_eq!(config.accounting.address, "http://db1:7819");
    assert_eq!(config.accounting.purge_jobs_after.as_deref(), Some("12months"));
    assert_eq!(config.cluster.licenses.0["ansys@flex"], 5);
    assert_eq!(config.hooks.prolog, ["/etc/slurm/prolog.d/*"]);
    assert_eq!(config.health_check.node_state.len(), 2);
    assert_eq!(config.switches.len(), 3);
    assert_eq!(config.gres[0].files.as_deref(), Some("/dev/nvidia[0-3]"));
    assert!(!config.cgroup.constrain_devices && config.cgroup.constrain_memory);
}

#[test]
fn nodes_and_partitions_take_the_defaults_before_them() {
    let (config, _) = hydra();
    let node = config.admit("c128").unwrap().unwrap();
    assert_eq!((node.memory_mb, node.weight), (Some(Megabytes(1_024_000)), 50));
    assert_eq!(node.features, ["epyc", "bigmem"]);
    assert_eq!(node.tmp_disk_mb, None, "the default for it came later");
    assert_eq!(node.shape().unwrap().unwrap().cpus, 128);
    let gpu_node = config.admit("g16").unwrap().unwrap();
    assert_eq!(gpu_node.tmp_disk_mb, Some(Megabytes(800_000)));
    assert_eq!(gpu_node.gres[0].count, 4);

    let compute = config.default_partition().unwrap();
    assert_eq!((compute.name.as_str(), config.default_time(compute)), ("compute", Limit::Is(60)));
    assert_eq!(compute.max_time, Minutes(Limit::Is(7 * 1_440)));
    assert_eq!(config.default_memory(compute), DefaultMemory::PerCpu(Megabytes(2000)));
    let gpu = config.partition("gpu").unwrap();
    assert_eq!(gpu.max_time, Minutes(Limit::Is(3 * 1_440)));
    assert!(gpu.allow_accounts.allows("ml") && !gpu.allow_accounts.allows("guests"));
    let Members::These(amd) = config.members(config.partition("epyc").unwrap()) else { panic!() };
    assert_eq!(amd.len(), 32);
    assert_eq!(config.members(config.partition("debug").unwrap()), Members::All);
    let later = config.partition("later").unwrap();
    assert_eq!(config.members(later), Members::These(Default::default()));
    assert_eq!(config.down_nodes[0].reason.as_deref(), Some("bad DIMM, ticket #42"));
}

#[test]
fn what_is_not_carried_over_is_listed_with_its_reason() {
    let (_, imported) = hydra();
    let notes: Vec<String> = imported.notes.iter().map(Note::to_string).collect();
    for expected in [
        "slurm.conf:8: AuthType=auth/munge: not needed: who calls is known from the connection",
        "slurm.conf:11: SlurmctldPidFile=/run/slurmctld.pid: not needed: systemd knows the process",
        "slurm.conf:21: SchedulerParameters=bf_window=4320: not needed: every pass looks at all",
        "slurm.conf:21: SchedulerParameters=nohold_on_prolog_fail: not carried over: no such switch",
        "slurm.conf:28: PriorityFlags=FAIR_TREE: not needed: fair-share goes by the tree anyway",
        "slurm.conf:47: JobSubmitPlugins=lua: not carried over: write the rules as a program",
        "slurm.conf:49: Frobnicate=yes: not carried over: the import does not know this key",
        "slurm.conf:50: Include=/etc/slurm/missing.conf: not carried over: give this file",
        "slurm.conf:59: Colour=red: not carried over: the import does not know this key",
        "slurm.conf:4: SlurmctldHost=ctl1(10.1.0.1): changed: each controller keeps its own copy",
        "topology.conf:3: LinkSpeed=100: not needed: Slurm does not use it either",
        "slurmdbd.conf:3: StorageType=accounting_storage/mysql: not carried over: set accounting",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(expected)), "{expected}\n{notes:#?}");
    }
    assert!(!imported.toml.contains("secret") && !notes.iter().any(|it| it.contains("secret")));
}

#[test]
fn the_oldest_names_still_work() {
    let imported = slurm(&[(
        "slurm.conf",
        "ControlMachine=old1\nControlAddr=192.168.0.1\nBackupController=old2\nFastSchedule=1\n\
         NodeName=n[1-4] Procs=8 RealMemory=1000\nPartitionName=batch Nodes=n[1-4] Priority=5\n\
         SlurmdParameters=config_overrides\n",
    )]);
    let config = read(&imported.toml).unwrap();
    assert_eq!(config.controller.hosts[0].address.as_deref(), Some("192.168.0.1"));
    assert_eq!(config.controller.hosts[1].name, "old2");
    assert!(config.nodes[0].trial);
    assert_eq!(config.partitions[0].priority_tier, 5);
    assert_eq!(config.accounting.address, "http://localhost:6819");
    assert!(config.default_partition().is_none(), "Slurm has no default unless told");
    assert_eq!(config.controller.return_to_service, ReturnToService::Never);
}

#[test]
fn what_our_reader_refuses_is_taken_out_and_noted() {
    let imported = slurm(&[(
        "slurm.conf",
        "NodeName=n[1-4] CPUs=7 Sockets=2 CoresPerSocket=4\nNodeName=n4 CPUs=8\n\
         PartitionName=a Nodes=n[1-9] DefaultTime=2:00:00 MaxTime=1:00:00\n\
         PartitionName=a Nodes=n1\nKillWait=soon\nMaxArraySize=99999999\n",
    )]);
    let config = read(&imported.toml).unwrap();
    assert_eq!(config.partitions.len(), 1);
    assert_eq!(config.members(&config.partitions[0]), Members::These(Default::default()));
    let lost: Vec<(&str, usize)> = imported
        .notes
        .iter()
        .filter(|note| note.outcome == Outcome::Lost)
        .map(|note| (note.key.as_str(), note.line))
        .collect();
    for expected in [
        ("CPUs", 1),
        ("NodeName", 2),
        ("Nodes", 3),
        ("DefaultTime", 3),
        ("PartitionName", 4),
        ("KillWait", 5),
        ("MaxArraySize", 6),
    ] {
        assert!(lost.contains(&expected), "{expected:?} {lost:?}");
    }
}

#[test]
fn files_that_include_each_other_are_read_once() {
    let imported = slurm(&[
        ("slurm.conf", "Include b.conf\nInclude b.conf\nKillWait=1\n"),
        ("b.conf", "Include slurm.conf\nClusterName=b\n"),
    ]);
    let config = read(&imported.toml).unwrap();
    assert_eq!(
        (config.cluster.cluster_name.as_str(), config.timeouts.kill_wait),
        ("b", Seconds(1))
    );
}

#[test]
fn every_key_of_the_manual_is_carried_over_or_explained() {
    let known = |name: &str| {
        let origin = Origin { key: name.into(), value: "1".into(), ..Origin::default() };
        let mut import = Import {
            files: &[],
            taken: Vec::new(),
            document: Document::default(),
            notes: Vec::new(),
        };
        special::handle(&mut import, &origin)
            || TABLES
                .iter()
                .filter(|table| MAIN.contains(&table.name))
                .any(|table| by_slurm_name(table, name).is_some())
            || left_out::SLURM.iter().any(|(key, ..)| key.eq_ignore_ascii_case(name))
    };
    let unknown: Vec<&str> = KEYS.split_whitespace().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn no_key_is_both_carried_over_and_explained_away() {
    for (key, ..) in left_out::SLURM {
        let rows = TABLES.iter().filter(|table| MAIN.contains(&table.name));
        assert!(rows.clone().all(|table| by_slurm_name(table, key).is_none()), "{key}");
    }
}

proptest! {
    #[test]
    fn the_result_always_reads(
        lines in proptest::collection::vec(
            (0usize..KEY_COUNT, "[a-zA-Z0-9:,\\[\\]()*=./-]{0,12}", any::<bool>()), 0..12,
        ),
    ) {
        let keys: Vec<&str> = KEYS.split_whitespace().chain(LINE_KEYS.split_whitespace()).collect();
        let mut text = String::new();
        for (key, value, more) in lines {
            let end = if more { ' ' } else { '\n' };
            text.push_str(&format!("{}={value}{end}", keys[key % keys.len()]));
        }
        let imported = slurm(&[("slurm.conf", &text)]);
        prop_assert!(read(&imported.toml).is_ok(), "{}\n{}", text, imported.toml);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,200}", name in "(slurm|gres|topology|cgroup|slurmdbd).conf") {
        let imported = slurm(&[(&name, &text)]);
        prop_assert!(read(&imported.toml).is_ok());
    }
}

const KEY_COUNT: usize = 1000;

#[test]
fn how_long_a_requeued_job_waits_is_told_by_the_life_of_credentials() {
    let text = "ClusterName=x\nSlurmctldHost=ctl\nAuthInfo=socket=/run/munge,cred_expire=30\n";
    let imported = slurm(&[("slurm.conf", text)]);
    assert!(imported.toml.contains("requeue_delay = \"30s\""), "{}", imported.toml);
}

const LINE_KEYS: &str = "
    NodeName NodeName NodeName CPUs Sockets CoresPerSocket ThreadsPerCore RealMemory Gres Feature State
    PartitionName PartitionName PartitionName Nodes Default MaxTime DefaultTime MinNodes MaxNodes
    DownNodes NodeSet Alternate NodeAddr";

/// Every key of the manual page, 22.05 and what came since.
const KEYS: &str = "
    AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost
    AccountingStorageHost AccountingStorageParameters AccountingStoragePass AccountingStoragePort
    AccountingStorageTRES AccountingStorageType AccountingStorageUser AccountingStoreFlags
    AcctGatherNodeFreq AcctGatherEnergyType AcctGatherInterconnectType AcctGatherFilesystemType
    AcctGatherProfileType AllowSpecResourcesUsage AuthAltTypes AuthAltParameters AuthInfo AuthType
    BackupAddr BackupController BatchStartTimeout BcastExclude BcastParameters BurstBufferType
    CliFilterPlugins ClusterName CommunicationParameters CompleteWait ControlAddr ControlMachine
    CoreSpecPlugin CpuFreqDef CpuFreqGovernors CredType DebugFlags DefCpuPerGPU DefMemPerCPU
    DefMemPerGPU DefMemPerNode DependencyParameters DisableRootJobs EioTimeout EnforcePartLimits
    Epilog EpilogMsgTime EpilogSlurmctld EpilogTimeout ExtSensorsFreq ExtSensorsType
    FairShareDampeningFactor FederationParameters FirstJobId GetEnvTimeout GpuFreqDef GresTypes
    GroupUpdateForce GroupUpdateTime HashPlugin HealthCheckInterval HealthCheckNodeState
    HealthCheckProgram InactiveLimit InteractiveStepOptions JobAcctGatherType JobAcctGatherFrequency
    JobAcctGatherParams JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPort JobCompType
    JobCompUser JobContainerType JobDefaults JobFileAppend JobRequeue JobSubmitPlugins KillOnBadExit
    KillWait NodeFeaturesPlugins LaunchParameters LaunchType Licenses LogTimeFormat MailDomain
    MailProg MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount MaxJobId MaxMemPerCPU MaxMemPerNode
    MaxNodeCount MaxStepCount MaxTasksPerNode MCSParameters MCSPlugin MessageTimeout MinJobAge
    MpiDefault MpiParams OverTimeLimit PluginDir PlugStackConfig PowerParameters PowerPlugin
    PreemptMode PreemptParameters PreemptType PreemptExemptTime PrEpParameters PrEpPlugins
    PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall PriorityFlags PriorityMaxAge
    PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType
    PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare
    PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES PrivateData
    ProctrackType Prolog PrologEpilogTimeout PrologFlags PrologSlurmctld PrologTimeout
    PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram
    ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout
    ResvEpilog ResvOverRun ResvProlog ReturnToService RoutePlugin SchedulerParameters
    SchedulerTimeSlice SchedulerType ScronParameters SelectType SelectTypeParameters SlurmctldAddr
    SlurmctldDebug SlurmctldHost SlurmctldLogFile SlurmctldParameters SlurmctldPidFile
    SlurmctldPlugstack SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg
    SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdLogFile SlurmdParameters SlurmdPidFile
    SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser SlurmSchedLogFile
    SlurmSchedLogLevel SlurmUser SrunEpilog SrunPortRange SrunProlog StateSaveLocation SuspendExcNodes
    SuspendExcParts SuspendProgram SuspendRate SuspendTime SuspendTimeout SwitchParameters SwitchType
    TaskEpilog TaskPlugin TaskPluginParam TaskProlog TCPTimeout TLSType TmpFS TopologyParam
    TopologyPlugin TrackWCKey TreeWidth UnkillableStepProgram UnkillableStepTimeout UsePAM VSizeFactor
    WaitTime X11Parameters";
