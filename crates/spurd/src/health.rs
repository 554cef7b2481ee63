//! Whether the node is fit to run jobs: what this machine can tell by itself, and what a program of the site
//! says.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::Pid;

use crate::gpu::{self, Gpu};
use crate::machine::pidfd::Pidfd;

/// What was found on the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Of the file systems jobs need: where, how much is free in percent, and what is wrong with writing.
    pub file_systems: Vec<FileSystem>,
    /// Memory.
    pub memory_mb: u64,
    /// GPUs.
    pub gpus: usize,
    /// The clock on the wall.
    pub now: i64,
    /// By how many seconds it differs from the controller's.
    pub drift_secs: i64,
    /// Errors of GPUs' memory that could not be corrected, since the agent began to look.
    pub gpu_errors: Vec<GpuErrors>,
}

/// A GPU that does not compute what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuErrors {
    /// Its device file.
    pub file: String,
    /// How many.
    pub count: u64,
}

/// One file system.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSystem {
    /// Where.
    pub path: String,
    /// Space and names that are left, in percent, whichever is less.
    pub free_percent: f64,
    /// Why nothing can be written there, if so.
    pub trouble: Option<String>,
}

/// What the node has offered to the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Memory.
    pub memory_mb: u64,
    /// GPUs that are really there.
    pub gpus: usize,
    /// Errors that each of them had already, by device file.
    pub gpu_errors: BTreeMap<String, u64>,
}

/// Less than this is no room for a job's files.
const LEAST_FREE_PERCENT: f64 = 1.0;

/// No job ran before this: a clock that says so was never set.
const EARLIEST: i64 = 1_700_000_000;

/// What certificates and credentials bear is more than this, what logs bear is not.
const MOST_DRIFT_SECS: i64 = 30;

/// How long the site's program may take; Slurm gives it as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Everything that is wrong, in a few words each.
pub fn problems(found: &Found, offered: &Offered) -> Vec<String> {
    let mut problems = Vec::new();
    for FileSystem { path, free_percent, trouble } in &found.file_systems {
        if let Some(trouble) = trouble {
            problems.push(format!("{path} cannot be written: {trouble}"));
        } else if *free_percent < LEAST_FREE_PERCENT {
            problems.push(format!("{path} is full: {free_percent:.1} % free"));
        }
    }
    if found.memory_mb < offered.memory_mb {
        let (found, offered) = (found.memory_mb, offered.memory_mb);
        problems.push(format!("memory is gone: {found} MB of {offered} MB"));
    }
    if found.gpus < offered.gpus {
        problems.push(format!("GPUs are gone: {} of {} are left", found.gpus, offered.gpus));
    }
    for GpuErrors { file, count } in &found.gpu_errors {
        let new = count.saturating_sub(offered.gpu_errors.get(file).copied().unwrap_or(0));
        if new > 0 {
            problems.push(format!("GPU {file} has {new} uncorrectable memory errors"));
        }
    }
    if found.now < EARLIEST {
        problems.push("the clock is not set".to_string());
    } else if found.drift_secs.abs() > MOST_DRIFT_SECS {
        let side = if found.drift_secs > 0 { "ahead of" } else { "behind" };
        let secs = found.drift_secs.abs();
        problems.push(format!("the clock is {secs} s {side} the controller's"));
    }
    problems
}

/// Looks at the machine. Blocks for as long as its disks take.
pub fn look(spool: &Path, root: &Path, gpus: usize, drift_secs: i64) -> Found {
    let places = [spool.to_path_buf(), PathBuf::from("/tmp")];
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let total = total.and_then(|it| it.split_ascii_whitespace().next()?.parse::<u64>().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // Where there were none, nobody looks for them.
    let found = if gpus == 0 { Vec::new() } else { gpu::find(root) };
    Found {
        gpu_errors: errors_of(root, &found),
        drift_secs,
        file_systems: places.iter().map(|place| file_system(place)).collect(),
        memory_mb: total.map_or(u64::MAX, |kilobytes| kilobytes / 1024),
        gpus: found.len(),
        now: now.map_or(0, |passed| passed.as_secs() as i64),
    }
}

/// By how much a clock differs from the controller's, given when the controller was asked what time it is, and when
/// it answered. What the question took may count either way, so it counts as nothing.
pub fn drift_ms(own_ms: i64, told_ms: i64, took_ms: i64) -> i64 {
    match own_ms - told_ms {
        ahead @ 0.. => (ahead - took_ms).max(0),
        behind => behind,
    }
}

/// The errors of each GPU's memory, where its driver counts them.
pub fn errors_of(root: &Path, gpus: &[Gpu]) -> Vec<GpuErrors> {
    let counted = gpus.iter().filter_map(|gpu| {
        Some(GpuErrors { file: gpu.files.first()?.clone(), count: gpu::uncorrectable(root, gpu)? })
    });
    counted.collect()
}

fn file_system(path: &Path) -> FileSystem {
    let mut found =
        FileSystem { path: path.display().to_string(), free_percent: 100.0, trouble: None };
    match statvfs(path) {
        Ok(told) if told.flags().contains(FsFlags::ST_RDONLY) => {
            found.trouble = Some("it is read-only".to_string());
        }
        Ok(told) => {
            let percent = |free: u64, all: u64| match all {
                0 => 100.0,
                all => free as f64 * 100.0 / all as f64,
            };
            found.free_percent = percent(told.blocks_available(), told.blocks())
                .min(percent(told.files_available(), told.files()));
            found.trouble = probe(path).err().map(|error| error.to_string());
        }
        Err(errno) => found.trouble = Some(errno.desc().to_string()),
    }
    found
}

/// Writes a few bytes and takes them back: a broken disk says so only then.
fn probe(folder: &Path) -> std::io::Result<()> {
    // Several may look at once.
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    let look = LOOKS.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".spurd-health-{}-{look}", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| file.write_all(b"fit\n"));
    let _ = fs::remove_file(&path);
    written
}

