//! What `sacctmgr show` finds out: jobs that nobody will end, what is wrong with the rules.

use std::collections::BTreeSet;
use std::time::Duration;

use spur_core::accounts::manage::Word;
use spur_core::accounts::rules::ROOT;
use spur_core::fields::rules::{ProblemRow, RUNAWAY, RUNAWAY_FIELDS, TresRow};
use spur_core::job::{JobState, JobStatus};
use spur_core::time::{Timestamp, display};
use spur_core::tres::{self, Tres};
use spur_core::views::{AccountingView, AssociationView, EventView, RulesView, TransactionView};
use spur_proto::caller::Caller;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{ListJobHistoryRequest, ListJobsRequest, PingAccountingReply};
use tonic::transport::Channel;

use super::Style;
use super::show::{Wanted, table};
use crate::accounting::{self, Trouble};
use crate::{cluster, zone};

/// Whether a word is a condition of transactions.
pub fn is_condition(word: &Word) -> bool {
    word.is(&["users", "accounts", "clusters", "info", "where"])
}

/// Whether a change is about one of the things that are asked for: by its name, by what was set of it, or by the number
/// of one of its associations.
pub fn is_about(row: &TransactionView, rules: &RulesView, conditions: &[Word]) -> bool {
    let numbered = |object: &str, id: u32| {
        object.split(['(', ')', ' ', '|']).any(|part| part == format!("id_assoc={id}"))
    };
    let says = |name: &str, is_it: &dyn Fn(&AssociationView) -> bool, key: &str| {
        row.object == name
            || row.object.contains(&format!("'{name}'"))
            || row.info.contains(&format!("{key}='{name}'"))
            || rules.associations.iter().any(|it| is_it(it) && numbered(&row.object, it.id))
    };
    conditions.iter().all(|word| {
        let list = word.list();
        let mut names = list.iter();
        match word {
            word if word.is(&["users"]) => {
                names.any(|name| says(name, &|it| it.user_name == *name, "user"))
            }
            word if word.is(&["accounts"]) => {
                names.any(|name| says(name, &|it| it.account == *name, "acct"))
            }
            word if word.is(&["clusters"]) => {
                names.any(|name| says(name, &|it| it.cluster == *name, "cluster"))
            }
            word if word.is(&["info"]) => row.info.contains(&word.value),
            word if word.is(&["where"]) => row.object.contains(&word.value),
            _ => true,
        }
    })
}

const NOTE: &str = "NOTE: Runaway jobs are jobs that don't exist in the controller but have a start time and no \
end time in the database\n";

/// How long the controller may take to list its jobs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Jobs that are not over in the database and that the controller does not have.
pub async fn runaway(style: &Style, wanted: &Wanted) -> Result<Result<String, String>, Trouble> {
    let Some(controller) = accounting::glance().await else {
        let text = "Slurmctld is not running, so it cannot be told which jobs are runaway";
        return Ok(Err(text.to_string()));
    };
    let cluster = controller.cluster_name;
    let open = [JobState::Pending, JobState::Running, JobState::Suspended];
    let request = ListJobHistoryRequest {
        clusters: vec![cluster.clone()],
        states: open.iter().map(|state| state.number()).collect(),
        duplicates: true,
        no_steps: true,
        ..ListJobHistoryRequest::default()
    };
    let kept = accounting::history(request).await?;
    let ask = |mut client: ControllerClient<Channel>| async move {
        client.list_jobs(ListJobsRequest::default()).await
    };
    let live = Caller::new(cluster::addresses(), PATIENCE).call(ask).await;
    let Ok(live) = live else {
        return Ok(Err("Slurmctld could not be asked for its jobs".to_string()));
    };
    let live: BTreeSet<u32> = live.jobs.iter().map(|job| job.job_id).collect();
    let is_open =
        |job: &AccountingView| job.end_time == 0 && open.contains(&JobStatus(job.state).base());
    let rows: Vec<AccountingView> =
        kept.into_iter().filter(|job| is_open(job) && !live.contains(&job.job_id)).collect();
    if rows.is_empty() {
        return Ok(Ok(format!("Runaway Jobs: No runaway jobs found on cluster {cluster}\n")));
    }
    Ok(table(style, RUNAWAY_FIELDS, wanted, RUNAWAY, &rows).map(|text| format!("{NOTE}{text}")))
}

