//! What `sacct` is asked: options, variables, and the time they mean.

use spur_core::fields::accounting::{ACCOUNTING_FIELDS, BRIEF, DEFAULT, LONG};
use spur_core::fields::render::Layout;
use spur_core::fields::{Column, format};
use spur_core::hostlist;
use spur_core::job::JobState;
use spur_core::job::{array, state};
use spur_core::limit::Limit;
use spur_core::time::moment::Toward;
use spur_core::time::{Timestamp, display, duration, moment};
use spur_core::tools::sacct::TOOL;
use spur_core::views::AccountingView;
use spur_proto::slurm::{JobSelector, ListJobHistoryRequest};

use crate::accounting::ALL_CLUSTERS;
use crate::commands::{Notation, VERSION};
use crate::output::{complain, print};
use crate::zone;

/// What is asked for, and how to show it.
pub struct Query {
    pub request: ListJobHistoryRequest,
    pub columns: Vec<Column<AccountingView>>,
    pub layout: Layout,
    pub header: bool,
    /// `--json`, `--yaml`.
    pub notation: Option<Notation>,
    pub no_convert: bool,
    pub unit: Option<char>,
    /// `-T`: the window that times are cut to.
    pub cut: Option<(i64, i64)>,
    /// `-B`, `--env-vars`: texts instead of a table.
    pub texts: Option<Text>,
    /// `-R`: only jobs with one of these reasons.
    pub reasons: Vec<String>,
    /// `-C`: only jobs that asked for all of these.
    pub constraints: Vec<String>,
    /// `-F`: only jobs with one of these flags.
    pub flags: Vec<String>,
    /// `-x`: only jobs of these associations.
    pub associations: Vec<u32>,
    /// `--whole-hetjob`: with a component all of its job, or nothing but it.
    pub whole: Option<bool>,
}

/// A text of a job that is kept if the configuration says so.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Text {
    Script,
    Environment,
}

