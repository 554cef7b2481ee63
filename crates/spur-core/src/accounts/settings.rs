//! What can be set of an association or a QOS: a row each, found by its name or the beginning of it.

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
    /// Its names; the first is how it is shown again.
    pub names: &'static [&'static str],
    /// Sets it; the error says what is wrong with the value.
    pub set: fn(&mut Row, Change, &str) -> Result<(), String>,
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
    ($name:ident: $row:ty; $($($alias:literal)|+ => $read:ident $member:ident;)*) => {
        /// Every setting.
        pub static $name: &[Setting<$row>] = &[
            $(Setting {
                names: &[$($alias),+],
                set: |row, change, value| $read(&mut row.$member, change, value),
            },)*
        ];
    };
}

settings! {
    ASSOCIATION: AssociationView;
    "Fairshare" | "Shares" => shares shares;
    "GrpJobs" => limit grp_jobs;
    "GrpJobsAccrue" => limit grp_jobs_accrue;
    "GrpSubmitJobs" => limit grp_submit;
    "GrpTRES" => amounts grp_tres;
    "GrpTRESMins" => amounts grp_tres_mins;
    "GrpTRESRunMins" => amounts grp_tres_run_mins;
    "GrpWall" => minutes grp_wall;
    "GrpCPUs" => cpus grp_tres;
    "GrpNodes" => nodes grp_tres;
    "GrpMemory" => memory grp_tres;
    "MaxJobs" => limit max_jobs;
    "MaxJobsAccrue" => limit max_jobs_accrue;
    "MaxSubmitJobs" => limit max_submit;
    "MaxTRESPerJob" | "MaxTRES" => amounts max_tres_per_job;
    "MaxTRESPerNode" => amounts max_tres_per_node;
    "MaxTRESMinsPerJob" | "MaxTRESMins" => amounts max_tres_mins_per_job;
    "MaxWallDurationPerJob" | "MaxWall" => minutes max_wall;
    "MaxCPUsPerJob" | "MaxCPUs" => cpus max_tres_per_job;
    "MaxNodesPerJob" | "MaxNodes" => nodes max_tres_per_job;
    "MaxCPUMinsPerJob" => cpus max_tres_mins_per_job;
    "MinPrioThreshold" => threshold min_priority_threshold;
    "Priority" => threshold priority;
    "DefaultQOS" => word default_qos;
    "QosLevel" | "QOS" => words qos;
    "Comment" => word comment;
}

settings! {
    QOS: QosView;
    "Description" => word description;
    "Priority" => count priority;
    "Flags" => words flags;
    "GraceTime" => seconds grace_secs;
    "Preempt" => words preempt;
    "PreemptMode" => lower preempt_mode;
    "PreemptExemptTime" => exempt preempt_exempt_secs;
    "UsageFactor" => factor usage_factor;
    "UsageThreshold" => maybe_factor usage_threshold;
    "LimitFactor" => maybe_factor limit_factor;
    "GrpJobs" => limit grp_jobs;
    "GrpJobsAccrue" => limit grp_jobs_accrue;
    "GrpSubmitJobs" => limit grp_submit;
    "GrpTRES" => amounts grp_tres;
    "GrpTRESMins" => amounts grp_tres_mins;
    "GrpTRESRunMins" => amounts grp_tres_run_mins;
    "GrpWall" => minutes grp_wall;
    "GrpCPUs" => cpus grp_tres;
    "GrpNodes" => nodes grp_tres;
    "MaxTRESPerJob" | "MaxTRES" => amounts max_tres_per_job;
    "MaxTRESPerNode" => amounts max_tres_per_node;
    "MaxTRESMinsPerJob" | "MaxTRESMins" => amounts max_tres_mins_per_job;
    "MaxWallDurationPerJob" | "MaxWall" => minutes max_wall;
    "MaxTRESPerUser" | "MaxTRESPU" => amounts max_tres_per_user;
    "MaxJobsPerUser" | "MaxJobsPU" => limit max_jobs_per_user;
    "MaxJobsAccruePerUser" | "MaxJobsAccruePU" => limit max_jobs_accrue_per_user;
    "MaxSubmitJobsPerUser" | "MaxSubmitJobsPU" | "MaxSubmitPU" => limit max_submit_per_user;
    "MaxTRESRunMinsPerUser" | "MaxTRESRunMinsPU" => amounts max_tres_run_mins_per_user;
    "MaxTRESPerAccount" | "MaxTRESPA" => amounts max_tres_per_account;
    "MaxJobsPerAccount" | "MaxJobsPA" => limit max_jobs_per_account;
    "MaxJobsAccruePerAccount" | "MaxJobsAccruePA" => limit max_jobs_accrue_per_account;
    "MaxSubmitJobsPerAccount" | "MaxSubmitJobsPA" | "MaxSubmitPA" => limit max_submit_per_account;
    "MaxTRESRunMinsPerAccount" | "MaxTRESRunMinsPA" => amounts max_tres_run_mins_per_account;
    "MaxCPUsPerUser" => cpus max_tres_per_user;
    "MaxNodesPerUser" => nodes max_tres_per_user;
    "MinTRESPerJob" | "MinTRES" => amounts min_tres_per_job;
    "MinCPUs" => cpus min_tres_per_job;
    "MinNodes" => nodes min_tres_per_job;
    "MinPrioThreshold" => threshold min_priority_threshold;
}

