//! Environments compared, name by name and value by value, with what Slurm 22.05 gave.
//!
//! Left out of the expected lists are the user's own variables and `SLURM_CONF`, which names a file
//! that Spur does not have.

use super::*;
use std::collections::BTreeSet;

fn strings(pairs: &[(String, String)]) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn expect(told: Vec<(String, String)>, expected: &str) {
    let expected: Vec<&str> = expected.split_whitespace().collect();
    assert_eq!(strings(&told), expected);
}

fn job() -> JobFacts {
    JobFacts {
        job_id: 59,
        name: "envbatch".into(),
        account: "root".into(),
        partition: "debug".into(),
        qos: "normal".into(),
        user_name: "root".into(),
        cluster: "oracle".into(),
        working_cluster: "oracle:127.0.0.1:39817:9728:109".into(),
        nodes: "n[1-2]".into(),
        cpus_per_node: vec![3, 1],
        tasks_per_node: vec![3, 1],
        tasks: Some(4),
        memory_per_cpu_mb: Some(1000),
        submit_dir: "/home/user/work".into(),
        submit_host: "vm".into(),
        ..JobFacts::default()
    }
}

fn node(name: &str, cpus: u32) -> HereFacts {
    HereFacts { node: name.into(), cpus, tmp_dir: "/tmp".into(), ..HereFacts::default() }
}

fn step() -> StepFacts {
    StepFacts {
        nodes: "n[1-2]".into(),
        tasks_per_node: vec![3, 1],
        launcher_address: "127.0.0.1".into(),
        launcher_port: 43181,
        umask: 0o022,
        debug_level: 2,
        ..StepFacts::default()
    }
}

const BATCH_ENV: &str = "\
    ENVIRONMENT=BATCH \
    HOSTNAME=n1 \
    SLURMD_NODENAME=n1 \
    SLURM_CLUSTER_NAME=oracle \
    SLURM_CPUS_ON_NODE=3 \
    SLURM_GTIDS=0 \
    SLURM_JOBID=59 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_CPUS_PER_NODE=3,1 \
    SLURM_JOB_GID=0 \
    SLURM_JOB_ID=59 \
    SLURM_JOB_NAME=envbatch \
    SLURM_JOB_NODELIST=n[1-2] \
    SLURM_JOB_NUM_NODES=2 \
    SLURM_JOB_PARTITION=debug \
    SLURM_JOB_QOS=normal \
    SLURM_JOB_UID=0 \
    SLURM_JOB_USER=root \
    SLURM_LOCALID=0 \
    SLURM_MEM_PER_CPU=1000 \
    SLURM_NNODES=2 \
    SLURM_NODEID=0 \
    SLURM_NODELIST=n[1-2] \
    SLURM_NODE_ALIASES=(null) \
    SLURM_NPROCS=4 \
    SLURM_NTASKS=4 \
    SLURM_PRIO_PROCESS=0 \
    SLURM_PROCID=0 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=3,1 \
    SLURM_TASK_PID=4269 \
    SLURM_TOPOLOGY_ADDR=n1 \
    SLURM_TOPOLOGY_ADDR_PATTERN=node \
    SLURM_WORKING_CLUSTER=oracle:127.0.0.1:39817:9728:109 \
    TMPDIR=/tmp";

const OPTIONS_ENV: &str = "\
    CUDA_VISIBLE_DEVICES=0,1 \
    ENVIRONMENT=BATCH \
    GPU_DEVICE_ORDINAL=0,1 \
    HOSTNAME=n1 \
    ROCR_VISIBLE_DEVICES=0,1 \
    SLURMD_NODENAME=n1 \
    SLURM_CLUSTER_NAME=oracle \
    SLURM_CPUS_ON_NODE=4 \
    SLURM_CPUS_PER_TASK=2 \
    SLURM_GPUS_ON_NODE=2 \
    SLURM_GTIDS=0 \
    SLURM_JOBID=60 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_CPUS_PER_NODE=4(x2) \
    SLURM_JOB_GID=0 \
    SLURM_JOB_GPUS=0,1 \
    SLURM_JOB_ID=60 \
    SLURM_JOB_NAME=envopts \
    SLURM_JOB_NODELIST=n[1-2] \
    SLURM_JOB_NUM_NODES=2 \
    SLURM_JOB_PARTITION=gpu \
    SLURM_JOB_QOS=normal \
    SLURM_JOB_UID=0 \
    SLURM_JOB_USER=root \
    SLURM_LOCALID=0 \
    SLURM_MEM_PER_CPU=500 \
    SLURM_NNODES=2 \
    SLURM_NODEID=0 \
    SLURM_NODELIST=n[1-2] \
    SLURM_NODE_ALIASES=(null) \
    SLURM_NPROCS=4 \
    SLURM_NTASKS=4 \
    SLURM_NTASKS_PER_NODE=2 \
    SLURM_PRIO_PROCESS=0 \
    SLURM_PROCID=0 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=2(x2) \
    SLURM_TASK_PID=4320 \
    SLURM_TOPOLOGY_ADDR=n1 \
    SLURM_TOPOLOGY_ADDR_PATTERN=node \
    SLURM_WORKING_CLUSTER=oracle:127.0.0.1:39817:9728:109 \
    TMPDIR=/tmp \
    ZE_AFFINITY_MASK=0,1";

