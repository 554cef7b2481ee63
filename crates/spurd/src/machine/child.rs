//! Forks, and what a forked child does to itself before it becomes another program.

use std::convert::Infallible;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::SigSet;
use nix::unistd::{ForkResult, Pid};
use spur_core::views::TaskUsage;

use super::measure;

/// What `waitpid` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// This child has ended, with this status, and it and those it waited for have used this much.
    Ended(i32, u32, TaskUsage),
    /// There are children; none has ended.
    NotYet,
    /// There is no child left.
    Childless,
}

/// Buries one ended child, if there is one.
pub fn wait_any() -> io::Result<Waited> {
    // SAFETY: all zeros are a valid value, and the kernel fills in a value of our own.
    let (found, ended) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let found = libc::waitid(libc::P_ALL, 0, &raw mut info, how);
        (found, info.si_pid())
    };
    match (found, ended) {
        (0, 0) => return Ok(Waited::NotYet),
        (0, _) => {}
        _ if Errno::last() == Errno::ECHILD => return Ok(Waited::Childless),
        _ => return Err(io::Error::last_os_error()),
    }
    // Until it is buried the kernel still tells what it read and wrote.
    let (read_bytes, written_bytes) = measure::traffic(ended);
    let mut status = 0;
    // SAFETY: as above.
    let (pid, used) = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        (libc::wait4(ended, &raw mut status, libc::WNOHANG, &raw mut used), used)
    };
    match pid {
        0 => Ok(Waited::NotYet),
        -1 => Err(io::Error::last_os_error()),
        pid => {
            let used = TaskUsage { read_bytes, written_bytes, ..usage(&used) };
            Ok(Waited::Ended(pid, status as u32, used))
        }
    }
}

/// What all children that were buried have used, with whomever they waited for.
pub fn usage_of_children() -> TaskUsage {
    // SAFETY: all zeros are a valid value, and the kernel fills in a value of our own.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut used);
        used
    };
    usage(&used)
}

fn usage(used: &libc::rusage) -> TaskUsage {
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    TaskUsage {
        user_micros: micros(used.ru_utime),
        system_micros: micros(used.ru_stime),
        // The kernel counts kilobytes here.
        memory_bytes: used.ru_maxrss as u64 * 1024,
        page_faults: used.ru_majflt as u64,
        ..TaskUsage::default()
    }
}

/// Runs `child` in a new process and returns its number. The child is born into the group that `cradle`
/// is, where the kernel can do that, and told whether it was. Only for processes with a single thread.
pub fn fork(
    cradle: Option<BorrowedFd<'_>>,
    child: impl FnOnce(bool) -> Infallible,
) -> io::Result<i32> {
    let (forked, born_in) = match cradle.map(fork_into) {
        Some(Ok(forked)) => (forked, true),
        // SAFETY: a single thread holds no lock that the copy could miss, so the child may do all we may.
        Some(Err(_)) | None => (unsafe { nix::unistd::fork() }?, false),
    };
    match forked {
        ForkResult::Parent { child } => Ok(child.as_raw()),
        ForkResult::Child => {
            // A panic must not unwind into the parent's frames and have everything done twice.
            let _ = catch_unwind(AssertUnwindSafe(|| child(born_in)));
            leave(PANICKED)
        }
    }
}

/// Runs `child` in a new process and holds it. Only for processes with a single thread.
pub fn fork_held(child: impl FnOnce() -> Infallible) -> io::Result<OwnedFd> {
    let mut held: libc::c_int = -1;
    let mut arguments = CloneArguments {
        flags: libc::CLONE_PIDFD as u64,
        pidfd: &raw mut held as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArguments::default()
    };
    let size = size_of::<CloneArguments>();
    // SAFETY: as in `fork_into`; the descriptor is written into a value of our own.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size) } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // As in `fork`.
            let _ = catch_unwind(AssertUnwindSafe(child));
            leave(PANICKED)
        }
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
        _ => Ok(unsafe { OwnedFd::from_raw_fd(held) }),
    }
}

/// Where the words are that `ps` shows of this process.
#[derive(Clone, Copy)]
pub struct CommandLine {
    start: usize,
    length: usize,
}

impl CommandLine {
    /// Finds them; a copy of this process has them at the same place.
    pub fn find() -> Option<CommandLine> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // Behind the name, which may contain anything, the words' bounds are numbers 46 and 47.
        let mut numbers = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(45);
        let start: usize = numbers.next()?.parse().ok()?;
        let end: usize = numbers.next()?.parse().ok()?;
        (start > 0 && end > start).then_some(CommandLine { start, length: end - start })
    }

    /// Shows other words, as many of them as there is room for.
    pub fn write(self, words: &[&[u8]]) {
        let mut text = words.join(&0);
        text.resize(self.length - 1, 0);
        text.push(0);
        // SAFETY: the kernel put the arguments there at the start and nobody holds on to them: the standard
        // library has copied what it wanted. Not a byte beyond their end is written.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), self.start as *mut u8, text.len()) };
    }
}

