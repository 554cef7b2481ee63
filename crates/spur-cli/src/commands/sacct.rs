//! `sacct`: jobs of the past.

pub mod query;
pub mod show;

use spur_proto::slurm::GetRulesRequest;

use crate::accounting::Trouble;
use crate::output::{complain, print};
use crate::{accounting, cluster};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let mut query = match query::read(args) {
        Ok(query) => query,
        Err(status) => return status,
    };
    let found = cluster::block_on(async {
        let cluster = match query.notation.is_some() {
            true => accounting::glance().await.map(|controller| controller.cluster_name),
            false => None,
        };
        if let Some(refusal) = bad_qos(&query.request.qos).await? {
            return Ok(Err(refusal));
        }
        let mut jobs = accounting::history(query.request.clone()).await?;
        if query.whole == Some(true) && !query.request.jobs.is_empty() {
            let whole = query::whole_jobs(&mut query.request, &jobs);
            if whole {
                jobs = accounting::history(query.request.clone()).await?;
            }
        }
        Ok::<_, Trouble>(Ok((jobs, cluster.unwrap_or_default())))
    });
    match found {
        Ok(Err(refusal)) => {
            eprintln!("{refusal}");
            1
        }
        Ok(Ok((jobs, cluster))) => {
            print(&show::table(&query, jobs, &cluster));
            0
        }
        Err(Trouble::Disabled) => {
            eprintln!("{}", Trouble::Disabled);
            1
        }
        Err(trouble) => {
            complain("sacct", trouble);
            1
        }
    }
}

/// What is said of a QOS that nobody knows.
async fn bad_qos(wanted: &[String]) -> Result<Option<String>, Trouble> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut client = accounting::connect().await?;
    let rules = client.get_rules(GetRulesRequest::default()).await.map_err(accounting::refused)?;
    let mut known = rules.into_inner().qos;
    known.sort_by_key(|qos| qos.id);
    let names: Vec<&str> = known.iter().map(|qos| qos.name.as_str()).collect();
    let bad = wanted.iter().find(|name| !names.contains(&name.as_str()));
    Ok(bad.map(|name| {
        format!(
            "sacct: error: You gave a bad qos '{name}'. Valid QOS's are {}\n\
             sacct: fatal: problem processing qos list",
            names.join(",")
        )
    }))
}