const ARRAY_ENV: &str = "\
    ENVIRONMENT=BATCH \
    HOSTNAME=n3 \
    SLURMD_NODENAME=n3 \
    SLURM_ARRAY_JOB_ID=61 \
    SLURM_ARRAY_TASK_COUNT=3 \
    SLURM_ARRAY_TASK_ID=5 \
    SLURM_ARRAY_TASK_MAX=7 \
    SLURM_ARRAY_TASK_MIN=3 \
    SLURM_ARRAY_TASK_STEP=2 \
    SLURM_CLUSTER_NAME=oracle \
    SLURM_CPUS_ON_NODE=1 \
    SLURM_GTIDS=0 \
    SLURM_JOBID=64 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_CPUS_PER_NODE=1 \
    SLURM_JOB_GID=0 \
    SLURM_JOB_ID=64 \
    SLURM_JOB_NAME=envarr \
    SLURM_JOB_NODELIST=n3 \
    SLURM_JOB_NUM_NODES=1 \
    SLURM_JOB_PARTITION=debug \
    SLURM_JOB_QOS=normal \
    SLURM_JOB_UID=0 \
    SLURM_JOB_USER=root \
    SLURM_LOCALID=0 \
    SLURM_MEM_PER_CPU=1000 \
    SLURM_NNODES=1 \
    SLURM_NODEID=0 \
    SLURM_NODELIST=n3 \
    SLURM_NODE_ALIASES=(null) \
    SLURM_PRIO_PROCESS=0 \
    SLURM_PROCID=0 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=1 \
    SLURM_TASK_PID=4441 \
    SLURM_TOPOLOGY_ADDR=n3 \
    SLURM_TOPOLOGY_ADDR_PATTERN=node \
    SLURM_WORKING_CLUSTER=oracle:127.0.0.1:39817:9728:109 \
    TMPDIR=/tmp";