/// Has the kernel bury this process's children: nobody here asks how they ended.
pub fn leave_burying_to_the_kernel() {
    // SAFETY: no code of ours runs at a signal that is ignored.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Has this process bury its children itself again.
pub fn bury_children() {
    // SAFETY: the default action is no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Sparing the child from being moved spares it a wait for the whole machine. Kernels before 5.7 cannot.
fn fork_into(group: BorrowedFd<'_>) -> Result<ForkResult, Errno> {
    let mut arguments = CloneArguments {
        flags: CLONE_INTO_CGROUP,
        exit_signal: libc::SIGCHLD as u64,
        group: group.as_raw_fd() as u64,
        ..CloneArguments::default()
    };
    let size = size_of::<CloneArguments>();
    // SAFETY: the kernel reads a structure of our own and copies the process as `fork` does; as there, a
    // single thread holds no lock that the copy could miss.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size) } {
        -1 => Err(Errno::last()),
        0 => Ok(ForkResult::Child),
        child => Ok(ForkResult::Parent { child: Pid::from_raw(child as i32) }),
    }
}

/// The C library has it in a type that is too small.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// `struct clone_args`, as the kernel reads it.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    group: u64,
}

const PANICKED: i32 = 255;

/// Ends the process at once, without the parent's exit handlers.
pub fn leave(code: i32) -> ! {
    // SAFETY: it does not return, and touches nothing.
    unsafe { libc::_exit(code) }
}

/// Gives every signal its default meaning and lets all through. Ignored ones would stay so over `execve`.
pub fn reset_signals() -> Result<(), Errno> {
    // Asked of the kernel directly: the C library keeps two signals to itself, and these may be ignored
    // by an ancestor too. All zeros mean the default action, no flags, no mask.
    let default = [0_u64; 4];
    let unwanted = std::ptr::null_mut::<u64>();
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the kernel reads a structure not larger than `default`, and the default action is no
        // code of ours. KILL and STOP are refused, and have it anyway.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                &raw const default,
                unwanted,
                SIGSET_BYTES,
            )
        };
    }
    SigSet::empty().thread_set_mask()
}

/// The size of the kernel's signal set, which differs from the C library's.
const SIGSET_BYTES: usize = 8;

/// Makes a terminal the controlling one of this process's new session.
pub fn take_terminal(terminal: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the call changes nothing of ours but the session's terminal.
    let result = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Tells a terminal how large its window is. One that is gone needs no size.
pub fn set_window(terminal: &File, rows: u16, columns: u16) {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open, and the kernel reads a value of our own.
    unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
}

/// Has a descriptor closed by `execve`.
pub fn close_on_exec(fd: &OwnedFd) -> Result<(), Errno> {
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map(drop)
}

/// The time on the wall here, as Slurm writes it: `2026-11-15T21:04:09`.
pub fn local_time() -> String {
    // SAFETY: an all-zero `tm` is a valid one, and only it is written to.
    let now = unsafe {
        let mut now: libc::tm = std::mem::zeroed();
        let secs = libc::time(std::ptr::null_mut());
        libc::localtime_r(&raw const secs, &raw mut now);
        now
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        now.tm_year + 1900,
        now.tm_mon + 1,
        now.tm_mday,
        now.tm_hour,
        now.tm_min,
        now.tm_sec
    )
}

/// These signals, real-time ones among them, which the typed sets do not know.
pub fn signal_set(signals: &[i32]) -> SigSet {
    // SAFETY: an all-zero set is a valid, empty one, and only it is changed.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        SigSet::from_sigset_t_unchecked(set)
    }
}

/// Whether one of these signals, which are blocked, waits to be heeded.
pub fn is_pending(signals: &[i32]) -> bool {
    // SAFETY: an all-zero set is a valid one, and only it is written to.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut set) == 0
            && signals.iter().any(|signal| libc::sigismember(&raw const set, *signal) == 1)
    }
}

/// Has every descriptor but the first three closed by `execve`.
pub fn close_others_on_exec() -> io::Result<()> {
    // SAFETY: only flags of descriptors change; those in use stay open.
    let result = unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    if result == 0 { Ok(()) } else { mark_others_one_by_one() }
}

/// For kernels before 5.11.
fn mark_others_one_by_one() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let Some(fd) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        if fd > 2 {
            // SAFETY: as above.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// Becomes another program; returns only when that failed.
pub fn execute(program: &CString, arguments: &[CString], environment: &[CString]) -> Errno {
    match nix::unistd::execve(program, arguments, environment) {
        Ok(never) => match never {},
        Err(errno) => errno,
    }
}
