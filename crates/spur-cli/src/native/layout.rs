//! The directory of a `spur up`: what lies where.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use spur_proto::client::Address;

use crate::cluster;
use crate::dispatch::SLURM;

/// A cluster's directory.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The directory itself.
    pub dir: PathBuf,
}

impl Layout {
    /// The directory named, or the default one.
    pub fn new(dir: Option<PathBuf>) -> io::Result<Layout> {
        let dir = std::path::absolute(dir.unwrap_or_else(cluster::default_dir))?;
        Ok(Layout { dir })
    }

    /// Where accounting listens.
    pub fn accounting_socket(&self) -> PathBuf {
        self.dir.join("run/spurdbd.sock")
    }

    /// A controller's name: the first one's has no number.
    pub fn controller(number: u32) -> String {
        if number == 1 { "spurctld".to_string() } else { format!("spurctld-{number}") }
    }

    /// A controller's socket.
    pub fn socket(&self, number: u32) -> PathBuf {
        self.dir.join("run").join(format!("{}.sock", Layout::controller(number)))
    }

    /// Where so many controllers listen.
    pub fn addresses(&self, controllers: u32) -> Vec<Address> {
        (1..=controllers).map(|number| Address::Unix(self.socket(number))).collect()
    }

    /// Where the controllers of this directory listen.
    pub fn known_addresses(&self) -> Vec<Address> {
        self.addresses(self.controllers())
    }

    /// How many controllers the directory has had so far, at least one.
    pub fn controllers(&self) -> u32 {
        (1..).take_while(|number| *number == 1 || self.state(*number).exists()).count() as u32
    }

    /// Links with Slurm's names.
    pub fn bin(&self) -> PathBuf {
        self.dir.join("bin")
    }

    /// A controller's state.
    pub fn state(&self, number: u32) -> PathBuf {
        let folder = if number == 1 { "state".to_string() } else { format!("state-{number}") };
        self.dir.join(folder)
    }

    /// A node's spool.
    pub fn spool(&self, node: &str) -> PathBuf {
        self.dir.join("spool").join(node)
    }

    /// What a daemon says.
    pub fn log(&self, daemon: &str) -> PathBuf {
        self.dir.join("log").join(format!("{daemon}.log"))
    }

    /// Who a daemon is.
    pub fn pid_file(&self, daemon: &str) -> PathBuf {
        self.dir.join("run").join(format!("{daemon}.pid"))
    }

    /// Names with a pid file.
    pub fn pid_files(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.dir.join("run")) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(".pid").map(str::to_string))
            .collect();
        names.sort();
        names
    }

    /// Makes the folders and the links. Others may pass through, to the socket and to their scripts. A folder
    /// that is there already keeps its mode, and must be ours.
    pub fn make(&self) -> io::Result<()> {
        for (folder, mode) in [
            ("", 0o755),
            ("run", 0o755),
            ("bin", 0o755),
            ("log", 0o755),
            ("state", 0o700),
            ("spool", 0o711),
        ] {
            let path = self.dir.join(folder);
            match fs::metadata(&path) {
                Ok(found) if found.uid() == nix::unistd::geteuid().as_raw() => {}
                Ok(_) => {
                    let complaint = format!("{} belongs to somebody else", path.display());
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, complaint));
                }
                Err(_) => {
                    fs::create_dir_all(&path)?;
                    fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
                }
            }
        }
        let spur = std::env::current_exe()?;
        let names = SLURM.iter().map(|command| command.name).chain(["spur"]);
        for name in names {
            link(&spur, &self.bin().join(name))?;
        }
        Ok(())
    }
}

fn link(target: &Path, link: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|present| present == target) {
        return Ok(());
    }
    match fs::remove_file(link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => symlink(target, link),
    }
}
