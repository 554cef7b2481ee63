//! The device filter of version 2: a small program that the kernel asks whenever a device is opened.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::Device;

/// Denies these devices to the members of a group, and to those of groups inside.
pub(super) fn deny(group: BorrowedFd<'_>, devices: &[Device]) -> io::Result<()> {
    let program = load(&program(devices))?;
    let attributes = Attach {
        target: group.as_raw_fd() as u32,
        program: program.as_raw_fd() as u32,
        kind: BPF_CGROUP_DEVICE,
        flags: BPF_F_ALLOW_MULTI,
    };
    // The group keeps the program; our descriptor is not needed any more.
    call(BPF_PROG_ATTACH, &attributes).map(drop)
}

/// Whether the kernel takes such programs from us.
pub(super) fn is_possible() -> bool {
    load(&program(&[])).is_ok()
}

/// `return` 0 for any of the devices, else 1. The kernel's context has three numbers: the kind of the
/// device in the lower half of the first, then major and minor.
fn program(devices: &[Device]) -> Vec<Instruction> {
    let mut program = vec![
        Instruction::load(KIND, 0),
        Instruction::and(KIND, 0xffff),
        Instruction::load(MAJOR, 4),
        Instruction::load(MINOR, 8),
    ];
    for device in devices {
        let kind = if device.block { BPF_DEVCG_DEV_BLOCK } else { BPF_DEVCG_DEV_CHAR };
        program.extend([
            Instruction::skip_unless(KIND, kind, 4),
            Instruction::skip_unless(MAJOR, device.major as i32, 3),
            Instruction::skip_unless(MINOR, device.minor as i32, 2),
            Instruction::set(RESULT, 0),
            Instruction::exit(),
        ]);
    }
    program.extend([Instruction::set(RESULT, 1), Instruction::exit()]);
    program
}

const RESULT: u8 = 0;
const CONTEXT: u8 = 1;
const KIND: u8 = 2;
const MAJOR: u8 = 3;
const MINOR: u8 = 4;

const BPF_DEVCG_DEV_BLOCK: i32 = 1;
const BPF_DEVCG_DEV_CHAR: i32 = 2;

/// One instruction, as the kernel reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u8,
    /// The target in the lower half, the source in the upper.
    registers: u8,
    offset: i16,
    value: i32,
}

impl Instruction {
    fn load(register: u8, offset: i16) -> Instruction {
        Instruction { code: 0x61, registers: register | CONTEXT << 4, offset, value: 0 }
    }

    fn and(register: u8, value: i32) -> Instruction {
        Instruction { code: 0x57, registers: register, offset: 0, value }
    }

    fn set(register: u8, value: i32) -> Instruction {
        Instruction { code: 0xb7, registers: register, offset: 0, value }
    }

    fn skip_unless(register: u8, value: i32, instructions: i16) -> Instruction {
        Instruction { code: 0x55, registers: register, offset: instructions, value }
    }

    fn exit() -> Instruction {
        Instruction { code: 0x95, registers: 0, offset: 0, value: 0 }
    }
}

fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let attributes = Load {
        kind: BPF_PROG_TYPE_CGROUP_DEVICE,
        count: program.len() as u32,
        instructions: program.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        ..Load::default()
    };
    let fd = call(BPF_PROG_LOAD, &attributes)?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

fn call<Attributes>(command: libc::c_int, attributes: &Attributes) -> io::Result<libc::c_long> {
    let size = size_of::<Attributes>();
    // SAFETY: the kernel reads a structure of our own and of this size; what it points to outlives the
    // call.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_PROG_ATTACH: libc::c_int = 8;
const BPF_PROG_TYPE_CGROUP_DEVICE: u32 = 15;
const BPF_CGROUP_DEVICE: u32 = 6;
/// Filters of those above hold too.
const BPF_F_ALLOW_MULTI: u32 = 2;

#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

#[repr(C)]
struct Attach {
    target: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would make of the program for one device.
    fn allows(program: &[Instruction], block: bool, major: i32, minor: i32) -> bool {
        let kind = if block { BPF_DEVCG_DEV_BLOCK } else { BPF_DEVCG_DEV_CHAR };
        let access = 2 << 16;
        let mut registers = [0; 5];
        let mut at = 0;
        loop {
            let it = program[at];
            let target = usize::from(it.registers & 0xf);
            at += 1;
            match it.code {
                0x61 => registers[target] = [access | kind, major, minor][it.offset as usize / 4],
                0x57 => registers[target] &= it.value,
                0xb7 => registers[target] = it.value,
                0x55 if registers[target] != it.value => at += it.offset as usize,
                0x55 => {}
                0x95 => return registers[0] == 1,
                other => panic!("{other:#x} is not used"),
            }
        }
    }

    #[test]
    fn only_the_named_devices_are_denied() {
        let denied = |minor| Device { block: false, major: 226, minor };
        let program = program(&[denied(128), denied(130)]);
        assert!(!allows(&program, false, 226, 128));
        assert!(!allows(&program, false, 226, 130));
        assert!(allows(&program, false, 226, 129));
        assert!(allows(&program, false, 1, 130));
        assert!(allows(&program, true, 226, 128));
    }
}
