//! What `srun -l` printed in allocations of real Slurm, node by node.

use super::*;
use crate::job::Share;

fn held(cpus: &[u32]) -> Allocation {
    let share = |(n, cpus): (usize, &u32)| Share::of_cpus(format!("n{}", n + 1).into(), *cpus);
    Allocation { shares: cpus.iter().enumerate().map(share).collect() }
}

/// Reads the few options that matter here: `-n4 -N2 -c2 -mcyclic -O -r1 -wn3 -xn1 --exact --overlap`.
fn step(words: &str) -> StepSpec {
    let mut spec = StepSpec::default();
    let mut job = JobSpec::default();
    for word in words.split_whitespace() {
        let number = || word[2..].parse().expect("a number");
        match &word[..2] {
            "-n" => (job.ntasks, job.ntasks_said) = (Some(number()), true),
            "-N" => {
                let (least, most) = word[2..].split_once('-').unwrap_or((&word[2..], ""));
                job.nodes_min = least.parse().ok();
                job.nodes_max = most.parse().ok();
                // As the table of options works it out.
                if job.nodes_max.is_some() {
                    job.ntasks = job.ntasks.or(job.nodes_min);
                }
            }
            "-t" => job.ntasks_per_node = Some(number()),
            "-c" => job.cpus_per_task = Some(number()),
            "-m" => job.layout_mut().distribution = word[2..].to_string(),
            "-O" => job.layout_mut().overcommit = true,
            "-r" => spec.relative = Some(number()),
            "-w" => job.placement_mut().nodelist = word[2..].to_string(),
            "-x" => job.placement_mut().exclude = word[2..].to_string(),
            _ => match word {
                "--exact" => spec.exact = true,
                "--overlap" => spec.overlap = true,
                other => panic!("{other}"),
            },
        }
    }
    spec.request = Some(Box::new(job));
    spec
}

/// The node's number of each rank, in the order of ranks.
fn ranks(cpus: &[u32], words: &str) -> String {
    match lay_out(&step(words), &held(cpus), &BTreeMap::new()) {
        Err(error) => error.text().to_string(),
        Ok(placed) => {
            let mut ranks: Vec<(u32, &str)> = placed
                .iter()
                .flat_map(|it| it.ranks.iter().map(|rank| (*rank, &it.node.as_str()[1..])))
                .collect();
            ranks.sort_unstable();
            ranks.iter().map(|(_, node)| *node).collect()
        }
    }
}

#[test]
fn tasks_are_laid_out_as_slurm_lays_them_out() {
    let even = &[4, 4, 4, 4];
    for (cpus, words, expected) in [
        (&[4, 2, 1, 1][..], "-n8 -N4", "11112234"),
        (even, "-n8 -N4", "11223344"),
        (even, "-n8 -N4 -mcyclic", "12341234"),
        (even, "-n8 -N4 -mplane=2", "11223344"),
        (even, "-n7 -N4 -mplane=3", "1112234"),
        (&[7, 1], "-n8 -N2 -mplane=2", "11211111"),
        (&[8, 1, 1], "-n10 -N3 -mplane=3", "1112311111"),
        (&[6, 1], "-n7 -N2 -mplane=4", "1111211"),
        (&[8, 6, 1, 1], "-n16 -N4 -mplane=2", "1122341122112211"),
        (&[2, 1], "-n6 -N2 -O -mplane=2", "112211"),
        (even, "-n6 -N2 -mplane=2", "112211"),
        (even, "-n12 -mplane=3", "111222333444"),
        (even, "-n2 -N2", "12"),
        (even, "-n5 -N4 -c2", "11234"),
        (even, "-n8 -N4 -c2 -mcyclic", "12341234"),
        (&[2, 1], "-n3 -N2 -mcyclic", "121"),
        (&[2, 1], "-n5 -N2 -O", "11122"),
        (&[2, 1], "-n6 -N2 -O -mcyclic", "121212"),
        (&[3, 1, 1], "-n4 -N3", "1123"),
        (even, "-n1 -N1", "1"),
        (even, "-n3 -N3 -wn2,n4", "124"),
        (even, "-n6 -N4 -wn2,n4", "112234"),
        (&[4, 1, 1], "-n5 -N3", "11123"),
        (even, "-n9 -N4", "111223344"),
        (even, "-n16 -N4 -mcyclic", "1234123412341234"),
        (even, "-N2 -r1 -n2", "23"),
        (even, "-N2 -xn1 -n2", "23"),
        (even, "-N2 -t2", "1122"),
        (even, "-N1-3", "123"),
        (even, "-N2-9", "1234"),
        (even, "-n2 -N1-3", "12"),
        (even, "-n4 -N2 -t2", "1122"),
        (even, "-n4 -marbitrary -wn2,n1,n2,n2", "2122"),
        (even, "-n4 -marbitrary -wn3,n1,n3,n2", "3132"),
        (&[1, 1], "-n3", "More processors requested than permitted"),
        (even, "-N2 -n16", "More processors requested than permitted"),
        (&[1, 1], "-wn4", "Requested node configuration is not available"),
        (&[1, 1], "-r2", "Requested node configuration is not available"),
    ] {
        assert_eq!(ranks(cpus, words), expected, "srun {words} on {cpus:?}");
    }
}

#[test]
fn steps_wait_for_processors_that_other_steps_hold() {
    let held = held(&[2, 2]);
    let busy = |n1, n2| BTreeMap::from([("n1".into(), n1), ("n2".into(), n2)]);
    let shares = |words: &str, busy: &BTreeMap<NodeName, u32>| {
        lay_out(&step(words), &held, busy).map(|placed| {
            let share = |it: &Placed| format!("{}:{}", it.node, it.cpus);
            placed.iter().map(share).collect::<Vec<_>>().join(" ")
        })
    };
    assert_eq!(shares("-n1 -N1", &busy(0, 0)), Ok("n1:2".to_string()), "all there is on its nodes");
    assert_eq!(shares("-n1 -N1 --exact", &busy(0, 0)), Ok("n1:1".to_string()));
    assert_eq!(shares("-n1 -N1 --exact", &busy(2, 0)), Ok("n2:1".to_string()), "elsewhere");
    assert_eq!(shares("-n1 -N1", &busy(2, 2)), Err(SlurmError::NodesBusy));
    assert_eq!(shares("-n2 -N2", &busy(1, 0)), Err(SlurmError::NodesBusy), "whole nodes only");
    assert_eq!(shares("-n2 -N2 --exact", &busy(1, 0)), Ok("n1:1 n2:1".to_string()));
    assert_eq!(shares("-n1 -N1 --overlap", &busy(2, 2)), Ok("n1:2".to_string()));
    assert_eq!(shares("-n5", &busy(2, 2)), Err(SlurmError::TooManyRequestedCpus));
}