/// Runs the site's program; what it says is wrong if it fails.
pub fn ask_site(program: &str, node: &str) -> Option<String> {
    let spawned = Command::new(program)
        .env_clear()
        .env("SLURMD_NODENAME", node)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let child = match spawned {
        Ok(child) => child,
        Err(error) => return Some(format!("{program} could not be run: {error}")),
    };
    let group = Pid::from_raw(child.id() as i32);
    let in_time = Pidfd::open(child.id() as i32)
        .and_then(|held| held.wait_until(Some(Instant::now() + PATIENCE)))
        .unwrap_or(false);
    // Whatever it has started ends with it, so its output ends too.
    let _ = killpg(group, Signal::SIGKILL);
    let output = child.wait_with_output().ok()?;
    match in_time {
        true if output.status.success() => None,
        true => Some(said(program, &output.stdout)),
        false => Some(format!("{program} took too long")),
    }
}

/// The first line of what a program said.
fn said(program: &str, output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => line.chars().take(200).collect(),
        None => format!("{program} failed"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn fit() -> Found {
        let file_system =
            FileSystem { path: "/spool".to_string(), free_percent: 50.0, trouble: None };
        Found {
            file_systems: vec![file_system],
            memory_mb: 1000,
            gpus: 8,
            now: EARLIEST,
            drift_secs: 0,
            gpu_errors: Vec::new(),
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let offered = Offered { memory_mb: 1000, gpus: 8, ..Offered::default() };
        assert_eq!(problems(&fit(), &offered), [""; 0]);
        let mut ill = Found { memory_mb: 500, gpus: 7, now: 0, ..fit() };
        ill.file_systems[0].free_percent = 0.25;
        assert_eq!(
            problems(&ill, &offered),
            [
                "/spool is full: 0.2 % free",
                "memory is gone: 500 MB of 1000 MB",
                "GPUs are gone: 7 of 8 are left",
                "the clock is not set",
            ]
        );
        ill.file_systems[0].trouble = Some("it is read-only".to_string());
        assert_eq!(problems(&ill, &offered)[0], "/spool cannot be written: it is read-only");
    }

    #[test]
    fn clocks_and_gpus_that_go_wrong_are_named() {
        let file = "/dev/dri/renderD128".to_string();
        let gpu_errors = [(file.clone(), 2)].into_iter().collect();
        let offered = Offered { gpu_errors, ..Offered::default() };
        let with = |drift_secs, count| {
            let gpu_errors = vec![GpuErrors { file: file.clone(), count }];
            problems(&Found { drift_secs, gpu_errors, ..fit() }, &offered)
        };
        assert_eq!(with(-30, 2), [""; 0], "it had those before");
        assert_eq!(
            with(-45, 3),
            [
                "GPU /dev/dri/renderD128 has 1 uncorrectable memory errors",
                "the clock is 45 s behind the controller's"
            ]
        );
        assert_eq!(drift_ms(100_000, 40_000, 50_000), 10_000, "the answer was under way");
        assert_eq!((drift_ms(5, 9, 100), drift_ms(9, 5, 100)), (-4, 0));
    }

    #[test]
    fn a_machine_that_runs_tests_is_fit() {
        let spool = tempfile::tempdir().expect("a folder");
        let found = look(spool.path(), Path::new("/"), 0, 0);
        let troubles: Vec<_> =
            found.file_systems.iter().filter_map(|it| it.trouble.clone()).collect();
        assert_eq!(troubles, [""; 0]);
        assert_eq!(fs::read_dir(spool.path()).expect("lists").count(), 0, "nothing is left");
        let gone = file_system(&spool.path().join("gone"));
        assert_eq!(gone.trouble.as_deref(), Some("No such file or directory"));
    }

    #[test]
    fn the_sites_program_has_the_last_word() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = |text: &str| {
            let path = folder.path().join("check");
            let _ = fs::remove_file(&path);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writes");
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("permissions");
            path.display().to_string()
        };
        assert_eq!(ask_site(&script("exit 0"), "n1"), None);
        let ill = ask_site(&script("echo; echo $SLURMD_NODENAME is ill; sleep 60 & exit 3"), "n1");
        assert_eq!(ill.as_deref(), Some("n1 is ill"));
        assert!(ask_site("/no/such/program", "n1").is_some_and(|it| it.contains("not be run")));
    }
}