/// Reads the words; the error is the exit status.
pub fn read(args: &[String]) -> Result<Query, u8> {
    let words = TOOL.read(args).map_err(|message| {
        eprintln!("sacct: {message}");
        1
    })?;
    if !words.rest.is_empty() {
        complain("sacct", "Unknown arguments:");
        words.rest.iter().for_each(|word| complain("sacct", format!(" {word}")));
        return Err(1);
    }
    let mut request = ListJobHistoryRequest::default();
    let mut format = std::env::var("SACCT_FORMAT").unwrap_or_else(|_| DEFAULT.to_string());
    let (mut delimiter, mut parsable, mut asked) = ("|".to_string(), None, false);
    let (mut start, mut end, mut all_users) = (None, None, false);
    let mut query = Query {
        request: ListJobHistoryRequest::default(),
        columns: Vec::new(),
        layout: Layout::Fixed,
        header: true,
        notation: None,
        no_convert: false,
        unit: None,
        cut: None,
        texts: None,
        reasons: Vec::new(),
        constraints: Vec::new(),
        flags: Vec::new(),
        associations: Vec::new(),
        whole: None,
    };
    let mut truncate = false;
    for (flag, value) in &words.options {
        match flag.long {
            "accounts" => request.accounts.extend(list(value)),
            "allclusters" => request.clusters.push(ALL_CLUSTERS.to_string()),
            "allocations" => request.no_steps = true,
            // The later word counts: `-a -u ann` is about ann, `-u ann -a` about all.
            "allusers" => {
                all_users = true;
                request.uids.clear();
                request.user_names.clear();
            }
            "associations" => {
                // What is no number is nobody's.
                query.associations.extend(list(value).map(|id| id.parse().unwrap_or(u32::MAX)));
            }
            "batch-script" => (query.texts, request.texts) = (Some(Text::Script), true),
            "env-vars" => (query.texts, request.texts) = (Some(Text::Environment), true),
            "brief" => format = BRIEF.to_string(),
            "clusters" | "cluster" => request.clusters.extend(list(value)),
            "constraints" => query.constraints.extend(list(value)),
            "delimiter" => delimiter = value.clone(),
            "duplicates" => request.duplicates = true,
            "endtime" => end = Some(time(value)?),
            "starttime" => start = Some(time(value)?),
            "file" if !std::path::Path::new(value).is_file() => {
                eprintln!("{value} is not a valid file");
                return Err(1);
            }
            "flags" => query.flags.extend(flags(value)?),
            "completion" => {
                eprintln!("Slurm job completion is disabled");
                return Err(1);
            }
            // Said again, it adds columns.
            "format" | "fields" if asked => format = format!("{format},{value}"),
            "format" | "fields" => (format, asked) = (value.clone(), true),
            "gid" | "group" => request.gids.extend(groups(value)?),
            "jobs" => request.jobs.extend(jobs(value)?),
            "json" => query.notation = Some(Notation::Json),
            "yaml" => query.notation = Some(Notation::Yaml),
            "long" => format = LONG.to_string(),
            "name" => request.names.extend(list(value)),
            "ncpus" => (request.cpus_min, request.cpus_max) = range(value, "cpu")?,
            "nnodes" => (request.nodes_min, request.nodes_max) = range(value, "node")?,
            "noconvert" => query.no_convert = true,
            "nodelist" => request.nodes.extend(hostlist::expand(value).unwrap_or_default()),
            "noheader" => query.header = false,
            "parsable" => parsable = Some(true),
            "parsable2" => parsable = Some(false),
            "partition" => request.partitions.extend(list(value)),
            "qos" => request.qos.extend(list(value)),
            "reason" => query.reasons.extend(list(value)),
            "state" => request.states.extend(states(value)?),
            "timelimit-min" => request.time_limit_min = minutes(value)?,
            "timelimit-max" => request.time_limit_max = minutes(value)?,
            "truncate" => truncate = true,
            "uid" | "user" => users(value, &mut request)?,
            "units" => query.unit = Some(unit(value)?),
            "wckeys" => request.wckeys.extend(list(value)),
            "whole-hetjob" => query.whole = Some(whole(value)?),
            "version" => return say(&format!("{VERSION}\n")),
            "usage" => return say(&TOOL.summary()),
            "help" => return say(&TOOL.help()),
            "helpformat" => return say(&help_format()),
            _ => {}
        }
    }
    // A lone maximum says nothing.
    if request.time_limit_min.is_none() {
        request.time_limit_max = None;
    } else if request.time_limit_max.is_none() {
        request.time_limit_max = request.time_limit_min;
    }
    if let (Some(text), true) = (&query.texts, request.jobs.is_empty()) {
        let what = if *text == Text::Script { "scripts" } else { "environment" };
        let which = "you must also request specific jobs with the '-j' option.";
        return die(format!("When requesting job {what} {which}"));
    }
    let me = nix::unistd::getuid();
    let says_who = !request.uids.is_empty() || !request.user_names.is_empty();
    let says_what = !request.jobs.is_empty() || !request.accounts.is_empty();
    if !all_users && !says_who && !says_what && !me.is_root() {
        request.uids.push(me.as_raw());
    }
    (request.start, request.end) = window(&request, start, end);
    if request.end > 0 && request.start > request.end {
        let show = |at: i64| display::moment(Timestamp(at), &zone::Local);
        return refuse(format!(
            "Start time ({}) requested is after end time ({}).",
            show(request.start),
            show(request.end)
        ));
    }
    query.cut = truncate.then_some((request.start, request.end));
    query.layout = match parsable {
        Some(ends) => Layout::Parsable { delimiter, ends },
        None => Layout::Fixed,
    };
    query.columns = columns(&format)?;
    query.request = request;
    Ok(query)
}

/// Columns of old, and what has taken their place.
const REMOVED: &[(&str, &str)] = &[("AllocGRES", "AllocTRES"), ("ReqGRES", "ReqTRES")];

fn columns(format: &str) -> Result<Vec<Column<AccountingView>>, u8> {
    let everything = || {
        let names = ACCOUNTING_FIELDS.iter().map(|field| field.name);
        names.collect::<Vec<_>>().join(",")
    };
    let expanded: Vec<String> = format
        .split(',')
        .map(|word| match word.eq_ignore_ascii_case("all") {
            true => everything(),
            false => word.to_string(),
        })
        .collect();
    let is = |word: &str, name: &str| {
        word.split('%').next().is_some_and(|said| said.eq_ignore_ascii_case(name))
    };
    for (name, now) in REMOVED {
        if expanded.iter().flat_map(|words| words.split(',')).any(|word| is(word, name)) {
            return die(format!("{name} has been removed, please use {now}"));
        }
    }
    format::accounting(ACCOUNTING_FIELDS, &expanded.join(",")).map_err(|unknown| {
        complain("sacct", format!("Invalid field requested: \"{unknown}\""));
        1
    })
}

