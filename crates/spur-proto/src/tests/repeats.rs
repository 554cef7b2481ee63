//! A client whose answer was lost asks again. What becomes of that is settled for every call.

use prost_reflect::Kind;

use super::pool;

/// What a second call does.
enum Again {
    /// The client gives the request a name, and it is carried out once.
    Named,
    /// It only looks.
    Looks,
    /// Carried out twice it comes to the same, and this is why.
    Same(&'static str),
}

use Again::{Looks, Named, Same};

#[rustfmt::skip]
const METHODS: &[(&str, Again)] = &[
    ("slurm.Accounting.AmendJobs", Same("values are set")),
    ("slurm.Accounting.ChangeRules", Same("it holds for one version of the rules, and the first made another")),
    ("slurm.Accounting.GetRules", Looks),
    ("slurm.Accounting.Ingest", Same("records are numbered")),
    ("slurm.Accounting.ListEvents", Looks),
    ("slurm.Accounting.ListJobHistory", Looks),
    ("slurm.Accounting.ListTransactions", Looks),
    ("slurm.Accounting.PingAccounting", Looks),
    ("slurm.Accounting.SumUsage", Looks),
    ("slurm.Accounting.TellRevoked", Same("all that was revoked is told every time")),
    ("slurm.Controller.AccessStep", Same("every credential is good for one connection, and its own")),
    ("slurm.Controller.Administer", Named),
    ("slurm.Controller.ApproveMachine", Named),
    ("slurm.Controller.Attend", Same("whoever attends again goes on attending")),
    ("slurm.Controller.CancelJob", Named),
    ("slurm.Controller.ClearTriggers", Named),
    ("slurm.Controller.ControlJob", Named),
    ("slurm.Controller.CreateStep", Named),
    ("slurm.Controller.CreateToken", Named),
    ("slurm.Controller.EndAllocation", Named),
    ("slurm.Controller.Enrol", Same("the key is the name: one that is in is in")),
    ("slurm.Controller.ExplainJob", Looks),
    ("slurm.Controller.GetConfig", Looks),
    ("slurm.Controller.GetCrontab", Looks),
    ("slurm.Controller.GetDiagnostics", Same("counting begins anew, a moment later")),
    ("slurm.Controller.GetScript", Looks),
    ("slurm.Controller.IssueToken", Same("a token is kept nowhere: one that nobody got opens nothing")),
    ("slurm.Controller.ListControllers", Looks),
    ("slurm.Controller.ListHoldings", Looks),
    ("slurm.Controller.ListJobTable", Looks),
    ("slurm.Controller.ListJobs", Looks),
    ("slurm.Controller.ListLicenses", Looks),
    ("slurm.Controller.ListMachines", Looks),
    ("slurm.Controller.ListNodes", Looks),
    ("slurm.Controller.ListPartitions", Looks),
    ("slurm.Controller.ListPriorities", Looks),
    ("slurm.Controller.ListReservations", Looks),
    ("slurm.Controller.ListShares", Looks),
    ("slurm.Controller.ListSteps", Looks),
    ("slurm.Controller.ListTriggers", Looks),
    ("slurm.Controller.Ping", Looks),
    ("slurm.Controller.Plan", Looks),
    ("slurm.Controller.Reconfigure", Same("the file is read again, and says the same")),
    ("slurm.Controller.RemoveController", Named),
    ("slurm.Controller.RemoveMachine", Named),
    ("slurm.Controller.RevokeTokens", Named),
    ("slurm.Controller.SetCrontab", Named),
    ("slurm.Controller.SetLogging", Same("levels and flags are set, not turned over")),
    ("slurm.Controller.SetTrigger", Named),
    ("slurm.Controller.Shutdown", Same("what has stopped stays stopped")),
    ("slurm.Controller.SignalStep", Named),
    ("slurm.Controller.SubmitJob", Named),
    ("slurm.Controller.TryJob", Looks),
    ("slurm.Controller.WaitJob", Looks),
    ("slurm.Controller.Watch", Looks),
    ("spur.internal.Agents.Session", Same("reports are numbered and told until they are taken")),
    ("spur.internal.Consensus.Append", Same("entries have their places in the log")),
    ("spur.internal.Consensus.Install", Same("a snapshot has its place in the log")),
    ("spur.internal.Consensus.Join", Same("who is a member is one already")),
    ("spur.internal.Consensus.Leave", Same("who is told to go again goes once")),
    ("spur.internal.Consensus.Status", Looks),
    ("spur.internal.Consensus.Vote", Same("a vote is given once in a term")),
];

#[test]
fn every_call_may_be_made_again() {
    let pool = pool();
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let mut known = Vec::new();
    for method in methods {
        let name = method.full_name().to_string();
        let row = METHODS.iter().find(|(method, _)| *method == name);
        let row = row.unwrap_or_else(|| panic!("nothing is said of a second {name}"));
        let id = method.input().get_field_by_name("request_id");
        let is_named = id.is_some_and(|id| id.kind() == Kind::Bytes);
        assert_eq!(is_named, matches!(row.1, Named), "{name}");
        let looks =
            ["Get", "List", "Ping", "Sum", "Try", "Explain", "Plan", "Wait", "Watch", "Status"];
        let looks = looks.iter().any(|it| method.name().starts_with(it));
        match row.1 {
            Looks => assert!(looks, "{name} does more than look"),
            Same(why) => assert!(!why.is_empty()),
            Named => {}
        }
        known.push(name);
    }
    known.sort();
    assert!(
        METHODS.iter().map(|(name, _)| *name).eq(known.iter().map(String::as_str)),
        "{known:#?}"
    );
}
