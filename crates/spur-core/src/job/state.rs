//! The states of a job: Slurm's numbers and names, the flags above them, and which changes exist.
//!
//! A job's state is one number: a base state in the low eight bits and flags in the bits above.
//! Steps use the same words.

use std::fmt;

/// The bits that hold the base state.
const BASE: u32 = 0xff;

macro_rules! job_states {
    ($($variant:ident = $number:literal, $name:literal, $compact:literal;)*) => {
        /// Where a job stands, flags aside.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum JobState {
            #[default]
            $($variant = $number,)*
        }

        impl JobState {
            /// Every base state, by number.
            pub const ALL: &'static [JobState] = &[$(JobState::$variant,)*];

            /// The long name, as `squeue -o %T` prints it.
            pub fn name(self) -> &'static str {
                match self { $(JobState::$variant => $name,)* }
            }

            /// The short name, as `squeue -o %t` prints it.
            pub fn compact(self) -> &'static str {
                match self { $(JobState::$variant => $compact,)* }
            }

            /// The base state with this number.
            pub fn from_number(number: u32) -> Option<JobState> {
                match number { $($number => Some(JobState::$variant),)* _ => None }
            }
        }
    };
}

job_states! {
    Pending = 0, "PENDING", "PD";
    Running = 1, "RUNNING", "R";
    Suspended = 2, "SUSPENDED", "S";
    Completed = 3, "COMPLETED", "CD";
    Cancelled = 4, "CANCELLED", "CA";
    Failed = 5, "FAILED", "F";
    Timeout = 6, "TIMEOUT", "TO";
    NodeFail = 7, "NODE_FAIL", "NF";
    Preempted = 8, "PREEMPTED", "PR";
    BootFail = 9, "BOOT_FAIL", "BF";
    Deadline = 10, "DEADLINE", "DL";
    OutOfMemory = 11, "OUT_OF_MEMORY", "OOM";
}

impl JobState {
    /// Slurm's number.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Whether the job is over, however it went.
    pub fn is_ended(self) -> bool {
        self >= JobState::Completed
    }

    /// Whether the job holds nodes: it runs, or it would if nobody had suspended it.
    pub fn is_started(self) -> bool {
        matches!(self, JobState::Running | JobState::Suspended)
    }

    /// Whether a job in this state can next be in that one. The only place that says so.
    pub fn may_become(self, next: JobState) -> bool {
        use JobState::*;
        match (self, next) {
            (Pending, Running | Cancelled | Failed | NodeFail | BootFail | Deadline) => true,
            (Running, Suspended) | (Suspended, Running) => true,
            // A requeue puts a job back, also one that has ended but is still remembered.
            (Running | Suspended, Pending) => true,
            (ended, Pending) => ended.is_ended(),
            (Running | Suspended, ended) => ended.is_ended(),
            _ => false,
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! job_flags {
    ($($variant:ident = $number:literal, $name:literal, $compact:literal;)*) => {
        /// What may be true of a job beside its base state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum JobFlag {
            $($variant = $number,)*
        }

        impl JobFlag {
            /// Every flag; a flag wins over those after it when only one can be printed.
            pub const ALL: &'static [JobFlag] = &[$(JobFlag::$variant,)*];

            /// The long name.
            pub fn name(self) -> &'static str {
                match self { $(JobFlag::$variant => $name,)* }
            }

            /// The short name.
            pub fn compact(self) -> &'static str {
                match self { $(JobFlag::$variant => $compact,)* }
            }
        }
    };
}

