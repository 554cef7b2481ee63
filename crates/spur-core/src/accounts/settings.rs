//! What can be set of an association or a QOS: a row each, found by its name or the beginning of it.

use crate::accounts::allowed;
use crate::limit::Limit;
use crate::time::duration;
use crate::tres::{self, Amounts};
use crate::views::{AssociationView, QosView};

/// How a word sets: `name=value`, `name+=value`, `name-=value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Set,
    Add,
    Remove,
}

/// Something that can be set.
pub struct Setting<Row: 'static> {
    /// Its names; the first is what an error calls it.
    pub names: &'static [&'static str],
    /// How an addition tells it, as wide as Slurm writes it.
    pub label: &'static str,
    /// Sets it.
    pub set: fn(&mut Row, Change, &str) -> Result<(), Fault>,
    /// The value as it stands.
    pub told: fn(&Row) -> String,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No number.
    Number,
    /// No time.
    Time,
    /// A list of resources that Slurm would refuse, in its words.
    Tres(String),
    /// No flag of QOS.
    Flag,
    /// No way to preempt.
    PreemptMode,
}

impl<Row> Setting<Row> {
    /// Whether its values are amounts of resources by name.
    pub fn counts(&self) -> bool {
        self.names[0].contains("TRES")
    }

    /// The lines that refuse a value; `said` is the word as it was written.
    pub fn refusal(&self, fault: &Fault, said: &str, value: &str) -> String {
        match fault {
            Fault::Number => {
                format!("sacctmgr: error: Invalid value for {} ({value})", self.names[0])
            }
            Fault::Time => format!(" Bad {} time format: {said}", self.label.trim_end()),
            Fault::Tres(why) => format!("sacctmgr: error: {why}"),
            Fault::PreemptMode => format!(" Bad Preempt Mode given: {said}"),
            Fault::Flag => format!(
                " Unknown QOS flag used in:\n  '{value}'\n Valid QOS flags are\n  '{}'",
                QOS_FLAGS.join(",")
            ),
        }
    }
}

/// The flags of QOS, in the order they are told in.
pub const QOS_FLAGS: &[&str] = &[
    "DenyOnLimit",
    "EnforceUsageThreshold",
    "NoReserve",
    "PartitionMaxNodes",
    "PartitionMinNodes",
    "OverPartQOS",
    "PartitionTimeLimit",
    "RequiresReservation",
    "NoDecay",
    "UsageFactorSafe",
    "Relative",
];

/// The lines of an addition's settings: those that were named, in the order of the table.
pub fn told<Row>(
    table: &'static [Setting<Row>],
    row: &Row,
    named: impl Fn(&Setting<Row>) -> bool,
) -> Vec<(&'static str, String)> {
    let labels: Vec<&str> = table.iter().filter(|one| named(one)).map(|one| one.label).collect();
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    for one in table.iter().filter(|one| labels.contains(&one.label)) {
        if !lines.iter().any(|(label, _)| *label == one.label) {
            lines.push((one.label, (one.told)(row)));
        }
    }
    lines
}