/// The default window: today; the present for those who ask for states; all time for those who name jobs.
fn window(
    request: &ListJobHistoryRequest,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
) -> (i64, i64) {
    let now = zone::now();
    let by_number = !request.jobs.is_empty();
    let today = || {
        moment::parse("00:00:00", Toward::Past, now, &zone::Local)
            .unwrap_or(Timestamp(now.0 - now.0.rem_euclid(86_400)))
    };
    let said_start = start;
    let start = match start {
        Some(start) => start.0,
        None if by_number => 0,
        None if !request.states.is_empty() => end.unwrap_or(now).0,
        None => today().0,
    };
    let end = match end {
        Some(end) => end.0,
        None if by_number && request.states.is_empty() => 0,
        // Who asks for states asks about a moment, unless there is an end.
        None if !request.states.is_empty() => said_start.unwrap_or(now).0,
        None => now.0,
    };
    (start, end)
}

fn say<T>(text: &str) -> Result<T, u8> {
    print(text);
    Err(0)
}

fn refuse<T>(message: String) -> Result<T, u8> {
    complain("sacct", message);
    Err(1)
}

fn die<T>(message: String) -> Result<T, u8> {
    eprintln!("sacct: fatal: {message}");
    Err(1)
}

/// Flags of jobs, as `-F` names them.
const JOB_FLAGS: &[&str] =
    &["None", "SchedSubmit", "SchedMain", "SchedBackfill", "StartReceived", "JobAltered"];

fn flags(value: &str) -> Result<Vec<String>, u8> {
    let words: Vec<String> = list(value).collect();
    let known = |word: &&String| !JOB_FLAGS.iter().any(|flag| flag.eq_ignore_ascii_case(word));
    match words.iter().find(known) {
        Some(word) => refuse(format!("str_2_job_flags: Invalid job flag {word}")),
        None => Ok(words),
    }
}

fn list(value: &str) -> impl Iterator<Item = String> + '_ {
    value.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_string)
}

fn time(value: &str) -> Result<Timestamp, u8> {
    match moment::parse(value, Toward::Past, zone::now(), &zone::Local) {
        Ok(at) => Ok(at),
        Err(error @ moment::Error::Malformed { .. }) => {
            eprintln!("{error}");
            Err(1)
        }
        Err(_) => {
            eprintln!("Invalid time specification (pos=0): {value}");
            Err(1)
        }
    }
}

fn minutes(value: &str) -> Result<Option<u32>, u8> {
    match duration::parse_limit(value) {
        Ok(Limit::Is(minutes)) => Ok(Some(u32::try_from(minutes).unwrap_or(u32::MAX))),
        Ok(Limit::Unlimited) => Ok(None),
        Err(_) => die("Invalid time limit specification".to_string()),
    }
}

fn unit(value: &str) -> Result<char, u8> {
    // The first letter counts.
    let said = value.chars().next().unwrap_or_default();
    match said.to_ascii_uppercase() {
        unit @ ('K' | 'M' | 'G' | 'T' | 'P') => Ok(unit),
        _ => {
            complain("sacct", format!("Invalid unit type '{said}'. Possible options are 'KMGTP'"));
            die("Invalid unit type".to_string())
        }
    }
}

fn range(value: &str, of: &str) -> Result<(Option<u32>, Option<u32>), u8> {
    let (low, high) = match value.split_once('-') {
        Some((low, high)) => (low, Some(high)),
        None => (value, None),
    };
    let number = |text: &str| text.trim().parse::<u32>().ok();
    match (number(low), high.map(number)) {
        (Some(low), None) => Ok((Some(low), Some(low))),
        (Some(low), Some(Some(high))) => Ok((Some(low), Some(high))),
        _ => refuse(format!("Invalid numeric value \"{value}\" for requested {of} range.")),
    }
}

fn states(value: &str) -> Result<Vec<u32>, u8> {
    let mut numbers = Vec::new();
    for word in list(value) {
        if word.eq_ignore_ascii_case("all") {
            numbers.extend(JobState::ALL.iter().map(|state| state.number()));
            continue;
        }
        match state::parse(&word) {
            Some(status) => numbers.push(status.0),
            None => return die(format!("unrecognized job state value '{word}'")),
        }
    }
    Ok(numbers)
}

fn users(value: &str, request: &mut ListJobHistoryRequest) -> Result<(), u8> {
    for word in list(value) {
        if let Ok(uid) = word.parse() {
            request.uids.push(uid);
            continue;
        }
        match nix::unistd::User::from_name(&word) {
            Ok(Some(user)) => request.uids.push(user.uid.as_raw()),
            _ => return refuse(format!("Invalid user id: {word}")),
        }
    }
    Ok(())
}