// The order is the one in which squeue prefers them.
job_flags! {
    Completing = 0x8000, "COMPLETING", "CG";
    StageOut = 0x80_0000, "STAGE_OUT", "SO";
    Configuring = 0x4000, "CONFIGURING", "CF";
    Resizing = 0x2000, "RESIZING", "RS";
    Requeued = 0x400, "REQUEUED", "RQ";
    RequeueFed = 0x10_0000, "REQUEUE_FED", "RF";
    RequeueHold = 0x800, "REQUEUE_HOLD", "RH";
    SpecialExit = 0x1000, "SPECIAL_EXIT", "SE";
    Stopped = 0x1_0000, "STOPPED", "ST";
    Revoked = 0x8_0000, "REVOKED", "RV";
    ResvDelHold = 0x20_0000, "RESV_DEL_HOLD", "RD";
    Signaling = 0x40_0000, "SIGNALING", "SI";
}

impl JobFlag {
    /// The bit Slurm uses.
    pub fn bit(self) -> u32 {
        self as u32
    }
}

/// A base state and its flags, as the one number that crosses the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobStatus(pub u32);

impl JobStatus {
    /// The base state; an unknown number counts as pending.
    pub fn base(self) -> JobState {
        JobState::from_number(self.0 & BASE).unwrap_or_default()
    }

    /// Whether the flag is up.
    pub fn has(self, flag: JobFlag) -> bool {
        self.0 & flag.bit() != 0
    }

    /// The same with one flag more.
    pub fn with(self, flag: JobFlag) -> JobStatus {
        JobStatus(self.0 | flag.bit())
    }

    /// The same without this flag.
    pub fn without(self, flag: JobFlag) -> JobStatus {
        JobStatus(self.0 & !flag.bit())
    }

    /// The flags that are up.
    pub fn flags(self) -> impl Iterator<Item = JobFlag> {
        JobFlag::ALL.iter().copied().filter(move |flag| self.has(*flag))
    }

    /// The one word squeue prints: a flag if there is one, else the base state.
    pub fn name(self) -> &'static str {
        self.flags().next().map_or_else(|| self.base().name(), JobFlag::name)
    }

    /// The one word squeue prints, shortened.
    pub fn compact(self) -> &'static str {
        self.flags().next().map_or_else(|| self.base().compact(), JobFlag::compact)
    }

    /// Base state and all flags, as the `job_state` array of JSON has them.
    pub fn names(self) -> Vec<&'static str> {
        std::iter::once(self.base().name()).chain(self.flags().map(JobFlag::name)).collect()
    }
}

impl From<JobState> for JobStatus {
    fn from(base: JobState) -> JobStatus {
        JobStatus(base.number())
    }
}

/// Reads one state or flag by its long or short name, in any case.
pub fn parse(word: &str) -> Option<JobStatus> {
    let is = |name: &str, compact: &str| {
        word.eq_ignore_ascii_case(name) || word.eq_ignore_ascii_case(compact)
    };
    let state = JobState::ALL.iter().find(|s| is(s.name(), s.compact()));
    let flag = || JobFlag::ALL.iter().find(|f| is(f.name(), f.compact()));
    match state {
        Some(state) => Some(JobStatus::from(*state)),
        None => flag().map(|flag| JobStatus(flag.bit())),
    }
}

/// Which states `squeue -t` lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateFilter {
    /// `-t all`
    All,
    /// The named ones.
    Any(Vec<JobStatus>),
}

impl StateFilter {
    /// Reads the list after `-t`. The error is the word that names no state.
    pub fn parse(list: &str) -> Result<StateFilter, UnknownState> {
        if list.eq_ignore_ascii_case("all") {
            return Ok(StateFilter::All);
        }
        let words = list.split(',').filter(|word| !word.is_empty());
        let states = words.map(|word| parse(word).ok_or_else(|| UnknownState(word.into())));
        states.collect::<Result<_, _>>().map(StateFilter::Any)
    }

