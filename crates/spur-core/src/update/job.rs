//! `scontrol update JobId=…`: what of a job can be changed.

use crate::errors::SlurmError;
use crate::job::JobSpec;
use crate::options::{self, Request, Tool};

/// What is changed beside the request itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobDraft {
    /// What is asked for.
    pub spec: JobSpec,
    /// `StartTime`, `EligibleTime`: seconds since the epoch.
    pub begin: Option<i64>,
    /// `Dependency`, as it was said; empty takes it away.
    pub dependency: Option<String>,
    /// `Priority`; zero holds.
    pub priority: Option<u32>,
    /// `ArrayTaskThrottle`
    pub throttle: Option<u32>,
    /// `EndTime`: seconds since the epoch.
    pub end: Option<i64>,
    /// `ResetAccrueTime`: its age begins anew.
    pub reset_accrual: bool,
}

/// When a key may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the job has started.
    Pending,
    /// While it is pending or running.
    Alive,
}

/// How a key is written.
#[derive(Clone, Copy)]
enum How {
    /// As this option of `sbatch`.
    Option(&'static str),
    /// In a way of its own.
    Own(fn(&mut JobDraft, &str) -> Result<(), SlurmError>),
}

/// One key.
pub struct JobKey {
    /// Its names.
    pub names: &'static [&'static str],
    /// When it may be changed.
    pub when: When,
    how: How,
    error: SlurmError,
}

const fn row(names: &'static [&'static str], when: When, how: How, error: SlurmError) -> JobKey {
    JobKey { names, when, how, error }
}

use SlurmError as E;
use When::{Alive, Pending};

