//! Resource limits that came along from where a job was handed in, as `SLURM_RLIMIT_NOFILE=1024`. One that was
//! asked for by name has a `U` before its number.

use std::collections::BTreeMap;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use spur_core::rlimit;

const LIMITS: &[(&str, Resource)] = &[
    ("AS", Resource::RLIMIT_AS),
    ("CORE", Resource::RLIMIT_CORE),
    ("CPU", Resource::RLIMIT_CPU),
    ("DATA", Resource::RLIMIT_DATA),
    ("FSIZE", Resource::RLIMIT_FSIZE),
    ("MEMLOCK", Resource::RLIMIT_MEMLOCK),
    ("NOFILE", Resource::RLIMIT_NOFILE),
    ("NPROC", Resource::RLIMIT_NPROC),
    ("RSS", Resource::RLIMIT_RSS),
    ("STACK", Resource::RLIMIT_STACK),
];

/// A limit that a process is to be held to.
pub struct Limit {
    name: &'static str,
    resource: Resource,
    wanted: u64,
    /// By name.
    asked: bool,
}

/// Takes the limits out of the variables: what the user asked for, and what the site lets through.
pub fn take(variables: &mut BTreeMap<Vec<u8>, Vec<u8>>, let_through: &[String]) -> Vec<Limit> {
    let limits = LIMITS.iter().filter_map(|(name, resource)| {
        let value = variables.remove(rlimit::variable(name).as_bytes())?;
        let text = String::from_utf8_lossy(&value);
        let (asked, number) = match text.strip_prefix('U') {
            Some(number) => (true, number),
            None => (false, text.as_ref()),
        };
        let wanted = number.parse().ok()?;
        let holds = asked || let_through.iter().any(|it| it == name);
        holds.then_some(Limit { name, resource: *resource, wanted, asked })
    });
    limits.collect()
}

/// Holds this process to its limits. What is higher than this machine allows is as high as it allows; of those asked
/// for by name that is said.
pub fn hold(limits: &[Limit]) -> Vec<String> {
    let mut complaints = Vec::new();
    for Limit { name, resource, wanted, asked } in limits {
        let Ok((now, most)) = getrlimit(*resource) else { continue };
        let wants = (*wanted).min(most);
        let set = if now == wants { Ok(()) } else { setrlimit(*resource, wants, most) };
        if *asked && (set.is_err() || *wanted > most) {
            complaints.push(format!("Can't propagate RLIMIT_{name} of {wanted} from submit host"));
        }
    }
    complaints
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
        assert!(hold(&take(&mut variables, &[])).is_empty());
        assert_eq!(variables.keys().collect::<Vec<_>>(), [b"HOME"]);
        assert_eq!(getrlimit(Resource::RLIMIT_CORE).expect("a limit"), before);
    }
}