    /// What squeue shows when nobody says `-t`.
    pub fn default_for_squeue() -> StateFilter {
        StateFilter::Any(vec![
            JobState::Pending.into(),
            JobState::Running.into(),
            JobState::Suspended.into(),
            JobStatus(JobFlag::Completing.bit()),
            JobStatus(JobFlag::Configuring.bit()),
            JobStatus(JobFlag::Resizing.bit()),
            JobStatus(JobFlag::Requeued.bit()),
            JobStatus(JobFlag::SpecialExit.bit()),
            JobStatus(JobFlag::StageOut.bit()),
            JobStatus(JobFlag::Stopped.bit()),
            JobStatus(JobFlag::Signaling.bit()),
        ])
    }

    /// Whether a job in this state passes. A base state wants a job without flags: `-t CA` leaves
    /// out a cancelled job that is still completing, as squeue does.
    pub fn lets_through(&self, status: JobStatus) -> bool {
        match self {
            StateFilter::All => true,
            StateFilter::Any(wanted) => wanted.iter().any(|wanted| {
                if wanted.0 > BASE { status.0 & wanted.0 != 0 } else { status == *wanted }
            }),
        }
    }
}

/// A word that names no job state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownState(pub String);

impl fmt::Display for UnknownState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invalid job state specified: {}", self.0)
    }
}

impl std::error::Error for UnknownState {}

/// The names squeue lists after refusing a word, in its order.
pub const VALID_STATES: &str = "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,\
NODE_FAIL,PREEMPTED,BOOT_FAIL,DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,\
REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_state() {
        for state in JobState::ALL {
            assert_eq!(JobState::from_number(state.number()), Some(*state));
            assert_eq!(parse(state.name()), Some((*state).into()));
            assert_eq!(parse(&state.compact().to_lowercase()), Some((*state).into()));
        }
        for flag in JobFlag::ALL {
            assert_eq!(parse(flag.name()), Some(JobStatus(flag.bit())));
            assert_eq!(parse(flag.compact()), Some(JobStatus(flag.bit())));
        }
        assert_eq!(parse("PEND"), None);
    }

    #[test]
    fn every_valid_state_is_listed_once() {
        let all = JobState::ALL.len() + JobFlag::ALL.len();
        assert_eq!(VALID_STATES.split(',').filter(|name| parse(name).is_some()).count(), all);
    }

    #[test]
    fn completing_wins_over_the_other_flags_and_the_base() {
        let status = JobStatus::from(JobState::Cancelled)
            .with(JobFlag::Requeued)
            .with(JobFlag::Configuring)
            .with(JobFlag::Completing);
        assert_eq!((status.name(), status.compact()), ("COMPLETING", "CG"));
        assert_eq!(status.base(), JobState::Cancelled);
        assert_eq!(status.names(), ["CANCELLED", "COMPLETING", "CONFIGURING", "REQUEUED"]);
    }

    #[test]
    fn a_special_end_is_found_by_its_flag_only_and_shown_unasked() {
        let special = JobStatus(JobState::Pending.number()).with(JobFlag::SpecialExit);
        let lets = |list: &str| StateFilter::parse(list).unwrap().lets_through(special);
        assert!(lets("SE") && !lets("PD") && !lets("R"));
        assert!(StateFilter::default_for_squeue().lets_through(special));
    }

    #[test]
    fn a_completing_job_is_found_by_its_flag_only() {
        let completing = JobStatus::from(JobState::Cancelled).with(JobFlag::Completing);
        let lets = |list: &str| StateFilter::parse(list).unwrap().lets_through(completing);
        assert!(lets("CG") && lets("all") && lets("pd,completing"));
        assert!(!lets("CA") && !lets("R"));
        assert_eq!(StateFilter::parse("R,BOGUS"), Err(UnknownState("BOGUS".into())));
    }

    #[test]
    fn a_job_that_has_ended_can_only_be_requeued() {
        for ended in JobState::ALL.iter().filter(|state| state.is_ended()) {
            let next = JobState::ALL.iter().filter(|next| ended.may_become(**next));
            assert_eq!(next.collect::<Vec<_>>(), [&JobState::Pending]);
        }
    }
}