const HET_ENV: &str = "\
    ENVIRONMENT=BATCH \
    HOSTNAME=n3 \
    SLURMD_NODENAME=n3 \
    SLURM_CLUSTER_NAME=oracle \
    SLURM_CPUS_ON_NODE=1 \
    SLURM_GTIDS=0 \
    SLURM_HET_SIZE=2 \
    SLURM_JOBID=68 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_ACCOUNT_HET_GROUP_0=root \
    SLURM_JOB_ACCOUNT_HET_GROUP_1=root \
    SLURM_JOB_ACCOUNT_PACK_GROUP_0=root \
    SLURM_JOB_ACCOUNT_PACK_GROUP_1=root \
    SLURM_JOB_CPUS_PER_NODE=1 \
    SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0=1 \
    SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1=2 \
    SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0=1 \
    SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_1=2 \
    SLURM_JOB_GID=0 \
    SLURM_JOB_ID=68 \
    SLURM_JOB_ID_HET_GROUP_0=68 \
    SLURM_JOB_ID_HET_GROUP_1=69 \
    SLURM_JOB_ID_PACK_GROUP_0=68 \
    SLURM_JOB_ID_PACK_GROUP_1=69 \
    SLURM_JOB_NAME=envhet \
    SLURM_JOB_NAME_HET_GROUP_0=envhet \
    SLURM_JOB_NAME_HET_GROUP_1=envhet \
    SLURM_JOB_NAME_PACK_GROUP_0=envhet \
    SLURM_JOB_NAME_PACK_GROUP_1=envhet \
    SLURM_JOB_NODELIST=n3 \
    SLURM_JOB_NODELIST_HET_GROUP_0=n3 \
    SLURM_JOB_NODELIST_HET_GROUP_1=n1 \
    SLURM_JOB_NODELIST_PACK_GROUP_0=n3 \
    SLURM_JOB_NODELIST_PACK_GROUP_1=n1 \
    SLURM_JOB_NUM_NODES=1 \
    SLURM_JOB_NUM_NODES_HET_GROUP_0=1 \
    SLURM_JOB_NUM_NODES_HET_GROUP_1=1 \
    SLURM_JOB_NUM_NODES_PACK_GROUP_0=1 \
    SLURM_JOB_NUM_NODES_PACK_GROUP_1=1 \
    SLURM_JOB_PARTITION=debug \
    SLURM_JOB_PARTITION_HET_GROUP_0=debug \
    SLURM_JOB_PARTITION_HET_GROUP_1=debug \
    SLURM_JOB_PARTITION_PACK_GROUP_0=debug \
    SLURM_JOB_PARTITION_PACK_GROUP_1=debug \
    SLURM_JOB_QOS=normal \
    SLURM_JOB_QOS_HET_GROUP_0=normal \
    SLURM_JOB_QOS_HET_GROUP_1=normal \
    SLURM_JOB_QOS_PACK_GROUP_0=normal \
    SLURM_JOB_QOS_PACK_GROUP_1=normal \
    SLURM_JOB_UID=0 \
    SLURM_JOB_USER=root \
    SLURM_LOCALID=0 \
    SLURM_MEM_PER_CPU=1000 \
    SLURM_MEM_PER_CPU_HET_GROUP_0=1000 \
    SLURM_MEM_PER_CPU_HET_GROUP_1=1000 \
    SLURM_MEM_PER_CPU_PACK_GROUP_0=1000 \
    SLURM_MEM_PER_CPU_PACK_GROUP_1=1000 \
    SLURM_NNODES=1 \
    SLURM_NODEID=0 \
    SLURM_NODELIST=n3 \
    SLURM_NODE_ALIASES=(null) \
    SLURM_NPROCS=1 \
    SLURM_NPROCS_HET_GROUP_0=1 \
    SLURM_NPROCS_HET_GROUP_1=2 \
    SLURM_NPROCS_PACK_GROUP_0=1 \
    SLURM_NPROCS_PACK_GROUP_1=2 \
    SLURM_NTASKS=1 \
    SLURM_NTASKS_HET_GROUP_0=1 \
    SLURM_NTASKS_HET_GROUP_1=2 \
    SLURM_NTASKS_PACK_GROUP_0=1 \
    SLURM_NTASKS_PACK_GROUP_1=2 \
    SLURM_PACK_SIZE=2 \
    SLURM_PRIO_PROCESS=0 \
    SLURM_PROCID=0 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=1 \
    SLURM_TASKS_PER_NODE_HET_GROUP_0=1 \
    SLURM_TASKS_PER_NODE_HET_GROUP_1=2 \
    SLURM_TASKS_PER_NODE_PACK_GROUP_0=1 \
    SLURM_TASKS_PER_NODE_PACK_GROUP_1=2 \
    SLURM_TASK_PID=9266 \
    SLURM_TOPOLOGY_ADDR=n3 \
    SLURM_TOPOLOGY_ADDR_PATTERN=node \
    SLURM_WORKING_CLUSTER=oracle:127.0.0.1:39817:9728:109 \
    TMPDIR=/tmp";

const SALLOC_ENV: &str = "\
    SLURM_CLUSTER_NAME=oracle \
    SLURM_JOBID=66 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_CPUS_PER_NODE=2,1 \
    SLURM_JOB_ID=66 \
    SLURM_JOB_NAME=interactive \
    SLURM_JOB_NODELIST=n[1-2] \
    SLURM_JOB_NUM_NODES=2 \
    SLURM_JOB_PARTITION=debug \
    SLURM_JOB_QOS=normal \
    SLURM_NNODES=2 \
    SLURM_NODELIST=n[1-2] \
    SLURM_NODE_ALIASES=(null) \
    SLURM_NPROCS=3 \
    SLURM_NTASKS=3 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=2,1";

