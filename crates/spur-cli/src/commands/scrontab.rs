//! `scrontab`: a user's jobs that come again by the calendar.

use std::io::{BufRead, Read, Write};
use std::process::Command;

use nix::unistd::User;
use spur_core::cron::{self, Line, Problem};
use spur_core::errors::SlurmError;
use spur_core::options::{
    OptionError, Surroundings, Tool, directive, fill_defaults, resolve_components,
};
use spur_core::tools::scrontab::TOOL;
use spur_proto::slurm::{CrontabLine, SetCrontabRequest, SubmitJobRequest};

use super::{Ended, sbatch, submission};
use crate::cluster::{self, Controller};
use crate::output::{complain, note, print, reason};
use crate::zone;

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match obey(args) {
        Ok(()) => 0,
        Err(Ended(status)) => status,
    }
}

/// Whose crontab it is, as this machine knows them.
struct Owner {
    user: User,
    /// Said by `-u`.
    named: Option<u32>,
}

fn obey(args: &[String]) -> Result<(), Ended> {
    let words = super::read_tool(&TOOL, args)?;
    let said = |long: &str| words.options.iter().any(|(flag, _)| flag.long == long);
    let user = words.options.iter().rfind(|(flag, _)| flag.long == "user");
    let owner = owner(user.map(|(_, name)| name.as_str()))?;
    let mut controller = Controller::find();
    let actions = ["edit", "list", "remove"].iter().filter(|action| said(action)).count();
    if actions + words.rest.len() > 1 {
        return refuse("only one of -e, -l, -r and a file can be said");
    }
    if said("list") {
        print(&present(&mut controller, &owner)?);
        Ok(())
    } else if said("remove") {
        present(&mut controller, &owner)?;
        install(&mut controller, &owner, "").map_err(|problem| tell(&problem))
    } else if said("edit") {
        edit(&mut controller, &owner)
    } else {
        let text = input(words.rest.first().map(String::as_str))?;
        install(&mut controller, &owner, &text).map_err(|problem| tell(&problem))
    }
}

fn owner(name: Option<&str>) -> Result<Owner, Ended> {
    let named = name.map(super::user);
    let uid = match named {
        Some(None) => return refuse(format!("Invalid user id: {}", name.unwrap_or_default())),
        Some(Some(uid)) => nix::unistd::Uid::from_raw(uid),
        None => nix::unistd::getuid(),
    };
    match User::from_uid(uid) {
        Ok(Some(user)) => Ok(Owner { user, named: named.flatten() }),
        _ => refuse(format!("Invalid user id: {uid}")),
    }
}

fn refuse<T>(message: impl std::fmt::Display) -> Result<T, Ended> {
    complain("scrontab", message);
    Err(Ended(1))
}

/// The crontab there is.
fn present(controller: &mut Controller, owner: &Owner) -> Result<String, Ended> {
    match controller.crontab(owner.named) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => {
            note(format!("no crontab for {}", owner.user.name));
            Err(Ended(1))
        }
        Err(error) => refuse(error),
    }
}

/// A file, or standard input.
fn input(file: Option<&str>) -> Result<String, Ended> {
    let read = match file {
        None | Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        Some(file) => std::fs::read_to_string(file),
    };
    let name = file.unwrap_or("standard input");
    read.or_else(|error| refuse(format!("Cannot read {name}: {}", reason(&error))))
}

/// Has the user change a copy, again for as long as it cannot be taken and the user wants to.
fn edit(controller: &mut Controller, owner: &Owner) -> Result<(), Ended> {
    let before = match controller.crontab(owner.named) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => return refuse(error),
    };
    let mut text = before.clone();
    loop {
        text = edited(&text)
            .or_else(|error| refuse(format!("could not edit it: {}", reason(&error))))?;
        if text == before {
            note("scrontab: no changes made");
            return Ok(());
        }
        let Err(problem) = install(controller, owner, &text) else { return Ok(()) };
        tell(&problem);
        if let Refused::Lines(lines) = &problem {
            note("The failed lines are commented out with #BAD:");
            text = cron::comment_out(&text, lines.first, lines.last, "#BAD:");
        }
        let _ = write!(std::io::stderr(), "Do you want to retry the edit? (y/n) ");
        let mut answer = String::new();
        let _ = std::io::stdin().lock().read_line(&mut answer);
        if !answer.trim_start().starts_with(['y', 'Y']) {
            return Err(Ended(1));
        }
    }
}