/// The setting of this name, in any case, or the first that begins with it.
pub fn find<Row>(settings: &'static [Setting<Row>], name: &str) -> Option<&'static Setting<Row>> {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    let begins = |known: &&str| {
        name.len() >= SHORTEST
            && known.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let whole = settings.iter().find(|setting| setting.names.iter().any(&is));
    whole.or_else(|| settings.iter().find(|setting| setting.names.iter().any(&begins)))
}

/// Fewer letters name nothing.
const SHORTEST: usize = 3;

macro_rules! settings {
    ($name:ident: $row:ty; $($label:literal: $($alias:literal)|+ => $read:ident $member:ident;)*) => {
        /// Every setting, in the order that additions are told in.
        pub static $name: &[Setting<$row>] = &[
            $(Setting {
                names: &[$($alias),+],
                label: $label,
                set: |row, change, value| $read(&mut row.$member, change, value),
                told: |row| tell::$read(&row.$member),
            },)*
        ];
    };
}

#[rustfmt::skip]
settings! {
    ASSOCIATION: AssociationView;
    "Fairshare     ": "FairShare" | "Shares" => shares shares;
    "GrpJobs       ": "GrpJobs" => limit grp_jobs;
    "GrpJobsAccrue            ": "GrpJobsAccrue" => limit grp_jobs_accrue;
    "GrpSubmitJobs ": "GrpSubmitJobs" => limit grp_submit;
    "GrpTRES       ": "GrpTRES" => amounts grp_tres;
    "GrpTRES       ": "GrpCPUs" => cpus grp_tres;
    "GrpTRES       ": "GrpNodes" => nodes grp_tres;
    "GrpTRES       ": "GrpMemory" => memory grp_tres;
    "GrpTRESMins   ": "GrpTRESMins" => amounts grp_tres_mins;
    "GrpTRESMins   ": "GrpCPUMins" => cpus grp_tres_mins;
    "GrpTRESRunMins": "GrpTRESRunMins" => amounts grp_tres_run_mins;
    "GrpTRESRunMins": "GrpCPURunMins" => cpus grp_tres_run_mins;
    "GrpWall       ": "GrpWall" => minutes grp_wall;
    "MaxJobs       ": "MaxJobs" => limit max_jobs;
    "MaxJobsPrioAcc": "MaxJobsAccrue" => limit max_jobs_accrue;
    "MaxSubmitJobs ": "MaxSubmitJobs" => limit max_submit;
    "MaxTRES       ": "MaxTRESPerJob" | "MaxTRES" => amounts max_tres_per_job;
    "MaxTRES       ": "MaxCPUsPerJob" | "MaxCPUs" => cpus max_tres_per_job;
    "MaxTRES       ": "MaxNodesPerJob" | "MaxNodes" => nodes max_tres_per_job;
    "MaxTRESPerNode": "MaxTRESPerNode" => amounts max_tres_per_node;
    "MaxTRESMins   ": "MaxTRESMinsPerJob" | "MaxTRESMins" => amounts max_tres_mins_per_job;
    "MaxTRESMins   ": "MaxCPUMinsPerJob" | "MaxCPUMins" => cpus max_tres_mins_per_job;
    "MaxWall       ": "MaxWallDurationPerJob" | "MaxWall" => minutes max_wall;
    "MinPrioThresh ": "MinPrioThreshold" => threshold min_priority_threshold;
    "Priority      ": "Priority" => threshold priority;
    "QOS           ": "QosLevel" | "QOS" => allowed qos;
    "DefQOS        ": "DefaultQOS" => word default_qos;
    "Comment       ": "Comment" => word comment;
}

#[rustfmt::skip]
settings! {
    QOS: QosView;
    "Description    ": "Description" => word description;
    "Flags                    ": "Flags" => flags flags;
    "GraceTime                ": "GraceTime" => count grace_secs;
    "GrpJobs                  ": "GrpJobs" => limit grp_jobs;
    "GrpJobsAccrue            ": "GrpJobsAccrue" => limit grp_jobs_accrue;
    "GrpSubmitJobs            ": "GrpSubmitJobs" => limit grp_submit;
    "GrpTRES                  ": "GrpTRES" => amounts grp_tres;
    "GrpTRES                  ": "GrpCPUs" => cpus grp_tres;
    "GrpTRES                  ": "GrpNodes" => nodes grp_tres;
    "GrpTRESMins              ": "GrpTRESMins" => amounts grp_tres_mins;
    "GrpTRESMins              ": "GrpCPUMins" => cpus grp_tres_mins;
    "GrpTRESRunMins           ": "GrpTRESRunMins" => amounts grp_tres_run_mins;
    "GrpTRESRunMins           ": "GrpCPURunMins" => cpus grp_tres_run_mins;
    "GrpWall                  ": "GrpWall" => minutes grp_wall;
    "MaxJobsAccruePerAccount  ": "MaxJobsAccruePerAccount" | "MaxJobsAccruePA" => limit max_jobs_accrue_per_account;
    "MaxJobsAccruePerUser     ": "MaxJobsAccruePerUser" | "MaxJobsAccruePU" => limit max_jobs_accrue_per_user;
    "MaxJobsPerAccount        ": "MaxJobsPerAccount" | "MaxJobsPA" => limit max_jobs_per_account;
    "MaxJobsPerUser ": "MaxJobsPerUser" | "MaxJobsPU" => limit max_jobs_per_user;
    "MaxSubmitJobsPerAccount  ": "MaxSubmitJobsPerAccount" | "MaxSubmitJobsPA" => limit max_submit_per_account;
    "MaxSubmitJobsPerUser     ": "MaxSubmitJobsPerUser" | "MaxSubmitJobsPU" => limit max_submit_per_user;
    "MaxTRESPerAccount        ": "MaxTRESPerAccount" | "MaxTRESPA" => amounts max_tres_per_account;
    "MaxTRESPerJob            ": "MaxTRESPerJob" | "MaxTRES" => amounts max_tres_per_job;
    "MaxTRESPerJob            ": "MaxCPUsPerJob" | "MaxCPUs" => cpus max_tres_per_job;
    "MaxTRESPerJob            ": "MaxNodesPerJob" | "MaxNodes" => nodes max_tres_per_job;
    "MaxTRESPerNode           ": "MaxTRESPerNode" => amounts max_tres_per_node;
    "MaxTRESPerUser           ": "MaxTRESPerUser" | "MaxTRESPU" => amounts max_tres_per_user;
    "MaxTRESPerUser           ": "MaxCPUsPerUser" => cpus max_tres_per_user;
    "MaxTRESPerUser           ": "MaxNodesPerUser" => nodes max_tres_per_user;
    "MinPrioThresh            ": "MinPrioThreshold" => threshold min_priority_threshold;
    "MinTRESPerJob            ": "MinTRESPerJob" | "MinTRES" => amounts min_tres_per_job;
    "MinTRESPerJob            ": "MinCPUs" => cpus min_tres_per_job;
    "MinTRESPerJob            ": "MinNodes" => nodes min_tres_per_job;
    "MaxTRESMins              ": "MaxTRESMinsPerJob" | "MaxTRESMins" => amounts max_tres_mins_per_job;
    "MaxTRESMins              ": "MaxCPUMinsPerJob" | "MaxCPUMins" => cpus max_tres_mins_per_job;
    "MaxTRESRUNMinsPerAccount ": "MaxTRESRunMinsPerAccount" | "MaxTRESRunMinsPA" => amounts max_tres_run_mins_per_account;
    "MaxTRESRUNMinsPerUser    ": "MaxTRESRunMinsPerUser" | "MaxTRESRunMinsPU" => amounts max_tres_run_mins_per_user;
    "MaxWall                  ": "MaxWallDurationPerJob" | "MaxWall" => minutes max_wall;
    "Preempt                  ": "Preempt" => words preempt;
    "PreemptMode              ": "PreemptMode" => preempt_mode preempt_mode;
    "PreemptExemptTime        ": "PreemptExemptTime" => exempt preempt_exempt_secs;
    "Priority                 ": "Priority" => count priority;
    "UsageFactor              ": "UsageFactor" => factor usage_factor;
    "UsageThreshold           ": "UsageThreshold" => maybe_factor usage_threshold;
    "LimitFactor              ": "LimitFactor" => maybe_factor limit_factor;
}

/// How values are told.
mod tell {
    use super::*;

    pub fn limit(value: &Option<Limit>) -> String {
        value.and_then(Limit::number).map_or_else(|| "NONE".to_string(), |it| it.to_string())
    }

    pub fn threshold(value: &Option<u32>) -> String {
        value.map_or_else(|| "NONE".to_string(), |it| it.to_string())
    }

    pub fn count(value: &u32) -> String {
        value.to_string()
    }

    pub fn shares(value: &u32) -> String {
        if *value == SHARES_FROM_PARENT { "parent".to_string() } else { value.to_string() }
    }

    pub fn minutes(value: &Option<Limit>) -> String {
        match value.and_then(Limit::number) {
            Some(minutes) => span(minutes.saturating_mul(60)),
            None => "NONE".to_string(),
        }
    }

    pub fn exempt(value: &Option<u32>) -> String {
        value.map_or_else(|| "NONE".to_string(), |seconds| span(seconds.into()))
    }

    fn span(seconds: u64) -> String {
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        let clock = format!("{:02}:{:02}:{:02}", rest / 3600, rest % 3600 / 60, rest % 60);
        if days > 0 { format!("{days}-{clock}") } else { clock }
    }

    pub fn factor(value: &f64) -> String {
        format!("{value:.4}")
    }

    pub fn maybe_factor(value: &Option<f64>) -> String {
        value.map_or_else(|| "NONE".to_string(), |it| format!("{it:.4}"))
    }

    pub fn word(value: &str) -> String {
        value.to_string()
    }

    pub fn preempt_mode(value: &str) -> String {
        value.to_uppercase()
    }

    pub fn words(value: &[String]) -> String {
        value.join(",")
    }

    pub use {words as allowed, words as flags};

    pub fn amounts(value: &str) -> String {
        value.to_string()
    }

    pub use {amounts as cpus, amounts as memory, amounts as nodes};
}

fn number(value: &str) -> Result<i64, Fault> {
    value.trim().parse::<i64>().map_err(|_| Fault::Number)
}

/// `-1` takes a limit away.
fn limit(place: &mut Option<Limit>, _: Change, value: &str) -> Result<(), Fault> {
    *place = u64::try_from(number(value)?).ok().map(Limit::Is);
    Ok(())
}

fn threshold(place: &mut Option<u32>, _: Change, value: &str) -> Result<(), Fault> {
    *place = u32::try_from(number(value)?).ok();
    Ok(())
}

fn count(place: &mut u32, _: Change, value: &str) -> Result<(), Fault> {
    *place = u32::try_from(number(value)?).unwrap_or(0);
    Ok(())
}

/// `parent` is Slurm's largest number but one.
fn shares(place: &mut u32, _: Change, value: &str) -> Result<(), Fault> {
    if value.eq_ignore_ascii_case("parent") {
        *place = SHARES_FROM_PARENT;
        return Ok(());
    }
    *place = u32::try_from(number(value)?).unwrap_or(1);
    Ok(())
}

/// What `Fairshare=parent` is kept as.
pub const SHARES_FROM_PARENT: u32 = 0x7fff_ffff;

fn minutes(place: &mut Option<Limit>, _: Change, value: &str) -> Result<(), Fault> {
    *place = match value.trim() {
        "-1" => None,
        // No time at all, where a job's own limit of nothing is none.
        "0" => Some(Limit::Is(0)),
        value => match duration::parse_limit(value).map_err(|_| Fault::Time)? {
            Limit::Unlimited => None,
            limit => Some(limit),
        },
    };
    Ok(())
}

/// A bare number is minutes.
fn exempt(place: &mut Option<u32>, _: Change, value: &str) -> Result<(), Fault> {
    *place = match value.trim() {
        "-1" => None,
        value => {
            let seconds = duration::parse_seconds(value).map_err(|_| Fault::Time)?.number();
            seconds.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX))
        }
    };
    Ok(())
}

