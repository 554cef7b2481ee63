//! Resource limits that came along from where a job was handed in, as `SLURM_RLIMIT_NOFILE=1024`. One that was
//! asked for by name has a `U` before its number.

use std::collections::BTreeMap;
use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use spur_core::rlimit;
use spur_proto::rlimit::RESOURCES;

/// What a process is to be held to. The hard limits of this machine are never raised, so that nothing here takes
/// rights: what is higher is as high as the machine allows, as in Slurm.
#[derive(Clone, Debug, Default)]
pub struct Limits(Vec<Limit>);

#[derive(Clone, Copy, Debug)]
struct Limit {
    name: &'static str,
    resource: Resource,
    wanted: u64,
    /// By the user, with `--propagate`.
    by_name: bool,
}

/// One could not be set, and the process must not go on.
#[derive(Debug, thiserror::Error)]
#[error("could not set RLIMIT_{name}")]
pub struct Error {
    name: &'static str,
    #[source]
    source: io::Error,
}

impl Limits {
    /// Takes the limits out of the variables: those its user asked for, and those the site lets through.
    pub fn take(variables: &mut BTreeMap<Vec<u8>, Vec<u8>>, let_through: &[String]) -> Limits {
        let mut limits = Vec::new();
        for &(name, resource) in RESOURCES {
            let Some(value) = variables.remove(rlimit::variable(name).as_bytes()) else { continue };
            let text = String::from_utf8_lossy(&value);
            let (by_name, number) = match text.strip_prefix('U') {
                Some(number) => (true, number),
                None => (false, text.as_ref()),
            };
            let Ok(wanted) = number.parse::<u64>() else { continue };
            if by_name || let_through.iter().any(|it| it == name) {
                limits.push(Limit { name, resource, wanted, by_name });
            }
        }
        Limits(limits)
    }

    /// Holds this process to all of them but the number of open files. What the user asked for by name and cannot
    /// have is returned, to be said.
    pub fn set(&self) -> Result<Vec<String>, Error> {
        let mut complaints = Vec::new();
        for limit in &self.0 {
            let most = limit.most()?;
            if limit.by_name && limit.wanted > most {
                let Limit { name, wanted, .. } = limit;
                complaints
                    .push(format!("Can't propagate RLIMIT_{name} of {wanted} from submit host"));
            }
            if limit.resource != Resource::RLIMIT_NOFILE {
                limit.set(most)?;
            }
        }
        Ok(complaints)
    }

    /// The last one, for when this process opens nothing any more: it has more files open than the program will.
    pub fn set_open_files(&self) -> Result<(), Error> {
        let files = self.0.iter().find(|limit| limit.resource == Resource::RLIMIT_NOFILE);
        files.map_or(Ok(()), |limit| limit.set(limit.most()?))
    }
}

impl Limit {
    fn most(&self) -> Result<u64, Error> {
        getrlimit(self.resource).map(|(_, most)| most).map_err(|errno| self.error(errno))
    }

    fn set(&self, most: u64) -> Result<(), Error> {
        setrlimit(self.resource, self.wanted.min(most), most).map_err(|errno| self.error(errno))
    }

    fn error(&self, errno: nix::Error) -> Error {
        Error { name: self.name, source: errno.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_go_and_what_is_not_let_through_stays() {
        let before = getrlimit(Resource::RLIMIT_CORE).expect("a limit");
        let mut variables = BTreeMap::from([
            (b"SLURM_RLIMIT_CORE".to_vec(), b"0".to_vec()),
            (b"HOME".to_vec(), b"/root".to_vec()),
        ]);
        let limits = Limits::take(&mut variables, &[]);
        assert!(limits.set().expect("is set").is_empty());
        assert_eq!(variables.keys().collect::<Vec<_>>(), [b"HOME"]);
        assert_eq!(getrlimit(Resource::RLIMIT_CORE).expect("a limit"), before);
    }
}
