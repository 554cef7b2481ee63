//! Task prolog and task epilog: programs run as the user around each task, with the task's variables. What a
//! prolog prints changes them.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::task::say;

/// Tells a program what it is run as.
const CONTEXT: &str = "SLURM_SCRIPT_CONTEXT";
const PROLOG: &str = "prolog_task";

/// Names and values.
pub type Variables = BTreeMap<Vec<u8>, Vec<u8>>;

/// Where a program comes from, as Slurm names it in complaints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The configuration.
    Site,
    /// `--task-prolog`, `--task-epilog`.
    User,
}

/// The programs around one task, in the order they run; empty names are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskHooks {
    /// Before it.
    pub prologs: Vec<(Source, String)>,
    /// After it.
    pub epilogs: Vec<(Source, String)>,
}

impl TaskHooks {
    /// The site's prolog comes first and its epilog last.
    pub fn new(site: [&str; 2], user: [&str; 2]) -> TaskHooks {
        let some = |source: Source, path: &str| (!path.is_empty()).then(|| (source, path.into()));
        let ([site_prolog, site_epilog], [prolog, epilog]) = (site, user);
        let prologs = [some(Source::Site, site_prolog), some(Source::User, prolog)];
        let epilogs = [some(Source::User, epilog), some(Source::Site, site_epilog)];
        TaskHooks {
            prologs: prologs.into_iter().flatten().collect(),
            epilogs: epilogs.into_iter().flatten().collect(),
        }
    }

    /// Runs the prologs. The error is what the task ends with instead of running.
    pub fn run_prologs(&self, variables: &mut Variables) -> Result<(), i32> {
        for (source, path) in &self.prologs {
            // As in Slurm the task goes on to see where its prolog ran.
            variables.insert(CONTEXT.into(), PROLOG.into());
            let output = command(path, variables, PROLOG).stderr(Stdio::inherit()).output();
            let output = match output {
                Ok(output) => output,
                Err(error) => {
                    complain_of_start(*source, "task_prolog", path, &error);
                    let whose = whose(*source);
                    complain(&format!(
                        "{whose} task_prolog did not exit normally. reason: Run command failed - configuration error"
                    ));
                    complain(&format!("{} failed status=1", name(*source)));
                    return Err(1);
                }
            };
            let printed = heed(&output.stdout, variables);
            let _ = io::stdout().write_all(&printed);
            if !output.status.success() {
                let status = output.status;
                let code = status.code().unwrap_or_else(|| status.signal().unwrap_or(1));
                complain(&format!("{} failed status={code}", name(*source)));
                return Err(code);
            }
        }
        Ok(())
    }

    /// Runs the epilogs; what they print is for nobody, how they end changes nothing.
    pub fn run_epilogs(&self, variables: &Variables) {
        for (source, path) in &self.epilogs {
            let run = command(path, variables, "epilog_task").stdout(Stdio::null()).status();
            match run {
                Ok(status) if status.success() => {}
                Ok(status) => complain(&format!("TaskEpilog failed status={}", status.into_raw())),
                Err(_) if *source == Source::User => {
                    complain(&format!("Could not run user task_epilog [{path}]: access denied"));
                    complain("TaskEpilog failed status=-1");
                }
                Err(error) => complain_of_start(*source, "task_epilog", path, &error),
            }
        }
    }
}

/// As `execve` wants them.
pub fn entries(variables: &Variables) -> Vec<CString> {
    let entry = |(name, value): (&Vec<u8>, &Vec<u8>)| [&name[..], &value[..]].join(&b'=');
    // None contains a NUL byte but what a user made so, and that is left out.
    variables.iter().filter_map(|variable| CString::new(entry(variable)).ok()).collect()
}

/// Takes in what a prolog printed: `export NAME=value`, `unset NAME`, `print TEXT`. Returns what is to be
/// shown; all other lines are for nobody.
fn heed(lines: &[u8], variables: &mut Variables) -> Vec<u8> {
    let mut printed = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_start();
        if let Some(set) = line.strip_prefix(b"export ") {
            let set = set.trim_ascii_start();
            if let Some(equals) = set.iter().position(|byte| *byte == b'=').filter(|at| *at > 0) {
                variables.insert(set[..equals].to_vec(), set[equals + 1..].to_vec());
            }
        } else if let Some(unset) = line.strip_prefix(b"unset ") {
            variables.remove(unset.trim_ascii());
        } else if let Some(text) = line.strip_prefix(b"print ") {
            printed.extend_from_slice(text);
            printed.push(b'\n');
        }
    }
    printed
}

fn command(path: &str, variables: &Variables, context: &str) -> Command {
    let mut command = Command::new(path);
    command.env_clear().stdin(Stdio::null());
    for (name, value) in variables {
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
    }
    command.env(CONTEXT, context);
    command
}

fn name(source: Source) -> &'static str {
    match source {
        Source::Site => "TaskProlog",
        Source::User => "--task-prolog",
    }
}

fn whose(source: Source) -> &'static str {
    if source == Source::Site { "slurm" } else { "user" }
}

fn complain_of_start(source: Source, kind: &str, path: &str, error: &io::Error) {
    let whose = whose(source);
    let reason = error.raw_os_error().map_or_else(
        || error.to_string(),
        |number| nix::errno::Errno::from_raw(number).desc().to_string(),
    );
    complain(&format!("run_command: {whose} {kind} can not be executed ({path}) {reason}"));
}

fn complain(text: &str) {
    say(io::stderr(), text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prolog_changes_what_the_task_is_told() {
        let mut variables: Variables =
            [("HOME", "/h"), ("A", "1")].map(|(n, v)| (n.into(), v.into())).into();
        let said = b"export B=two words=x\nprint  hello\nunset HOME\nnoise\nexport =x\nexport A=\n";
        assert_eq!(heed(said, &mut variables), b" hello\n");
        let entries = entries(&variables);
        assert_eq!(entries, [c"A=".to_owned(), c"B=two words=x".to_owned()]);
    }

    #[test]
    fn the_site_is_first_before_and_last_after() {
        let hooks = TaskHooks::new(["/sp", "/se"], ["/up", "/ue"]);
        let paths = |list: &[(Source, String)]| -> Vec<String> {
            list.iter().map(|(_, path)| path.clone()).collect()
        };
        assert_eq!(paths(&hooks.prologs), ["/sp", "/up"]);
        assert_eq!(paths(&hooks.epilogs), ["/ue", "/se"]);
        assert_eq!(TaskHooks::new(["", ""], ["", ""]), TaskHooks::default());
    }
}
