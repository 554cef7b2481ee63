//! What `scontrol` tells about the cluster as a whole: `show config`, `show licenses`, `write`.

use std::os::unix::fs::OpenOptionsExt;

use serde_json::json;
use spur_core::job::reference::{JobReference, Part};
use spur_core::show::config;
use spur_core::time::Timestamp;
use spur_proto::slurm::{License, ListJobsRequest};

use super::Session;
use crate::commands::{Notation, answer};
use crate::output::{note, print, reason};
use crate::zone;

/// `show config`
pub fn config(session: &mut Session, _: Option<&str>) -> u8 {
    let text = match config_text(session) {
        Ok(text) => text,
        Err(status) => return status,
    };
    print(&text);
    print("\n");
    super::ask::ping(session, &[]);
    0
}

fn config_text(session: &mut Session) -> Result<String, u8> {
    let reply = session.controller().config();
    let reply =
        reply.map_err(|error| session.refuse(format!("slurm_load_ctl_conf error: {error}")))?;
    let moment = |secs: i64| {
        spur_core::fields::clock::moment(secs, zone::offset_at(Timestamp(secs))).to_string()
    };
    let mut text = format!("Configuration data as of {}\n", moment(zone::now().0));
    for entry in &reply.entries {
        // Capitals sort as small letters do, so this is its place.
        if entry.key == "ClusterName" {
            text.push_str(&config::line("BOOT_TIME", &moment(reply.boot_time)));
        }
        text.push_str(&config::line(&entry.key, &entry.value));
    }
    Ok(text)
}

/// `show licenses [NAME]`
pub fn licenses(session: &mut Session, name: Option<&str>) -> u8 {
    let mut all = match session.controller().licenses() {
        Ok(licenses) => licenses,
        Err(error) => return session.refuse(format!("slurm_load_licenses error: {error}")),
    };
    let none = all.is_empty();
    all.retain(|license| name.is_none_or(|name| license.name == name));
    match session.notation {
        Notation::Table if none => print("No licenses configured in Slurm.\n"),
        Notation::Table => {
            let line = |license: &License| license_text(license, session.one_line);
            print(&all.iter().map(line).collect::<String>());
        }
        notation => {
            let list = all.iter().map(license_json).collect();
            let now = answer::moment(zone::now().0);
            let more = [("last_update", now)];
            let whole = answer::envelope(session.controller(), "licenses", list, &more, &["show"]);
            print(&answer::written(&whole, notation));
        }
    }
    0
}

fn license_text(license: &License, one_line: bool) -> String {
    let break_ = if one_line { " " } else { "\n    " };
    format!(
        "LicenseName={}{break_}Total={} Used={} Free={} Reserved={} Remote=no\n",
        license.name,
        license.total,
        license.used,
        license.total.saturating_sub(license.used),
        license.reserved
    )
}

fn license_json(license: &License) -> serde_json::Value {
    json!({
        "LicenseName": license.name,
        "Total": license.total,
        "Used": license.used,
        "Free": license.total.saturating_sub(license.used),
        "Remote": false,
        "Reserved": license.reserved,
        "LastConsumed": 0,
        "LastDeficit": 0,
        "LastUpdate": 0,
    })
}

/// `write batch_script ID [FILE]`, `write config [FILE]`
pub fn write(session: &mut Session, words: &[&str]) -> u8 {
    let what = words[0].to_ascii_lowercase();
    if what.len() >= 5 && "batch_script".starts_with(&what) {
        return write_script(session, words.get(1).copied(), words.get(2).copied());
    }
    if what.len() >= 4 && "config".starts_with(&what) {
        return write_config(session, words.get(1).copied());
    }
    session.refuse(format!("invalid write argument:{}", words[0]))
}

/// Slurm's exit status is 0 even where there is no such script.
fn write_script(session: &mut Session, job: Option<&str>, file: Option<&str>) -> u8 {
    let Some(job) = job else { return 0 };
    let Some(reference) = JobReference::parse(job) else {
        note("job script retrieval failed: Invalid job id specified");
        return 0;
    };
    let number = match reference.part {
        Part::Whole => reference.job,
        _ => match task_of(session, &reference) {
            Some(number) => number,
            None => {
                note("job script retrieval failed: Invalid job id specified");
                return 0;
            }
        },
    };
    let script = match session.controller().script(number) {
        Ok(script) => script,
        Err(error) => {
            note(format!("job script retrieval failed: {error}"));
            return 0;
        }
    };
    let named = file.map_or_else(|| format!("slurm-{job}.sh"), str::to_string);
    if named == "-" {
        print(&String::from_utf8_lossy(&script));
        return 0;
    }
    match std::fs::write(&named, script) {
        Ok(()) => {
            if !session.quiet {
                print(&format!("batch script for job {job} written to {named}\n"));
            }
            0
        }
        Err(error) => session.refuse(format!("failed to open file `{named}`: {error}")),
    }
}

/// The number a task of an array goes by.
fn task_of(session: &mut Session, reference: &JobReference) -> Option<u32> {
    let request =
        ListJobsRequest { job_ids: vec![reference.job], ended: true, ..Default::default() };
    let jobs = session.controller().jobs(&request).ok()?;
    jobs.iter().find(|job| reference.names(job)).map(|job| job.job_id)
}

fn write_config(session: &mut Session, file: Option<&str>) -> u8 {
    let text = match config_text(session) {
        Ok(text) => text,
        Err(status) => return status,
    };
    let now = zone::now();
    let moment = spur_core::fields::clock::moment(now.0, zone::offset_at(now));
    let name = format!("{}.{moment}", file.unwrap_or("slurm.conf"));
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&name);
    match opened.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes())) {
        Ok(()) => {
            print(&format!("Slurm config saved to {name}\n"));
            0
        }
        // Slurm ends well all the same.
        Err(error) => {
            session.refuse(format!("Could not create file {name}: {}", reason(&error)));
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_as_slurm_prints_it() {
        let license = License { name: "matlab".into(), total: 2, used: 2, reserved: 0 };
        let text = "LicenseName=matlab\n    Total=2 Used=2 Free=0 Reserved=0 Remote=no\n";
        assert_eq!(license_text(&license, false), text);
        assert_eq!(license_text(&license, true), text.replace("\n    ", " "));
    }
}
