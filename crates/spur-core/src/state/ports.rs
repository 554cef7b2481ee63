//! Ports that running jobs are lent, so that their tasks find each other. Each is lent once in the whole
//! cluster, since several nodes may share a machine.

use imbl::OrdSet;

use crate::ids::JobId;
use crate::job::Allocation;

/// The first and the last port that are lent.
pub type Range = (u16, u16);

/// Reads `15000-31999`.
pub fn parse_range(text: &str) -> Option<Range> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first > 0 && first <= last).then_some((first, last))
}

/// A port for a job, if it can have several tasks and there is one left. Jobs begin to look at different
/// places, so that one that has just ended is not followed by another on its port at once.
pub fn lend(
    taken: &OrdSet<u16>,
    (first, last): Range,
    job: JobId,
    held: &Allocation,
) -> Option<u16> {
    if held.shares.len() < 2 && held.cpus() < 2 {
        return None;
    }
    let count = u32::from(last - first) + 1;
    if taken.len() >= count as usize {
        return None;
    }
    let port = |at: u32| first + (at % count) as u16;
    (0..count).map(|step| port((job.0 % count) + step)).find(|port| !taken.contains(port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Share;

    fn held(cpus: u32) -> Allocation {
        Allocation { shares: vec![Share::of_cpus("n1".into(), cpus)] }
    }

    #[test]
    fn a_thousand_jobs_have_a_thousand_ports() {
        let mut taken = OrdSet::new();
        for job in 1..=1000 {
            // Numbers that would all begin at the same place.
            let port = lend(&taken, (15_000, 15_999), JobId(job * 1000), &held(2));
            assert_eq!(taken.insert(port.expect("there are as many")), None);
        }
        assert_eq!(lend(&taken, (15_000, 15_999), JobId(1), &held(2)), None);
        assert!(taken.iter().all(|port| (15_000..=15_999).contains(port)));
    }

    #[test]
    fn who_has_one_task_needs_none() {
        assert_eq!(lend(&OrdSet::new(), (1, 9), JobId(1), &held(1)), None);
        assert_eq!(lend(&OrdSet::new(), (7, 7), JobId(3), &held(2)), Some(7));
    }

    #[test]
    fn a_range_has_two_ends() {
        assert_eq!(parse_range("15000-31999"), Some((15_000, 31_999)));
        for bad in ["", "5", "9-1", "0-5", "1-70000"] {
            assert_eq!(parse_range(bad), None, "{bad}");
        }
    }
}
