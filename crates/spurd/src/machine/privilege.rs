//! The one way from root to a user.

use std::ffi::CString;
use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::unistd::{self, Gid, Uid, User};

use super::{child, oom, seccomp};

/// Whom to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    uid: Uid,
    gid: Gid,
    /// All groups of the user, or none when nothing is to change.
    groups: Option<Vec<Gid>>,
    /// No program it runs ever has more rights.
    hardened: bool,
}

/// Why a process must not be started for somebody.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Only root can become another user.
    #[error("this agent runs as uid {own} and cannot run a job of uid {asked}")]
    NotRoot {
        /// Who we are.
        own: u32,
        /// Whose job it is.
        asked: u32,
    },
    /// The user is not known here.
    #[error("uid {0} is not known on this node")]
    Unknown(u32),
    /// Two machines disagree on who the user is.
    #[error("uid {uid} is {here} on this node and {there} on the controller")]
    Renamed {
        /// The user.
        uid: u32,
        /// This node's name.
        here: String,
        /// The controller's name.
        there: String,
    },
    /// The user database did not answer.
    #[error("could not look up uid {0}")]
    Lookup(u32, #[source] io::Error),
}

impl Credentials {
    /// Looks a user up by number and compares with the name the controller knows. To be called before
    /// forking: the user database may be a network away.
    pub fn resolve(uid: u32, gid: u32, name: &str) -> Result<Credentials, Refusal> {
        let own = Uid::effective();
        let (asked, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        if !own.is_root() {
            return if own == asked {
                Ok(Credentials { uid: asked, gid: Gid::effective(), groups: None, hardened: false })
            } else {
                Err(Refusal::NotRoot { own: own.as_raw(), asked: uid })
            };
        }
        let lookup = |errno: Errno| Refusal::Lookup(uid, errno.into());
        let user = User::from_uid(asked).map_err(lookup)?.ok_or(Refusal::Unknown(uid))?;
        if !name.is_empty() && user.name != name {
            return Err(Refusal::Renamed { uid, here: user.name, there: name.to_string() });
        }
        let user_name = CString::new(user.name).map_err(|_| Refusal::Unknown(uid))?;
        let groups = unistd::getgrouplist(&user_name, gid).map_err(lookup)?;
        Ok(Credentials { uid: asked, gid, groups: Some(groups), hardened: false })
    }

    /// The same, but no program it runs ever has more rights.
    pub fn hardened(self, hardened: bool) -> Credentials {
        Credentials { hardened, ..self }
    }

    /// Who it is.
    pub fn uid(&self) -> Uid {
        self.uid
    }

    /// The user's group.
    pub fn gid(&self) -> Gid {
        self.gid
    }
}

/// What went wrong while becoming a user. The process must not go on.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt}")]
pub struct Error {
    attempt: &'static str,
    #[source]
    source: io::Error,
}

/// Becomes the user for good. What spares a daemon goes before anything else; groups go first, since only root may set them; the user last; then both
/// are read back, and root must be out of reach.
pub fn become_user(credentials: &Credentials) -> Result<(), Error> {
    let attempt = |attempt| move |source: Errno| Error { attempt, source: source.into() };
    let refused = |attempt| Error { attempt, source: Errno::EPERM.into() };
    let Credentials { uid, gid, groups, hardened } = credentials;
    let spared = |source| Error { attempt: "be no longer spared", source };
    oom::no_longer_spare().map_err(spared)?;
    if let Some(groups) = groups {
        clear_ambient_capabilities().map_err(attempt("give up ambient capabilities"))?;
        if *hardened {
            empty_bounding_set().map_err(attempt("give up capabilities"))?;
        }
        unistd::setgroups(groups).map_err(attempt("set the groups"))?;
        unistd::setresgid(*gid, *gid, *gid).map_err(attempt("set the group"))?;
        unistd::setresuid(*uid, *uid, *uid).map_err(attempt("set the user"))?;
    }
    let users = unistd::getresuid().map_err(attempt("read the user back"))?;
    let are_set = [users.real, users.effective, users.saved].iter().all(|is| is == uid);
    let in_groups = unistd::getresgid().map_err(attempt("read the group back"))?;
    let group_is_set = groups.is_none()
        || [in_groups.real, in_groups.effective, in_groups.saved].iter().all(|is| is == gid);
    if !are_set || !group_is_set {
        return Err(refused("become the user"));
    }
    let others = supplementary_groups().map_err(attempt("read the groups back"))?;
    if groups.as_ref().is_some_and(|groups| others.iter().any(|it| !groups.contains(it))) {
        return Err(refused("leave the groups of others"));
    }
    let root = Uid::from_raw(0);
    if !uid.is_root() && (unistd::setuid(root).is_ok() || unistd::seteuid(root).is_ok()) {
        return Err(refused("give up root"));
    }
    if *hardened {
        // SAFETY: plain numbers.
        let given_up = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        Errno::result(given_up).map_err(attempt("give up new rights"))?;
    }
    Ok(())
}

/// As `getgroups` of the C library's caller, who would open a file to learn how many there can be.
fn supplementary_groups() -> nix::Result<Vec<Gid>> {
    // SAFETY: the kernel writes at most as many numbers as it is told there is room for.
    unsafe {
        let count = Errno::result(libc::getgroups(0, std::ptr::null_mut()))?;
        let mut groups = vec![0; count as usize];
        let count = Errno::result(libc::getgroups(count, groups.as_mut_ptr()))?;
        groups.truncate(count as usize);
        Ok(groups.into_iter().map(Gid::from_raw).collect())
    }
}

/// Who was looked up last. Asking takes longer than all else before a short job, and an answer holds for a moment.
#[derive(Default)]
pub struct Known(Option<(Instant, (u32, u32, String), Credentials)>);

impl Known {
    /// As [`Credentials::resolve`].
    pub fn resolve(&mut self, uid: u32, gid: u32, name: &str) -> Result<Credentials, Refusal> {
        let asked = (uid, gid, name.to_string());
        if let Some((at, known, found)) = &self.0
            && *known == asked
            && at.elapsed() < KNOWN_FOR
        {
            return Ok(found.clone());
        }
        self.0 = None;
        let found = Credentials::resolve(uid, gid, name)?;
        self.0 = Some((Instant::now(), asked, found.clone()));
        Ok(found)
    }
}

const KNOWN_FOR: Duration = Duration::from_secs(1);

/// The last before another program takes over: nothing but its first three files is open there, and where its
/// partition is hardened the kernel refuses it what no job needs.
pub fn seal(credentials: &Credentials) -> Result<(), Error> {
    let error = |attempt| move |source| Error { attempt, source };
    child::close_others_on_exec().map_err(error("close what is open"))?;
    if credentials.hardened {
        seccomp::refuse_what_no_job_needs().map_err(error("have system calls refused"))?;
    }
    Ok(())
}

/// Capabilities that no program can bring back, whoever owns it.
fn empty_bounding_set() -> nix::Result<()> {
    for capability in 0.. {
        // SAFETY: plain numbers.
        let is_set = unsafe { libc::prctl(libc::PR_CAPBSET_READ, capability, 0, 0, 0) };
        match is_set {
            0 => {}
            1 => {
                // SAFETY: plain numbers.
                Errno::result(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) })?;
            }
            // The kernel knows no further one.
            _ => break,
        }
    }
    Ok(())
}

/// They would survive the change of user.
fn clear_ambient_capabilities() -> nix::Result<()> {
    // SAFETY: plain numbers.
    let cleared =
        unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    match Errno::result(cleared) {
        // Kernels before 4.3 know no ambient capabilities.
        Ok(_) | Err(Errno::EINVAL) => Ok(()),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_for_a_user_is_refused() {
        if !Uid::effective().is_root() {
            eprintln!("SKIPPED: needs root");
            return;
        }
        assert!(matches!(
            Credentials::resolve(65534, 65534, "mallory"),
            Err(Refusal::Renamed { .. })
        ));
        assert!(matches!(
            Credentials::resolve(4_000_000_000, 1, "ghost"),
            Err(Refusal::Unknown(_))
        ));
    }

    #[test]
    fn oneself_is_always_fine() {
        let own = Uid::effective().as_raw();
        assert!(Credentials::resolve(own, Gid::effective().as_raw(), "").is_ok());
    }
}
