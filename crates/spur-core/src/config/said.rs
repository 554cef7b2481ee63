//! A configuration and what a command line says beside it: `--set jobs.mail_program=/bin/true`,
//! `--partition gpu=n[1-2]`.

use toml::{Table, Value};

/// The text of a configuration with more keys set and more partitions. What is wrong with it otherwise is for
/// [`super::read`] to say.
pub fn with(text: &str, keys: &[String], partitions: &[String]) -> Result<String, String> {
    let mut all: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    for said in partitions {
        let (name, nodes) = pair(said, "NAME=HOSTLIST")?;
        partition(&mut all, name, nodes)?;
    }
    for said in keys {
        let (key, value) = pair(said, "KEY=VALUE")?;
        set(&mut all, key, value)?;
    }
    Ok(all.to_string())
}

fn pair<'a>(said: &'a str, form: &str) -> Result<(&'a str, &'a str), String> {
    let found = said.split_once('=').filter(|(name, _)| !name.is_empty());
    found.ok_or_else(|| format!("{said:?} is not {form}"))
}

/// The first partition that is named is the default one, unless there is one.
fn partition(all: &mut Table, name: &str, nodes: &str) -> Result<(), String> {
    let list = all.entry("partitions").or_insert_with(|| Value::Array(Vec::new()));
    let list = list.as_array_mut().ok_or("partitions are a list")?;
    let is_it = |it: &&mut Value| it.get("name").and_then(Value::as_str) == Some(name);
    if let Some(Value::Table(known)) = list.iter_mut().find(is_it) {
        known.insert("nodes".to_string(), nodes.into());
        return Ok(());
    }
    let is_default = |it: &Value| it.get("default") == Some(&Value::Boolean(true));
    let mut made = Table::new();
    made.insert("name".to_string(), name.into());
    made.insert("nodes".to_string(), nodes.into());
    made.insert("default".to_string(), (!list.iter().any(is_default)).into());
    list.push(Value::Table(made));
    Ok(())
}

/// What is no number, switch or list is text.
fn set(all: &mut Table, key: &str, value: &str) -> Result<(), String> {
    let read = format!("value = {value}").parse::<Table>();
    let value = read.ok().and_then(|mut it| it.remove("value")).unwrap_or_else(|| value.into());
    let mut words: Vec<&str> = key.split('.').collect();
    let last = words.pop().unwrap_or_default();
    let mut table = all;
    for word in words {
        let below = table.entry(word).or_insert_with(|| Value::Table(Table::new()));
        table = below.as_table_mut().ok_or_else(|| format!("{word} in {key} is no section"))?;
    }
    table.insert(last.to_string(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    #[test]
    fn what_is_said_beside_a_file_is_as_if_it_stood_there() {
        let file = "cluster_name = \"one\"\n[jobs]\nrequeue = false\n";
        let keys = ["cluster_name=two", "jobs.mail_program=/bin/true", "limits.max_array_size=7"];
        let parts = ["cpu=n[1-2]", "gpu=n3"];
        let (keys, parts) = (keys.map(String::from), parts.map(String::from));
        let config = read(&with(file, &keys, &parts).expect("is said")).expect("is right");
        assert_eq!(config.cluster.cluster_name, "two");
        assert_eq!(config.jobs.mail_program, "/bin/true");
        assert!(!config.jobs.requeue);
        assert_eq!(config.limits.max_array_size, 7);
        let names: Vec<(&str, Option<bool>)> =
            config.partitions.iter().map(|it| (it.name.as_str(), it.default)).collect();
        assert_eq!(names, [("cpu", Some(true)), ("gpu", Some(false))]);
        assert!(with("", &["nonsense".to_string()], &[]).is_err());
        assert!(with(file, &["jobs.requeue.x=1".to_string()], &[]).is_err());
    }
}
