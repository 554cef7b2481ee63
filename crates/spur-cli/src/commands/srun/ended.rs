//! What is said about tasks that have ended, and what `srun` ends with.

use std::collections::BTreeMap;

use spur_core::job::{ExitStatus, signal};

/// Ranks as people write them: `0-3,7`.
pub fn ranges(ranks: &[u32]) -> String {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|left, right| left + 1 == *right).map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// `task 0` or `tasks 0-3`.
pub fn tasks(ranks: &[u32]) -> String {
    let word = if ranks.len() == 1 { "task" } else { "tasks" };
    format!("{word} {}", ranges(ranks))
}

/// How tasks of one node ended, a line for each way: `n1: tasks 0-3: Exited with exit code 1`. Those that
/// ended well need none.
pub fn lines(node: &str, ended: &[(u32, u32)]) -> Vec<String> {
    let mut ways: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (rank, status) in ended.iter().filter(|(_, status)| *status != 0) {
        ways.entry(*status).or_default().push(*rank);
    }
    ways.iter()
        .map(|(status, ranks)| format!("{node}: {}: {}", tasks(ranks), way(*status)))
        .collect()
}

fn way(status: u32) -> String {
    let exit = ExitStatus::from_wait(status);
    let core = if status & 0x80 != 0 { " (core dumped)" } else { "" };
    match exit.signal {
        0 => format!("Exited with exit code {}", exit.code),
        _ if exit == ExitStatus::OUT_OF_MEMORY => "Out Of Memory".to_string(),
        signal => format!("{}{core}", signal::text(signal.into())),
    }
}

/// The exit status for the highest wait status of all tasks.
pub fn exit_code(status: u32) -> u8 {
    let exit = ExitStatus::from_wait(status);
    match exit.signal {
        0 => exit.code,
        signal => 128_u8.saturating_add(signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_told_in_slurms_words() {
        let ended = [(0, 512), (1, 512), (2, 9), (3, 0)];
        assert_eq!(
            lines("n1", &ended),
            ["n1: task 2: Killed", "n1: tasks 0-1: Exited with exit code 2"]
        );
        assert_eq!(lines("n2", &[(4, 139)]), ["n2: task 4: Segmentation fault (core dumped)"]);
        assert_eq!((exit_code(512), exit_code(9), exit_code(143), exit_code(0)), (2, 137, 143, 0));
        assert_eq!(lines("n2", &[(4, 125)]), ["n2: task 4: Out Of Memory"]);
        assert_eq!(ranges(&[3, 0, 1, 2, 7]), "0-3,7");
    }
}