/// Every key.
pub static KEYS: &[JobKey] = &[
    row(&["Account"], Pending, How::Option("account"), E::InvalidAccount),
    row(
        &["AdminComment"],
        Alive,
        How::Own(|draft, text| {
            draft.spec.rare_mut().admin_comment = text.to_string();
            Ok(())
        }),
        E::AccessDenied,
    ),
    row(
        &["ArrayTaskThrottle"],
        Alive,
        How::Own(|draft, text| {
            draft.throttle = Some(text.parse().unwrap_or(0));
            Ok(())
        }),
        E::InvalidArray,
    ),
    row(&["BatchFeatures"], Pending, How::Option("batch"), E::InvalidFeature),
    row(&["ClusterFeatures"], Pending, How::Option("cluster-constraint"), E::InvalidFeature),
    row(&["Comment"], Alive, How::Option("comment"), E::NotSupported),
    row(
        &["Contiguous"],
        Pending,
        How::Own(|draft, text| {
            draft.spec.placement_mut().contiguous = yes(text)?;
            Ok(())
        }),
        E::NotSupported,
    ),
    row(&["CoreSpec"], Pending, How::Option("core-spec"), E::InvalidCpuCount),
    row(&["BurstBuffer"], Pending, How::Own(|_, _| Err(E::NotSupported)), E::NotSupported),
    row(&["CPUsPerTask"], Pending, How::Option("cpus-per-task"), E::InvalidCpuCount),
    row(
        &["Deadline"],
        Alive,
        How::Own(|draft, text| {
            draft.spec.lifecycle_mut().deadline = Some(moment(text)?);
            Ok(())
        }),
        E::InvalidTimeValue,
    ),
    row(&["DelayBoot"], Pending, How::Option("delay-boot"), E::InvalidTimeValue),
    row(
        &["Dependency"],
        Pending,
        How::Own(|draft, text| {
            draft.dependency = Some(text.to_string());
            Ok(())
        }),
        E::Dependency,
    ),
    row(
        &["EligibleTime", "StartTime"],
        Pending,
        How::Own(|draft, text| {
            draft.begin = Some(moment(text)?);
            Ok(())
        }),
        E::InvalidTimeValue,
    ),
    row(
        &["EndTime"],
        Alive,
        How::Own(|draft, text| {
            draft.end = Some(moment(text)?);
            Ok(())
        }),
        E::InvalidTimeValue,
    ),
    row(&["ExcNodeList"], Pending, How::Option("exclude"), E::InvalidNodeName),
    row(&["Extra"], Alive, How::Option("extra"), E::NotSupported),
    row(&["Features"], Pending, How::Option("constraint"), E::InvalidFeature),
    row(&["Gres"], Pending, How::Option("gres"), E::InvalidGres),
    row(&["Licenses"], Alive, How::Option("licenses"), E::InvalidLicenses),
    row(&["MailType"], Alive, How::Option("mail-type"), E::NotSupported),
    row(&["MailUser"], Alive, How::Option("mail-user"), E::NotSupported),
    row(&["MinCPUsNode"], Pending, How::Option("mincpus"), E::InvalidCpuCount),
    row(
        &["MinMemoryCPU"],
        Pending,
        How::Own(|draft, text| {
            draft.spec.memory_per_node = None;
            draft.spec.memory_per_cpu = Some(whole(text)?.into());
            Ok(())
        }),
        E::InvalidTaskMemory,
    ),
    row(
        &["MinMemoryNode"],
        Pending,
        How::Own(|draft, text| {
            draft.spec.memory_per_cpu = None;
            draft.spec.memory_per_node = Some(whole(text)?.into());
            Ok(())
        }),
        E::InvalidTaskMemory,
    ),
    row(&["MinTmpDiskNode"], Pending, How::Option("tmp"), E::NotSupported),
    row(&["Name", "JobName"], Alive, How::Option("job-name"), E::NotSupported),
    row(&["Nice"], Alive, How::Option("nice"), E::InvalidNice),
    row(&["NumCPUs", "MinProcs"], Pending, How::Own(processors), E::InvalidCpuCount),
    row(&["NumNodes", "ReqNodes"], Pending, How::Own(nodes), E::InvalidNodeCount),
    row(&["NumTasks", "ReqProcs"], Pending, How::Option("ntasks"), E::InvalidCpuCount),
    row(
        &["OverSubscribe", "Shared"],
        Pending,
        How::Own(|draft, text| {
            draft.spec.sharing = Some(i32::from(yes(text)?));
            Ok(())
        }),
        E::NotSupported,
    ),
    row(&["Partition"], Pending, How::Option("partition"), E::InvalidPartitionName),
    row(&["Prefer"], Pending, How::Option("prefer"), E::InvalidFeature),
    row(&["Priority"], Alive, How::Own(priority), E::AccessDenied),
    row(&["QOS"], Pending, How::Option("qos"), E::InvalidQos),
    row(&["ReqNodeList", "NodeList"], Pending, How::Option("nodelist"), E::InvalidNodeName),
    row(
        &["Reboot"],
        Pending,
        How::Own(|draft, text| {
            draft.spec.placement_mut().reboot = yes(text)?;
            Ok(())
        }),
        E::NotSupported,
    ),
    row(&["ReqCores"], Pending, How::Option("cores-per-socket"), E::NotSupported),
    row(&["ReqSockets"], Pending, How::Option("sockets-per-node"), E::NotSupported),
    row(&["ReqThreads"], Pending, How::Option("threads-per-core"), E::NotSupported),
    row(
        &["Requeue"],
        Alive,
        How::Own(|draft, text| {
            draft.spec.requeue = Some(whole(text)? != 0);
            Ok(())
        }),
        E::NotSupported,
    ),
    row(
        &["ResetAccrueTime"],
        Pending,
        How::Own(|draft, _| {
            draft.reset_accrual = true;
            Ok(())
        }),
        E::NotSupported,
    ),
    row(&["ReservationName"], Pending, How::Option("reservation"), E::ReservationInvalid),
    row(
        &["SiteFactor"],
        Alive,
        How::Own(|draft, text| number(&mut draft.spec.rare_mut().site_factor, text)),
        E::InvalidNice,
    ),
    row(&["StdErr"], Pending, How::Option("error"), E::NotSupported),
    row(&["StdIn"], Pending, How::Option("input"), E::NotSupported),
    row(&["StdOut"], Pending, How::Option("output"), E::NotSupported),
    row(&["Switches"], Alive, How::Option("switches"), E::NotSupported),
    row(&["TasksPerNode"], Pending, How::Option("ntasks-per-node"), E::InvalidCpuCount),
    row(&["ThreadSpec"], Pending, How::Option("thread-spec"), E::InvalidCpuCount),
    row(&["TimeLimit"], Alive, How::Option("time"), E::InvalidTimeLimit),
    row(&["TimeMin"], Alive, How::Option("time-min"), E::InvalidTimeLimit),
    row(
        &["TresPerJob"],
        Pending,
        How::Own(|draft, text| gpus(draft, text, "gpus")),
        E::InvalidTres,
    ),
    row(&["TresPerNode"], Pending, How::Own(per_node), E::InvalidGres),
    row(
        &["TresPerSocket"],
        Pending,
        How::Own(|draft, text| gpus(draft, text, "gpus-per-socket")),
        E::InvalidTres,
    ),
    row(
        &["TresPerTask"],
        Pending,
        How::Own(|draft, text| gpus(draft, text, "gpus-per-task")),
        E::InvalidTres,
    ),
    row(
        &["wait-for-switch"],
        Pending,
        How::Own(|draft, text| {
            draft.spec.placement_mut().switches_wait_secs = Some(whole(text)?);
            Ok(())
        }),
        E::NotSupported,
    ),
    row(&["WCKey"], Pending, How::Option("wckey"), E::InvalidWckey),
    row(&["WorkDir"], Pending, How::Option("chdir"), E::NotSupported),
];

