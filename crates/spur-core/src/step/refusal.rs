//! What `srun` says about nodes that its job does not have, before it asks anybody.

use super::StepSpec;
use crate::hostlist;

/// Why a step cannot have the nodes it asks for in a job with these; nothing if it can, or nobody knows.
pub fn of_nodes(spec: &StepSpec, job_nodes: &str) -> Vec<String> {
    let Some(request) = spec.request.as_deref() else { return Vec::new() };
    let has = hostlist::expand(job_nodes).unwrap_or_default();
    let Some(asked) = request.nodes_min.map(|nodes| nodes as usize) else { return Vec::new() };
    if has.is_empty() {
        return Vec::new();
    }
    let all = has.len();
    if let Some(first) = spec.relative.map(|first| first as usize).filter(|it| it + asked > all) {
        return vec![format!(
            "--relative and --nodes option incompatible with count of allocated nodes \
             ({first}+{asked}>{all})"
        )];
    }
    let excluded = hostlist::expand(&request.placement().exclude).unwrap_or_default();
    let wanted = hostlist::expand(&request.placement().nodelist).unwrap_or_default();
    if let Some(both) = wanted.iter().find(|node| excluded.contains(node)) {
        let reason = format!("Requested node {both} is also in the excluded list.");
        return vec![reason, "Job not submitted.".to_string()];
    }
    let left = has.iter().filter(|node| !excluded.contains(node)).count();
    let mut reasons = Vec::new();
    if left < asked {
        if left < all {
            reasons.push("Are required nodes explicitly excluded?".to_string());
        }
        reasons.push(format!("Only allocated {left} nodes asked for {asked}"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobSpec;

    /// What Slurm 22.05 says in a job of four nodes.
    #[test]
    fn nodes_that_are_not_there_are_told_as_slurm_tells_them() {
        let told = |nodes, relative, exclude: &str| {
            let mut job = JobSpec { nodes_min: Some(nodes), ..JobSpec::default() };
            job.placement_mut().exclude = exclude.to_string();
            let request = Some(Box::new(job));
            of_nodes(&StepSpec { request, relative, ..StepSpec::default() }, "n[1-4]").join("; ")
        };
        let relative = "--relative and --nodes option incompatible with count of allocated nodes";
        assert_eq!(told(4, Some(1), ""), format!("{relative} (1+4>4)"));
        assert_eq!(told(2, Some(4), ""), format!("{relative} (4+2>4)"));
        assert_eq!(told(2, Some(2), ""), "");
        assert_eq!(told(5, None, ""), "Only allocated 4 nodes asked for 5");
        let excluded = "Are required nodes explicitly excluded?";
        assert_eq!(told(4, None, "n2"), format!("{excluded}; Only allocated 3 nodes asked for 4"));
        assert_eq!(told(3, None, "n2"), "");

        let mut job = JobSpec { nodes_min: Some(1), ..JobSpec::default() };
        job.placement_mut().nodelist = "n[1-2]".into();
        job.placement_mut().exclude = "n2".into();
        let spec = StepSpec { request: Some(Box::new(job)), ..StepSpec::default() };
        let told = of_nodes(&spec, "n[1-4]");
        assert_eq!(told[0], "Requested node n2 is also in the excluded list.");
    }
}
