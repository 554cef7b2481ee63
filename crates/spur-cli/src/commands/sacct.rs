//! `sacct`: jobs of the past.

mod query;
mod show;

use crate::accounting::Trouble;
use crate::output::{complain, print};
use crate::{accounting, cluster};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let query = match query::read(args) {
        Ok(query) => query,
        Err(status) => return status,
    };
    let found = cluster::block_on(async {
        let cluster = match query.notation.is_some() {
            true => accounting::glance().await.map(|controller| controller.cluster_name),
            false => None,
        };
        let jobs = accounting::history(query.request.clone()).await?;
        Ok::<_, Trouble>((jobs, cluster.unwrap_or_default()))
    });
    match found {
        Ok((jobs, cluster)) => {
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
