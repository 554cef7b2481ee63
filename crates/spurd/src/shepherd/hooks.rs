//! Prolog and epilog: the site's programs that ready a node for a job and tidy up after it, by the agent's
//! own user. The first run of a job on a node has the prolog run; all others wait for it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use spur_core::filename;
use spur_core::jobenv::{self, GpuFacts, HereFacts, HookFacts};
use spur_proto::internal::{Hooks, Launch};

use super::environment::{facts, file_values};
use crate::confine;
use crate::machine::pidfd::Pidfd;
use crate::run::RunId;

/// When a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before anything of the job runs on the node.
    Prolog,
    /// When nothing of it is left there.
    Epilog,
}

/// Marks of jobs whose prolog has run here, below the spool.
pub const MARKS: &str = "prologs";

/// A lock for nodes that run one of these programs at a time.
const ONE_BY_ONE: &str = "one-by-one";

const DONE: &str = "done";
const FAILED: &str = "failed";

/// Makes sure that the prolog has run, once for all runs of the job here. An error is what went wrong with
/// it, this time or when another run had it run.
pub fn ensure_prolog(spool: &Path, launch: &Launch, gpus: Option<GpuFacts>) -> Result<()> {
    let Some(hooks) = launch.hooks.as_ref().filter(|hooks| !hooks.prolog.is_empty()) else {
        return Ok(());
    };
    let mut mark = locked(&mark(spool, launch))?;
    let mut said = String::new();
    mark.read_to_string(&mut said)?;
    match said.as_str() {
        DONE => return Ok(()),
        FAILED => bail!("the prolog has failed before"),
        _ => {}
    }
    let ran = run(spool, launch, hooks, When::Prolog, gpus);
    mark.seek(SeekFrom::Start(0))?;
    mark.write_all(if ran.is_ok() { DONE } else { FAILED }.as_bytes())?;
    ran
}

/// Runs the epilog, and forgets that the prolog has run.
pub fn run_epilog(spool: &Path, launch: &Launch, gpus: Option<GpuFacts>) -> Result<()> {
    let hooks = launch.hooks.clone().unwrap_or_default();
    let ran = run(spool, launch, &hooks, When::Epilog, gpus);
    let _ = fs::remove_file(mark(spool, launch));
    ran
}

/// Removes the marks of runs that are not `known`: their jobs left the node while no agent was there.
pub fn sweep(spool: &Path, known: impl Fn(&str) -> bool) -> std::io::Result<()> {
    let entries = match fs::read_dir(spool.join(MARKS)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name != ONE_BY_ONE && !known(name)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn mark(spool: &Path, launch: &Launch) -> PathBuf {
    let run = RunId::from(launch);
    spool.join(MARKS).join(format!("{}.{}", run.job, run.epoch))
}

fn locked(path: &Path) -> Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = file.with_context(|| format!("could not open {}", path.display()))?;
    file.lock().with_context(|| format!("could not lock {}", path.display()))?;
    Ok(file)
}

/// Runs all programs of a kind, each in turn, until one fails.
fn run(
    spool: &Path,
    launch: &Launch,
    hooks: &Hooks,
    when: When,
    gpus: Option<GpuFacts>,
) -> Result<()> {
    let _turn = match hooks.one_by_one {
        true => Some(locked(&spool.join(MARKS).join(ONE_BY_ONE))?),
        false => None,
    };
    let programs = match when {
        When::Prolog => &hooks.prolog,
        When::Epilog => &hooks.epilog,
    };
    let limit = hooks.timeout_secs.map(|secs| Duration::from_secs(secs.into()));
    let variables = variables(launch, when, gpus);
    for program in programs.iter().flat_map(|pattern| matching(pattern)) {
        run_one(&program, &variables, limit)?;
    }
    Ok(())
}

/// Nothing of the user's is inherited: only these variables, no open files, the root directory.
fn run_one(program: &Path, variables: &[(String, String)], limit: Option<Duration>) -> Result<()> {
    let name = program.display();
    let mut child = Command::new(program)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("could not run {name}"))?;
    let held = Pidfd::open(child.id() as i32).with_context(|| format!("could not watch {name}"))?;
    let deadline = limit.map(|limit| Instant::now() + limit);
    let in_time = held.wait_until(deadline)?;
    // Whatever it started in its group ends with it.
    let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    let status = child.wait().with_context(|| format!("could not wait for {name}"))?;
    match status.code() {
        _ if !in_time => bail!("{name} took too long"),
        Some(0) => Ok(()),
        Some(code) => bail!("{name} exited with {code}"),
        None => bail!("{name} was ended by signal {}", status.signal().unwrap_or(0)),
    }
}

