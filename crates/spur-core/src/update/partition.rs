//! `scontrol create|update partition`: the keys of the configuration's own table, by Slurm's names.

use crate::config::{Key, Section, read, sections::Partition};
use crate::errors::SlurmError;

/// Writes one `Key=value`, in Slurm's spelling.
pub fn set(partition: &mut Partition, key: &str, value: &str) -> Result<(), SlurmError> {
    let row = find(key).ok_or(SlurmError::NotSupported)?;
    let toml = (row.from_slurm)(value).map_err(|_| refusal(row.name))?;
    let rows = Partition::TABLE.keys.iter().zip(partition.shown());
    let mut text = "[[partitions]]\n".to_string();
    for (key, old) in rows {
        let value = if key.name == row.name { &toml } else { &old };
        if !value.is_empty() {
            text.push_str(&format!("{} = {value}\n", key.name));
        }
    }
    let config = read(&text).map_err(|_| refusal(row.name))?;
    *partition = config.partitions.into_iter().next().ok_or(SlurmError::NotSupported)?;
    Ok(())
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
    }
}
