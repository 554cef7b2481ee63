//! What `scancel`'s words and variables ask for.

use spur_core::hostlist;
use spur_core::job::reference::JobReference;
use spur_core::job::{JobState, JobStatus, signal, state};
use spur_core::tools::scancel::TOOL;
use spur_core::views::JobView;

use crate::commands::{Ended, ids, user};
use crate::output::complain;

/// What is asked for.
#[derive(Default)]
pub struct Query {
    /// The jobs as they were named.
    pub named: Vec<(String, JobReference)>,
    pub verbose: bool,
    pub quiet: bool,
    pub interactive: bool,
    pub batch: bool,
    pub full: bool,
    pub signal: Option<u16>,
    pub with_cluster: Option<String>,
    account: Option<String>,
    name: Option<String>,
    nodes: Option<String>,
    partition: Option<String>,
    qos: Option<String>,
    reservation: Option<String>,
    state: Option<JobState>,
    user: Option<(String, u32)>,
    wckey: Option<String>,
}

impl Query {
    /// Reads words and variables.
    pub fn read(args: &[String]) -> Result<Query, Ended> {
        let words = crate::commands::read_tool(&TOOL, args)?;
        let mut query = Query::default();
        let said = |name: &str| words.options.iter().any(|(flag, _)| flag.long == name);
        for (flag, value) in TOOL.read_variables(switched) {
            if !said(flag.long) {
                query.take(flag.long, &value)?;
            }
        }
        for (flag, value) in &words.options {
            query.take(flag.long, value)?;
        }
        for word in words.rest.iter().flat_map(|word| ids(word)) {
            let Some(reference) = JobReference::parse(word) else {
                complain("scancel", format!("Invalid job id {word}"));
                return Err(Ended(1));
            };
            query.named.push((word.to_string(), reference));
        }
        if query.named.is_empty() && !query.is_filtered() {
            complain("scancel", "No job identification provided");
            return Err(Ended(1));
        }
        Ok(query)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), Ended> {
        let word = || Some(value.to_string());
        match name {
            "account" => self.account = word(),
            "batch" => self.batch = true,
            "clusters" => self.with_cluster = word(),
            "full" => self.full = true,
            "interactive" => self.interactive = true,
            "jobname" | "name" => self.name = word(),
            "me" => {
                let me = nix::unistd::getuid();
                self.user = Some((me.to_string(), me.as_raw()));
            }
            "nodelist" => self.nodes = word(),
            "partition" => self.partition = word(),
            "qos" => self.qos = word(),
            "quiet" => self.quiet = true,
            "reservation" => self.reservation = word(),
            "signal" => self.signal = Some(read_signal(value)?),
            "state" => self.state = Some(read_state(value)?),
            "user" => self.user = Some((value.to_string(), read_user(value)?)),
            "verbose" => self.verbose = true,
            "wckey" => self.wckey = word(),
            _ => {}
        }
        Ok(())
    }

    /// Whether jobs are chosen by what they are.
    pub fn is_filtered(&self) -> bool {
        !self.filters().is_empty()
    }

    /// The filters as scancel writes them: `partition=cpu user_name=daemon `.
    pub fn filters(&self) -> String {
        let state = self.state.map(|state| state.name().to_string());
        let user = self.user.as_ref().map(|(name, _)| name.clone());
        let all = [
            ("account", &self.account),
            ("job_name", &self.name),
            ("nodelist", &self.nodes),
            ("partition", &self.partition),
            ("qos", &self.qos),
            ("reservation", &self.reservation),
            ("state", &state),
            ("user_name", &user),
            ("wckey", &self.wckey),
        ];
        let said = |(name, value): (&str, &Option<String>)| {
            value.as_ref().map(|value| format!("{name}={value} "))
        };
        all.into_iter().filter_map(said).collect()
    }

    /// Whether the job passes every filter.
    pub fn fits(&self, job: &JobView) -> bool {
        let is = |wanted: &Option<String>, word: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == word)
        };
        is(&self.account, &job.account)
            && is(&self.name, &job.name)
            && is(&self.partition, &job.partition)
            && is(&self.qos, &job.qos)
            && is(&self.reservation, &job.reservation)
            && is(&self.wckey, &job.wckey)
            && self.state.is_none_or(|state| JobStatus(job.state).base() == state)
            && self.user.as_ref().is_none_or(|(_, uid)| *uid == job.uid)
            && self.nodes.as_ref().is_none_or(|nodes| runs_on(job, nodes))
    }
}

fn runs_on(job: &JobView, nodes: &str) -> bool {
    let wanted = hostlist::expand(nodes).unwrap_or_default();
    !job.nodes.is_empty()
        && hostlist::parse(&job.nodes)
            .is_ok_and(|hosts| hosts.names().any(|name| wanted.contains(&name)))
}

fn read_signal(word: &str) -> Result<u16, Ended> {
    signal::parse(word).map_err(|_| {
        eprintln!("Unknown job signal: {word}");
        Ended(1)
    })
}

fn read_state(word: &str) -> Result<JobState, Ended> {
    let found = state::parse(word).map(JobStatus::base);
    let allowed = [JobState::Pending, JobState::Running, JobState::Suspended];
    found.filter(|state| allowed.contains(state)).ok_or_else(|| {
        eprintln!("Invalid job state specified: {word}");
        eprintln!("Valid job states are PENDING, RUNNING, and SUSPENDED");
        Ended(1)
    })
}

/// Variables that turn something on and off.
const SWITCHES: &[&str] = &[
    "SCANCEL_BATCH",
    "SCANCEL_CRON",
    "SCANCEL_CTLD",
    "SCANCEL_FULL",
    "SCANCEL_HURRY",
    "SCANCEL_INTERACTIVE",
    "SCANCEL_QUIET",
    "SCANCEL_VERBOSE",
];

/// The variable's value; a switch that is off is as good as not there.
fn switched(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    if !SWITCHES.contains(&name) {
        return Some(value);
    }
    match value.to_lowercase().as_str() {
        "t" | "true" => Some(value),
        "f" | "false" => None,
        _ => {
            complain("scancel", format!("Unrecognized {name} value: {value}"));
            None
        }
    }
}

fn read_user(name: &str) -> Result<u32, Ended> {
    let is_known = |uid: &u32| {
        let known = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(*uid));
        !matches!(known, Ok(None))
    };
    user(name).filter(is_known).ok_or_else(|| {
        complain("scancel", format!("Invalid user name: {name}"));
        Ended(1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(words: &[&str]) -> Result<Query, u8> {
        let args: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        Query::read(&args).map_err(|Ended(status)| status)
    }

    #[test]
    fn jobs_are_separated_by_commas_outside_of_brackets() {
        let query = asking(&["12_[1,3],14", "9.0"]).expect("jobs");
        let names: Vec<&str> = query.named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["12_[1,3]", "14", "9.0"]);
        for refused in
            [&["abc"][..], &["7", "8x"], &[""], &[], &["-s", "BOGUS", "7"], &["-t", "CD"]]
        {
            assert_eq!(asking(refused).err(), Some(1), "{refused:?}");
        }
    }

    #[test]
    fn filters_are_told_in_slurms_order() {
        let query = asking(&["-u", "0", "-p", "cpu", "-t", "pd"]).expect("filters");
        assert_eq!(query.filters(), "partition=cpu state=PENDING user_name=0 ");
        let job = JobView { partition: "cpu".into(), ..JobView::default() };
        assert!(query.fits(&job));
        assert!(!query.fits(&JobView { uid: 1, ..job.clone() }));
        assert!(!query.fits(&JobView { state: 1, ..job }));
    }
}