const TASK_0_ENV: &str = "\
    SLURMD_NODENAME=n1 \
    SLURM_CLUSTER_NAME=oracle \
    SLURM_CPUS_ON_NODE=3 \
    SLURM_GTIDS=0,1,2 \
    SLURM_JOBID=62 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_CPUS_PER_NODE=3,1 \
    SLURM_JOB_GID=0 \
    SLURM_JOB_ID=62 \
    SLURM_JOB_NAME=sh \
    SLURM_JOB_NODELIST=n[1-2] \
    SLURM_JOB_NUM_NODES=2 \
    SLURM_JOB_PARTITION=debug \
    SLURM_JOB_QOS=normal \
    SLURM_JOB_UID=0 \
    SLURM_JOB_USER=root \
    SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 \
    SLURM_LOCALID=0 \
    SLURM_NNODES=2 \
    SLURM_NODEID=0 \
    SLURM_NODELIST=n[1-2] \
    SLURM_NPROCS=4 \
    SLURM_NTASKS=4 \
    SLURM_PRIO_PROCESS=0 \
    SLURM_PROCID=0 \
    SLURM_SRUN_COMM_HOST=127.0.0.1 \
    SLURM_SRUN_COMM_PORT=43181 \
    SLURM_STEPID=0 \
    SLURM_STEP_ID=0 \
    SLURM_STEP_LAUNCHER_PORT=43181 \
    SLURM_STEP_NODELIST=n[1-2] \
    SLURM_STEP_NUM_NODES=2 \
    SLURM_STEP_NUM_TASKS=4 \
    SLURM_STEP_TASKS_PER_NODE=3,1 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=3,1 \
    SLURM_TASK_PID=4388 \
    SLURM_TOPOLOGY_ADDR=n1 \
    SLURM_TOPOLOGY_ADDR_PATTERN=node \
    SLURM_UMASK=0022 \
    SLURM_WORKING_CLUSTER=oracle:127.0.0.1:39817:9728:109 \
    SRUN_DEBUG=2 \
    TMPDIR=/tmp";

const TASK_3_ENV: &str = "\
    SLURMD_NODENAME=n2 \
    SLURM_CLUSTER_NAME=oracle \
    SLURM_CPUS_ON_NODE=1 \
    SLURM_GTIDS=3 \
    SLURM_JOBID=62 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_CPUS_PER_NODE=3,1 \
    SLURM_JOB_GID=0 \
    SLURM_JOB_ID=62 \
    SLURM_JOB_NAME=sh \
    SLURM_JOB_NODELIST=n[1-2] \
    SLURM_JOB_NUM_NODES=2 \
    SLURM_JOB_PARTITION=debug \
    SLURM_JOB_QOS=normal \
    SLURM_JOB_UID=0 \
    SLURM_JOB_USER=root \
    SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 \
    SLURM_LOCALID=0 \
    SLURM_NNODES=2 \
    SLURM_NODEID=1 \
    SLURM_NODELIST=n[1-2] \
    SLURM_NPROCS=4 \
    SLURM_NTASKS=4 \
    SLURM_PRIO_PROCESS=0 \
    SLURM_PROCID=3 \
    SLURM_SRUN_COMM_HOST=127.0.0.1 \
    SLURM_SRUN_COMM_PORT=43181 \
    SLURM_STEPID=0 \
    SLURM_STEP_ID=0 \
    SLURM_STEP_LAUNCHER_PORT=43181 \
    SLURM_STEP_NODELIST=n[1-2] \
    SLURM_STEP_NUM_NODES=2 \
    SLURM_STEP_NUM_TASKS=4 \
    SLURM_STEP_TASKS_PER_NODE=3,1 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=3,1 \
    SLURM_TASK_PID=4392 \
    SLURM_TOPOLOGY_ADDR=n2 \
    SLURM_TOPOLOGY_ADDR_PATTERN=node \
    SLURM_UMASK=0022 \
    SLURM_WORKING_CLUSTER=oracle:127.0.0.1:39817:9728:109 \
    SRUN_DEBUG=2 \
    TMPDIR=/tmp";

