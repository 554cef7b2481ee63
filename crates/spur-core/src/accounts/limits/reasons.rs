//! Slurm's word for every limit, by whose it is, what it bounds and which resource.

use crate::job::Reason;
use crate::tres::Tres;

/// Whose limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Association,
    Qos,
}

/// What it bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Grp,
    GrpMinutes,
    GrpRunMinutes,
    PerJob,
    PerNode,
    MinutesPerJob,
    PerUser,
    PerAccount,
    RunMinutesPerUser,
    RunMinutesPerAccount,
    Min,
}

impl Kind {
    /// Whether it bounds minutes that jobs share.
    pub(super) fn is_minutes(self) -> bool {
        use Kind::*;
        matches!(self, GrpMinutes | GrpRunMinutes | RunMinutesPerUser | RunMinutesPerAccount)
    }
}

/// The columns below.
fn column(tres: &Tres) -> usize {
    match tres {
        Tres::Cpu => 0,
        Tres::Memory => 1,
        Tres::Node => 2,
        Tres::Billing => 3,
        Tres::Energy => 4,
        Tres::Named { kind, .. } if kind == "gres" => 5,
        Tres::Named { kind, .. } if kind == "license" => 6,
        Tres::Named { kind, .. } if kind == "bb" => 7,
        _ => 8,
    }
}

