//! What to do about a refusal: one line a user can act on, beside Slurm's own text.

use super::SlurmError;
use super::SlurmError::*;

/// The advice for an error, where there is some.
pub fn advice(error: SlurmError) -> Option<&'static str> {
    ADVICE.iter().find(|(of, _)| *of == error).map(|(_, line)| *line)
}

/// Refusals a user meets when submitting or changing a job, and what helps.
#[rustfmt::skip]
static ADVICE: &[(SlurmError, &str)] = &[
    (SlurmctldCommunicationsConnectionError, "the controller does not answer: check that it runs, and SPUR_CONTROLLER_ADDR or the configuration"),
    (SlurmctldCommunicationsReceiveError, "the controller stopped answering: try again, nothing is done twice"),
    (SlurmctldCommunicationsBackoff, "too many requests: wait a second and try again"),
    (SlurmctldCommunicationsHardDrop, "too many requests: ask less often"),
    (CommunicationsConnectionError, "the other side does not answer: check that it runs and that the address is right"),
    (ProtocolVersionError, "client and controller are of different releases: upgrade the older one"),
    (ProtocolAuthenticationError, "the controller does not believe who you are: log in again or renew your token"),
    (AuthCredInvalid, "the token is not valid here: renew it with `scontrol token`"),
    (CredentialExpired, "the token has expired: renew it with `scontrol token`"),
    (InvalidPartitionName, "list partitions with `sinfo -s`"),
    (PartitionNotAvail, "the partition takes no jobs now: choose another with `sinfo -s`"),
    (PartitionDown, "the partition is down: choose another with `sinfo -s`, or wait"),
    (AccessDenied, "only the job's owner or an administrator may do this"),
    (UserIdMissing, "the user has no account here: ask an administrator to add one with `sacctmgr add user`"),
    (InvalidAccount, "list your accounts with `sacctmgr show assoc user=$USER`, then give one with --account"),
    (InvalidQos, "list the QOS you may use with `sacctmgr show assoc user=$USER format=qos`"),
    (QosThres, "the QOS has used up its share: try another QOS, or wait"),
    (AccountingPolicy, "the request exceeds a limit of the account or QOS: `sacctmgr show qos` and `show assoc` list them"),
    (InvalidWckey, "list keys with `sacctmgr show wckey`"),
    (TooManyRequestedCpus, "ask for fewer CPUs, or another partition: `sinfo -o \"%P %c %D\"` shows what there is"),
    (InvalidNodeCount, "ask for at least one node and no more than the partition allows"),
    (BadTaskCount, "ask for at least one task"),
    (InvalidNodeName, "list nodes with `sinfo -N`"),
    (RequestedNodeConfigUnavailable, "no node has all of this together: compare with `sinfo -o \"%N %c %m %G %f\"`"),
    (NodesBusy, "the nodes are in use: leave out --immediate to wait for them"),
    (NotTopPriority, "other jobs come first: leave out --immediate to wait"),
    (InvalidFeature, "list features with `sinfo -o \"%N %f\"`"),
    (InvalidGres, "list generic resources with `sinfo -o \"%N %G\"`"),
    (InvalidGresType, "list generic resources and their types with `sinfo -o \"%N %G\"`"),
    (DuplicateGres, "name each generic resource once"),
    (InsufficientGres, "the allocation has fewer of these: ask for them when the job is submitted"),
    (InvalidTres, "write resources as type=count, for example gres/gpu=2"),
    (InvalidTaskMemory, "ask for less memory, or for nodes with more: `sinfo -o \"%N %m\"`"),
    (InvalidLicenses, "list licences with `scontrol show licenses`"),
    (LicensesUnavailable, "all of these licences are in use: wait, or ask for fewer"),
    (InvalidTimeLimit, "ask for less time: `sinfo -o \"%P %l\"` shows each partition's limit"),
    (MissingTimeLimit, "give a time limit with --time"),
    (InvalidTimeMinLimit, "--time-min must not exceed --time"),
    (InvalidTimeValue, "write times as YYYY-MM-DDTHH:MM:SS or now+1hour"),
    (Dependency, "write dependencies as type:job, for example afterok:123"),
    (CircularDependency, "the jobs would wait for each other: remove one dependency"),
    (InvalidArray, "write arrays as 1-10, 1-10:2 or 1,3,5, below MaxArraySize of `scontrol show config`"),
    (ReservationInvalid, "list reservations with `scontrol show reservation`"),
    (ReservationAccess, "the reservation is for others: `scontrol show reservation` tells for whom"),
    (ReservationNotUsable, "the reservation has not begun or is over"),
    (ReservationBusy, "jobs use the reservation: wait for them or cancel them first"),
    (ReservationOverlap, "choose other nodes or another time, or give flags=overlap"),
    (ReservationEmpty, "say for whom: users=, groups= or accounts="),
    (ReservationNameDup, "choose another name, or update the one there is"),
    (InvalidJobId, "list jobs with `squeue`, finished ones with `sacct`"),
    (AlreadyDone, "the job is over: see `sacct -j`"),
    (JobPending, "the job has not started: wait for it with `squeue -j`"),
    (JobNotPending, "this can only be changed before the job starts"),
    (JobNotRunning, "the job must be running for this"),
    (JobNotPendingNorRunning, "the job is over: see `sacct -j`"),
    (JobNotSuspended, "only suspended jobs can be resumed"),
    (TransitionStateNoUpdate, "the job is starting or ending: try again in a moment"),
    (JobHeld, "release it with `scontrol release`"),
    (JobScriptMissing, "give a script, or a command with --wrap"),
    (PathnameTooLong, "use a shorter path"),
    (DuplicateJobId, "choose another job id, or leave it out"),
    (BatchOnly, "use sbatch: this partition takes batch jobs only"),
    (SubmissionsDisabled, "the administrator has closed the queue: try later"),
    (Disabled, "this is switched off here: ask an administrator"),
    (NotHetJob, "leave the component out: this is a plain job"),
    (NotWholeHetJob, "act on the whole job: give its id without +component"),
    (CannotModifyCronJob, "change it with `scrontab -e`"),
    (ContainerNotConfigured, "containers are not set up on this cluster: ask an administrator"),
    (InvalidContainerId, "use letters, digits, dots and dashes"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_at_most_one_short_line() {
        let errors: std::collections::BTreeSet<_> = ADVICE.iter().map(|(of, _)| of).collect();
        assert_eq!(errors.len(), ADVICE.len());
        for (error, line) in ADVICE {
            assert!(!line.ends_with('.') && !line.contains('\n') && line.len() < 120, "{error:?}");
        }
        assert!(advice(SlurmError::InvalidPartitionName).unwrap().contains("sinfo"));
    }
}
