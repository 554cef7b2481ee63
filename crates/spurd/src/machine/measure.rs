//! What processes have used so far, as `/proc` tells.

use std::fs;

use spur_core::views::TaskUsage;

use super::processes::Process;

/// What these processes use now, and have used with those they waited for. Those that are gone meanwhile
/// count for nothing.
pub fn together(processes: &[Process]) -> TaskUsage {
    let mut sum = TaskUsage::default();
    for used in processes.iter().filter_map(|process| one(process.pid)) {
        sum.user_micros += used.user_micros;
        sum.system_micros += used.system_micros;
        sum.memory_bytes += used.memory_bytes;
        sum.virtual_bytes += used.virtual_bytes;
        sum.page_faults += used.page_faults;
        sum.read_bytes += used.read_bytes;
        sum.written_bytes += used.written_bytes;
    }
    sum
}

fn one(pid: i32) -> Option<TaskUsage> {
    let used = parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, Units::own())?;
    let (read_bytes, written_bytes) = traffic(pid);
    Some(TaskUsage { read_bytes, written_bytes, ..used })
}

/// Bytes that a process and those it waited for have read and written, also of one that has ended and is not
/// buried yet.
pub fn traffic(pid: i32) -> (u64, u64) {
    parse_io(&fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default())
}

/// What the kernel counts in.
#[derive(Clone, Copy)]
struct Units {
    ticks_per_second: u64,
    page_bytes: u64,
}

impl Units {
    fn own() -> Units {
        use nix::unistd::{SysconfVar, sysconf};
        let ask = |what: SysconfVar, default: u64| {
            sysconf(what).ok().flatten().and_then(|it| u64::try_from(it).ok()).unwrap_or(default)
        };
        Units {
            ticks_per_second: ask(SysconfVar::CLK_TCK, 100).max(1),
            page_bytes: ask(SysconfVar::PAGE_SIZE, 4096),
        }
    }
}

/// Fields are counted from the one after the command, which may contain anything.
fn parse_stat(stat: &str, units: Units) -> Option<TaskUsage> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
    let micros = |own: usize, children: usize| {
        let ticks = field(own)? + field(children)?;
        Some(ticks.saturating_mul(1_000_000) / units.ticks_per_second)
    };
    Some(TaskUsage {
        user_micros: micros(11, 13)?,
        system_micros: micros(12, 14)?,
        page_faults: field(9)? + field(10)?,
        virtual_bytes: field(20)?,
        memory_bytes: field(21)?.saturating_mul(units.page_bytes),
        ..TaskUsage::default()
    })
}

fn parse_io(io: &str) -> (u64, u64) {
    let line = |name: &str| {
        let found = io.lines().find_map(|line| line.strip_prefix(name));
        found.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    };
    (line("rchar:"), line("wchar:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_numbers_are_read() {
        let stat = "12 (a) b) S 3 4 5 0 -1 0 7 0 2 1 150 50 50 0 20 0 1 0 4711 8192 3 0";
        let units = Units { ticks_per_second: 100, page_bytes: 4096 };
        let used = parse_stat(stat, units).expect("reads");
        assert_eq!((used.user_micros, used.system_micros), (2_000_000, 500_000));
        assert_eq!((used.page_faults, used.virtual_bytes, used.memory_bytes), (3, 8192, 12288));
        assert_eq!(parse_stat("12 (a) S 3", units), None);
        assert_eq!(parse_io("rchar: 10\nwchar: 20\nsyscr: 1\n"), (10, 20));
        assert_eq!(parse_io(""), (0, 0));
    }

    #[test]
    fn this_very_process_uses_memory() {
        let own = Process::own().expect("we live");
        let used = together(&[own]);
        assert!(used.memory_bytes > 0 && used.virtual_bytes > used.memory_bytes);
        assert!(used.read_bytes > 0);
    }
}
