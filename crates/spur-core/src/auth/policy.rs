//! Who may do what, in one place. Deny by default: a method without a row is refused.

use std::sync::Arc;

use super::{Actor, Level};
use crate::errors::SlurmError;
use crate::ids::{Gid, NodeName, Uid};
use crate::job::Job;
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
    MethodRule { method: "/slurm.Controller/ListJobTable", who: Who::User },
    MethodRule { method: "/slurm.Controller/WaitJob", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListPriorities", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListShares", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListHoldings", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListNodes", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListPartitions", who: Who::User },
    MethodRule { method: "/slurm.Controller/Watch", who: Who::User },
    MethodRule { method: "/slurm.Controller/ListControllers", who: Who::User },
    MethodRule { method: "/slurm.Controller/RemoveController", who: Who::Administrator },
    MethodRule { method: "/slurm.Accounting/PingAccounting", who: Who::Anyone },
    MethodRule { method: "/slurm.Accounting/Ingest", who: Who::Administrator },
    MethodRule { method: "/slurm.Accounting/ListJobHistory", who: Who::User },
    MethodRule { method: "/slurm.Accounting/AmendJobs", who: Who::User },
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
    MethodRule { method: "/slurm.Controller/SetLogging", who: Who::Administrator },
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
    MethodRule { method: "/slurm.Accounting/TellRevoked", who: Who::Administrator },
    MethodRule { method: "/spur.internal.Agents/Session", who: Who::Node },
    MethodRule { method: "/spur.internal.Consensus/Append", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Vote", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Install", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Join", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Leave", who: Who::Controller },
    MethodRule { method: "/spur.internal.Consensus/Status", who: Who::Controller },
];

/// The account that the coordinator of the printed table looks after.
pub const ACCOUNT: &str = "physics";

/// One of each kind of caller, by name: the columns of the printed table.
pub fn principals() -> Vec<(&'static str, Actor)> {
    let coordinates = Arc::new(vec![ACCOUNT.to_string()]);
    let (uid, gid, level) = (Uid(1002), Gid(1002), Level::None);
    let coordinator = Actor::User { uid, gid, level, coordinates };
    let user = |uid, level| Actor::user(Uid(uid), Gid(uid), level);
    vec![
        ("anonymous", Actor::Anonymous),
        ("user", user(1000, Level::None)),
        ("coordinator", coordinator),
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
    /// Reading what a job runs: its script and its environment.
    ReadJob,
    /// Stopping a job and letting it go on: takes resources from others.
    SuspendJob,
    /// Setting nodes aside for a while.
    Reserve,
    /// Changing nodes and partitions, letting machines in.
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
            | JobAction::RequeueSpecial
            | JobAction::Update(_)
            | JobAction::LimitSteps { .. } => Action::ControlJob,
        }
    }
}

/// Every action, in words.
pub const ACTIONS: &[(&str, Action)] = &[
    ("cancel a job", Action::CancelJob),
    ("run in a job: steps, attaching, giving it back", Action::RunInJob),
    ("hold, change, requeue, signal a job", Action::ControlJob),
    ("read a job's script", Action::ReadJob),
    ("suspend and resume a job", Action::SuspendJob),
    ("make, change, delete reservations", Action::Reserve),
    ("change nodes, partitions, machines, tokens", Action::Administer),
];

/// The object of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A job.
    Job {
        /// Whose.
        owner: Uid,
        /// What it is charged to; nothing where it is charged to nobody.
        account: &'a str,
    },
    /// What belongs to this user beside jobs: a crontab, a trigger.
    Of(Uid),
    /// What belongs to nobody in particular.
    Cluster,
}

impl<'a> From<&'a Job> for Target<'a> {
    fn from(job: &'a Job) -> Target<'a> {
        Target::Job { owner: job.owner.uid, account: &job.spec.account }
    }
}

