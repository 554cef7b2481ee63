//! Why a job waits, or why it ended: Slurm's reasons as one table.

use std::fmt;

macro_rules! reasons {
    ($($variant:ident = $number:literal, $name:literal;)*) => {
        /// Why a job is where it is.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            #[default]
            $($variant = $number,)*
        }

        impl Reason {
            /// Every row, in the order of the table.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)*];

            /// The word squeue prints.
            pub fn name(self) -> &'static str {
                match self { $(Reason::$variant => $name,)* }
            }

            /// The row with this number.
            pub fn from_number(number: u32) -> Option<Reason> {
                match number { $($number => Some(Reason::$variant),)* _ => None }
            }
        }
    };
}

impl Reason {
    /// Slurm's number, as it crosses the wire.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The first row with this name, in any case; two numbers of Slurm share a name with another.
    pub fn from_name(name: &str) -> Option<Reason> {
        Reason::ALL.iter().copied().find(|reason| reason.name().eq_ignore_ascii_case(name))
    }

    /// The word for a number; a number without a row is printed as it is, as Slurm does.
    pub fn word(number: u32) -> String {
        Reason::from_number(number).map_or_else(|| number.to_string(), |r| r.name().to_string())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

reasons! {
    None = 0, "None";
    Priority = 1, "Priority";
    Dependency = 2, "Dependency";
    Resources = 3, "Resources";
    PartitionNodeLimit = 4, "PartitionNodeLimit";
    PartitionTimeLimit = 5, "PartitionTimeLimit";
    PartitionDown = 6, "PartitionDown";
    PartitionInactive = 7, "PartitionInactive";
    JobHeldAdmin = 8, "JobHeldAdmin";
    BeginTime = 9, "BeginTime";
    Licenses = 10, "Licenses";
    AssociationJobLimit = 11, "AssociationJobLimit";
    AssociationResourceLimit = 12, "AssociationResourceLimit";
    AssociationTimeLimit = 13, "AssociationTimeLimit";
    Reservation = 14, "Reservation";
    ReqNodeNotAvail = 15, "ReqNodeNotAvail";
    JobHeldUser = 16, "JobHeldUser";
    NvidiaImexChannels = 17, "NvidiaImexChannels";
    SchedDefer = 18, "SchedDefer";
    FailedPartitionDown = 19, "PartitionDown";
    NodeDown = 20, "NodeDown";
    BadConstraints = 21, "BadConstraints";
    SystemFailure = 22, "SystemFailure";
    JobLaunchFailure = 23, "JobLaunchFailure";
    NonZeroExitCode = 24, "NonZeroExitCode";
    TimeLimit = 25, "TimeLimit";
    InactiveLimit = 26, "InactiveLimit";
    InvalidAccount = 27, "InvalidAccount";
    InvalidQOS = 28, "InvalidQOS";
    QOSUsageThreshold = 29, "QOSUsageThreshold";
    QOSJobLimit = 30, "QOSJobLimit";
    QOSResourceLimit = 31, "QOSResourceLimit";
    QOSTimeLimit = 32, "QOSTimeLimit";
    RaisedSignal = 33, "RaisedSignal";
    Cleaning = 35, "Cleaning";
    Prolog = 36, "Prolog";
    QOSNotAllowed = 37, "QOSNotAllowed";
    AccountNotAllowed = 38, "AccountNotAllowed";
    DependencyNeverSatisfied = 39, "DependencyNeverSatisfied";
    QOSGrpCpuLimit = 40, "QOSGrpCpuLimit";
    QOSGrpCPUMinutesLimit = 41, "QOSGrpCPUMinutesLimit";
    QOSGrpCPURunMinutesLimit = 42, "QOSGrpCPURunMinutesLimit";
    QOSGrpJobsLimit = 43, "QOSGrpJobsLimit";
    QOSGrpMemLimit = 44, "QOSGrpMemLimit";
    QOSGrpNodeLimit = 45, "QOSGrpNodeLimit";
    QOSGrpSubmitJobsLimit = 46, "QOSGrpSubmitJobsLimit";
    QOSGrpWallLimit = 47, "QOSGrpWallLimit";
    QOSMaxCpuPerJobLimit = 48, "QOSMaxCpuPerJobLimit";
    QOSMaxCpuMinutesPerJobLimit = 49, "QOSMaxCpuMinutesPerJobLimit";
    QOSMaxNodePerJobLimit = 50, "QOSMaxNodePerJobLimit";
    QOSMaxWallDurationPerJobLimit = 51, "QOSMaxWallDurationPerJobLimit";
    QOSMaxCpuPerUserLimit = 52, "QOSMaxCpuPerUserLimit";
    QOSMaxJobsPerUserLimit = 53, "QOSMaxJobsPerUserLimit";
    QOSMaxNodePerUserLimit = 54, "QOSMaxNodePerUserLimit";
    QOSMaxSubmitJobPerUserLimit = 55, "QOSMaxSubmitJobPerUserLimit";
    QOSMinCpuNotSatisfied = 56, "QOSMinCpuNotSatisfied";
    AssocGrpCpuLimit = 57, "AssocGrpCpuLimit";
    AssocGrpCPUMinutesLimit = 58, "AssocGrpCPUMinutesLimit";
    AssocGrpCPURunMinutesLimit = 59, "AssocGrpCPURunMinutesLimit";
    AssocGrpJobsLimit = 60, "AssocGrpJobsLimit";
    AssocGrpMemLimit = 61, "AssocGrpMemLimit";
    AssocGrpNodeLimit = 62, "AssocGrpNodeLimit";
    AssocGrpSubmitJobsLimit = 63, "AssocGrpSubmitJobsLimit";
    AssocGrpWallLimit = 64, "AssocGrpWallLimit";
    AssocMaxJobsLimit = 65, "AssocMaxJobsLimit";
    AssocMaxCpuPerJobLimit = 66, "AssocMaxCpuPerJobLimit";
    AssocMaxCpuMinutesPerJobLimit = 67, "AssocMaxCpuMinutesPerJobLimit";
    AssocMaxNodePerJobLimit = 68, "AssocMaxNodePerJobLimit";
    AssocMaxWallDurationPerJobLimit = 69, "AssocMaxWallDurationPerJobLimit";
    AssocMaxSubmitJobLimit = 70, "AssocMaxSubmitJobLimit";
    JobHoldMaxRequeue = 71, "JobHoldMaxRequeue";
    JobArrayTaskLimit = 72, "JobArrayTaskLimit";
    BurstBufferResources = 73, "BurstBufferResources";
    BurstBufferStageIn = 74, "BurstBufferStageIn";
    BurstBufferOperation = 75, "BurstBufferOperation";
    AssocGrpUnknown = 78, "AssocGrpUnknown";
    AssocGrpUnknownMinutes = 79, "AssocGrpUnknownMinutes";
    AssocGrpUnknownRunMinutes = 80, "AssocGrpUnknownRunMinutes";
    AssocMaxUnknownPerJob = 81, "AssocMaxUnknownPerJob";
    AssocMaxUnknownPerNode = 82, "AssocMaxUnknownPerNode";
    AssocMaxUnknownMinutesPerJob = 83, "AssocMaxUnknownMinutesPerJob";
    AssocMaxCpuPerNode = 84, "AssocMaxCpuPerNode";
    AssocGrpMemMinutes = 85, "AssocGrpMemMinutes";
    AssocGrpMemRunMinutes = 86, "AssocGrpMemRunMinutes";
    AssocMaxMemPerJob = 87, "AssocMaxMemPerJob";
    AssocMaxMemPerNode = 88, "AssocMaxMemPerNode";
    AssocMaxMemMinutesPerJob = 89, "AssocMaxMemMinutesPerJob";
    AssocGrpNodeMinutes = 90, "AssocGrpNodeMinutes";
    AssocGrpNodeRunMinutes = 91, "AssocGrpNodeRunMinutes";
    AssocMaxNodeMinutesPerJob = 92, "AssocMaxNodeMinutesPerJob";
    AssocGrpEnergy = 93, "AssocGrpEnergy";
    AssocGrpEnergyMinutes = 94, "AssocGrpEnergyMinutes";
    AssocGrpEnergyRunMinutes = 95, "AssocGrpEnergyRunMinutes";
    AssocMaxEnergyPerJob = 96, "AssocMaxEnergyPerJob";
    AssocMaxEnergyPerNode = 97, "AssocMaxEnergyPerNode";
    AssocMaxEnergyMinutesPerJob = 98, "AssocMaxEnergyMinutesPerJob";
    AssocGrpGRES = 99, "AssocGrpGRES";
    AssocGrpGRESMinutes = 100, "AssocGrpGRESMinutes";
    AssocGrpGRESRunMinutes = 101, "AssocGrpGRESRunMinutes";
    AssocMaxGRESPerJob = 102, "AssocMaxGRESPerJob";
    AssocMaxGRESPerNode = 103, "AssocMaxGRESPerNode";
    AssocMaxGRESMinutesPerJob = 104, "AssocMaxGRESMinutesPerJob";
    AssocGrpLicense = 105, "AssocGrpLicense";
    AssocGrpLicenseMinutes = 106, "AssocGrpLicenseMinutes";
    AssocGrpLicenseRunMinutes = 107, "AssocGrpLicenseRunMinutes";
    AssocMaxLicensePerJob = 108, "AssocMaxLicensePerJob";
    AssocMaxLicenseMinutesPerJob = 109, "AssocMaxLicenseMinutesPerJob";
    AssocGrpBB = 110, "AssocGrpBB";
    AssocGrpBBMinutes = 111, "AssocGrpBBMinutes";
    AssocGrpBBRunMinutes = 112, "AssocGrpBBRunMinutes";
    AssocMaxBBPerJob = 113, "AssocMaxBBPerJob";
    AssocMaxBBPerNode = 114, "AssocMaxBBPerNode";
    AssocMaxBBMinutesPerJob = 115, "AssocMaxBBMinutesPerJob";
    QOSGrpUnknown = 116, "QOSGrpUnknown";
    QOSGrpUnknownMinutes = 117, "QOSGrpUnknownMinutes";
    QOSGrpUnknownRunMinutes = 118, "QOSGrpUnknownRunMinutes";
    QOSMaxUnknownPerJob = 119, "QOSMaxUnknownPerJob";
    QOSMaxUnknownPerNode = 120, "QOSMaxUnknownPerNode";
    QOSMaxUnknownPerUser = 121, "QOSMaxUnknownPerUser";
    QOSMaxUnknownMinutesPerJob = 122, "QOSMaxUnknownMinutesPerJob";
    QOSMinUnknown = 123, "QOSMinUnknown";
    QOSMaxCpuPerNode = 124, "QOSMaxCpuPerNode";
    QOSGrpMemoryMinutes = 125, "QOSGrpMemoryMinutes";
    QOSGrpMemoryRunMinutes = 126, "QOSGrpMemoryRunMinutes";
    QOSMaxMemoryMinutesPerJob = 127, "QOSMaxMemoryMinutesPerJob";
    QOSMaxMemoryPerJob = 128, "QOSMaxMemoryPerJob";
    QOSMaxMemoryPerNode = 129, "QOSMaxMemoryPerNode";
    QOSMaxMemoryPerUser = 130, "QOSMaxMemoryPerUser";
    QOSMinMemory = 131, "QOSMinMemory";
    QOSGrpEnergy = 132, "QOSGrpEnergy";
    QOSGrpEnergyMinutes = 133, "QOSGrpEnergyMinutes";
    QOSGrpEnergyRunMinutes = 134, "QOSGrpEnergyRunMinutes";
    QOSMaxEnergyPerJob = 135, "QOSMaxEnergyPerJob";
    QOSMaxEnergyPerNode = 136, "QOSMaxEnergyPerNode";
    QOSMaxEnergyPerUser = 137, "QOSMaxEnergyPerUser";
    QOSMaxEnergyMinutesPerJob = 138, "QOSMaxEnergyMinutesPerJob";
    QOSMinEnergy = 139, "QOSMinEnergy";
    QOSGrpNodeMinutes = 140, "QOSGrpNodeMinutes";
    QOSGrpNodeRunMinutes = 141, "QOSGrpNodeRunMinutes";
    QOSMaxNodeMinutesPerJob = 142, "QOSMaxNodeMinutesPerJob";
    QOSMinNode = 143, "QOSMinNode";
    QOSGrpGRES = 144, "QOSGrpGRES";
    QOSGrpGRESMinutes = 145, "QOSGrpGRESMinutes";
    QOSGrpGRESRunMinutes = 146, "QOSGrpGRESRunMinutes";
    QOSMaxGRESPerJob = 147, "QOSMaxGRESPerJob";
    QOSMaxGRESPerNode = 148, "QOSMaxGRESPerNode";
    QOSMaxGRESPerUser = 149, "QOSMaxGRESPerUser";
    QOSMaxGRESMinutesPerJob = 150, "QOSMaxGRESMinutesPerJob";
    QOSMinGRES = 151, "QOSMinGRES";
    QOSGrpLicense = 152, "QOSGrpLicense";
    QOSGrpLicenseMinutes = 153, "QOSGrpLicenseMinutes";
    QOSGrpLicenseRunMinutes = 154, "QOSGrpLicenseRunMinutes";
    QOSMaxLicensePerJob = 155, "QOSMaxLicensePerJob";
    QOSMaxLicensePerUser = 156, "QOSMaxLicensePerUser";
    QOSMaxLicenseMinutesPerJob = 157, "QOSMaxLicenseMinutesPerJob";
    QOSMinLicense = 158, "QOSMinLicense";
    QOSGrpBB = 159, "QOSGrpBB";
    QOSGrpBBMinutes = 160, "QOSGrpBBMinutes";
    QOSGrpBBRunMinutes = 161, "QOSGrpBBRunMinutes";
    QOSMaxBBPerJob = 162, "QOSMaxBBPerJob";
    QOSMaxBBPerNode = 163, "QOSMaxBBPerNode";
    QOSMaxBBPerUser = 164, "QOSMaxBBPerUser";
    QOSMaxBBMinutesPerJob = 165, "AssocMaxBBMinutesPerJob";
    QOSMinBB = 166, "QOSMinBB";
    DeadLine = 167, "DeadLine";
    MaxBBPerAccount = 168, "MaxBBPerAccount";
    MaxCpuPerAccount = 169, "MaxCpuPerAccount";
    MaxEnergyPerAccount = 170, "MaxEnergyPerAccount";
    MaxGRESPerAccount = 171, "MaxGRESPerAccount";
    MaxNodePerAccount = 172, "MaxNodePerAccount";
    MaxLicensePerAccount = 173, "MaxLicensePerAccount";
    MaxMemoryPerAccount = 174, "MaxMemoryPerAccount";
    MaxUnknownPerAccount = 175, "MaxUnknownPerAccount";
    MaxJobsPerAccount = 176, "MaxJobsPerAccount";
    MaxSubmitJobsPerAccount = 177, "MaxSubmitJobsPerAccount";
    PartitionConfig = 178, "PartitionConfig";
    AccountingPolicy = 179, "AccountingPolicy";
    FedJobLock = 180, "FedJobLock";
    OutOfMemory = 181, "OutOfMemory";
    MaxMemPerLimit = 182, "MaxMemPerLimit";
    AssocGrpBilling = 183, "AssocGrpBilling";
    AssocGrpBillingMinutes = 184, "AssocGrpBillingMinutes";
    AssocGrpBillingRunMinutes = 185, "AssocGrpBillingRunMinutes";
    AssocMaxBillingPerJob = 186, "AssocMaxBillingPerJob";
    AssocMaxBillingPerNode = 187, "AssocMaxBillingPerNode";
    AssocMaxBillingMinutesPerJob = 188, "AssocMaxBillingMinutesPerJob";
    QOSGrpBilling = 189, "QOSGrpBilling";
    QOSGrpBillingMinutes = 190, "QOSGrpBillingMinutes";
    QOSGrpBillingRunMinutes = 191, "QOSGrpBillingRunMinutes";
    QOSMaxBillingPerJob = 192, "QOSMaxBillingPerJob";
    QOSMaxBillingPerNode = 193, "QOSMaxBillingPerNode";
    QOSMaxBillingPerUser = 194, "QOSMaxBillingPerUser";
    QOSMaxBillingMinutesPerJob = 195, "QOSMaxBillingMinutesPerJob";
    MaxBillingPerAccount = 196, "MaxBillingPerAccount";
    QOSMinBilling = 197, "QOSMinBilling";
    ReservationDeleted = 198, "ReservationDeleted";
    ReservationInvalid = 199, "ReservationInvalid";
    Constraints = 200, "Constraints";
    MaxBBRunMinsPerAccount = 201, "MaxBBRunMinsPerAccount";
    MaxBillingRunMinsPerAccount = 202, "MaxBillingRunMinsPerAccount";
    MaxCpuRunMinsPerAccount = 203, "MaxCpuRunMinsPerAccount";
    MaxEnergyRunMinsPerAccount = 204, "MaxEnergyRunMinsPerAccount";
    MaxGRESRunMinsPerAccount = 205, "MaxGRESRunMinsPerAccount";
    MaxNodeRunMinsPerAccount = 206, "MaxNodeRunMinsPerAccount";
    MaxLicenseRunMinsPerAccount = 207, "MaxLicenseRunMinsPerAccount";
    MaxMemoryRunMinsPerAccount = 208, "MaxMemoryRunMinsPerAccount";
    MaxUnknownRunMinsPerAccount = 209, "MaxUnknownRunMinsPerAccount";
    MaxBBRunMinsPerUser = 210, "MaxBBRunMinsPerUser";
    MaxBillingRunMinsPerUser = 211, "MaxBillingRunMinsPerUser";
    MaxCpuRunMinsPerUser = 212, "MaxCpuRunMinsPerUser";
    MaxEnergyRunMinsPerUser = 213, "MaxEnergyRunMinsPerUser";
    MaxGRESRunMinsPerUser = 214, "MaxGRESRunMinsPerUser";
    MaxNodeRunMinsPerUser = 215, "MaxNodeRunMinsPerUser";
    MaxLicenseRunMinsPerUser = 216, "MaxLicenseRunMinsPerUser";
    MaxMemoryRunMinsPerUser = 217, "MaxMemoryRunMinsPerUser";
    MaxUnknownRunMinsPerUser = 218, "MaxUnknownRunMinsPerUser";
    MaxPoweredUpNodes = 219, "MaxPoweredUpNodes";
    MpiPortsBusy = 220, "MpiPortsBusy";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_back_to_its_row() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_number(reason.number()), Some(*reason));
        }
    }

    #[test]
    fn a_number_without_a_row_is_printed() {
        assert_eq!(Reason::word(15), "ReqNodeNotAvail");
        assert_eq!(Reason::word(300), "300");
        assert_eq!(Reason::from_name("jobhelduser"), Some(Reason::JobHeldUser));
    }
}
