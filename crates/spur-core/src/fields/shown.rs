//! What `sacctmgr show` calls its columns: one list for accounts, users, associations, clusters and QOS. What is shown
//! need not have a column that is asked for; it stands there empty then.

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
}

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
    shown("Allocated", 7, "% Allocated", 11),
    shown("Allowed", 2, "% Allowed", 10),
    shown("Associations", 2, "Assocs", 10),
    shown("Classification", 3, "Class", 9),
    shown("ClusterNodes", 8, "Cluster Nodes", 20),
    shown("Clusters", 2, "Cluster", 10),
    shown("ControlHost", 8, "ControlHost", 15),
    shown("ControlPort", 8, "ControlPort", 12),
    shown("Coordinators", 2, "Coord Accounts", 20),
    shown("Count", 3, "Count", 6),
    shown("CPU", 2, "CPU Cnt", 7),
    shown("DefaultAccount", 8, "Def Acct", 10),
    shown("DefaultQOS", 8, "Def QOS", 9),
    shown("DefaultWCKey", 8, "Def WCKey", 10),
    shown("Description", 3, "Descr", 20),
    shown("Duration", 2, "Duration", 13),
    shown("End", 2, "TimeEnd", 19),
    shown("Event", 2, "Event", 7),
    shown("EventRaw", 6, "EventRaw", 8),
    shown("Fairshare", 2, "Share", 9),
    shown("Features", 3, "Features", 20),
    shown("Federation", 3, "Federation", 10),
    shown("FedState", 4, "FedState", 12),
    shown("FedStateRaw", 9, "FedStateRaw", 11),
    shown("Flags", 2, "Flags", 20),
    shown("GraceTime", 3, "GraceTime", 10),
    shown("GrpCPUMins", 7, "GrpCPUMins", 11),
    shown("GrpCPURunMins", 7, "GrpCPURunMins", 13),
    shown("GrpCPUs", 6, "GrpCPUs", 8),
    shown("GrpJobs", 4, "GrpJobs", 7),
    shown("GrpJobsAccrue", 8, "GrpJobsAccrue", 13),
    shown("GrpMem", 4, "GrpMem", 7),
    shown("GrpNodes", 4, "GrpNodes", 8),
    shown("GrpSubmitJobs", 4, "GrpSubmit", 9),
    shown("GrpTRES", 7, "GrpTRES", 13),
    shown("GrpTRESMins", 8, "GrpTRESMins", 13),
    shown("GrpTRESRunMins", 8, "GrpTRESRunMins", 13),
    shown("GrpWall", 4, "GrpWall", 11),
    shown("ID", 2, "ID", 6),
    shown("Info", 2, "Info", 20),
    shown("LFT", 1, "LFT", 6),
    shown("LimitFactor", 6, "LimitFactor", 11),
    shown("MaxCPUMins", 7, "MaxCPUMins", 11),
    shown("MaxCPURunMins", 7, "MaxCPURunMinsPU", 15),
    shown("MaxCPUsPerJob", 7, "MaxCPUs", 8),
    shown("MaxCPUsPU", 9, "MaxCPUsPU", 9),
    shown("MaxJobs", 4, "MaxJobs", 7),
    shown("MaxJobsAccrue", 8, "MaxJobsAccrue", 13),
    shown("MaxJobsAccruePA", 15, "MaxJobsAccruePA", 15),
    shown("MaxJobsAccruePerAccount", 17, "MaxJobsAccruePA", 15),
    shown("MaxJobsAccruePerUser", 17, "MaxJobsAccruePU", 15),
    shown("MaxJobsAccruePU", 15, "MaxJobsAccruePU", 15),
    shown("MaxJobsPA", 9, "MaxJobsPA", 9),
    shown("MaxJobsPerAccount", 11, "MaxJobsPA", 9),
    shown("MaxJobsPerUser", 11, "MaxJobsPU", 9),
    shown("MaxJobsPU", 9, "MaxJobsPU", 9),
    shown("MaxNodesPerJob", 4, "MaxNodes", 8),
    shown("MaxNodesPU", 10, "MaxNodesPU", 10),
    shown("MaxSubmitJobs", 4, "MaxSubmit", 9),
    shown("MaxSubmitJobsPA", 15, "MaxSubmitPA", 11),
    shown("MaxSubmitJobsPerAccount", 17, "MaxSubmitPA", 11),
    shown("MaxSubmitJobsPerUser", 14, "MaxSubmitPU", 11),
    shown("MaxSubmitJobsPU", 14, "MaxSubmitPU", 11),
    shown("MaxSubmitPA", 11, "MaxSubmitPA", 11),
    shown("MaxSubmitPU", 10, "MaxSubmitPU", 11),
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
    shown("MaxWallDurationPerJob", 4, "MaxWall", 11),
    shown("MinCPUs", 7, "MinCPUs", 8),
    shown("MinPrioThreshold", 4, "MinPrioThres", 12),
    shown("MinTRESPerJob", 7, "MinTRES", 13),
    shown("Name", 2, "Name", 10),
    shown("NodeCount", 5, "NodeCount", 9),
    shown("NodeNames", 5, "NodeName", 15).left(),
    shown("Organization", 1, "Org", 20),
    shown("ParentID", 7, "ParentID", 8),
    shown("ParentName", 7, "ParentName", 10),
    shown("Partition", 4, "Partition", 10),
    shown("PluginIDSelect", 2, "PluginIDSelect", 14),
    shown("Preempt", 7, "Preempt", 10),
    shown("PreemptExemptTime", 8, "PreemptExemptTime", 19),
    shown("PreemptMode", 8, "PreemptMode", 11),
    shown("Priority", 3, "Priority", 10),
    shown("Problem", 1, "Problem", 40),
    shown("QOSLevel", 3, "QOS", 20),
    shown("QOSRAWLevel", 4, "QOS_RAW", 10),
    shown("Reason", 1, "Reason", 30),
    shown("RGT", 2, "RGT", 6),
    shown("RPC", 2, "RPC", 5),
    shown("Server", 3, "Server", 10),
    shown("ServerType", 10, "ServerType", 10),
    shown("Share", 1, "Share", 9),
    shown("Start", 4, "TimeStart", 19),
    shown("State", 2, "State", 6),
    shown("StateRaw", 6, "StateRaw", 8),
    shown("Submit", 2, "TimeSubmit", 19),
    shown("TimeEnd", 6, "TimeEnd", 19),
    shown("TimeStamp", 2, "Time", 19),
    shown("TimeStart", 8, "TimeStart", 19),
    shown("TimeSubmit", 6, "TimeSubmit", 19),
    shown("TRES", 2, "TRES", 20),
    shown("Type", 2, "Type", 8),
    shown("UnusedWall", 2, "UnusedWall", 10),
    shown("UsageFactor", 6, "UsageFactor", 11),
    shown("UsageThreshold", 6, "UsageThres", 10),
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
}