/// Decides rights that depend on the object. Called inside `apply`, with the actor the entry recorded.
pub fn may(actor: &Actor, action: Action, target: Target<'_>) -> Result<(), SlurmError> {
    let (owner, account) = match target {
        Target::Job { owner, account } => (Some(owner), account),
        Target::Of(owner) => (Some(owner), ""),
        Target::Cluster => (None, ""),
    };
    let is_owner = |uid: &Uid| owner == Some(*uid);
    let allowed = match (action, actor) {
        (_, Actor::Controller) => true,
        (Action::CancelJob | Action::ControlJob, Actor::User { uid, level, .. }) => {
            is_owner(uid) || *level >= Level::Operator || actor.is_coordinator(account)
        }
        (Action::ReadJob, Actor::User { uid, level, .. }) => {
            is_owner(uid) || *level >= Level::Operator
        }
        (Action::RunInJob, Actor::User { uid, .. }) => is_owner(uid),
        (Action::SuspendJob | Action::Reserve, Actor::User { level, .. }) => {
            *level >= Level::Operator
        }
        (Action::Administer, Actor::User { level, .. }) => *level >= Level::Administrator,
        _ => false,
    };
    if allowed { Ok(()) } else { Err(SlurmError::AccessDenied) }
}

/// Whoever sets a crontab, or has a token made, has programs run as its owner: for others only administrators may,
/// and as root nothing runs that root did not ask for. `ours` is whom the cluster itself runs as.
pub fn may_act_as(actor: &Actor, uid: Uid, ours: Uid) -> Result<(), SlurmError> {
    let own = actor.uid();
    let is_administrator = matches!(actor, Actor::User { level: Level::Administrator, .. });
    match own == Some(uid) || own == Some(ours) || (is_administrator && uid != Uid::ROOT) {
        true => Ok(()),
        false => Err(SlurmError::AccessDenied),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_as_root_that_root_did_not_ask_for() {
        let (alice, bob, ours) = (Uid(1000), Uid(1001), Uid(900));
        for (caller, level, uid, is_let) in [
            (alice, Level::None, alice, true),
            (alice, Level::None, bob, false),
            (alice, Level::Operator, bob, false),
            (alice, Level::Administrator, bob, true),
            (alice, Level::Administrator, Uid::ROOT, false),
            (ours, Level::Administrator, Uid::ROOT, true),
        ] {
            let answer = may_act_as(&user(caller.0, level), uid, ours);
            assert_eq!(answer.is_ok(), is_let, "{caller:?} {level:?} as {uid:?}");
        }
    }

    fn user(uid: u32, level: Level) -> Actor {
        Actor::user(Uid(uid), Gid(uid), level)
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
                "xxxxxxx /slurm.Controller/Ping",
                ".xxxx.x /slurm.Controller/SubmitJob",
                ".xxxx.x /slurm.Controller/CancelJob",
                ".xxxx.x /slurm.Controller/ControlJob",
                ".xxxx.x /slurm.Controller/Administer",
                ".xxxx.x /slurm.Controller/ListJobs",
                ".xxxx.x /slurm.Controller/ListJobTable",
                ".xxxx.x /slurm.Controller/WaitJob",
                ".xxxx.x /slurm.Controller/ListPriorities",
                ".xxxx.x /slurm.Controller/ListShares",
                ".xxxx.x /slurm.Controller/ListHoldings",
                ".xxxx.x /slurm.Controller/ListNodes",
                ".xxxx.x /slurm.Controller/ListPartitions",
                ".xxxx.x /slurm.Controller/Watch",
                ".xxxx.x /slurm.Controller/ListControllers",
                "....x.x /slurm.Controller/RemoveController",
                "xxxxxxx /slurm.Accounting/PingAccounting",
                "....x.x /slurm.Accounting/Ingest",
                ".xxxx.x /slurm.Accounting/ListJobHistory",
                ".xxxx.x /slurm.Accounting/AmendJobs",
                ".xxxx.x /slurm.Controller/Attend",
                ".xxxx.x /slurm.Controller/EndAllocation",
                ".xxxx.x /slurm.Controller/CreateStep",
                ".xxxx.x /slurm.Controller/AccessStep",
                ".xxxx.x /slurm.Controller/SignalStep",
                ".xxxx.x /slurm.Controller/ListSteps",
                ".xxxx.x /slurm.Controller/ListReservations",
                ".xxxx.x /slurm.Controller/ExplainJob",
                ".xxxx.x /slurm.Controller/Plan",
                ".xxxx.x /slurm.Controller/TryJob",
                ".xxxx.x /slurm.Controller/GetConfig",
                ".xxxx.x /slurm.Controller/GetScript",
                ".xxxx.x /slurm.Controller/ListLicenses",
                ".xxxx.x /slurm.Controller/GetDiagnostics",
                "....x.x /slurm.Controller/Shutdown",
                "....x.x /slurm.Controller/Reconfigure",
                "....x.x /slurm.Controller/SetLogging",
                "xxxxxxx /slurm.Controller/Enrol",
                "....x.x /slurm.Controller/CreateToken",
                "....x.x /slurm.Controller/ListMachines",
                "....x.x /slurm.Controller/ApproveMachine",
                "....x.x /slurm.Controller/RemoveMachine",
                ".xxxx.x /slurm.Controller/IssueToken",
                ".xxxx.x /slurm.Controller/RevokeTokens",
                ".xxxx.x /slurm.Controller/GetCrontab",
                ".xxxx.x /slurm.Controller/SetCrontab",
                ".xxxx.x /slurm.Controller/ListTriggers",
                ".xxxx.x /slurm.Controller/SetTrigger",
                ".xxxx.x /slurm.Controller/ClearTriggers",
                ".xxxx.x /slurm.Accounting/GetRules",
                ".xxxx.x /slurm.Accounting/ChangeRules",
                ".xxxx.x /slurm.Accounting/ListEvents",
                ".xxxx.x /slurm.Accounting/SumUsage",
                ".xxxx.x /slurm.Accounting/ListTransactions",
                "....x.x /slurm.Accounting/TellRevoked",
                ".....xx /spur.internal.Agents/Session",
                "......x /spur.internal.Consensus/Append",
                "......x /spur.internal.Consensus/Vote",
                "......x /spur.internal.Consensus/Install",
                "......x /spur.internal.Consensus/Join",
                "......x /spur.internal.Consensus/Leave",
                "......x /spur.internal.Consensus/Status",
            ]
        );
    }

    #[test]
    fn only_the_owner_and_operators_cancel() {
        let job = Target::Job { owner: Uid(1000), account: "physics" };
        let cancel = |actor| may(&actor, Action::CancelJob, job);
        assert_eq!(cancel(user(1000, Level::None)), Ok(()));
        assert_eq!(cancel(user(1001, Level::None)), Err(SlurmError::AccessDenied));
        assert_eq!(cancel(user(1001, Level::Operator)), Ok(()));
        assert_eq!(cancel(Actor::Anonymous), Err(SlurmError::AccessDenied));
        assert_eq!(cancel(Actor::Node(NodeName::from("n1"))), Err(SlurmError::AccessDenied));
    }

    #[test]
    fn a_coordinator_looks_after_jobs_of_its_accounts_and_nothing_more() {
        let coordinates = std::sync::Arc::new(vec!["physics".to_string(), "lasers".to_string()]);
        let (uid, gid, level) = (Uid(7), Gid(7), Level::None);
        let coordinator = Actor::User { uid, gid, level, coordinates };
        let of = |account| Target::Job { owner: Uid(1000), account };
        for action in [Action::CancelJob, Action::ControlJob] {
            assert_eq!(may(&coordinator, action, of("lasers")), Ok(()));
            assert_eq!(may(&coordinator, action, of("biology")), Err(SlurmError::AccessDenied));
            assert_eq!(may(&coordinator, action, of("")), Err(SlurmError::AccessDenied));
            assert_eq!(
                may(&coordinator, action, Target::Of(Uid(1000))),
                Err(SlurmError::AccessDenied)
            );
        }
        let others = [Action::RunInJob, Action::ReadJob, Action::SuspendJob, Action::Administer];
        for action in others.into_iter().chain([Action::Reserve]) {
            assert_eq!(may(&coordinator, action, of("lasers")), Err(SlurmError::AccessDenied));
        }
    }
}
