//! Which processes there are, who descends from whom, and how to end a whole family.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use super::pidfd::Pidfd;

/// A living process, as `/proc/PID/stat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its parent's number.
    pub parent: i32,
    /// The session it is in.
    pub session: i32,
    /// When it began, in clock ticks since boot: with `pid` unique within a boot.
    pub started: u64,
}

impl Process {
    /// Looks at one process. An ended one that nobody has buried yet is no process.
    pub fn look(pid: i32) -> Option<Process> {
        parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// This process.
    pub fn own() -> Option<Process> {
        Process::look(std::process::id() as i32)
    }

    /// Takes hold of the process, unless it is gone or its number has passed on to another.
    pub fn hold(&self) -> io::Result<Option<Pidfd>> {
        let held = match Pidfd::open(self.pid) {
            Ok(held) => held,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
            Err(error) => return Err(error),
        };
        let now = Process::look(self.pid);
        Ok(now.filter(|now| now.started == self.started).map(|_| held))
    }

    /// Sends a signal. One that has gone in the meantime needs none.
    pub fn signal(&self, signal: i32) {
        if let Ok(Some(held)) = self.hold() {
            let _ = held.signal(signal);
        }
    }
}

/// Every living process.
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(Process::look).collect()
}

/// The children of `ancestor`, and theirs. Complete only while `ancestor` is their subreaper.
pub fn descendants(ancestor: i32) -> Vec<Process> {
    family(&all(), |process| process.parent == ancestor)
}

/// The processes that `belongs` picks, and all who descend from them.
pub fn family(processes: &[Process], belongs: impl Fn(&Process) -> bool) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = BTreeSet::new();
    let mut next: Vec<&Process> = processes.iter().filter(|process| belongs(process)).collect();
    while let Some(process) = next.pop() {
        if found.insert(*process) {
            next.extend(children.get(&process.pid).into_iter().flatten());
        }
    }
    found.into_iter().collect()
}

/// Kills whomever `look` finds. Stops them first: who is stopped has no more children, so those that
/// multiply are caught up with. Whoever escapes is found by the next call.
pub fn kill_all(look: impl Fn() -> Vec<Process>) {
    let _haste = Haste::make();
    let mut stopped = BTreeSet::new();
    for _ in 0..STOP_ROUNDS {
        let found = look();
        let fresh: Vec<Process> = found.into_iter().filter(|it| stopped.insert(*it)).collect();
        if fresh.is_empty() {
            break;
        }
        fresh.iter().for_each(|process| process.signal(libc::SIGSTOP));
    }
    stopped.iter().for_each(|process| process.signal(libc::SIGKILL));
}

const STOP_ROUNDS: usize = 50;

/// Goes before all ordinary processes while it lasts. Sharing the processors with a thousand that
/// multiply, one would never catch up. Only root can; others do what they can.
struct Haste;

impl Haste {
    fn make() -> Haste {
        set_schedule(libc::SCHED_RR, 1);
        Haste
    }
}

impl Drop for Haste {
    fn drop(&mut self) {
        set_schedule(libc::SCHED_OTHER, 0);
    }
}

fn set_schedule(policy: i32, priority: i32) {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads a value of our own, and changes nothing but this thread's turn.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
}

/// The value of a variable that a process was started with.
pub fn variable(pid: i32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut entries = environment.split(|byte| *byte == 0);
    let value = entries.find_map(|entry| {
        entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec)
    })?;
    String::from_utf8(value).ok()
}

/// Whether a process was started with this variable: `NAME=value`.
pub fn has_variable(pid: i32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
}

/// Reads `PID (COMMAND) STATE PARENT GROUP SESSION …`. The command may contain anything, `)` included.
fn parse_stat(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Process {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, session: 1, started: 7 }
    }

    #[test]
    fn a_command_may_look_like_anything() {
        let stat = "12 (a) R 9 9 (b) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        let expected = Process { pid: 12, parent: 3, session: 5, started: 4711 };
        assert_eq!(parse_stat(stat), Some(expected));
    }

    #[test]
    fn an_unburied_process_is_none() {
        let stat = "12 (a) Z 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        assert_eq!(parse_stat(stat), None);
    }

    #[test]
    fn a_family_is_found_over_generations() {
        let processes = [process(1, 0), process(5, 1), process(6, 5), process(7, 6), process(8, 1)];
        let found = family(&processes, |process| process.parent == 5);
        assert_eq!(found, [process(6, 5), process(7, 6)]);
    }

    #[test]
    fn this_very_process_is_found() {
        let own = Process::own().expect("we live");
        assert!(all().contains(&own));
        assert!(own.hold().expect("descriptors are left").is_some());
        let earlier = Process { started: own.started - 1, ..own };
        assert!(
            earlier.hold().expect("descriptors are left").is_none(),
            "its number has passed on"
        );
    }
}
