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
}

/// When a key may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the job has started.
    Pending,
    /// While it is pending or running.
    Alive,
    /// At any time.
    Always,
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
use When::{Alive, Always, Pending};

/// Every key.
pub static KEYS: &[JobKey] = &[
    row(&["Account"], Pending, How::Option("account"), E::InvalidAccount),
    row(
        &["ArrayTaskThrottle"],
        Alive,
        How::Own(|draft, text| number(&mut draft.throttle, text)),
        E::InvalidArray,
    ),
    row(&["BatchFeatures"], Pending, How::Option("batch"), E::InvalidFeature),
    row(&["ClusterFeatures"], Pending, How::Option("cluster-constraint"), E::InvalidFeature),
    row(&["Comment"], Always, How::Option("comment"), E::NotSupported),
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
    row(&["CPUsPerTask"], Pending, How::Option("cpus-per-task"), E::InvalidCpuCount),
    row(
        &["Deadline"],
        Pending,
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
    row(&["Extra"], Always, How::Option("extra"), E::NotSupported),
    row(&["Features"], Pending, How::Option("constraint"), E::InvalidFeature),
    row(&["Gres"], Pending, How::Option("gres"), E::InvalidGres),
    row(&["Licenses"], Pending, How::Option("licenses"), E::InvalidLicenses),
    row(&["MailType"], Always, How::Option("mail-type"), E::NotSupported),
    row(&["MailUser"], Always, How::Option("mail-user"), E::NotSupported),
    row(&["MinCPUsNode"], Pending, How::Option("mincpus"), E::InvalidCpuCount),
    row(
        &["MinMemoryCPU"],
        Pending,
        How::Own(|draft, text| {
            draft.spec.memory_per_node = None;
            draft.spec.memory_per_cpu = Some(memory(text)?);
            Ok(())
        }),
        E::InvalidTaskMemory,
    ),
    row(
        &["MinMemoryNode"],
        Pending,
        How::Own(|draft, text| {
            draft.spec.memory_per_cpu = None;
            draft.spec.memory_per_node = Some(memory(text)?);
            Ok(())
        }),
        E::InvalidTaskMemory,
    ),
    row(&["MinTmpDiskNode"], Pending, How::Option("tmp"), E::NotSupported),
    row(&["Name", "JobName"], Alive, How::Option("job-name"), E::NotSupported),
    row(&["Nice"], Alive, How::Option("nice"), E::InvalidNice),
    row(&["NumCPUs", "ReqProcs", "MinProcs"], Pending, How::Option("ntasks"), E::InvalidCpuCount),
    row(&["NumNodes", "ReqNodes"], Pending, How::Option("nodes"), E::InvalidNodeCount),
    row(&["NumTasks"], Pending, How::Option("ntasks"), E::InvalidCpuCount),
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
    row(
        &["Priority"],
        Alive,
        How::Own(|draft, text| number(&mut draft.priority, text)),
        E::AccessDenied,
    ),
    row(&["QOS"], Pending, How::Option("qos"), E::InvalidQos),
    row(&["ReqNodeList", "NodeList"], Pending, How::Option("nodelist"), E::InvalidNodeName),
    row(
        &["Requeue"],
        Alive,
        How::Own(|draft, text| {
            draft.spec.requeue = Some(text != "0");
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
    row(&["Switches"], Pending, How::Option("switches"), E::NotSupported),
    row(&["TasksPerNode"], Pending, How::Option("ntasks-per-node"), E::InvalidCpuCount),
    row(&["ThreadSpec"], Pending, How::Option("thread-spec"), E::InvalidCpuCount),
    row(&["TimeLimit"], Alive, How::Option("time"), E::InvalidTimeLimit),
    row(&["TimeMin"], Pending, How::Option("time-min"), E::InvalidTimeLimit),
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
            How::Option(long) => {
                let option = options::find(Tool::Sbatch, long).ok_or(self.error)?;
                let mut request = Request::new(Tool::Sbatch);
                std::mem::swap(&mut request.job, &mut draft.spec);
                let done = option.apply(&mut request, value);
                draft.spec = request.job;
                done.map_err(|_| self.error)
            }
        }
    }
}

fn number<T: std::str::FromStr>(field: &mut Option<T>, text: &str) -> Result<(), SlurmError> {
    *field = Some(text.parse().map_err(|_| SlurmError::NotSupported)?);
    Ok(())
}

fn moment(text: &str) -> Result<i64, SlurmError> {
    text.parse().map_err(|_| SlurmError::InvalidTimeValue)
}

fn memory(text: &str) -> Result<u64, SlurmError> {
    crate::size::parse_megabytes(text).map_err(|_| SlurmError::InvalidTaskMemory)
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
    fn every_option_that_is_named_is_one() {
        for key in KEYS {
            if let How::Option(long) = key.how {
                assert!(options::find(Tool::Sbatch, long).is_some(), "{long}");
            }
        }
    }
}