const GPU_TASK_ENV: &str = "\
    CUDA_VISIBLE_DEVICES=1 \
    GPU_DEVICE_ORDINAL=1 \
    ROCR_VISIBLE_DEVICES=1 \
    SLURMD_NODENAME=n1 \
    SLURMD_TRES_BIND=gpu:per_task:1 \
    SLURM_CLUSTER_NAME=oracle \
    SLURM_CPUS_ON_NODE=4 \
    SLURM_CPUS_PER_TASK=2 \
    SLURM_DISTRIBUTION=block \
    SLURM_GPUS_ON_NODE=2 \
    SLURM_GTIDS=0,1 \
    SLURM_JOBID=65 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_CPUS_PER_NODE=4 \
    SLURM_JOB_GID=0 \
    SLURM_JOB_ID=65 \
    SLURM_JOB_NAME=sh \
    SLURM_JOB_NODELIST=n1 \
    SLURM_JOB_NUM_NODES=1 \
    SLURM_JOB_PARTITION=debug \
    SLURM_JOB_QOS=normal \
    SLURM_JOB_UID=0 \
    SLURM_JOB_USER=root \
    SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 \
    SLURM_LOCALID=1 \
    SLURM_NNODES=1 \
    SLURM_NODEID=0 \
    SLURM_NODELIST=n1 \
    SLURM_NPROCS=2 \
    SLURM_NTASKS=2 \
    SLURM_PRIO_PROCESS=0 \
    SLURM_PROCID=1 \
    SLURM_SRUN_COMM_HOST=127.0.0.1 \
    SLURM_SRUN_COMM_PORT=36253 \
    SLURM_STEPID=0 \
    SLURM_STEP_GPUS=1 \
    SLURM_STEP_ID=0 \
    SLURM_STEP_LAUNCHER_PORT=36253 \
    SLURM_STEP_NODELIST=n1 \
    SLURM_STEP_NUM_NODES=1 \
    SLURM_STEP_NUM_TASKS=2 \
    SLURM_STEP_TASKS_PER_NODE=2 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=2 \
    SLURM_TASK_PID=4731 \
    SLURM_TOPOLOGY_ADDR=n1 \
    SLURM_TOPOLOGY_ADDR_PATTERN=node \
    SLURM_UMASK=0022 \
    SLURM_WORKING_CLUSTER=oracle:127.0.0.1:39817:9728:109 \
    SRUN_DEBUG=2 \
    ZE_AFFINITY_MASK=1";

const STEP_IN_BATCH_ENV: &str = "\
    SLURMD_NODENAME=n2 \
    SLURM_CLUSTER_NAME=oracle \
    SLURM_CPUS_ON_NODE=1 \
    SLURM_DISTRIBUTION=block \
    SLURM_GTIDS=2 \
    SLURM_JOBID=67 \
    SLURM_JOB_ACCOUNT=root \
    SLURM_JOB_CPUS_PER_NODE=2,1 \
    SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0=2,1 \
    SLURM_JOB_GID=0 \
    SLURM_JOB_ID=67 \
    SLURM_JOB_NAME=envstep \
    SLURM_JOB_NODELIST=n[1-2] \
    SLURM_JOB_NUM_NODES=2 \
    SLURM_JOB_PARTITION=debug \
    SLURM_JOB_QOS=normal \
    SLURM_JOB_UID=0 \
    SLURM_JOB_USER=root \
    SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 \
    SLURM_LOCALID=0 \
    SLURM_NNODES=2 \
    SLURM_NODEID=1 \
    SLURM_NODELIST=n[1-2] \
    SLURM_NPROCS=3 \
    SLURM_NTASKS=3 \
    SLURM_PRIO_PROCESS=0 \
    SLURM_PROCID=2 \
    SLURM_SRUN_COMM_HOST=127.0.0.1 \
    SLURM_SRUN_COMM_PORT=36841 \
    SLURM_STEPID=0 \
    SLURM_STEP_ID=0 \
    SLURM_STEP_LAUNCHER_PORT=36841 \
    SLURM_STEP_NODELIST=n[1-2] \
    SLURM_STEP_NUM_NODES=2 \
    SLURM_STEP_NUM_TASKS=3 \
    SLURM_STEP_TASKS_PER_NODE=2,1 \
    SLURM_SUBMIT_DIR=/home/user/work \
    SLURM_SUBMIT_HOST=vm \
    SLURM_TASKS_PER_NODE=2,1 \
    SLURM_TASK_PID=5906 \
    SLURM_TOPOLOGY_ADDR=n2 \
    SLURM_TOPOLOGY_ADDR_PATTERN=node \
    SLURM_UMASK=0022 \
    SLURM_WORKING_CLUSTER=oracle:127.0.0.1:39817:9728:109 \
    SRUN_DEBUG=3 \
    TMPDIR=/tmp";