fn factor(place: &mut f64, _: Change, value: &str) -> Result<(), Fault> {
    let said: f64 = value.trim().parse().map_err(|_| Fault::Number)?;
    // Less than nothing takes back what was said: minutes count as they are.
    *place = if said < 0.0 { 1.0 } else { said };
    Ok(())
}

fn maybe_factor(place: &mut Option<f64>, _: Change, value: &str) -> Result<(), Fault> {
    let said: f64 = value.trim().parse().map_err(|_| Fault::Number)?;
    *place = (said >= 0.0).then_some(said);
    Ok(())
}

fn word(place: &mut String, _: Change, value: &str) -> Result<(), Fault> {
    *place = if value == "-1" { String::new() } else { value.to_string() };
    Ok(())
}

fn preempt_mode(place: &mut String, _: Change, value: &str) -> Result<(), Fault> {
    let said = value.to_lowercase();
    let known = ["cluster", "cancel", "gang", "off", "requeue", "suspend", "within"];
    if !said.split(',').all(|word| known.contains(&word)) {
        return Err(Fault::PreemptMode);
    }
    *place = said;
    Ok(())
}

fn flags(place: &mut Vec<String>, change: Change, value: &str) -> Result<(), Fault> {
    if value == "-1" {
        place.clear();
        return Ok(());
    }
    let mut said = Vec::new();
    for word in value.split(',').filter(|word| !word.is_empty()) {
        let known = QOS_FLAGS.iter().find(|flag| flag.eq_ignore_ascii_case(word));
        said.push(*known.ok_or(Fault::Flag)?);
    }
    let had = |flag: &str| place.iter().any(|one| one == flag);
    let stays = |flag: &&&str| match change {
        Change::Set => said.contains(flag),
        Change::Add => had(flag) || said.contains(flag),
        Change::Remove => had(flag) && !said.contains(flag),
    };
    let flags = QOS_FLAGS.iter().filter(stays).map(|flag| (*flag).to_string()).collect();
    *place = flags;
    Ok(())
}

