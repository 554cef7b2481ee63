//! Binds a process to processors and memory.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// Has the calling process, and whatever it starts, run on these processors only.
pub fn to_cpus(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu as usize)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Has its memory come from these domains; from the one it runs in where none is named.
pub fn to_memory(domains: &[u32], preferred: bool) -> io::Result<()> {
    const PREFERRED: libc::c_long = 1;
    const BIND: libc::c_long = 2;
    const BITS: usize = 1024;
    let mut mask = [0_u64; BITS / 64];
    for domain in domains.iter().filter(|domain| (**domain as usize) < BITS) {
        mask[*domain as usize / 64] |= 1 << (domain % 64);
    }
    // Preferring none of them is preferring the nearest.
    let mode = if domains.is_empty() || preferred { PREFERRED } else { BIND };
    // SAFETY: the kernel reads a mask of our own that is as long as it is told.
    let result = unsafe {
        libc::syscall(libc::SYS_set_mempolicy, mode, mask.as_ptr(), BITS as libc::c_ulong)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sched::sched_getaffinity;

    #[test]
    fn a_thread_runs_where_it_is_bound() {
        std::thread::spawn(|| {
            let own = sched_getaffinity(Pid::from_raw(0)).expect("told");
            let first = (0..CpuSet::count()).find(|cpu| own.is_set(*cpu) == Ok(true));
            let first = first.expect("it runs somewhere");
            to_cpus(&[first as u32]).expect("binds");
            let now = sched_getaffinity(Pid::from_raw(0)).expect("told");
            assert_eq!((0..CpuSet::count()).filter(|cpu| now.is_set(*cpu) == Ok(true)).count(), 1);
        })
        .join()
        .expect("ends");
    }
}
