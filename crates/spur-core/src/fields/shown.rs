//! What `sacctmgr show` calls its columns: one list for all but wckeys and runaway jobs. What is shown need not have
//! a column that is asked for; it stands there empty then.

use super::{Field, Value};

/// A column by its name.
pub struct Shown {
    /// The fewest letters that name it.
    shortest: usize,
    /// How it looks where nothing is to be told.
    pub empty: Field<()>,
}

const fn shown(name: &'static str, shortest: usize, header: &'static str, width: usize) -> Shown {
    let empty = Field::new(name, header, |()| Value::Text(String::new())).width(width);
    Shown { shortest, empty }
}

impl Shown {
    const fn left(self) -> Shown {
        Shown { empty: self.empty.left(), ..self }
    }

    const fn when_empty(mut self, get: fn(&()) -> Value) -> Shown {
        self.empty.get = get;
        self
    }
}

// What nobody said is told as if it had been measured and were nothing.
const NUMBER: fn(&()) -> Value = |()| Value::Number(0);
const SPAN: fn(&()) -> Value = |()| Value::PaddedSpan(0);
const MOMENT: fn(&()) -> Value = |()| Value::Moment(0, "Unknown");
const FRACTION: fn(&()) -> Value = |()| Value::Fraction(0.0, 6);

/// The column of this name, or of one that begins with it.
pub fn find(said: &str) -> Option<&'static Shown> {
    let fits = |one: &&Shown| {
        let begins = one.empty.name.get(..said.len());
        said.len() >= one.shortest && begins.is_some_and(|start| start.eq_ignore_ascii_case(said))
    };
    SHOWN.iter().find(fits)
}