fn words(place: &mut Vec<String>, change: Change, value: &str) -> Result<(), Fault> {
    let said = value.split(',').map(str::trim).filter(|word| !word.is_empty());
    let said: Vec<String> = said.map(str::to_string).collect();
    match change {
        Change::Set => *place = said,
        Change::Add => place.extend(said),
        Change::Remove => {
            place.retain(|word| !said.iter().any(|one| one.eq_ignore_ascii_case(word)))
        }
    }
    place.sort();
    place.dedup();
    Ok(())
}

fn allowed(place: &mut Vec<String>, change: Change, value: &str) -> Result<(), Fault> {
    let said = value.split(',').map(|word| word.trim().to_lowercase());
    let said: Vec<String> = said.filter(|word| !word.is_empty()).collect();
    allowed::change(place, change, &said);
    Ok(())
}

/// Sets what is named and leaves the rest; `-1` takes a limit away, nothing at all takes all away.
fn amounts(place: &mut String, _: Change, value: &str) -> Result<(), Fault> {
    let mut merged: Amounts = tres::read(place);
    let said = tres::parse(value).map_err(|error| Fault::Tres(error.logged()))?;
    if value.trim().is_empty() {
        merged.clear();
    }
    for (tres, amount) in said {
        match amount {
            Some(_) => merged.insert(tres, amount),
            None => merged.remove(&tres),
        };
    }
    // By name, as Slurm tells limits.
    let mut parts: Vec<String> =
        tres::display(&merged).split(',').filter(|it| !it.is_empty()).map(str::to_string).collect();
    parts.sort();
    *place = parts.join(",");
    Ok(())
}

