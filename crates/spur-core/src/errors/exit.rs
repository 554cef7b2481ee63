//! The exit status of each tool, by what went wrong.
//!
//! Slurm's tools do not agree with each other: `sbatch --nosuch` ends with 255, `squeue --nosuch` with
//! 1, `scancel` of an unknown job with 0.

/// A controller that was removed from its cluster ends with this: it is not to be started again.
pub const REMOVED: u8 = 10;

/// A command under Slurm's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// `sacct`
    Sacct,
    /// `sacctmgr`
    Sacctmgr,
    /// `salloc`
    Salloc,
    /// `sattach`
    Sattach,
    /// `sbatch`
    Sbatch,
    /// `sbcast`
    Sbcast,
    /// `scancel`
    Scancel,
    /// `scontrol`
    Scontrol,
    /// `scrontab`
    Scrontab,
    /// `sdiag`
    Sdiag,
    /// `sinfo`
    Sinfo,
    /// `sprio`
    Sprio,
    /// `squeue`
    Squeue,
    /// `sreport`
    Sreport,
    /// `srun`
    Srun,
    /// `sshare`
    Sshare,
    /// `sstat`
    Sstat,
    /// `strigger`
    Strigger,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// An option nobody knows, or one without its value.
    Usage,
    /// A value that cannot be read: `-t bad`, `--mem=xx`, `-N x`, `squeue -t BOGUS`.
    BadValue,
    /// Where a positive whole number belongs there is none: `-n -1`, `-c 0`.
    BadNumber,
    /// The controller refused, or could not be reached.
    Refused,
    /// No such job: `squeue -j 99999`, `scancel 99999`.
    UnknownJob,
    /// No such user: `squeue -u nosuch`.
    UnknownUser,
    /// No such partition: `squeue -p nosuch`.
    UnknownPartition,
    /// No such node: `sinfo -n nosuch`.
    UnknownNode,
    /// No such column: `squeue -o %!`, `sacct --format=nosuch`.
    UnknownField,
}

/// Rows that differ from 1, which every tool otherwise ends with.
const DIFFERENT: &[(Program, Failure, u8)] = &[
    (Program::Sbatch, Failure::Usage, 255),
    (Program::Srun, Failure::Usage, 255),
    (Program::Salloc, Failure::Usage, 255),
    (Program::Sbatch, Failure::BadValue, 255),
    (Program::Srun, Failure::BadValue, 255),
    (Program::Salloc, Failure::BadValue, 255),
    (Program::Scancel, Failure::UnknownJob, 0),
    (Program::Sacct, Failure::UnknownJob, 0),
    (Program::Sprio, Failure::UnknownJob, 0),
    (Program::Sstat, Failure::UnknownJob, 0),
    (Program::Squeue, Failure::UnknownUser, 0),
    (Program::Sprio, Failure::UnknownUser, 0),
    (Program::Sshare, Failure::UnknownUser, 0),
    (Program::Squeue, Failure::UnknownPartition, 0),
    (Program::Sinfo, Failure::UnknownPartition, 0),
    (Program::Sinfo, Failure::UnknownNode, 0),
    (Program::Squeue, Failure::UnknownField, 0),
    (Program::Sinfo, Failure::UnknownField, 0),
    (Program::Sprio, Failure::UnknownField, 0),
];

/// The exit status of a tool after a failure.
pub fn status(program: Program, failure: Failure) -> u8 {
    let row = DIFFERENT.iter().find(|(of, after, _)| (*of, *after) == (program, failure));
    row.map_or(1, |(_, _, status)| *status)
}

/// The exit status of `srun` for what its tasks ended with, as `wait(2)` gave it: 128 and the highest
/// signal if any task died of one, else the highest code.
pub fn of_tasks(statuses: impl IntoIterator<Item = u32>) -> u8 {
    let (mut code, mut signal) = (0, 0);
    for status in statuses {
        match status & 0x7f {
            0 => code = code.max((status >> 8 & 0xff) as u8),
            number => signal = signal.max(number as u8),
        }
    }
    if signal > 0 { 128 + signal } else { code }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_differ() {
        assert_eq!(status(Program::Sbatch, Failure::Usage), 255);
        assert_eq!(status(Program::Sbatch, Failure::BadNumber), 1);
        assert_eq!(status(Program::Sbatch, Failure::Refused), 1);
        assert_eq!(status(Program::Squeue, Failure::Usage), 1);
        assert_eq!(status(Program::Squeue, Failure::UnknownJob), 1);
        assert_eq!(status(Program::Scancel, Failure::UnknownJob), 0);
        assert_eq!(status(Program::Sacct, Failure::UnknownField), 1);
    }

    #[test]
    fn srun_ends_with_the_highest_signal_or_code() {
        assert_eq!(of_tasks([3 << 8, 4 << 8, 0]), 4);
        assert_eq!(of_tasks([200 << 8, 15]), 143);
        assert_eq!(of_tasks([9]), 137);
        assert_eq!(of_tasks([]), 0);
    }

    #[test]
    fn no_row_is_said_twice() {
        let rows: std::collections::BTreeSet<_> =
            DIFFERENT.iter().map(|(program, failure, _)| (program, failure)).collect();
        assert_eq!(rows.len(), DIFFERENT.len());
        assert!(DIFFERENT.iter().all(|(.., status)| *status != 1));
    }
}
