//! A configuration as a file again: what differs from the defaults. Read back, it is the same.

use super::keys::Section;
use super::resolve::Config;

impl Config {
    /// The whole configuration as TOML.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        macro_rules! once {
            ($($section:ident)*) => { $(write(&mut text, &self.$section);)* };
        }
        macro_rules! each {
            ($($sections:ident)*) => { $(self.$sections.iter().for_each(|it| write(&mut text, it));)* };
        }
        once! {
            cluster controller agent cgroup accounting rest update mesh scheduler priority preemption
            jobs limits timeouts hooks health_check power
        }
        each! { partitions nodes node_sets down_nodes gres switches blocks }
        text
    }
}

fn write<S: Section>(text: &mut String, section: &S) {
    let table = S::TABLE;
    let values = section.shown().into_iter().zip((table.defaults)());
    let changed = table.keys.iter().zip(values).filter(|(_, (value, default))| value != default);
    let lines: Vec<String> = changed
        .filter(|(_, (value, _))| !value.is_empty())
        .map(|(key, (value, _))| format!("{} = {value}\n", key.name))
        .collect();
    if lines.is_empty() && !table.repeated {
        return;
    }
    if !table.name.is_empty() {
        text.push_str(&format!("{}\n", table.heading()));
    }
    text.extend(lines);
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, read};

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read(&Config::default().to_toml()).unwrap(), Config::default());
        let text = "cluster_name = \"a-b\"\nlicenses = { matlab = 2 }\n[scheduler]\nplugin = \"builtin\"\n\
            [[partitions]]\nname = \"gpu\"\nnodes = \"n[1-4]\"\ndefault = true\nmax_time = \"72:00:00\"\n\
            over_subscribe = \"force:2\"\nallow_accounts = [\"a\", \"b\"]\ndef_mem_per_cpu = 100\n\
            tres_billing_weights = { cpu = 1.5, \"gres/gpu\" = 2 }\n\
            [[partitions]]\nname = \"all\"\npreempt_mode = \"suspend,gang\"\n\
            [[nodes]]\nnames = \"n[1-4]\"\ncpus = 8\nmemory_mb = 4096\nfeatures = [\"x\"]\n\
            gres = [\"gpu:mi300x:8\"]\n[[down_nodes]]\nnames = \"n1\"\nreason = \"broken\"\n";
        let config = read(text).unwrap_or_else(|problems| panic!("{problems}"));
        let again = config.to_toml();
        assert_eq!(read(&again).unwrap_or_else(|problems| panic!("{problems}\n{again}")), config);
    }
}