/// What becomes of a text in the user's editor.
fn edited(text: &str) -> std::io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("scrontab-").tempfile()?;
    file.write_all(text.as_bytes())?;
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let editor = editor.unwrap_or("vi".to_string());
    // An editor may be said with arguments.
    let line = format!("{editor} \"$0\"");
    let status = Command::new("/bin/sh").arg("-c").arg(line).arg(file.path()).status()?;
    if !status.success() {
        return Err(std::io::Error::other(format!("{editor} ended with {status}")));
    }
    std::fs::read_to_string(file.path())
}

/// Why a crontab was not taken.
enum Refused {
    /// Some lines of it.
    Lines(Problem),
    /// All of it.
    Whole(String),
}

/// The exit status.
fn tell(refused: &Refused) -> Ended {
    match refused {
        Refused::Lines(Problem { first, last, message }) => {
            note(format!("There was an issue with the job submission on lines {first}-{last}"));
            note(format!("The error code return was: {message}"));
        }
        Refused::Whole(message) => complain("scrontab", message),
    }
    Ended(1)
}

fn install(controller: &mut Controller, owner: &Owner, text: &str) -> Result<(), Refused> {
    let lines = cron::read(text).map_err(Refused::Lines)?;
    let lines = lines.iter().map(|line| {
        let job = job(line, owner).map_err(|error| problem(line, &error))?;
        Ok(CrontabLine {
            first: line.first,
            last: line.last,
            when: line.when.clone(),
            job: Some(job),
        })
    });
    let lines = lines.collect::<Result<_, Refused>>()?;
    let request_id = cluster::request_id();
    let request = SetCrontabRequest { uid: owner.named, text: text.to_string(), lines, request_id };
    let reply = controller.set_crontab(&request);
    let reply = reply.map_err(|error| Refused::Whole(error.to_string()))?;
    match SlurmError::from_number(reply.error_number) {
        Some(error) if reply.error_number != 0 => Err(Refused::Lines(Problem {
            first: reply.first,
            last: reply.last,
            message: error.to_string(),
        })),
        _ => Ok(()),
    }
}

fn problem(line: &Line, error: &OptionError) -> Refused {
    let message = error.lines(Tool::Sbatch).join("\n");
    Refused::Lines(Problem { first: line.first, last: line.last, message })
}

/// The job of a line: as `sbatch` would make it of its options, with the few variables that cron sets.
fn job(line: &Line, owner: &Owner) -> Result<SubmitJobRequest, OptionError> {
    let said = line.options.iter().map(|(_, said)| format!("#SBATCH {said}\n"));
    let said: String = std::iter::once("#!/bin/sh\n".to_string()).chain(said).collect();
    let settings = directive::read(&said, "crontab")?;
    let requests = resolve_components(Tool::Sbatch, &settings, &[], &[])?;
    let home = owner.user.dir.display().to_string();
    let mut requests = requests.into_iter().map(|mut request| {
        let around = Surroundings {
            now: zone::now(),
            zone: &zone::Local,
            work_dir: &home,
            core_spec_allowed: submission::may_leave_cores(&request),
            ..Surroundings::default()
        };
        fill_defaults(&mut request, around)?;
        if !request.said("job-name") {
            let ends = |letter: char| letter.is_ascii_whitespace() || letter == ';';
            let program = line.command.split(ends).next().unwrap_or_default();
            request.job.name = program.rsplit('/').next().unwrap_or_default().to_string();
        }
        request.job.submit_line = "scrontab".to_string();
        request.job.umask = Some(submission::own_umask());
        Ok(request.job)
    });
    let spec = requests.next().transpose()?;
    let others = requests.collect::<Result<_, OptionError>>()?;
    let script =
        format!("#!/bin/sh\n# This job was submitted through scrontab\n{}\n", line.command);
    let mut environment = sbatch::with_submission(Vec::new());
    let usual = [
        ("HOME", home.clone()),
        ("LOGNAME", owner.user.name.clone()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_string()),
        ("SHELL", "/bin/sh".to_string()),
        ("USER", owner.user.name.clone()),
    ];
    let usual = usual.into_iter().map(|(name, value)| (name.to_string(), value));
    let mut variables: std::collections::BTreeMap<String, String> = usual.collect();
    variables.extend(line.variables.iter().cloned());
    for (name, value) in variables {
        environment.extend_from_slice(format!("{name}={value}\0").as_bytes());
    }
    Ok(SubmitJobRequest {
        request_id: cluster::request_id(),
        spec,
        script: script.into_bytes(),
        environment,
        others,
    })
}
