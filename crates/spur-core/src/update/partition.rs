//! `scontrol create|update partition`: the keys of the configuration's own table, by Slurm's names.

use crate::config::{Key, NodeList, Section, Setting, Weights, sections::Partition, value_of};
use crate::errors::SlurmError;

/// Writes one `Key=value`, in Slurm's spelling. `Nodes+=` and `Nodes-=` add and take away.
///
/// What keys say together is not looked at: an administrator may set one after the other.
pub fn set(partition: &mut Partition, key: &str, value: &str) -> Result<(), SlurmError> {
    let (key, sign) = match (key.strip_suffix('+'), key.strip_suffix('-')) {
        (Some(key), _) => (key, '+'),
        (_, Some(key)) => (key, '-'),
        _ => (key, '='),
    };
    match (key.to_ascii_lowercase().as_str(), sign) {
        ("nodes", '+' | '-') => return change_nodes(partition, value, sign == '+'),
        (_, '+' | '-') => return Err(SlurmError::NotSupported),
        // One number for both, in older configurations.
        ("priority", _) => {
            set_key(partition, "priority_job_factor", value)?;
            return set_key(partition, "priority_tier", value);
        }
        ("jobdefaults", _) => {
            for word in value.split(',').filter(|word| !word.is_empty()) {
                let (key, value) = word.split_once('=').ok_or(SlurmError::InvalidJobDefaults)?;
                set(partition, key, value)?;
            }
            return Ok(());
        }
        ("cpubind", _) => {
            partition.cpu_bind = super::node::binding(value)?;
            return Ok(());
        }
        ("tresbillingweights", _) => {
            let weights = Weights::from_slurm(value).map_err(|_| SlurmError::InvalidTres)?;
            partition.tres_billing_weights = Some(weights);
            return Ok(());
        }
        // Memory is counted by processor or by node: the last word holds.
        ("defmempercpu", _) => partition.def_mem_per_node = None,
        ("defmempernode", _) => partition.def_mem_per_cpu = None,
        ("maxmempercpu", _) => partition.max_mem_per_node = None,
        ("maxmempernode", _) => partition.max_mem_per_cpu = None,
        _ => {}
    }
    let row = find(key).ok_or(SlurmError::NotSupported)?;
    set_key(partition, row.name, value)
}

fn set_key(partition: &mut Partition, name: &str, value: &str) -> Result<(), SlurmError> {
    let row = Partition::TABLE.key(name).ok_or(SlurmError::NotSupported)?;
    let toml = (row.from_slurm)(value).map_err(|_| refusal(row.name))?;
    let value = value_of(&toml).ok_or(refusal(row.name))?;
    partition.set(row.name, &value).map_err(|_| refusal(row.name))
}

fn change_nodes(partition: &mut Partition, value: &str, add: bool) -> Result<(), SlurmError> {
    let said = crate::hostlist::expand(value).map_err(|_| SlurmError::InvalidNodeName)?;
    if partition.nodes == NodeList::All {
        return Err(SlurmError::NotSupported);
    }
    let present = partition.nodes.names().iter().map(|name| name.as_str().to_string());
    let mut nodes: Vec<String> = match add {
        true => present.chain(said).collect(),
        false => present.filter(|name| !said.contains(name)).collect(),
    };
    nodes.sort_by(|a, b| crate::hostlist::natural(a, b));
    nodes.dedup();
    set_key(partition, "nodes", &crate::hostlist::compress(nodes.iter()))
}

/// What `scontrol` says of a line before it asks anybody.
pub fn complaint(key: &str, value: &str) -> Option<Vec<String>> {
    let written = format!("{key}={value}");
    let is_no = |result: Result<(), SlurmError>| result.is_err();
    let Some(row) = find(key).filter(|_| !key.ends_with(['+', '-'])) else {
        let known = ["priority", "jobdefaults", "nodes+", "nodes-"];
        return (!known.contains(&key.to_ascii_lowercase().as_str())).then(|| {
            vec![
                format!("Update of this parameter is not supported: {written}\n"),
                "Request aborted".to_string(),
            ]
        });
    };
    if !is_no(set(&mut Partition::default(), row.slurm[0], value)) {
        return None;
    }
    let name = row.slurm[0];
    let words = |allowed: &str| {
        let which = format!("Acceptable {name} values are {allowed}");
        vec![format!("Invalid input: {written}"), which]
    };
    Some(match name {
        "State" => words("UP, DOWN, DRAIN and INACTIVE"),
        "OverSubscribe" => words("NO, EXCLUSIVE, YES:#, and FORCE:#"),
        "MaxTime" | "DefaultTime" | "OverTimeLimit" | "CpuBind" => {
            vec![format!("Invalid input {written}")]
        }
        "Hidden" | "RootOnly" | "Default" | "ReqResv" | "LLN" | "DisableRootJobs"
        | "ExclusiveUser" => words("YES and NO"),
        "MaxNodes" | "MinNodes" | "MaxCPUsPerNode" | "PriorityTier" | "PriorityJobFactor" => {
            vec![format!("Invalid numeric value \"{value}\" for {name}.")]
        }
        "PreemptMode" => vec![format!("Invalid input: {written}")],
        _ => return None,
    })
}

