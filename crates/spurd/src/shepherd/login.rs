//! The variables of a user's login, for jobs that leave those of their submission behind. The login shell is run as
//! the user, inside the job, and asked what it has.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{Uid, User};

use super::environment::submitted;
use super::task_hooks::Variables;

/// The variable by which a submission asks for them; Slurm's.
pub const ASKED: &[u8] = b"SLURM_GET_USER_ENV";

/// How long a shell may take; Slurm's own limit.
const PATIENCE: Duration = Duration::from_secs(120);

/// What stands before the variables: a shell may greet its user first.
const MARK: &str = "spur-login-variables";

/// Puts the login's variables below those that are there.
pub fn add(variables: &mut Variables) -> io::Result<()> {
    let user = User::from_uid(Uid::current())?.ok_or(io::ErrorKind::NotFound)?;
    let found = ask(&user, PATIENCE)?;
    for (name, value) in found {
        variables.entry(name).or_insert(value);
    }
    Ok(())
}

fn ask(user: &User, patience: Duration) -> io::Result<Variables> {
    let shell = match user.shell.as_os_str().is_empty() {
        true => Path::new("/bin/sh"),
        false => user.shell.as_path(),
    };
    // A shell whose name begins so is one of a login.
    let mut name = OsString::from("-");
    name.push(shell.file_name().unwrap_or_default());
    let path = match user.uid.is_root() {
        true => "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        false => "/usr/local/bin:/usr/bin:/bin",
    };
    let home = if user.dir.is_dir() { user.dir.as_path() } else { Path::new("/") };
    let mut child = Command::new(shell)
        .arg0(name)
        .args(["-c", &format!("echo {MARK}; env -0")])
        .env_clear()
        .envs([("USER", &user.name), ("LOGNAME", &user.name)])
        .envs([("HOME", user.dir.as_os_str()), ("SHELL", shell.as_os_str())])
        .env("PATH", path)
        .env("MAIL", format!("/var/mail/{}", user.name))
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let said = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe.into());
    let said = said.and_then(|output| read(output, Instant::now() + patience));
    end(&mut child);
    let said = said?;
    let mark = format!("{MARK}\n").into_bytes();
    let at = said.windows(mark.len()).rposition(|it| it == mark);
    let at = at.ok_or(io::ErrorKind::InvalidData)?;
    let mut found = submitted(&said[at + mark.len()..]);
    // Of the shell that was asked, and not of the job.
    for own in [&b"_"[..], b"PWD", b"OLDPWD"] {
        found.remove(own);
    }
    if let Some(level) = found.get_mut(b"SHLVL".as_slice()) {
        *level = b"1".to_vec();
    }
    match found.is_empty() {
        true => Err(io::ErrorKind::InvalidData.into()),
        false => Ok(found),
    }
}

/// The most that is read of what a shell says.
const MOST: usize = 4 << 20;

fn read(mut output: ChildStdout, deadline: Instant) -> io::Result<Vec<u8>> {
    let (mut said, mut bytes) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let pause = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut ready = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
        if left.is_zero() || poll(&mut ready, pause)? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let count = output.read(&mut bytes)?;
        if count == 0 {
            return Ok(said);
        }
        said.extend_from_slice(&bytes[..count]);
        if said.len() > MOST {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
    }
}

/// One that has said all is buried; one that still runs has lost its turn.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn user(folder: &Path, shell: &str) -> User {
        let path = folder.join("shell");
        std::fs::write(&path, format!("#!/bin/sh\n{shell}\n")).expect("writes");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("permissions");
        let own = User::from_uid(Uid::current()).expect("is looked up").expect("is there");
        User { shell: path, ..own }
    }

    #[test]
    fn a_shell_may_greet_and_what_it_exports_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let user = user(folder.path(), "echo FAKE=1; export MODULES='a\nb' _=x; eval \"$2\"");
        let found = ask(&user, Duration::from_secs(60)).expect("it answers");
        assert_eq!(found.get(&b"USER"[..]).map(Vec::as_slice), Some(user.name.as_bytes()));
        assert!(found.contains_key(&b"MODULES"[..]) && found.contains_key(&b"PATH"[..]));
        assert!(!found.contains_key(&b"FAKE"[..]) && !found.contains_key(&b"_"[..]));
        assert!(found.contains_key(&b"HOME"[..]) && !found.contains_key(&b"PWD"[..]));
    }

    #[test]
    fn a_shell_that_says_nothing_or_takes_for_ever_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let silent = ask(&user(folder.path(), "exit 0"), Duration::from_secs(60));
        assert!(silent.is_err());
        let slow = ask(&user(folder.path(), "exec sleep 1000"), Duration::from_millis(50));
        assert_eq!(slow.expect_err("is given up").kind(), io::ErrorKind::TimedOut);
    }
}
