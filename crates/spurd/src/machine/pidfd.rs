//! A process held by a descriptor: its number may be reused, the descriptor means the same process for
//! ever.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A process, or what was one.
#[derive(Debug)]
pub struct Pidfd(OwnedFd);

impl Pidfd {
    /// Takes hold of a process by its number.
    pub fn open(pid: i32) -> io::Result<Pidfd> {
        // SAFETY: plain numbers go in, a new descriptor or an error comes out.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
        Ok(Pidfd(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }))
    }

    /// Sends a signal; one to a process that is gone is an error and hits nobody else.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        let no_info = std::ptr::null::<libc::siginfo_t>();
        let fd = self.0.as_raw_fd();
        // SAFETY: the descriptor is open as long as `self`; without siginfo the kernel makes its own.
        let result = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, no_info, 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sends a shepherd's message signal with a number, which it reads from [`message_signal`]'s siginfo.
    pub fn send_message(&self, value: i32) -> io::Result<()> {
        let signal = message_signal();
        // The kernel's siginfo_t of SI_QUEUE on 64 bits: signo and errno, code, pid and uid, value.
        let mut info = [0_u64; 16];
        info[0] = signal as u64;
        info[1] = u64::from(libc::SI_QUEUE as u32);
        info[2] = u64::from(std::process::id());
        info[3] = u64::from(value as u32);
        let fd = self.0.as_raw_fd();
        // SAFETY: the descriptor is open as long as `self`; the kernel reads 128 bytes, which `info` has.
        let result =
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, info.as_ptr(), 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for the end of the process, until a moment if one is given. Whether it has ended.
    pub fn wait_until(&self, deadline: Option<Instant>) -> io::Result<bool> {
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let timeout = match left {
                // Rounded up, or the last fraction of a millisecond would be spent awake.
                Some(left) => PollTimeout::try_from(left + Duration::from_millis(1))
                    .unwrap_or(PollTimeout::MAX),
                None => PollTimeout::NONE,
            };
            match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], timeout) {
                Ok(0) if left.is_some_and(|left| left.is_zero()) => return Ok(false),
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return Ok(true),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Buries an ended child of ours. Somebody else's child is buried by its own parent.
    pub fn reap(&self) {
        // SAFETY: the kernel fills in a value of our own; an all-zero siginfo is a valid one.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let fd = self.0.as_raw_fd() as libc::id_t;
            libc::waitid(libc::P_PIDFD, fd, &raw mut info, libc::WEXITED | libc::WNOHANG);
        }
    }
}

impl From<OwnedFd> for Pidfd {
    /// A descriptor the kernel made for a process at its birth.
    fn from(fd: OwnedFd) -> Pidfd {
        Pidfd(fd)
    }
}

/// The signal by which an agent tells a shepherd to signal its run: queued, never merged.
pub fn message_signal() -> i32 {
    libc::SIGRTMIN() + 1
}

impl AsRawFd for Pidfd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Set in a message when only the script's own shell is meant.
pub const SCRIPT_ONLY: i32 = 1 << 8;

/// Instead of a signal: the run is to be stopped, and told so before.
pub const GENTLY: i32 = 1 << 10;

/// Instead of a signal: there are words for the run's output in the spool.
pub const NOTICE: i32 = 1 << 9;

/// A process whose end can be awaited, whosever child it is.
pub struct Watched(AsyncFd<Pidfd>);

impl Watched {
    /// Begins to watch.
    pub fn new(process: Pidfd) -> io::Result<Watched> {
        // SAFETY: the descriptor is owned by `process`, which always shows the same one.
        Ok(Watched(unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) }?))
    }

    /// Returns once the process has ended.
    pub async fn ended(&self) -> io::Result<()> {
        self.0.readable().await.map(drop)
    }

    /// As [`Pidfd::signal`].
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        self.0.get_ref().signal(signal)
    }

    /// Has a shepherd pass a signal on to its run.
    pub fn queue(&self, signal: i32, script_only: bool) -> io::Result<()> {
        self.0.get_ref().send_message(signal | if script_only { SCRIPT_ONLY } else { 0 })
    }

    /// As [`Pidfd::reap`].
    pub fn reap(&self) {
        self.0.get_ref().reap();
    }
}