fn groups(value: &str) -> Result<Vec<u32>, u8> {
    let mut numbers = Vec::new();
    for word in list(value) {
        let found = word.parse().ok().or_else(|| {
            nix::unistd::Group::from_name(&word).ok().flatten().map(|group| group.gid.as_raw())
        });
        match found {
            Some(gid) => numbers.push(gid),
            None => return refuse(format!("Invalid group id: {word}")),
        }
    }
    Ok(numbers)
}

fn whole(value: &str) -> Result<bool, u8> {
    match value.to_ascii_lowercase().as_str() {
        "" | "yes" => Ok(true),
        "no" => Ok(false),
        _ => refuse(format!("Invalid --whole-hetjob value \"{value}\". Valid values: [yes|no].")),
    }
}

fn jobs(value: &str) -> Result<Vec<JobSelector>, u8> {
    selectors("sacct", value)
}

/// The jobs of a list, as a program was told them.
pub fn selectors(program: &str, value: &str) -> Result<Vec<JobSelector>, u8> {
    let words = crate::commands::ids(value).into_iter().map(str::trim);
    let words = words.filter(|word| !word.is_empty());
    let found = words.map(|word| job(program, word)).collect::<Result<Vec<_>, u8>>();
    Ok(found?.into_iter().flatten().collect())
}

/// The most tasks an array has.
const LARGEST_ARRAY: u32 = 100_001;

/// `5`, `5.0`, `5.batch`, `9_1`, `9_[1-3]`, `27+1`.
fn job(program: &str, word: &str) -> Result<Vec<JobSelector>, u8> {
    let bad = || {
        eprintln!("{program}: fatal: Bad job/step specified: {word}");
        1
    };
    let (job, step) = word.split_once('.').unwrap_or((word, ""));
    let is_step = |step: &str| {
        let named = ["", "batch", "extern", "interactive", "TBD", "tbd"].contains(&step);
        named || step.split('+').all(|part| part.parse::<u32>().is_ok())
    };
    if !is_step(step) {
        eprintln!("{program}: fatal: Bad step specified: {job}");
        return Err(1);
    }
    let mut selector = JobSelector { step: step.to_string(), ..JobSelector::default() };
    let mut tasks = None;
    let number = if let Some((array, task)) = job.split_once('_') {
        let inside = task.strip_prefix('[').and_then(|task| task.strip_suffix(']'));
        let listed = array::parse(inside.unwrap_or(task), LARGEST_ARRAY).ok().flatten();
        let listed = listed.ok_or_else(|| {
            eprintln!("{program}: fatal: Bad job array element specified: {job}");
            1
        })?;
        tasks = Some(listed);
        array
    } else if let Some((het, offset)) = job.split_once('+') {
        selector.het_offset = Some(offset.parse().map_err(|_| bad())?);
        het
    } else {
        job
    };
    selector.job_id = number.parse().map_err(|_| bad())?;
    let Some(tasks) = tasks else { return Ok(vec![selector]) };
    let of = |task| JobSelector { array_task_id: Some(task), ..selector.clone() };
    Ok(tasks.ids().map(of).collect())
}

/// Asks for all components of the jobs that were found, and says whether that is more.
pub fn whole_jobs(request: &mut ListJobHistoryRequest, found: &[AccountingView]) -> bool {
    let had = request.jobs.len();
    for leader in found.iter().map(|job| job.het_job_id).filter(|id| *id > 0) {
        let is_asked = |it: &JobSelector| it.job_id == leader && it.het_offset.is_none();
        if !request.jobs.iter().any(is_asked) {
            request.jobs.push(JobSelector { job_id: leader, ..JobSelector::default() });
        }
    }
    request.jobs.len() > had
}

/// Four names a line, as wide as the longest.
fn help_format() -> String {
    let mut text = String::new();
    for (place, field) in ACCOUNTING_FIELDS.iter().enumerate() {
        let end = if place % 4 == 3 { "\n" } else { " " };
        text.push_str(&format!("{:<19}{end}", field.name));
    }
    text.trim_end_matches(['\n', ' ']).to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_are_asked_for_again_are_added() {
        let words = ["-o", "jobid", "--format=state,exitcode"].map(str::to_string);
        let Ok(query) = read(&words) else { panic!("is understood") };
        let names: Vec<&str> =
            query.columns.iter().filter_map(|column| Some(column.field?.name)).collect();
        assert_eq!(names, ["JobID", "State", "ExitCode"]);
    }
}
