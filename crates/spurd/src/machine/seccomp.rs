//! System calls that a program of a hardened partition cannot make: those that reach into the kernel, into other
//! namespaces and into file systems, which no job needs and where most of the kernel's holes were.

use std::io;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter,
    sock_fprog,
};

/// Refused with "operation not permitted".
#[rustfmt::skip]
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct, libc::SYS_add_key, libc::SYS_adjtimex, libc::SYS_bpf, libc::SYS_chroot,
    libc::SYS_clock_adjtime, libc::SYS_clock_settime, libc::SYS_delete_module, libc::SYS_fanotify_init,
    libc::SYS_finit_module, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fsopen, libc::SYS_fspick,
    libc::SYS_init_module, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_io_uring_setup,
    libc::SYS_kexec_file_load, libc::SYS_kexec_load, libc::SYS_keyctl, libc::SYS_mount, libc::SYS_mount_setattr,
    libc::SYS_move_mount, libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at, libc::SYS_open_tree,
    libc::SYS_perf_event_open, libc::SYS_pivot_root, libc::SYS_quotactl, libc::SYS_reboot,
    libc::SYS_request_key, libc::SYS_setdomainname, libc::SYS_sethostname, libc::SYS_setns,
    libc::SYS_settimeofday, libc::SYS_swapoff, libc::SYS_swapon, libc::SYS_syslog, libc::SYS_umount2,
    libc::SYS_userfaultfd, libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")] libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")] libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")] libc::SYS_modify_ldt,
];

/// `AUDIT_ARCH_…`: a number means another call on another processor, and with another word size.
#[cfg(target_arch = "x86_64")]
const PROCESSOR: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const PROCESSOR: u32 = 0xc000_00b7;

/// Calls of x86-64 with 32-bit pointers have this in their number.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: Option<u32> = Some(0x4000_0000);
#[cfg(target_arch = "aarch64")]
const OTHER_NUMBERS: Option<u32> = None;

/// Where the kernel puts what a filter looks at: the lower half of an argument.
const NUMBER_AT: u32 = 0;
const PROCESSOR_AT: u32 = 4;
const fn argument_at(number: u32) -> u32 {
    16 + 8 * number
}

const NO: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// Holds this process and its children to it. Needs `no_new_privs`.
pub fn refuse_what_no_job_needs() -> io::Result<()> {
    let mut filter = filter();
    let program = sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel copies a program of our own, whose length is right.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn filter() -> Vec<sock_filter> {
    let mut filter = vec![load(PROCESSOR_AT)];
    filter.extend(unless(BPF_JEQ, PROCESSOR, libc::SECCOMP_RET_KILL_PROCESS));
    filter.push(load(NUMBER_AT));
    if let Some(others) = OTHER_NUMBERS {
        filter.extend(when(BPF_JGE, others, UNKNOWN));
    }
    for call in REFUSED {
        filter.extend(when(BPF_JEQ, *call as u32, NO));
    }
    // Its flags are in memory, where a filter cannot look; the C library then takes `clone`.
    filter.extend(when(BPF_JEQ, libc::SYS_clone3 as u32, UNKNOWN));
    let namespaces = libc::CLONE_NEWUSER as u32;
    filter.extend(with_argument(libc::SYS_clone, 0, &[(BPF_JSET, namespaces)]));
    filter.extend(with_argument(libc::SYS_unshare, 0, &[(BPF_JSET, namespaces)]));
    // What a program puts into its terminal is typed into the shell that called it.
    let typing = [(BPF_JEQ, libc::TIOCSTI as u32), (BPF_JEQ, libc::TIOCLINUX as u32)];
    filter.extend(with_argument(libc::SYS_ioctl, 1, &typing));
    filter.push(answer(libc::SECCOMP_RET_ALLOW));
    filter
}

fn instruction(code: u32, jump_true: u8, jump_false: u8, value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: jump_true, jf: jump_false, k: value }
}

fn load(at: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, at)
}

fn answer(value: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, 0, 0, value)
}

fn when(test: u32, value: u32, then: u32) -> [sock_filter; 2] {
    [instruction(BPF_JMP | test | BPF_K, 0, 1, value), answer(then)]
}

fn unless(test: u32, value: u32, then: u32) -> [sock_filter; 2] {
    [instruction(BPF_JMP | test | BPF_K, 1, 0, value), answer(then)]
}

/// Refuses a call where one of these holds for an argument.
fn with_argument(call: libc::c_long, argument: u32, tests: &[(u32, u32)]) -> Vec<sock_filter> {
    let mut inside = vec![load(argument_at(argument))];
    inside.extend(tests.iter().flat_map(|(test, value)| when(*test, *value, NO)));
    inside.push(load(NUMBER_AT));
    let mut rule = vec![instruction(BPF_JMP | BPF_JEQ | BPF_K, 0, inside.len() as u8, call as u32)];
    rule.append(&mut inside);
    rule
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;
    use nix::sched::{CloneFlags, unshare};

    use super::*;

    #[test]
    fn a_hardened_program_runs_others_and_makes_no_namespaces() {
        // A filter holds for the thread that asks for it and for what it starts.
        let tried = std::thread::spawn(|| {
            // SAFETY: plain numbers.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            refuse_what_no_job_needs().expect("the kernel takes the filter");
            // SAFETY: asks for nothing that could change something here.
            let keys = unsafe { libc::syscall(libc::SYS_keyctl, 0, 0, 0) };
            assert_eq!((keys, Errno::last()), (-1, Errno::EPERM));
            assert_eq!(unshare(CloneFlags::CLONE_NEWUSER), Err(Errno::EPERM));
            assert_eq!(unshare(CloneFlags::CLONE_FILES), Ok(()));
            let shell = std::process::Command::new("/bin/sh").args(["-c", "true & wait"]).status();
            assert!(shell.expect("runs").success());
            std::thread::spawn(|| 7).join().expect("threads begin")
        });
        assert_eq!(tried.join().expect("no panic"), 7);
    }
}