#[rustfmt::skip]
static SHOWN: &[Shown] = &[
    shown("Account", 3, "Account", 10),
    shown("Acct", 3, "Account", 10),
    shown("Action", 4, "Action", 20),
    shown("Actor", 4, "Actor", 10),
    shown("AdminLevel", 2, "Admin", 9),
    shown("Allocated", 7, "% Allocated", 11).when_empty(NUMBER),
    shown("Allowed", 2, "% Allowed", 10).when_empty(NUMBER),
    shown("Associations", 2, "Assocs", 10),
    shown("Classification", 3, "Class", 9),
    shown("ClusterNodes", 8, "Cluster Nodes", 20),
    shown("Clusters", 2, "Cluster", 10),
    shown("ControlHost", 8, "ControlHost", 15),
    shown("ControlPort", 8, "ControlPort", 12).when_empty(NUMBER),
    shown("Coordinators", 2, "Coord Accounts", 20),
    shown("Count", 3, "Count", 6).when_empty(NUMBER),
    shown("CPU", 2, "CPU Cnt", 7),
    shown("DefaultAccount", 8, "Def Acct", 10),
    shown("DefaultQOS", 8, "Def QOS", 9),
    shown("DefaultWCKey", 8, "Def WCKey", 10),
    shown("Description", 3, "Descr", 20),
    shown("Duration", 2, "Duration", 13).when_empty(SPAN),
    shown("End", 2, "TimeEnd", 19).when_empty(MOMENT),
    shown("Event", 2, "Event", 7),
    shown("EventRaw", 6, "EventRaw", 8).when_empty(NUMBER),
    shown("Fairshare", 2, "Share", 9).when_empty(NUMBER),
    shown("Features", 3, "Features", 20),
    shown("Federation", 3, "Federation", 10),
    shown("FedState", 4, "FedState", 12),
    shown("FedStateRaw", 9, "FedStateRaw", 11).when_empty(NUMBER),
    shown("Flags", 2, "Flags", 20),
    shown("GraceTime", 3, "GraceTime", 10).when_empty(SPAN),
    shown("GrpCPUMins", 7, "GrpCPUMins", 11).when_empty(NUMBER),
    shown("GrpCPURunMins", 7, "GrpCPURunMins", 13).when_empty(NUMBER),
    shown("GrpCPUs", 6, "GrpCPUs", 8).when_empty(NUMBER),
    shown("GrpJobs", 4, "GrpJobs", 7).when_empty(NUMBER),
    shown("GrpJobsAccrue", 8, "GrpJobsAccrue", 13).when_empty(NUMBER),
    shown("GrpMem", 4, "GrpMem", 7).when_empty(NUMBER),
    shown("GrpNodes", 4, "GrpNodes", 8).when_empty(NUMBER),
    shown("GrpSubmitJobs", 4, "GrpSubmit", 9).when_empty(NUMBER),
    shown("GrpTRES", 7, "GrpTRES", 13),
    shown("GrpTRESMins", 8, "GrpTRESMins", 13),
    shown("GrpTRESRunMins", 8, "GrpTRESRunMins", 13),
    shown("GrpWall", 4, "GrpWall", 11).when_empty(SPAN),
    shown("ID", 2, "ID", 6).when_empty(NUMBER),
    shown("Info", 2, "Info", 20),
    shown("LFT", 1, "LFT", 6).when_empty(NUMBER),
    shown("LimitFactor", 6, "LimitFactor", 11).when_empty(FRACTION),
    shown("MaxCPUMins", 7, "MaxCPUMins", 11).when_empty(NUMBER),
    shown("MaxCPURunMins", 7, "MaxCPURunMinsPU", 15).when_empty(NUMBER),
    shown("MaxCPUsPerJob", 7, "MaxCPUs", 8).when_empty(NUMBER),
    shown("MaxCPUsPU", 9, "MaxCPUsPU", 9).when_empty(NUMBER),
    shown("MaxJobs", 4, "MaxJobs", 7).when_empty(NUMBER),
    shown("MaxJobsAccrue", 8, "MaxJobsAccrue", 13).when_empty(NUMBER),
    shown("MaxJobsAccruePA", 15, "MaxJobsAccruePA", 15).when_empty(NUMBER),
    shown("MaxJobsAccruePerAccount", 17, "MaxJobsAccruePA", 15).when_empty(NUMBER),
    shown("MaxJobsAccruePerUser", 17, "MaxJobsAccruePU", 15).when_empty(NUMBER),
    shown("MaxJobsAccruePU", 15, "MaxJobsAccruePU", 15).when_empty(NUMBER),
    shown("MaxJobsPA", 9, "MaxJobsPA", 9).when_empty(NUMBER),
    shown("MaxJobsPerAccount", 11, "MaxJobsPA", 9).when_empty(NUMBER),
    shown("MaxJobsPerUser", 11, "MaxJobsPU", 9).when_empty(NUMBER),
    shown("MaxJobsPU", 9, "MaxJobsPU", 9).when_empty(NUMBER),
    shown("MaxNodesPerJob", 4, "MaxNodes", 8).when_empty(NUMBER),
    shown("MaxNodesPU", 10, "MaxNodesPU", 10).when_empty(NUMBER),
    shown("MaxSubmitJobs", 4, "MaxSubmit", 9).when_empty(NUMBER),
    shown("MaxSubmitJobsPA", 15, "MaxSubmitPA", 11).when_empty(NUMBER),
    shown("MaxSubmitJobsPerAccount", 17, "MaxSubmitPA", 11).when_empty(NUMBER),
    shown("MaxSubmitJobsPerUser", 14, "MaxSubmitPU", 11).when_empty(NUMBER),
    shown("MaxSubmitJobsPU", 14, "MaxSubmitPU", 11).when_empty(NUMBER),
    shown("MaxSubmitPA", 11, "MaxSubmitPA", 11).when_empty(NUMBER),
    shown("MaxSubmitPU", 10, "MaxSubmitPU", 11).when_empty(NUMBER),
    shown("MaxTRES", 7, "MaxTRES", 13),
    shown("MaxTRESMinsPerJob", 8, "MaxTRESMins", 13),
    shown("MaxTRESPA", 9, "MaxTRESPA", 13),
    shown("MaxTRESPerAccount", 11, "MaxTRESPA", 13),
    shown("MaxTRESPerJob", 11, "MaxTRES", 13),
    shown("MaxTRESPerNode", 11, "MaxTRESPerNode", 14),
    shown("MaxTRESPerUser", 11, "MaxTRESPU", 13),
    shown("MaxTRESPU", 9, "MaxTRESPU", 13),
    shown("MaxTRESRunMinsPA", 16, "MaxTRESRunMinsPA", 15),
    shown("MaxTRESRunMinsPU", 8, "MaxTRESRunMinsPU", 15),
    shown("MaxWallDurationPerJob", 4, "MaxWall", 11).when_empty(SPAN),
    shown("MinCPUs", 7, "MinCPUs", 8).when_empty(NUMBER),
    shown("MinPrioThreshold", 4, "MinPrioThres", 12).when_empty(NUMBER),
    shown("MinTRESPerJob", 7, "MinTRES", 13),
    shown("Name", 2, "Name", 10),
    shown("NodeCount", 5, "NodeCount", 9).when_empty(NUMBER),
    shown("NodeNames", 5, "NodeName", 15).left(),
    shown("Organization", 1, "Org", 20),
    shown("ParentID", 7, "ParentID", 8).when_empty(NUMBER),
    shown("ParentName", 7, "ParentName", 10),
    shown("Partition", 4, "Partition", 10),
    shown("PluginIDSelect", 2, "PluginIDSelect", 14).when_empty(NUMBER),
    shown("Preempt", 7, "Preempt", 10),
    shown("PreemptExemptTime", 8, "PreemptExemptTime", 19).when_empty(SPAN),
    shown("PreemptMode", 8, "PreemptMode", 11),
    shown("Priority", 3, "Priority", 10).when_empty(NUMBER),
    shown("Problem", 1, "Problem", 40),
    shown("QOSLevel", 3, "QOS", 20),
    shown("QOSRAWLevel", 4, "QOS_RAW", 10),
    shown("Reason", 1, "Reason", 30),
    shown("RGT", 2, "RGT", 6).when_empty(NUMBER),
    shown("RPC", 2, "RPC", 5).when_empty(NUMBER),
    shown("Server", 3, "Server", 10),
    shown("ServerType", 10, "ServerType", 10),
    shown("Share", 1, "Share", 9).when_empty(NUMBER),
    shown("Start", 4, "TimeStart", 19).when_empty(MOMENT),
    shown("State", 2, "State", 6),
    shown("StateRaw", 6, "StateRaw", 8).when_empty(NUMBER),
    shown("Submit", 2, "TimeSubmit", 19).when_empty(MOMENT),
    shown("TimeEnd", 6, "TimeEnd", 19).when_empty(MOMENT),
    shown("TimeStamp", 2, "Time", 19).when_empty(MOMENT),
    shown("TimeStart", 8, "TimeStart", 19).when_empty(MOMENT),
    shown("TimeSubmit", 6, "TimeSubmit", 19).when_empty(MOMENT),
    shown("TRES", 2, "TRES", 20),
    shown("Type", 2, "Type", 8),
    shown("UnusedWall", 2, "UnusedWall", 10).when_empty(FRACTION),
    shown("UsageFactor", 6, "UsageFactor", 11).when_empty(FRACTION),
    shown("UsageThreshold", 6, "UsageThres", 10).when_empty(FRACTION),
    shown("User", 1, "User", 10),
    shown("WCKeys", 2, "WCKeys", 20),
    shown("Where", 2, "Where", 20),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_by_its_beginning_from_so_many_letters_on() {
        for (said, header) in [
            ("acc", Some("Account")),
            ("ac", None),
            ("DEFA", None),
            ("defaultq", Some("Def QOS")),
            ("maxtres", Some("MaxTRES")),
            ("maxtresper", None),
            ("maxtresrunmins", Some("MaxTRESRunMinsPU")),
            ("MaxTRESRunMinsPA", Some("MaxTRESRunMinsPA")),
            ("bogus", None),
        ] {
            assert_eq!(find(said).map(|one| one.empty.header), header, "{said}");
        }
    }

    #[test]
    fn what_is_not_there_is_told_as_nothing_of_its_kind() {
        let told = |name: &str| (find(name).expect("a column").empty.get)(&());
        assert_eq!(told("time"), Value::Moment(0, "Unknown"));
        assert_eq!(told("grpjobs"), Value::Number(0));
        assert_eq!(told("grpwall"), Value::PaddedSpan(0));
        assert_eq!(told("usagefactor"), Value::Fraction(0.0, 6));
        assert_eq!(told("qos"), Value::Text(String::new()));
    }
}