/// The row of a key.
pub fn find(key: &str) -> Option<&'static JobKey> {
    super::find(KEYS, |row| row.names, key.trim_end_matches(['+', '-']))
}

impl JobKey {
    /// Writes a value. Moments are seconds since the epoch: whoever asks knows the zone.
    pub fn set(&self, draft: &mut JobDraft, value: &str) -> Result<(), SlurmError> {
        match self.how {
            How::Own(set) => set(draft, value).map_err(|_| self.error),
            How::Option(long) => apply(draft, long, value, self.error),
        }
    }

    /// What `scontrol` says of a value before it asks anybody; nothing where the controller judges.
    pub fn complaint(&self, value: &str) -> Option<String> {
        let name = self.names[0];
        if !CHECKED.contains(&name) || self.set(&mut JobDraft::default(), value).is_ok() {
            return None;
        }
        Some(match name {
            "DelayBoot" | "TimeLimit" | "TimeMin" => format!("Invalid {name} value"),
            "Reboot" => format!("Invalid reboot value: {value}"),
            name => format!("Invalid {name} value: {value}"),
        })
    }
}

/// Keys whose values `scontrol` reads itself.
const CHECKED: &[&str] = &[
    "CPUsPerTask",
    "Contiguous",
    "CoreSpec",
    "DelayBoot",
    "MinCPUsNode",
    "MinMemoryCPU",
    "MinMemoryNode",
    "MinTmpDiskNode",
    "NumCPUs",
    "NumTasks",
    "OverSubscribe",
    "Priority",
    "Reboot",
    "ReqCores",
    "ReqSockets",
    "ReqThreads",
    "Requeue",
    "TasksPerNode",
    "ThreadSpec",
    "TimeMin",
    "wait-for-switch",
];

fn number<T: std::str::FromStr>(field: &mut Option<T>, text: &str) -> Result<(), SlurmError> {
    *field = Some(text.parse().map_err(|_| SlurmError::NotSupported)?);
    Ok(())
}

/// The two highest numbers have other meanings.
fn priority(draft: &mut JobDraft, text: &str) -> Result<(), SlurmError> {
    let number = whole(text)?;
    if number >= u32::MAX - 1 {
        return Err(SlurmError::NotSupported);
    }
    draft.priority = Some(number);
    Ok(())
}

fn moment(text: &str) -> Result<i64, SlurmError> {
    text.parse().map_err(|_| SlurmError::InvalidTimeValue)
}

/// A plain number, without a unit.
fn whole(text: &str) -> Result<u32, SlurmError> {
    text.parse().map_err(|_| SlurmError::NotSupported)
}

/// `2`, `2-4`: the most stays as it was where only the least is said.
fn nodes(draft: &mut JobDraft, text: &str) -> Result<(), SlurmError> {
    let (least, most) = match text.split_once('-') {
        Some((least, most)) => (whole(least)?, Some(whole(most)?)),
        None => (whole(text)?, draft.spec.nodes_max),
    };
    if least == 0 || most.is_some_and(|most| most < least) {
        return Err(SlurmError::InvalidNodeCount);
    }
    let tasks = draft.spec.ntasks.filter(|_| draft.spec.ntasks_said).unwrap_or(0);
    (draft.spec.nodes_min, draft.spec.nodes_max) = (Some(least), most);
    draft.spec.node_sizes.clear();
    draft.spec.ntasks = Some(tasks.max(least));
    Ok(())
}

/// `4`, `4-8`: what is between is the planner's choice, and it gives the least.
fn processors(draft: &mut JobDraft, text: &str) -> Result<(), SlurmError> {
    let (least, most) = match text.split_once('-') {
        Some((least, most)) => (whole(least)?, whole(most)?),
        None => (whole(text)?, u32::MAX),
    };
    if least == 0 || most < least {
        return Err(SlurmError::InvalidCpuCount);
    }
    let each = draft.spec.cpus_per_task.unwrap_or(1).max(1);
    draft.spec.ntasks = Some(least.div_ceil(each));
    draft.spec.ntasks_said = true;
    Ok(())
}