fn cpus(place: &mut String, change: Change, value: &str) -> Result<(), Fault> {
    amounts(place, change, &format!("cpu={}", number(value)?))
}

fn nodes(place: &mut String, change: Change, value: &str) -> Result<(), Fault> {
    amounts(place, change, &format!("node={}", number(value)?))
}

fn memory(place: &mut String, change: Change, value: &str) -> Result<(), Fault> {
    amounts(place, change, &format!("mem={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_set_one_by_one_and_taken_away_by_minus_one() {
        let mut row = AssociationView::default();
        let mut set = |value| {
            let setting = find(ASSOCIATION, "grptres").unwrap();
            (setting.set)(&mut row, Change::Set, value).unwrap();
            row.grp_tres.clone()
        };
        assert_eq!(set("cpu=4"), "cpu=4");
        assert_eq!(set("gres/gpu=2"), "cpu=4,gres/gpu=2");
        assert_eq!(set("gres/gpu:mi300x=1"), "cpu=4,gres/gpu:mi300x=1,gres/gpu=2");
        assert_eq!(set("cpu=-1"), "gres/gpu:mi300x=1,gres/gpu=2");
    }

    #[test]
    fn flags_are_known_in_any_case_and_told_in_their_order() {
        let mut row = QosView::default();
        let set = find(QOS, "flags").unwrap().set;
        set(&mut row, Change::Set, "noreserve,DENYONLIMIT").unwrap();
        assert_eq!(row.flags.join(","), "DenyOnLimit,NoReserve");
        set(&mut row, Change::Remove, "DenyOnLimit").unwrap();
        set(&mut row, Change::Add, "NoDecay").unwrap();
        assert_eq!(row.flags.join(","), "NoReserve,NoDecay");
        assert_eq!(set(&mut row, Change::Set, "Bogus"), Err(Fault::Flag));
    }

    #[test]
    fn a_name_may_be_shortened_and_the_whole_one_wins() {
        assert_eq!(find(ASSOCIATION, "maxj").unwrap().names[0], "MaxJobs");
        assert_eq!(find(ASSOCIATION, "MAXTRES").unwrap().names[0], "MaxTRESPerJob");
        assert_eq!(find(QOS, "MaxJobsPU").unwrap().names[0], "MaxJobsPerUser");
        assert!(find(QOS, "nonsense").is_none());
        assert!(find(QOS, "m").is_none());
    }

    #[test]
    fn lists_grow_and_shrink() {
        let mut row = AssociationView::default();
        let mut set = |change, value| {
            (find(ASSOCIATION, "qos").unwrap().set)(&mut row, change, value).unwrap();
            row.qos.join(",")
        };
        assert_eq!(set(Change::Set, "normal"), "normal");
        assert_eq!(set(Change::Add, "high,low"), "high,low,normal");
        assert_eq!(set(Change::Remove, "low"), "high,normal");
        assert_eq!(set(Change::Set, "-high"), "normal");
    }
}