/// What the program is told.
fn variables(launch: &Launch, when: When, gpus: Option<GpuFacts>) -> Vec<(String, String)> {
    let spec = launch.spec.clone().unwrap_or_default();
    let own = confine::share(launch).cloned().unwrap_or_default();
    let values = file_values(launch, &spec);
    let file = |pattern: &str, default: &str| {
        let name = if pattern.is_empty() { default } else { pattern };
        match name {
            "" => String::new(),
            name => Path::new(&spec.work_dir)
                .join(filename::expand(name, &values))
                .to_string_lossy()
                .into_owned(),
        }
    };
    let is_batch = spec.allocation.is_none();
    let output = if is_batch { filename::batch_output(launch.array_task.is_some()) } else { "" };
    let hook = HookFacts {
        context: match when {
            When::Prolog => "prolog_slurmd",
            When::Epilog => "epilog_slurmd",
        },
        comment: spec.rare().comment.clone().unwrap_or_default(),
        constraints: spec.placement().constraint.clone(),
        work_dir: spec.work_dir.clone(),
        input: file(&spec.input, if is_batch { "/dev/null" } else { "" }),
        output: file(&spec.output, output),
        error: file(&spec.error, ""),
        tasks: spec.ntasks,
    };
    // Root sees every device, so these are counted over all of the node.
    let gpus = gpus.map(|gpus| GpuFacts { others_hidden: false, withheld: Vec::new(), ..gpus });
    let here = HereFacts { node: own.node, cpus: own.cpus, gpus, ..HereFacts::default() };
    jobenv::hook(&facts(launch, &spec, &Default::default()), &here, &hook)
}

/// The programs that a name stands for: itself, or with `*` or `?` in its last part whatever is there and
/// fits, in the order of names.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !last.contains(['*', '?']) {
        return vec![path.to_path_buf()];
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| fits(last, name)).collect();
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Whether a name fits a pattern; hidden ones only if the pattern says so.
fn fits(pattern: &str, name: &str) -> bool {
    fn rest(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', more)), _) => {
                rest(more, name) || name.split_first().is_some_and(|(_, name)| rest(pattern, name))
            }
            (Some((b'?', pattern)), Some((_, name))) => rest(pattern, name),
            (Some((one, pattern)), Some((other, name))) => one == other && rest(pattern, name),
            _ => false,
        }
    }
    let is_hidden = name.starts_with('.') && !pattern.starts_with('.');
    !is_hidden && rest(pattern.as_bytes(), name.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use spur_core::job::JobSpec;
    use spur_proto::internal::NodeShare;

    use super::*;

    fn script(folder: &Path, name: &str, text: &str) -> String {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writes");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("permissions");
        path.display().to_string()
    }

    fn launch(prolog: Vec<String>, epilog: Vec<String>) -> Launch {
        Launch {
            job: 7,
            epoch: 1,
            spec: Some(JobSpec { work_dir: "/w".to_string(), ..JobSpec::default() }),
            environment: b"SECRET=1\0LD_PRELOAD=/evil.so\0".to_vec(),
            shares: vec![NodeShare { node: "n1".to_string(), cpus: 1, ..NodeShare::default() }],
            hooks: Some(Hooks { prolog, epilog, ..Hooks::default() }),
            ..Launch::default()
        }
    }

    #[test]
    fn names_with_stars_are_files_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["20-b", "10-a", ".hidden", "10-c~"] {
            fs::write(folder.path().join(name), "").expect("writes");
        }
        let all = matching(&format!("{}/*-?", folder.path().display()));
        let names: Vec<_> = all.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["10-a", "20-b"]);
        assert_eq!(matching("/no/such/file"), [PathBuf::from("/no/such/file")]);
        assert_eq!(matching("/no/such/*"), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_prolog_runs_once_and_sees_nothing_of_the_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = folder.path().join("told");
        let text = format!("env >> {}", told.display());
        let launch = launch(vec![script(folder.path(), "p", &text)], vec![]);
        ensure_prolog(folder.path(), &launch, None).expect("runs");
        ensure_prolog(folder.path(), &launch, None).expect("has run");
        let told = fs::read_to_string(told).expect("it ran");
        assert_eq!(told.matches("SLURM_SCRIPT_CONTEXT=prolog_slurmd").count(), 1);
        assert!(told.contains("SLURM_JOB_STDOUT=/w/slurm-7.out\n"), "{told}");
        assert!(!told.contains("SECRET") && !told.contains("LD_PRELOAD"), "{told}");
    }

    #[test]
    fn a_prolog_that_failed_stays_failed_until_the_job_has_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let launch = launch(
            vec![script(folder.path(), "p", "exit 3")],
            vec![script(folder.path(), "e", "kill -9 $$")],
        );
        let failed = |ran: Result<()>| ran.expect_err("fails").to_string();
        assert!(failed(ensure_prolog(folder.path(), &launch, None)).ends_with("exited with 3"));
        assert!(failed(ensure_prolog(folder.path(), &launch, None)).ends_with("failed before"));
        assert!(failed(run_epilog(folder.path(), &launch, None)).ends_with("by signal 9"));
        assert!(failed(ensure_prolog(folder.path(), &launch, None)).ends_with("exited with 3"));
        sweep(folder.path(), |_| false).expect("sweeps");
        assert_eq!(fs::read_dir(folder.path().join(MARKS)).expect("lists").count(), 0);
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let slow = script(folder.path(), "p", "sleep 60 & sleep 60");
        let began = Instant::now();
        let ran = run_one(Path::new(&slow), &[], Some(Duration::from_millis(50)));
        assert!(ran.expect_err("is ended").to_string().ends_with("took too long"));
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
