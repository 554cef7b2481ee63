//! `cargo xtask vm-test`: the tests of control groups on a kernel with version 2 alone, in an emulated
//! machine. Needs root for nothing, but `qemu-system-x86_64`, `busybox` (a static one, as in busybox-static), `cpio`,
//! `strip` and a kernel.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::root;

pub const USAGE: &str = "\
cargo xtask vm-test --kernel FILE
                               run the tests of control groups of version 2 in an emulated machine
";

/// Programs that the tests' scripts call, as busybox has them.
const APPLETS: &[&str] = &[
    "cat", "echo", "env", "false", "grep", "head", "hostname", "id", "ls", "mkdir", "mount",
    "poweroff", "ps", "rm", "sed", "setsid", "sh", "sleep", "sort", "tail", "true", "wc",
];

/// Said by the machine when all is over.
const VERDICT: &str = "vm-test ended with ";

/// How long the machine may take; it is some thirty times slower than this one.
const PATIENCE_SECS: &str = "900";

/// Runs the chore.
pub fn run(words: &[&str]) -> Result<()> {
    let ["--kernel", kernel] = words else { bail!("{USAGE}") };
    let folder = tempfile::tempdir()?;
    let machine = folder.path().join("root");
    lay_out(&machine)?;
    let initrd = folder.path().join("initrd");
    let pack = format!(
        "cd {} && find . | cpio -o -H newc --quiet | gzip -1 > {}",
        machine.display(),
        initrd.display()
    );
    ran(Command::new("sh").args(["-c", &pack]))?;
    let mut child = Command::new("timeout")
        .arg(PATIENCE_SECS)
        .arg("qemu-system-x86_64")
        .args(["-accel", "tcg,thread=multi", "-cpu", "max", "-M", "q35", "-smp", "2"])
        .args(["-m", "1024", "-nographic", "-no-reboot", "-kernel", kernel, "-initrd"])
        .arg(&initrd)
        .args(["-append", "console=ttyS0 quiet panic=-1 rdinit=/init cgroup_no_v1=all"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("could not run qemu-system-x86_64")?;
    let output = child.stdout.take().context("no output")?;
    let mut verdict = None;
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).trim_end().to_string();
        println!("{line}");
        let code = line.split(VERDICT).nth(1).and_then(|code| code.trim().parse::<i32>().ok());
        verdict = verdict.or(code);
    }
    child.wait()?;
    match verdict {
        Some(0) => Ok(()),
        Some(code) => bail!("the tests ended with {code}"),
        None => bail!("the machine said nothing of the tests"),
    }
}

/// Makes the machine's files: the tests, the agent where the tests look for it, a shell, and what they need.
fn lay_out(machine: &Path) -> Result<()> {
    for folder in ["bin", "proc", "sys", "dev", "tmp", "etc", "root", "usr/bin"] {
        fs::create_dir_all(machine.join(folder))?;
    }
    let tests = tests()?;
    let agent = root().join("target/debug/spurd");
    for (from, to) in [(&tests, PathBuf::from("/tests")), (&agent, agent.clone())] {
        let to = inside(machine, &to)?;
        ran(Command::new("strip").arg("-o").arg(to).arg(from))?;
    }
    let bash = PathBuf::from("/bin/bash");
    fs::copy(&bash, inside(machine, &bash)?)?;
    for library in libraries(&[&tests, &agent, &bash])? {
        fs::copy(&library, inside(machine, &library)?)?;
    }
    fs::copy("/bin/busybox", machine.join("bin/busybox")).context("busybox is missing")?;
    for applet in APPLETS {
        symlink("busybox", machine.join("bin").join(applet))?;
    }
    symlink("/bin/busybox", machine.join("usr/bin/env"))?;
    fs::write(machine.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")?;
    fs::write(machine.join("etc/group"), "root:x:0:\n")?;
    fs::write(machine.join("etc/nsswitch.conf"), "passwd: files\ngroup: files\n")?;
    let init = machine.join("init");
    let home = root().join("crates/spurd");
    fs::create_dir_all(machine.join(home.strip_prefix("/")?))?;
    fs::write(&init, script(&home))?;
    fs::set_permissions(&init, PermissionsExt::from_mode(0o755))?;
    Ok(())
}

fn script(home: &Path) -> String {
    format!(
        "#!/bin/busybox sh\n\
         export PATH=/bin:/usr/bin HOME=/root\n\
         mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev\n\
         mount -t tmpfs none /tmp; mount -t cgroup2 none /sys/fs/cgroup\n\
         echo \"Linux $(cat /proc/sys/kernel/osrelease), controllers: $(cat /sys/fs/cgroup/cgroup.controllers)\"\n\
         cd {}\n\
         /tests --test-threads=1 --nocapture 2>&1\n\
         echo \"{VERDICT}$?\"\n\
         poweroff -f\n",
        home.display()
    )
}

/// Builds the tests and tells where they are.
fn tests() -> Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let built = Command::new(cargo)
        .args(["test", "--workspace", "--test", "groups", "--no-run", "--message-format=json"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8_lossy(&built.stdout);
    let named = |line: &str| -> Option<PathBuf> {
        let told: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_test = told["target"]["name"] == "groups";
        is_test.then(|| told["executable"].as_str().map(PathBuf::from)).flatten()
    };
    text.lines().find_map(named).context("the tests were not built")
}

/// What programs are linked with, the loader included.
fn libraries(programs: &[&PathBuf]) -> Result<Vec<PathBuf>> {
    let told = Command::new("ldd").args(programs).output().context("could not run ldd")?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let words =
        text.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':'));
    let mut found: Vec<PathBuf> = words.map(PathBuf::from).collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// A path inside the machine, its folder made.
fn inside(machine: &Path, path: &Path) -> Result<PathBuf> {
    let inside = machine.join(path.strip_prefix("/")?);
    if let Some(folder) = inside.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(inside)
}

fn ran(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not run {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} failed") }
}