/// Accounts and users that cannot run anything.
pub fn problems(rules: &RulesView) -> Vec<ProblemRow> {
    let mut rows = Vec::new();
    let row = |cluster: &str, account: &str, user: &str, problem| ProblemRow {
        cluster: cluster.to_string(),
        account: account.to_string(),
        user: user.to_string(),
        problem,
    };
    for account in rules.accounts.iter().filter(|account| account.name != ROOT) {
        if !rules.associations.iter().any(|one| one.account == account.name) {
            rows.push(row("", &account.name, "", "Account has no Associations"));
        }
    }
    for one in
        rules.associations.iter().filter(|one| one.user_name.is_empty() && one.account != ROOT)
    {
        let has_users = |it: &&spur_core::views::AssociationView| {
            it.cluster == one.cluster && it.account == one.account && !it.user_name.is_empty()
        };
        let has_accounts = rules.associations.iter().any(|it| {
            it.cluster == one.cluster && it.parent == one.account && it.user_name.is_empty()
        });
        if !has_accounts && !rules.associations.iter().any(|it| has_users(&it)) {
            rows.push(row(&one.cluster, &one.account, "", "Account has no users"));
        }
    }
    for user in rules.users.iter().filter(|user| user.name != ROOT) {
        if !rules.associations.iter().any(|one| one.user_name == user.name) {
            rows.push(row("", "", &user.name, "User has no Associations"));
        }
        if !matches!(nix::unistd::User::from_name(&user.name), Ok(Some(_))) {
            rows.push(row("", "", &user.name, "User does not have a uid"));
        }
    }
    rows
}

/// Resources that are always counted, and those that clusters have had, with Slurm's numbers.
pub fn tres(events: &[EventView]) -> Vec<TresRow> {
    let built_in = ["cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"];
    let had = events.iter().flat_map(|event| tres::read(&event.tres));
    let named: BTreeSet<String> = had
        .filter_map(|(tres, _)| matches!(tres, Tres::Named { .. }).then(|| tres.to_string()))
        .chain(["gres/gpu".to_string()])
        .collect();
    let row = |(id, name): (u32, &str)| {
        let (kind, name) = name.split_once('/').unwrap_or((name, ""));
        TresRow { kind: kind.to_string(), name: name.to_string(), id }
    };
    let named = (1001..).zip(named.iter().map(String::as_str));
    (1..).zip(built_in).chain(named).map(row).collect()
}

/// What there is to tell of the daemon itself.
pub fn stats(rules: &RulesView, daemon: &PingAccountingReply) -> String {
    format!(
        "*******************************************************************\n\
         sacctmgr show stats output at {}\n\
         *******************************************************************\n\n\
         Database: {} (spurdbd {})\nRules version: {}\nClusters: {}\nAccounts: {}\nUsers: {}\n\
         Associations: {}\nQOS: {}\n\nUsage is rolled up by the hour, day and month; reports add what is not yet.\n",
        display::moment(zone::now(), &zone::Local),
        daemon.engine,
        daemon.version,
        rules.version,
        rules.clusters.len(),
        rules.accounts.len(),
        rules.users.len(),
        rules.associations.len(),
        rules.qos.len()
    )
}

/// Where accounting is and what it goes by.
pub fn configuration(daemon: &PingAccountingReply) -> String {
    let line = |key: &str, value: &str| format!("{key:<22} = {value}\n");
    let mut text =
        format!("Configuration data as of {}\n", display::moment(zone::now(), &zone::Local));
    text.push_str(&line("AccountingStorageHost", &accounting::address().to_string()));
    text.push_str(&line("AccountingStorageType", "accounting_storage/slurmdbd"));
    let version = crate::commands::VERSION.trim_start_matches("slurm ");
    text.push_str(&line("SLURM_VERSION", version));
    text.push_str("\nSlurmDBD configuration:\n");
    for setting in &daemon.settings {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        match (key, value.parse()) {
            ("BOOT_TIME", Ok(at)) => {
                text.push_str(&line(key, &display::moment(Timestamp(at), &zone::Local)));
            }
            _ => text.push_str(&line(key, value)),
        }
    }
    text
}
