//! The variables a user has at login, for jobs that bring none of their own: `--get-user-env`, and `--export`
//! without `ALL`.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{Uid, User};

use super::task_hooks::Variables;

/// The variable by which `sbatch` says that they are wanted, as in Slurm.
const WANTED: &[u8] = b"SLURM_GET_USER_ENV";

/// How long a login may take; what it has not told by then is done without.
const PATIENCE: Duration = Duration::from_secs(20);

/// What files of the login print comes before it.
const MARK: &[u8] = b"=-= spur environment =-=\n";

/// Puts the variables of a login below those that are there, where that was asked for. To be called as the
/// user: whatever their files do, they do with their own rights.
pub fn add(variables: &mut Variables) {
    if variables.get(WANTED).is_none_or(|value| value != b"1") {
        return;
    }
    let Ok(Some(user)) = User::from_uid(Uid::current()) else { return };
    let home = user.dir.display().to_string();
    let shell = match user.shell.display().to_string() {
        none if none.is_empty() => "/bin/sh".to_string(),
        shell => shell,
    };
    let known = [
        ("HOME", home.as_str()),
        ("LOGNAME", user.name.as_str()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("SHELL", shell.as_str()),
        ("USER", user.name.as_str()),
    ];
    let told = ask(&shell, &known).unwrap_or_default();
    let known = known.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    for (name, value) in read(&told).into_iter().chain(known) {
        variables.entry(name).or_insert(value);
    }
}

/// What a login shell prints of its variables. A dash before its name makes it one, whichever shell it is.
fn ask(shell: &str, known: &[(&str, &str)]) -> Option<Vec<u8>> {
    let name = shell.rsplit('/').next().unwrap_or(shell);
    let mark = String::from_utf8_lossy(MARK);
    let mut asked = Command::new(shell)
        .arg0(format!("-{name}"))
        .args(["-c", &format!("echo '{}'; exec /usr/bin/env -0", mark.trim_end())])
        .env_clear()
        .envs(known.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let told = listen(&mut asked);
    let _ = asked.kill();
    let _ = asked.wait();
    told
}

fn listen(asked: &mut Child) -> Option<Vec<u8>> {
    let mut stdout = asked.stdout.take()?;
    let until = Instant::now() + PATIENCE;
    let mut told = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).ok()?;
        let mut ready = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, left).ok()? == 0 {
            return None;
        }
        match stdout.read(&mut piece).ok()? {
            0 => return Some(told),
            count => told.extend_from_slice(&piece[..count]),
        }
    }
}

/// Names and values, without what belongs to the shell that printed them.
fn read(told: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let at = told.windows(MARK.len()).rposition(|piece| piece == MARK);
    let Some(at) = at else { return Vec::new() };
    let lines = told[at + MARK.len()..].split(|byte| *byte == 0);
    let variable = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        Some((line[..at].to_vec(), line[at + 1..].to_vec()))
    };
    let own: [&[u8]; 4] = [b"_", b"PWD", b"OLDPWD", b"SHLVL"];
    lines.filter_map(variable).filter(|(name, _)| !own.contains(&name.as_slice())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(variables: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<String> {
        let line = |(name, value): (Vec<u8>, Vec<u8>)| {
            format!("{}={}", String::from_utf8_lossy(&name), String::from_utf8_lossy(&value))
        };
        variables.into_iter().map(line).collect()
    }

    #[test]
    fn what_files_of_the_login_print_is_no_variable() {
        let told = [b"WELCOME=home\n".as_slice(), MARK, b"A=1\0B=x=y\nz\0_=/bin/env\0PWD=/\0"];
        assert_eq!(text(read(&told.concat())), ["A=1", "B=x=y\nz"]);
        assert!(read(b"A=1\0").is_empty());
    }

    #[test]
    fn a_shell_tells_what_it_would_have_at_login() {
        let told = ask("/bin/sh", &[("HOME", "/nowhere"), ("WHO", "me")]).unwrap();
        assert!(text(read(&told)).contains(&"WHO=me".to_string()));
    }

    #[test]
    fn who_did_not_ask_gets_nothing() {
        let mut variables = Variables::new();
        add(&mut variables);
        assert!(variables.is_empty());
        variables.insert(WANTED.to_vec(), b"1".to_vec());
        variables.insert(b"HOME".to_vec(), b"/mine".to_vec());
        add(&mut variables);
        assert_eq!(variables[b"HOME".as_slice()], b"/mine");
        assert!(variables.contains_key(b"PATH".as_slice()));
    }
}