/// The reason of a job that waits for this limit.
pub(super) fn of(level: Level, kind: Kind, tres: &Tres) -> Reason {
    use Reason::*;
    let row: [Reason; 9] = match (level, kind) {
        (Level::Association, Kind::Grp) => [
            AssocGrpCpuLimit,
            AssocGrpMemLimit,
            AssocGrpNodeLimit,
            AssocGrpBilling,
            AssocGrpEnergy,
            AssocGrpGRES,
            AssocGrpLicense,
            AssocGrpBB,
            AssocGrpUnknown,
        ],
        (Level::Association, Kind::GrpMinutes) => [
            AssocGrpCPUMinutesLimit,
            AssocGrpMemMinutes,
            AssocGrpNodeMinutes,
            AssocGrpBillingMinutes,
            AssocGrpEnergyMinutes,
            AssocGrpGRESMinutes,
            AssocGrpLicenseMinutes,
            AssocGrpBBMinutes,
            AssocGrpUnknownMinutes,
        ],
        (Level::Association, Kind::GrpRunMinutes) => [
            AssocGrpCPURunMinutesLimit,
            AssocGrpMemRunMinutes,
            AssocGrpNodeRunMinutes,
            AssocGrpBillingRunMinutes,
            AssocGrpEnergyRunMinutes,
            AssocGrpGRESRunMinutes,
            AssocGrpLicenseRunMinutes,
            AssocGrpBBRunMinutes,
            AssocGrpUnknownRunMinutes,
        ],
        (Level::Association, Kind::PerNode) => [
            AssocMaxCpuPerNode,
            AssocMaxMemPerNode,
            AssocMaxUnknownPerNode,
            AssocMaxBillingPerNode,
            AssocMaxEnergyPerNode,
            AssocMaxGRESPerNode,
            AssocMaxUnknownPerNode,
            AssocMaxBBPerNode,
            AssocMaxUnknownPerNode,
        ],
        (Level::Association, Kind::MinutesPerJob) => [
            AssocMaxCpuMinutesPerJobLimit,
            AssocMaxMemMinutesPerJob,
            AssocMaxNodeMinutesPerJob,
            AssocMaxBillingMinutesPerJob,
            AssocMaxEnergyMinutesPerJob,
            AssocMaxGRESMinutesPerJob,
            AssocMaxLicenseMinutesPerJob,
            AssocMaxBBMinutesPerJob,
            AssocMaxUnknownMinutesPerJob,
        ],
        (Level::Association, _) => [
            AssocMaxCpuPerJobLimit,
            AssocMaxMemPerJob,
            AssocMaxNodePerJobLimit,
            AssocMaxBillingPerJob,
            AssocMaxEnergyPerJob,
            AssocMaxGRESPerJob,
            AssocMaxLicensePerJob,
            AssocMaxBBPerJob,
            AssocMaxUnknownPerJob,
        ],
        (Level::Qos, Kind::Grp) => [
            QOSGrpCpuLimit,
            QOSGrpMemLimit,
            QOSGrpNodeLimit,
            QOSGrpBilling,
            QOSGrpEnergy,
            QOSGrpGRES,
            QOSGrpLicense,
            QOSGrpBB,
            QOSGrpUnknown,
        ],
        (Level::Qos, Kind::GrpMinutes) => [
            QOSGrpCPUMinutesLimit,
            QOSGrpMemoryMinutes,
            QOSGrpNodeMinutes,
            QOSGrpBillingMinutes,
            QOSGrpEnergyMinutes,
            QOSGrpGRESMinutes,
            QOSGrpLicenseMinutes,
            QOSGrpBBMinutes,
            QOSGrpUnknownMinutes,
        ],
        (Level::Qos, Kind::GrpRunMinutes) => [
            QOSGrpCPURunMinutesLimit,
            QOSGrpMemoryRunMinutes,
            QOSGrpNodeRunMinutes,
            QOSGrpBillingRunMinutes,
            QOSGrpEnergyRunMinutes,
            QOSGrpGRESRunMinutes,
            QOSGrpLicenseRunMinutes,
            QOSGrpBBRunMinutes,
            QOSGrpUnknownRunMinutes,
        ],
        (Level::Qos, Kind::PerJob) => [
            QOSMaxCpuPerJobLimit,
            QOSMaxMemoryPerJob,
            QOSMaxNodePerJobLimit,
            QOSMaxBillingPerJob,
            QOSMaxEnergyPerJob,
            QOSMaxGRESPerJob,
            QOSMaxLicensePerJob,
            QOSMaxBBPerJob,
            QOSMaxUnknownPerJob,
        ],
        (Level::Qos, Kind::PerNode) => [
            QOSMaxCpuPerNode,
            QOSMaxMemoryPerNode,
            QOSMaxUnknownPerNode,
            QOSMaxBillingPerNode,
            QOSMaxEnergyPerNode,
            QOSMaxGRESPerNode,
            QOSMaxUnknownPerNode,
            QOSMaxBBPerNode,
            QOSMaxUnknownPerNode,
        ],
        (Level::Qos, Kind::MinutesPerJob) => [
            QOSMaxCpuMinutesPerJobLimit,
            QOSMaxMemoryMinutesPerJob,
            QOSMaxNodeMinutesPerJob,
            QOSMaxBillingMinutesPerJob,
            QOSMaxEnergyMinutesPerJob,
            QOSMaxGRESMinutesPerJob,
            QOSMaxLicenseMinutesPerJob,
            QOSMaxBBMinutesPerJob,
            QOSMaxUnknownMinutesPerJob,
        ],
        (Level::Qos, Kind::PerUser) => [
            QOSMaxCpuPerUserLimit,
            QOSMaxMemoryPerUser,
            QOSMaxNodePerUserLimit,
            QOSMaxBillingPerUser,
            QOSMaxEnergyPerUser,
            QOSMaxGRESPerUser,
            QOSMaxLicensePerUser,
            QOSMaxBBPerUser,
            QOSMaxUnknownPerUser,
        ],
        (Level::Qos, Kind::PerAccount) => [
            MaxCpuPerAccount,
            MaxMemoryPerAccount,
            MaxNodePerAccount,
            MaxBillingPerAccount,
            MaxEnergyPerAccount,
            MaxGRESPerAccount,
            MaxLicensePerAccount,
            MaxBBPerAccount,
            MaxUnknownPerAccount,
        ],
        (Level::Qos, Kind::RunMinutesPerUser) => [
            MaxCpuRunMinsPerUser,
            MaxMemoryRunMinsPerUser,
            MaxNodeRunMinsPerUser,
            MaxBillingRunMinsPerUser,
            MaxEnergyRunMinsPerUser,
            MaxGRESRunMinsPerUser,
            MaxLicenseRunMinsPerUser,
            MaxBBRunMinsPerUser,
            MaxUnknownRunMinsPerUser,
        ],
        (Level::Qos, Kind::RunMinutesPerAccount) => [
            MaxCpuRunMinsPerAccount,
            MaxMemoryRunMinsPerAccount,
            MaxNodeRunMinsPerAccount,
            MaxBillingRunMinsPerAccount,
            MaxEnergyRunMinsPerAccount,
            MaxGRESRunMinsPerAccount,
            MaxLicenseRunMinsPerAccount,
            MaxBBRunMinsPerAccount,
            MaxUnknownRunMinsPerAccount,
        ],
        (Level::Qos, Kind::Min) => [
            QOSMinCpuNotSatisfied,
            QOSMinMemory,
            QOSMinNode,
            QOSMinBilling,
            QOSMinEnergy,
            QOSMinGRES,
            QOSMinLicense,
            QOSMinBB,
            QOSMinUnknown,
        ],
    };
    row[column(tres)]
}
