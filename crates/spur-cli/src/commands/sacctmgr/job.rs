//! `sacctmgr modify job`: what is said of jobs afterwards.

use spur_core::accounts::manage::{Request, Word};
use spur_proto::slurm::{AmendJobsRequest, Amendment};

use super::change::{COMMIT, Doing, agreed, deny, fail, is_denied, request};
use super::{Style, show};
use crate::accounting::{self, Trouble};
use crate::cluster;
use crate::commands::sacct::query::selectors;
use crate::output::print;

pub fn modify(style: &Style, words: &[String]) -> u8 {
    let Request { which, set } = request(words);
    let mut asked = match conditions(&which) {
        Ok(asked) => asked,
        Err(status) => return status,
    };
    match amendment(&set) {
        Ok(set) => asked.set = Some(set),
        Err(text) => {
            eprintln!("{text}");
            return 1;
        }
    }
    match cluster::block_on(carry_out(style, asked)) {
        Ok(status) => status,
        Err(Trouble::Refused(status)) if is_denied(&status) => deny(Doing::Changing),
        Err(trouble) => fail(&trouble),
    }
}

fn conditions(words: &[Word]) -> Result<AmendJobsRequest, u8> {
    let mut asked = AmendJobsRequest::default();
    for word in words {
        match word {
            word if word.is(&["jobs", "jobids"]) => {
                asked.jobs.extend(selectors("sacctmgr", &word.value)?);
            }
            word if word.is(&["users"]) => asked.user_names.extend(word.list()),
            word if word.is(&["clusters"]) => asked.clusters.extend(word.list()),
            word => {
                let hint = "Use keyword 'set' to modify value";
                eprintln!(" Unknown condition: {}\n {hint}", word.text);
                return Err(1);
            }
        }
    }
    Ok(asked)
}

fn amendment(words: &[Word]) -> Result<Amendment, String> {
    const NOTHING: &str = " You didn't give me anything to set";
    let mut set = Amendment::default();
    for word in words {
        let text = Some(word.value.clone());
        match word {
            word if begins(word, "admincomment", 2) => set.admin_comment = text,
            word if begins(word, "comment", 7) => set.comment = text,
            word if begins(word, "systemcomment", 2) => set.system_comment = text,
            word if begins(word, "derivedexitcode", 12)
                || begins(word, "derivedes", 9)
                || begins(word, "derivedec", 9) =>
            {
                // Slurm takes the number as the kernel would tell it, and nothing behind a colon.
                let digits = word.value.split(':').next().unwrap_or_default();
                let Ok(status) = digits.parse() else {
                    let value = &word.value;
                    return Err(format!(
                        "sacctmgr: error: Invalid value for DerivedExitCode ({value})\n{NOTHING}"
                    ));
                };
                set.derived_exit_status = Some(status);
            }
            word => {
                let hint = "Use keyword 'where' to modify condition";
                return Err(format!("{NOTHING}\n Unknown option: {}\n {hint}", word.text));
            }
        }
    }
    if words.is_empty() { Err(NOTHING.to_string()) } else { Ok(set) }
}

fn begins(word: &Word, known: &str, shortest: usize) -> bool {
    word.name.len() >= shortest && known.starts_with(&word.name)
}

/// Says which jobs these are, asks, and sets it.
async fn carry_out(style: &Style, asked: AmendJobsRequest) -> Result<u8, Trouble> {
    let mut client = accounting::connect().await?;
    let look = AmendJobsRequest { only_look: true, ..asked.clone() };
    let found = client.amend_jobs(look).await.map_err(accounting::refused)?.into_inner().jobs;
    if found.is_empty() {
        eprintln!(
            "sacctmgr: accounting_storage/slurmdbd: acct_storage_p_modify_job: Request didn't affect \
             anything or your user doesn't have privilege to perform this action"
        );
        print(" Nothing modified\n");
        return Ok(1);
    }
    let mut text = " Modified jobs...\n".to_string();
    for job in found {
        let submitted = show::context().moment(job.submit_time);
        text.push_str(&format!("  {} submitted at {submitted}\n", job.job_id));
    }
    print(&text);
    if !style.immediate && !agreed(COMMIT) {
        print(" Changes Discarded\n");
        return Ok(0);
    }
    client.amend_jobs(asked).await.map_err(accounting::refused)?;
    Ok(0)
}