fn find(key: &str) -> Option<&'static Key> {
    let keys = Partition::TABLE.keys;
    let by_name =
        |key: &&Key, name: &str| key.slurm.iter().any(|slurm| slurm.eq_ignore_ascii_case(name));
    keys.iter().find(|row| by_name(row, key))
}

fn refusal(key: &str) -> SlurmError {
    match key {
        "nodes" | "alloc_nodes" => SlurmError::InvalidNodeName,
        "max_time" | "default_time" | "over_time_limit" => SlurmError::InvalidTimeLimit,
        _ => SlurmError::NotSupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;

    #[test]
    fn slurms_keys_change_a_partition() {
        let mut partition = Partition { name: "a".to_string(), ..Partition::default() };
        assert_eq!(set(&mut partition, "MaxTime", "2:00:00"), Ok(()));
        assert_eq!(set(&mut partition, "State", "DOWN"), Ok(()));
        assert_eq!(set(&mut partition, "PriorityTier", "7"), Ok(()));
        assert_eq!(set(&mut partition, "Hidden", "YES"), Ok(()));
        assert_eq!(partition.max_time.0, Limit::Is(120));
        assert_eq!((partition.priority_tier, partition.hidden), (7, true));
        assert_eq!(partition.state.word(), "down");
        assert_eq!(set(&mut partition, "MaxTime", "soon"), Err(SlurmError::InvalidTimeLimit));
        assert_eq!(set(&mut partition, "AllowAccounts", "a,b"), Ok(()));
        assert!(partition.allow_accounts.allows("b") && !partition.allow_accounts.allows("c"));
        assert_eq!(set(&mut partition, "Color", "red"), Err(SlurmError::NotSupported));
        assert_eq!(set(&mut partition, "Priority", "3"), Ok(()));
        assert_eq!((partition.priority_tier, partition.priority_job_factor), (3, 3));
        assert_eq!(set(&mut partition, "Alternate", "debug"), Ok(()));
        assert_eq!(set(&mut partition, "JobDefaults", "DefCpuPerGPU=2,DefMemPerGPU=10"), Ok(()));
        assert_eq!(partition.def_cpu_per_gpu, Some(2));
        assert_eq!(set(&mut partition, "Nodes", "n[1-2]"), Ok(()));
        assert_eq!(set(&mut partition, "Nodes+", "n4"), Ok(()));
        assert_eq!(set(&mut partition, "Nodes-", "n1"), Ok(()));
        assert_eq!(partition.nodes.text(), "n[2,4]");
    }

    #[test]
    fn bindings_and_weights_are_set_and_taken_back() {
        let mut partition = Partition::default();
        assert_eq!(set(&mut partition, "CpuBind", "cores"), Ok(()));
        assert_eq!(partition.cpu_bind.map(|it| it.kind()), Some("cores"));
        assert_eq!(set(&mut partition, "cpubind", "off"), Ok(()));
        assert_eq!(partition.cpu_bind, None);
        assert_eq!(complaint("cpubind", "x"), Some(vec!["Invalid input cpubind=x".to_string()]));
        let weights = "CPU=2,Mem=0.25G,GRES/gpu=1.5";
        assert_eq!(set(&mut partition, "TRESBillingWeights", weights), Ok(()));
        let said = partition.tres_billing_weights.map(|it| it.said());
        assert_eq!(said.as_deref(), Some("CPU=2.0,GRES/gpu=1.5,Mem=0.25G"));
    }

    #[test]
    fn what_no_key_can_be_is_told() {
        let told = |key, value| complaint(key, value).unwrap_or_default();
        assert_eq!(
            told("hidden", "bad"),
            ["Invalid input: hidden=bad", "Acceptable Hidden values are YES and NO"]
        );
        assert_eq!(told("maxtime", "bad"), ["Invalid input maxtime=bad"]);
        assert_eq!(told("maxnodes", "x"), ["Invalid numeric value \"x\" for MaxNodes."]);
        assert_eq!(
            told("bogus", "1"),
            ["Update of this parameter is not supported: bogus=1\n", "Request aborted"]
        );
        assert!(told("maxtime", "10").is_empty() && told("nodes+", "n1").is_empty());
    }
}