/// `gres:gpu:2`, also `gres/gpu:2`, in the words of `--gres`.
fn gres(text: &str) -> String {
    let plain = |word: &str| {
        let rest = word.strip_prefix("gres");
        rest.and_then(|rest| rest.strip_prefix([':', '/'])).unwrap_or(word).to_string()
    };
    text.split(',').map(plain).collect::<Vec<_>>().join(",")
}

fn per_node(draft: &mut JobDraft, text: &str) -> Result<(), SlurmError> {
    apply(draft, "gres", &gres(text), SlurmError::InvalidGres)
}

/// `gres:gpu:2` for the options that are about GPUs alone; nothing takes them away.
fn gpus(draft: &mut JobDraft, text: &str, option: &str) -> Result<(), SlurmError> {
    let gres = gres(text);
    let count = match gres.strip_prefix("gpu") {
        Some("") if gres.len() < text.len() => "1",
        Some(rest) => rest.strip_prefix([':', '=']).ok_or(SlurmError::InvalidTres)?,
        None if text.is_empty() => "0",
        None => return Err(SlurmError::InvalidTres),
    };
    apply(draft, option, count, SlurmError::InvalidTres)
}

/// Says it as an option of `sbatch`.
fn apply(
    draft: &mut JobDraft,
    long: &str,
    value: &str,
    error: SlurmError,
) -> Result<(), SlurmError> {
    let option = options::find(Tool::Sbatch, long).ok_or(error)?;
    let mut request = Request::new(Tool::Sbatch);
    std::mem::swap(&mut request.job, &mut draft.spec);
    let done = option.apply(&mut request, value);
    draft.spec = request.job;
    done.map_err(|_| error)
}

fn yes(text: &str) -> Result<bool, SlurmError> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "1" | "ok" | "y" => Ok(true),
        "no" | "0" | "n" => Ok(false),
        _ => Err(SlurmError::NotSupported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;

    #[test]
    fn keys_are_options_in_other_words() {
        let mut draft = JobDraft::default();
        let mut set = |key: &str, value: &str| find(key).expect(key).set(&mut draft, value);
        assert_eq!(set("timelimit", "2:00:00"), Ok(()));
        assert_eq!(set("NumNodes", "2-4"), Ok(()));
        assert_eq!(set("Features", "a&b"), Ok(()));
        assert_eq!(set("TimeLimit", "soon"), Err(SlurmError::InvalidTimeLimit));
        assert_eq!(draft.spec.time_limit, Some(Limit::Is(120)));
        assert_eq!((draft.spec.nodes_min, draft.spec.nodes_max), (Some(2), Some(4)));
        assert_eq!(draft.spec.placement().constraint, "a&b");
        assert!(find("Nonsense").is_none());
    }

    #[test]
    fn what_is_no_number_is_told_before_anybody_is_asked() {
        let told = |key: &str, value: &str| find(key).expect(key).complaint(value);
        assert_eq!(told("MinMemoryNode", "1G").as_deref(), Some("Invalid MinMemoryNode value: 1G"));
        assert_eq!(told("mincpus", "x").as_deref(), Some("Invalid MinCPUsNode value: x"));
        assert_eq!(told("priority", "top").as_deref(), Some("Invalid Priority value: top"));
        assert_eq!(told("timemin", "soon").as_deref(), Some("Invalid TimeMin value"));
        assert_eq!(told("numcpus", "8-4").as_deref(), Some("Invalid NumCPUs value: 8-4"));
        assert_eq!((told("numcpus", "4-8"), told("numnodes", "x")), (None, None));
    }

    #[test]
    fn the_most_nodes_stay_where_only_the_least_are_said() {
        let mut draft = JobDraft::default();
        let mut set = |key: &str, value: &str| find(key).expect(key).set(&mut draft, value);
        assert_eq!(set("NumNodes", "2"), Ok(()));
        assert_eq!(set("NumNodes", "3-2"), Err(SlurmError::InvalidNodeCount));
        assert_eq!(set("TresPerNode", "gres:gpu:2"), Ok(()));
        assert_eq!(set("TresPerJob", "gres/gpu:4"), Ok(()));
        assert_eq!(set("TresPerJob", "license:4"), Err(SlurmError::InvalidTres));
        assert_eq!((draft.spec.nodes_min, draft.spec.nodes_max), (Some(2), None));
        assert_eq!((draft.spec.gres.as_str(), draft.spec.gpu().gpus.as_str()), ("gpu:2", "4"));
    }

    #[test]
    fn every_option_that_is_named_is_one() {
        for key in KEYS {
            if let How::Option(long) = key.how {
                assert!(options::find(Tool::Sbatch, long).is_some(), "{long}");
            }
        }
    }
}