#[test]
fn batch_script() {
    expect(batch(&job(), &node("n1", 3), 4269), BATCH_ENV);
}

#[test]
fn batch_script_with_options_and_gpus() {
    let job = JobFacts {
        job_id: 60,
        name: "envopts".into(),
        partition: "gpu".into(),
        cpus_per_node: vec![4, 4],
        tasks_per_node: vec![2, 2],
        cpus_per_task: Some(2),
        tasks_per_node_asked: Some(2),
        memory_per_cpu_mb: Some(500),
        ..job()
    };
    let gpus = GpuFacts::declared(&[0, 1]);
    let here = HereFacts { gpus: Some(gpus), ..node("n1", 4) };
    expect(batch(&job, &here, 4320), OPTIONS_ENV);
}

#[test]
fn array_task() {
    let job = JobFacts {
        job_id: 64,
        name: "envarr".into(),
        nodes: "n3".into(),
        cpus_per_node: vec![1],
        tasks_per_node: vec![1],
        tasks: None,
        array: Some(ArrayFacts { job_id: 61, task_id: 5, count: 3, min: 3, max: 7, step: 2 }),
        ..job()
    };
    expect(batch(&job, &node("n3", 1), 4441), ARRAY_ENV);
}

#[test]
fn heterogeneous_job() {
    let component = |job_id, node: &str, tasks| JobFacts {
        job_id,
        name: "envhet".into(),
        nodes: node.into(),
        cpus_per_node: vec![tasks],
        tasks_per_node: vec![tasks],
        tasks: Some(tasks),
        ..job()
    };
    let components = vec![component(68, "n3", 1), component(69, "n1", 2)];
    let job = JobFacts { components, ..component(68, "n3", 1) };
    expect(batch(&job, &node("n3", 1), 9266), HET_ENV);
}

#[test]
fn allocation_of_salloc() {
    let job = JobFacts {
        job_id: 66,
        name: "interactive".into(),
        cpus_per_node: vec![2, 1],
        tasks_per_node: vec![2, 1],
        tasks: Some(3),
        // What nobody asked for is not told.
        memory_per_cpu_mb: None,
        ..job()
    };
    expect(allocation(&job), SALLOC_ENV);
}

#[test]
fn tasks_of_srun() {
    let job = JobFacts { job_id: 62, name: "sh".into(), ..job() };
    let first = TaskFacts {
        here: node("n1", 3),
        ranks_here: vec![0, 1, 2],
        pid: 4388,
        ..TaskFacts::default()
    };
    expect(task(&job, &step(), &first), TASK_0_ENV);
    let last = TaskFacts {
        pmi_fd: None,
        here: HereFacts { node_id: 1, ..node("n2", 1) },
        rank: 3,
        local_rank: 0,
        ranks_here: vec![3],
        pid: 4392,
    };
    expect(task(&job, &step(), &last), TASK_3_ENV);
}

#[test]
fn task_with_its_own_gpu() {
    let job = JobFacts {
        job_id: 65,
        name: "sh".into(),
        nodes: "n1".into(),
        cpus_per_node: vec![4],
        ..job()
    };
    let step = StepFacts {
        nodes: "n1".into(),
        tasks_per_node: vec![2],
        cpus_per_task: Some(2),
        distribution: "block".into(),
        launcher_port: 36253,
        ..step()
    };
    let gpus =
        GpuFacts { seen: vec![1], bind: "gpu:per_task:1".into(), ..GpuFacts::declared(&[0, 1]) };
    let second = TaskFacts {
        pmi_fd: None,
        here: HereFacts { gpus: Some(gpus), tmp_dir: String::new(), ..node("n1", 4) },
        rank: 1,
        local_rank: 1,
        ranks_here: vec![0, 1],
        pid: 4731,
    };
    expect(task(&job, &step, &second), GPU_TASK_ENV);
}

#[test]
fn step_inside_a_batch_job() {
    let job = JobFacts { job_id: 67, name: "envstep".into(), cpus_per_node: vec![2, 1], ..job() };
    let step = StepFacts {
        tasks_per_node: vec![2, 1],
        distribution: "block".into(),
        inside_allocation: true,
        debug_level: 3,
        launcher_port: 36841,
        ..step()
    };
    let last = TaskFacts {
        pmi_fd: None,
        here: HereFacts { node_id: 1, ..node("n2", 1) },
        rank: 2,
        ranks_here: vec![2],
        pid: 5906,
        ..TaskFacts::default()
    };
    expect(task(&job, &step, &last), STEP_IN_BATCH_ENV);
}

