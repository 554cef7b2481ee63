//! Where the database is, and how its password stays unseen.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

/// What the URL is read from where no argument says it. Other users of the machine cannot see it.
pub const VARIABLE: &str = "SPUR_DATABASE_URL";

const OPTION: &str = "--database-url";

/// Whether a URL has a secret in it.
pub fn has_password(url: &str) -> bool {
    let server = url.parse::<postgres::Config>();
    url.starts_with("postgres") && server.is_ok_and(|server| server.get_password().is_some())
}

/// Begins this program anew, with the URL where others cannot see it. Returns only when that fails.
pub fn hidden(url: &str) -> anyhow::Error {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| "spurdbd".into());
    let mut again = Command::new("/proc/self/exe");
    again.arg0(name).args(without_url(arguments)).env(VARIABLE, url);
    anyhow::Error::from(again.exec()).context("could not take the password out of the arguments")
}

fn without_url(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        if argument == OPTION {
            arguments.next();
        } else if !argument.to_string_lossy().starts_with(&format!("{OPTION}=")) {
            kept.push(argument);
        }
    }
    kept
}

/// Reads the URL from a file that nobody else can read.
pub fn read(file: &Path) -> anyhow::Result<String> {
    let at = || format!("could not read {}", file.display());
    let mode = std::fs::metadata(file).with_context(at)?.mode();
    let url = std::fs::read_to_string(file).with_context(at)?.trim().to_string();
    if mode & 0o077 != 0 && has_password(&url) {
        let file = file.display();
        bail!("{file} has a password in it, and others can read it; run: chmod 600 {file}");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_password_is_found_wherever_it_stands() {
        for (url, expected) in [
            ("postgresql://spur:secret@db/spur", true),
            ("postgres://spur@db/spur?password=secret", true),
            ("postgresql://spur@db/spur", false),
            ("sqlite:/a/b:c@d", false),
        ] {
            assert_eq!(has_password(url), expected, "{url}");
        }
    }

    #[test]
    fn the_url_is_taken_out_of_the_arguments_and_the_rest_stays() {
        let left = |text: &str| {
            let left = without_url(text.split(' ').map(OsString::from));
            left.join(std::ffi::OsStr::new(" "))
        };
        assert_eq!(left("-D --database-url postgresql://a:b@c/d --migrate"), "-D --migrate");
        assert_eq!(left("-D --database-url=postgresql://a:b@c/d -v"), "-D -v");
    }

    #[test]
    fn a_file_with_a_password_is_for_the_daemon_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("url");
        std::fs::write(&file, "postgresql://spur:secret@db/spur\n").expect("is written");
        let chmod = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode));
        chmod(0o644).expect("is ours");
        let refusal = read(&file).expect_err("others can read it").to_string();
        assert!(refusal.contains("chmod 600") && !refusal.contains("secret"), "{refusal}");
        chmod(0o600).expect("is ours");
        assert_eq!(read(&file).expect("is read"), "postgresql://spur:secret@db/spur");
    }
}
