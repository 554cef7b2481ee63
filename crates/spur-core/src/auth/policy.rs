//! Who may do what, in one place. Deny by default: a method without a row is refused.

use super::{Actor, Level};
use crate::errors::SlurmError;
use crate::ids::{Gid, NodeName, Uid};
use crate::state::JobAction;

/// A row of the table: a method of the wire and who may call it at all.
#[derive(Debug)]
pub struct MethodRule {
    /// The path as gRPC spells it.
    pub method: &'static str,
    /// Who gets past the door. Rights on the object are asked again with [`may`].
    pub who: Who,
}

/// Groups of callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Everybody, known or not.
    Anyone,
    /// Every known user.
    User,
    /// Agents of nodes.
    Node,
    /// Whoever may do everything; controllers of the same machine among them.
    Administrator,
    /// Other controllers.
    Controller,
}

/// Every method there is.
pub static METHODS: &[MethodRule] = &[
    MethodRule { method: "/slurm.Controller/Ping", who: Who::Anyone },
    MethodRule { method: "/slurm.Controller/SubmitJob", who: Who::User },
    MethodRule { method: "/slurm.Controller/CancelJob", who: Who::User },
    MethodRule { method: "/slurm.Controller/ControlJob", who: Who::User },
    MethodRule { method: "/slurm.Controller/Administer", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListJobs", who: Who::User },
    MethodRule { method: "/slurm.Controller/WaitJob", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListPriorities", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListShares", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListNodes", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListPartitions", who: Who::User },
    MethodRule { method: "/slurm.Controller/Watch", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListControllers", who: Who::User },
    MethodRule { method: "/slurm.Controller/RemoveController", who: Who::Administrator },
    MethodRule { method: "/slurm.Accounting/PingAccounting", who: Who::Anyone },
    MethodRule { method: "/slurm.Accounting/Ingest", who: Who::Administrator },
    MethodRule { method: "/slurm.Accounting/ListJobHistory", who: Who::User },
    MethodRule { method: "/slurm.Controller/Attend", who: Who::User },
    MethodRule { method: "/slurm.Controller/EndAllocation", who: Who::User },
    MethodRule { method: "/slurm.Controller/CreateStep", who: Who::User },
    MethodRule { method: "/slurm.Controller/AccessStep", who: Who::User },
    MethodRule { method: "/slurm.Controller/SignalStep", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListSteps", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListReservations", who: Who::User },
    MethodRule { method: "/slurm.Controller/ExplainJob", who: Who::User },
    MethodRule { method: "/slurm.Controller/Plan", who: Who::User },
    MethodRule { method: "/slurm.Controller/TryJob", who: Who::User },
    MethodRule { method: "/slurm.Controller/GetConfig", who: Who::User },
    MethodRule { method: "/slurm.Controller/GetScript", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListLicenses", who: Who::User },
    MethodRule { method: "/slurm.Controller/GetDiagnostics", who: Who::User },
    MethodRule { method: "/slurm.Controller/Shutdown", who: Who::Administrator },
    MethodRule { method: "/slurm.Controller/Reconfigure", who: Who::Administrator },
    MethodRule { method: "/slurm.Controller/Enrol", who: Who::Anyone },
    MethodRule { method: "/slurm.Controller/CreateToken", who: Who::Administrator },
    MethodRule { method: "/slurm.Controller/ListMachines", who: Who::Administrator },
    MethodRule { method: "/slurm.Controller/ApproveMachine", who: Who::Administrator },
    MethodRule { method: "/slurm.Controller/RemoveMachine", who: Who::Administrator },
    MethodRule { method: "/slurm.Controller/IssueToken", who: Who::User },
    MethodRule { method: "/slurm.Controller/RevokeTokens", who: Who::User },
    MethodRule { method: "/slurm.Controller/GetCrontab", who: Who::User },
    MethodRule { method: "/slurm.Controller/SetCrontab", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListTriggers", who: Who::User },
    MethodRule { method: "/slurm.Controller/SetTrigger", who: Who::User },
    MethodRule { method: "/slurm.Controller/ClearTriggers", who: Who::User },
    MethodRule { method: "/slurm.Accounting/GetRules", who: Who::User },
    MethodRule { method: "/slurm.Accounting/ChangeRules", who: Who::User },
    MethodRule { method: "/slurm.Accounting/ListEvents", who: Who::User },
    MethodRule { method: "/slurm.Accounting/SumUsage", who: Who::User },
    MethodRule { method: "/slurm.Accounting/ListTransactions", who: Who::User },
    MethodRule { method: "/spur.internal.Agents/Session", who: Who::Node },
    MethodRule { method: "/spur.internal.Consensus/Append", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Vote", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Install", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Join", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Leave", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Status", who: Who::Controller },
];

/// One of each kind of caller, by name: the columns of the printed table.
pub fn principals() -> Vec<(&'static str, Actor)> {
    let user = |uid, level| Actor::User { uid: Uid(uid), gid: Gid(uid), level };
    vec![
        ("anonymous", Actor::Anonymous),
        ("user", user(1000, Level::None)),
        ("operator", user(1001, Level::Operator)),
        ("administrator", user(0, Level::Administrator)),
        ("node", Actor::Node(NodeName::from("n1"))),
        ("controller", Actor::Controller),
    ]
}

/// The rule for a method, if it has one.
pub fn method_rule(method: &str) -> Option<&'static MethodRule> {
    METHODS.iter().find(|rule| rule.method == method)
}

impl Who {
    /// Whether this caller belongs to the group.
    pub fn admits(self, actor: &Actor) -> bool {
        matches!(
            (self, actor),
            (Who::Anyone, _)
                | (_, Actor::Controller)
                | (Who::User, Actor::User { .. })
                | (Who::Node, Actor::Node(_))
                | (Who::Administrator, Actor::User { level: Level::Administrator, .. })
        )
    }
}

/// Something done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ending a job.
    CancelJob,
    /// Making a step, attaching to one, giving an allocation back: whatever acts as the owner.
    RunInJob,
    /// Holding, changing, putting back, signalling a job of one's own.
    ControlJob,
    /// Stopping a job and letting it go on: takes resources from others.
    SuspendJob,
    /// Changing nodes, partitions and reservations.
    Administer,
}

impl Action {
    /// The right that an action on a job needs.
    pub fn of(action: &JobAction) -> Action {
        match action {
            JobAction::Cancel => Action::CancelJob,
            JobAction::Suspend | JobAction::Resume => Action::SuspendJob,
            JobAction::Signal { .. }
            | JobAction::Hold { .. }
            | JobAction::Release
            | JobAction::Requeue { .. }
            | JobAction::Update(_) => Action::ControlJob,
        }
    }
}

/// Every action, in words.
pub const ACTIONS: &[(&str, Action)] = &[
    ("cancel a job", Action::CancelJob),
    ("run in a job: steps, attaching, giving it back", Action::RunInJob),
    ("hold, change, requeue, signal a job", Action::ControlJob),
    ("suspend and resume a job", Action::SuspendJob),
    ("change nodes, partitions, reservations, machines, tokens", Action::Administer),
];

/// The object of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A job of this user.
    JobOf(Uid),
    /// What belongs to nobody in particular.
    Cluster,
}

/// Decides rights that depend on the object. Called inside `apply`, with the actor the entry recorded.
pub fn may(actor: &Actor, action: Action, target: Target) -> Result<(), SlurmError> {
    let is_owner = |uid: &Uid| target == Target::JobOf(*uid);
    let allowed = match (action, actor) {
        (_, Actor::Controller) => true,
        (Action::CancelJob | Action::ControlJob, Actor::User { uid, level, .. }) => {
            is_owner(uid) || *level >= Level::Operator
        }
        (Action::RunInJob, Actor::User { uid, .. }) => is_owner(uid),
        (Action::SuspendJob, Actor::User { level, .. }) => *level >= Level::Operator,
        (Action::Administer, Actor::User { level, .. }) => *level >= Level::Administrator,
        _ => false,
    };
    if allowed { Ok(()) } else { Err(SlurmError::AccessDenied) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(uid: u32, level: Level) -> Actor {
        Actor::User { uid: Uid(uid), gid: Gid(uid), level }
    }

    /// Rows are methods, columns are callers: `.` refused, `x` let in.
    #[test]
    fn matrix_of_methods_and_callers() {
        let callers: Vec<Actor> = principals().into_iter().map(|(_, actor)| actor).collect();
        let matrix: Vec<String> = METHODS
            .iter()
            .map(|rule| {
                let row: String =
                    callers.iter().map(|c| if rule.who.admits(c) { 'x' } else { '.' }).collect();
                format!("{row} {}", rule.method)
            })
            .collect();
        assert_eq!(
            matrix,
            [
                "xxxxxx /slurm.Controller/Ping",
                ".xxx.x /slurm.Controller/SubmitJob",
                ".xxx.x /slurm.Controller/CancelJob",
                ".xxx.x /slurm.Controller/ControlJob",
                ".xxx.x /slurm.Controller/Administer",
                ".xxx.x /slurm.Controller/ListJobs",
                ".xxx.x /slurm.Controller/WaitJob",
                ".xxx.x /slurm.Controller/ListPriorities",
                ".xxx.x /slurm.Controller/ListShares",
                ".xxx.x /slurm.Controller/ListNodes",
                ".xxx.x /slurm.Controller/ListPartitions",
                ".xxx.x /slurm.Controller/Watch",
                ".xxx.x /slurm.Controller/ListControllers",
                "...x.x /slurm.Controller/RemoveController",
                "xxxxxx /slurm.Accounting/PingAccounting",
                "...x.x /slurm.Accounting/Ingest",
                ".xxx.x /slurm.Accounting/ListJobHistory",
                ".xxx.x /slurm.Controller/Attend",
                ".xxx.x /slurm.Controller/EndAllocation",
                ".xxx.x /slurm.Controller/CreateStep",
                ".xxx.x /slurm.Controller/AccessStep",
                ".xxx.x /slurm.Controller/SignalStep",
                ".xxx.x /slurm.Controller/ListSteps",
                ".xxx.x /slurm.Controller/ListReservations",
                ".xxx.x /slurm.Controller/ExplainJob",
                ".xxx.x /slurm.Controller/Plan",
                ".xxx.x /slurm.Controller/TryJob",
                ".xxx.x /slurm.Controller/GetConfig",
                ".xxx.x /slurm.Controller/GetScript",
                ".xxx.x /slurm.Controller/ListLicenses",
                ".xxx.x /slurm.Controller/GetDiagnostics",
                "...x.x /slurm.Controller/Shutdown",
                "...x.x /slurm.Controller/Reconfigure",
                "xxxxxx /slurm.Controller/Enrol",
                "...x.x /slurm.Controller/CreateToken",
                "...x.x /slurm.Controller/ListMachines",
                "...x.x /slurm.Controller/ApproveMachine",
                "...x.x /slurm.Controller/RemoveMachine",
                ".xxx.x /slurm.Controller/IssueToken",
                ".xxx.x /slurm.Controller/RevokeTokens",
                ".xxx.x /slurm.Controller/GetCrontab",
                ".xxx.x /slurm.Controller/SetCrontab",
                ".xxx.x /slurm.Controller/ListTriggers",
                ".xxx.x /slurm.Controller/SetTrigger",
                ".xxx.x /slurm.Controller/ClearTriggers",
                ".xxx.x /slurm.Accounting/GetRules",
                ".xxx.x /slurm.Accounting/ChangeRules",
                ".xxx.x /slurm.Accounting/ListEvents",
                ".xxx.x /slurm.Accounting/SumUsage",
                ".xxx.x /slurm.Accounting/ListTransactions",
                "....xx /spur.internal.Agents/Session",
                ".....x /spur.internal.Consensus/Append",
                ".....x /spur.internal.Consensus/Vote",
                ".....x /spur.internal.Consensus/Install",
                ".....x /spur.internal.Consensus/Join",
                ".....x /spur.internal.Consensus/Leave",
                ".....x /spur.internal.Consensus/Status",
            ]
        );
    }

    #[test]
    fn only_the_owner_and_operators_cancel() {
        let cancel = |actor| may(&actor, Action::CancelJob, Target::JobOf(Uid(1000)));
        assert_eq!(cancel(user(1000, Level::None)), Ok(()));
        assert_eq!(cancel(user(1001, Level::None)), Err(SlurmError::AccessDenied));
        assert_eq!(cancel(user(1001, Level::Operator)), Ok(()));
        assert_eq!(cancel(Actor::Anonymous), Err(SlurmError::AccessDenied));
        assert_eq!(cancel(Actor::Node(NodeName::from("n1"))), Err(SlurmError::AccessDenied));
    }
}