#[test]
fn every_name_is_there_once_and_none_is_the_users_to_set() {
    let names: BTreeSet<_> = VARIABLES.iter().map(|variable| variable.name).collect();
    assert_eq!(names.len(), VARIABLES.len());
    assert!(!names.contains("SPUR_CONF") && !names.contains("SPUR_CONTROLLER_ADDR"));
}

/// The variables about devices that a batch script with these GPUs sees.
fn chosen(gpus: GpuFacts) -> Vec<String> {
    let here = HereFacts { gpus: Some(gpus), ..node("n1", 4) };
    let told = strings(&batch(&job(), &here, 1));
    let is_device = |line: &String| line.contains("DEVICE") || line.starts_with("ZE_");
    told.into_iter().filter(is_device).collect()
}

fn device(id: u32, vendor: GpuVendor, number: u32) -> GpuDevice {
    GpuDevice { id, vendor, number, ..GpuDevice::default() }
}

#[test]
fn vendors_get_their_own_variable_and_usable_numbers() {
    let seen = |vendor, others_hidden| {
        let given = (4..8).map(|id| device(id, vendor, id)).collect();
        chosen(GpuFacts { given, seen: vec![4, 5, 6, 7], others_hidden, ..GpuFacts::default() })
    };
    assert_eq!(seen(GpuVendor::Amd, false), ["ROCR_VISIBLE_DEVICES=4,5,6,7"]);
    assert_eq!(seen(GpuVendor::Amd, true), ["ROCR_VISIBLE_DEVICES=0,1,2,3"]);
    assert_eq!(seen(GpuVendor::Nvidia, true), ["CUDA_VISIBLE_DEVICES=0,1,2,3"]);
    assert_eq!(seen(GpuVendor::Unknown, false).len(), 4);
}

/// The node counts those of one kind together, programs those of one maker as they are plugged in.
#[test]
fn programs_are_told_the_numbers_they_count_by() {
    let (amd, nvidia) = (GpuVendor::Amd, GpuVendor::Nvidia);
    let given = vec![device(1, amd, 2), device(2, amd, 1), device(4, nvidia, 1)];
    let gpus = GpuFacts { given, seen: vec![1, 2, 4], ..GpuFacts::default() };
    let expected = ["CUDA_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=2,1"];
    assert_eq!(chosen(gpus.clone()), expected);
    let hidden = GpuFacts { others_hidden: true, ..gpus.clone() };
    assert_eq!(chosen(hidden), ["CUDA_VISIBLE_DEVICES=0", "ROCR_VISIBLE_DEVICES=1,0"]);
    let bound = GpuFacts { seen: vec![4], ..gpus };
    let expected = ["CUDA_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=NoDevFiles"];
    assert_eq!(
        chosen(bound),
        expected,
        "a task that is bound to one sees the other maker's no more"
    );
}

#[test]
fn a_task_bound_to_a_part_of_a_gpu_is_told_its_name() {
    let part = |id| GpuDevice { name: format!("MIG-{id}"), ..device(id, GpuVendor::Nvidia, id) };
    let given = vec![part(0), part(1)];
    let gpus = GpuFacts { given, seen: vec![1], others_hidden: true, ..GpuFacts::default() };
    assert_eq!(chosen(gpus), ["CUDA_VISIBLE_DEVICES=MIG-1"]);
}

#[test]
fn who_was_given_no_gpu_sees_none() {
    let withheld = vec![GpuVendor::Nvidia];
    let gpus = GpuFacts { withheld, ..GpuFacts::default() };
    assert_eq!(chosen(gpus.clone()), ["CUDA_VISIBLE_DEVICES=NoDevFiles"]);
    let here = HereFacts { gpus: Some(gpus), ..node("n1", 4) };
    let told = strings(&batch(&job(), &here, 1));
    assert!(!told.iter().any(|line| line.contains("GPUS")), "{told:?}");
}

#[test]
fn counts_fold() {
    assert_eq!(folded(&[72, 72, 36]), "72(x2),36");
    assert_eq!(folded(&[1]), "1");
    assert_eq!(folded(&[]), "");
}