fn bad(value: &str) -> String {
    format!("Invalid value ({value})")
}

fn number(value: &str) -> Result<i64, String> {
    value.trim().parse::<i64>().map_err(|_| bad(value))
}

/// `-1` takes a limit away.
fn limit(place: &mut Option<Limit>, _: Change, value: &str) -> Result<(), String> {
    *place = u64::try_from(number(value)?).ok().map(Limit::Is);
    Ok(())
}

fn threshold(place: &mut Option<u32>, _: Change, value: &str) -> Result<(), String> {
    *place = u32::try_from(number(value)?).ok();
    Ok(())
}

fn count(place: &mut u32, _: Change, value: &str) -> Result<(), String> {
    *place = u32::try_from(number(value)?).unwrap_or(0);
    Ok(())
}

/// `parent` is Slurm's largest number but one.
fn shares(place: &mut u32, _: Change, value: &str) -> Result<(), String> {
    if value.eq_ignore_ascii_case("parent") {
        *place = SHARES_FROM_PARENT;
        return Ok(());
    }
    *place = u32::try_from(number(value)?).unwrap_or(1);
    Ok(())
}

/// What `Fairshare=parent` is kept as.
pub const SHARES_FROM_PARENT: u32 = 0x7fff_ffff;

fn minutes(place: &mut Option<Limit>, _: Change, value: &str) -> Result<(), String> {
    *place = match value.trim() {
        "-1" => None,
        value => match duration::parse_limit(value).map_err(|_| bad(value))? {
            Limit::Unlimited => None,
            limit => Some(limit),
        },
    };
    Ok(())
}

fn seconds(place: &mut u32, _: Change, value: &str) -> Result<(), String> {
    let span = duration::parse_seconds(value).map_err(|_| bad(value))?;
    *place = u32::try_from(span.number().unwrap_or(0)).unwrap_or(u32::MAX);
    Ok(())
}

fn exempt(place: &mut Option<u32>, change: Change, value: &str) -> Result<(), String> {
    let mut span = 0;
    seconds(&mut span, change, value)?;
    *place = Some(span);
    Ok(())
}

fn factor(place: &mut f64, _: Change, value: &str) -> Result<(), String> {
    *place = value.trim().parse().map_err(|_| bad(value))?;
    Ok(())
}

fn maybe_factor(place: &mut Option<f64>, _: Change, value: &str) -> Result<(), String> {
    let said: f64 = value.trim().parse().map_err(|_| bad(value))?;
    *place = (said >= 0.0).then_some(said);
    Ok(())
}

fn word(place: &mut String, _: Change, value: &str) -> Result<(), String> {
    *place = if value == "-1" { String::new() } else { value.to_string() };
    Ok(())
}

fn lower(place: &mut String, _: Change, value: &str) -> Result<(), String> {
    *place = value.to_lowercase();
    Ok(())
}

fn words(place: &mut Vec<String>, change: Change, value: &str) -> Result<(), String> {
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

/// Sets what is named and leaves the rest; `-1` takes a limit away, nothing at all takes all away.
fn amounts(place: &mut String, _: Change, value: &str) -> Result<(), String> {
    let mut merged: Amounts = tres::parse(place).unwrap_or_default();
    let said = tres::parse(value).map_err(|error| error.logged())?;
    if value.trim().is_empty() {
        merged.clear();
    }
    for (tres, amount) in said {
        match amount {
            Some(_) => merged.insert(tres, amount),
            None => merged.remove(&tres),
        };
    }
    *place = tres::display(&merged);
    Ok(())
}

fn cpus(place: &mut String, change: Change, value: &str) -> Result<(), String> {
    amounts(place, change, &format!("cpu={}", number(value)?))
}

fn nodes(place: &mut String, change: Change, value: &str) -> Result<(), String> {
    amounts(place, change, &format!("node={}", number(value)?))
}

fn memory(place: &mut String, change: Change, value: &str) -> Result<(), String> {
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
        assert_eq!(set("cpu=-1"), "gres/gpu=2");
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
    }
}
