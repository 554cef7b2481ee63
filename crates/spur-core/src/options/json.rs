//! Reads a job description in JSON, as the REST interface takes it: `name → value`.

use serde_json::{Map, Value};

use super::row::{JobOption, Tool};
use super::{Setting, Source, find};

/// A description, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    pub settings: Vec<Setting>,
    /// Fields that are none of a job's.
    pub unknown: Vec<String>,
    /// Fields whose value is of another kind than theirs.
    pub malformed: Vec<String>,
}

/// How a value is said on a command line.
#[derive(Clone, Copy)]
pub enum Form {
    /// Text or a number, as it is.
    Plain,
    /// A number, or `{set, infinite, number}`.
    Number,
    /// A number above zero; zero says nothing.
    Count,
    /// Seconds since the epoch.
    Moment,
    /// Seconds, where the option takes minutes and seconds.
    Seconds,
    /// Text by comma, or a list of texts.
    List,
    /// A flag, raised by this.
    Flag(bool),
    /// `0` or `1`.
    Bit,
    /// `gres/gpu:type=2`, where the option takes `gpu:type:2`.
    Gres,
    /// As [`Form::Gres`], without the leading `gpu:`.
    Gpus,
}

use Form::{Bit, Count, Flag, Gpus, Gres, List, Moment, Number, Plain, Seconds};

/// Options that a field of this name sets alone.
fn set_by(name: &str) -> impl Iterator<Item = (&'static JobOption, Form)> {
    let rows = super::LISTS.iter().flat_map(|rows| rows.iter());
    rows.filter_map(move |row| Some((row, row.json.filter(|json| json.0 == name)?.1)))
}

/// Fields that are read together with others, or are no options.
#[rustfmt::skip]
static OTHERS: &[&str] = &[
    "admin_comment", "allocation_node_list", "allocation_node_port", "argv", "cpu_binding_flags",
    "crontab", "distribution_plane_size", "end_time", "environment", "flags", "hetjob_group", "job_id",
    "kill_warning_delay", "kill_warning_flags", "kill_warning_signal", "maximum_cpus", "maximum_nodes",
    "memory_binding", "memory_binding_type", "minimum_boards_per_node", "minimum_cpus",
    "minimum_nodes", "minimum_sockets_per_board", "power_flags", "required_switches", "reserve_ports",
    "rlimits", "script", "shared", "site_factor", "spank_environment", "tasks_per_board",
    "wait_for_switch", "x11_magic_cookie", "x11_target_host", "x11_target_port",
];

/// The settings that a description stands for.
pub fn read(description: &Map<String, Value>) -> Description {
    let mut read = Description::default();
    for (name, value) in description {
        if value.is_null() {
            continue;
        }
        let mut known = OTHERS.contains(&name.as_str());
        for (option, form) in set_by(name) {
            known = true;
            match said(value, form) {
                Ok(Some(value)) => {
                    read.settings.push(Setting { option, value, source: Source::Json });
                }
                Ok(None) => {}
                Err(Malformed) => read.malformed.push(name.clone()),
            }
        }
        if !known {
            read.unknown.push(name.clone());
        }
    }
    read.together(description);
    read
}

/// Not the kind of value a field takes.
struct Malformed;

fn said(value: &Value, form: Form) -> Result<Option<String>, Malformed> {
    Ok(match form {
        Plain => match value {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => return Err(Malformed),
        },
        Number => number(value)?,
        Count => number(value)?.filter(|number| number != "0"),
        Moment => number(value)?.filter(|at| at != "0").map(|at| format!("uts{at}")),
        Seconds => number(value)?.map(|seconds| format!("0:{seconds}")),
        List => match value {
            Value::Array(parts) => {
                let parts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
                Some(parts.ok_or(Malformed)?.join(",")).filter(|list| !list.is_empty())
            }
            other => said(other, Plain)?,
        },
        Flag(raised_by) => (value.as_bool().ok_or(Malformed)? == raised_by).then(String::new),
        Bit => Some(u8::from(value.as_bool().ok_or(Malformed)?).to_string()),
        Gres => said(value, Plain)?.map(|list| each(&list, gres)),
        Gpus => said(value, Plain)?.map(|list| {
            each(&list, |part| {
                let part = gres(part);
                part.strip_prefix("gpu:").map_or(part.clone(), str::to_owned)
            })
        }),
    })
}

/// A number as it is, as text, or in Slurm's three parts.
fn number(value: &Value) -> Result<Option<String>, Malformed> {
    match value {
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::String(text) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Value::Object(parts) => {
            let is = |name: &str| parts.get(name).and_then(Value::as_bool).unwrap_or(false);
            if is("infinite") {
                return Ok(Some("UNLIMITED".to_owned()));
            }
            let number = parts.get("number").filter(|_| is("set"));
            Ok(number.map(ToString::to_string))
        }
        _ => Err(Malformed),
    }
}

fn each(list: &str, say: impl Fn(&str) -> String) -> String {
    list.split([',', ';']).map(say).collect::<Vec<_>>().join(",")
}

fn gres(part: &str) -> String {
    let part = part.trim();
    let part = part.strip_prefix("gres/").or_else(|| part.strip_prefix("gres:")).unwrap_or(part);
    part.replacen('=', ":", 1)
}

impl Description {
    fn say(&mut self, long: &str, value: String) {
        let tools = [Tool::Sbatch, Tool::Srun, Tool::Salloc];
        if let Some(option) = tools.iter().find_map(|tool| find(*tool, long)) {
            self.settings.push(Setting { option, value, source: Source::Json });
        }
    }

    /// Fields that make one option between them.
    fn together(&mut self, description: &Map<String, Value>) {
        let read = |name: &str, form: Form| {
            description.get(name).and_then(|value| said(value, form).ok()).flatten()
        };
        if let Some(min) = read("minimum_nodes", Count) {
            let max = read("maximum_nodes", Count);
            self.say("nodes", format!("{min}-{}", max.as_deref().unwrap_or("0")));
        } else if let Some(max) = read("maximum_nodes", Count) {
            self.say("nodes", format!("1-{max}"));
        }
        if let Some(count) = read("required_switches", Count) {
            let wait = read("wait_for_switch", Count);
            let wait = wait.map_or(String::new(), |seconds| format!("@0:{seconds}"));
            self.say("switches", format!("{count}{wait}"));
        }
        if let Some(signal) = read("kill_warning_signal", Plain) {
            let flags = read("kill_warning_flags", List).unwrap_or_default().to_ascii_uppercase();
            let mut who = String::new();
            who.extend(flags.contains("RESERVATION").then_some('R'));
            who.extend(flags.contains("BATCH").then_some('B'));
            who.extend((!who.is_empty()).then_some(':'));
            let delay = read("kill_warning_delay", Number);
            let delay = delay.map_or(String::new(), |seconds| format!("@{seconds}"));
            self.say("signal", format!("{who}{signal}{delay}"));
        }
        match read("shared", List).as_deref() {
            Some("none") => self.say("exclusive", String::new()),
            Some(whom @ ("user" | "mcs" | "topo")) => self.say("exclusive", whom.to_owned()),
            Some("oversubscribe") => self.say("oversubscribe", String::new()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::limit::Limit;
    use crate::options::{Request, resolve};

    fn request(description: &Value) -> Request {
        let read = read(description.as_object().unwrap());
        assert_eq!((read.unknown, read.malformed), (vec![], vec![]));
        resolve(Tool::Sbatch, read.settings).unwrap()
    }

    fn fields() -> impl Iterator<Item = (&'static str, &'static str)> {
        let rows = crate::options::LISTS.iter().flat_map(|rows| rows.iter());
        rows.filter_map(|row| Some((row.json?.0, row.long)))
    }

    #[test]
    fn no_field_has_two_meanings() {
        let mut all: Vec<_> = fields().map(|(name, _)| name).collect();
        assert_eq!(all.len(), 80);
        all.extend(OTHERS);
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        // `requeue` raises one flag or the other.
        assert_eq!(all.len(), count - 1);
    }

    #[test]
    fn numbers_come_bare_or_in_three_parts() {
        let limit = |value: Value| request(&json!({ "time_limit": value })).job.time_limit;
        assert_eq!(limit(json!(5)), Some(Limit::Is(5)));
        assert_eq!(limit(json!({"set": true, "infinite": false, "number": 5})), Some(Limit::Is(5)));
        assert_eq!(limit(json!({"set": false, "infinite": true})), Some(Limit::Unlimited));
        assert_eq!(limit(json!({"set": false, "infinite": false, "number": 0})), None);
    }

    #[test]
    fn a_description_says_what_a_command_line_says() {
        let request = request(&json!({
            "name": "a", "nodes": "2-4", "tasks": 8, "cpus_per_task": 0, "requeue": false,
            "memory_per_node": {"set": true, "number": 100, "infinite": false},
            "tres_per_node": "gres/gpu:mi300x=2", "mail_type": ["END", "FAIL"],
            "kill_warning_signal": "USR1", "kill_warning_flags": ["BATCH_JOB"],
            "kill_warning_delay": {"set": true, "number": 30}, "shared": ["user"],
            "excluded_nodes": ["n1", "n2"], "environment": ["A=1"], "wait_all_nodes": true,
        }));
        let job = &request.job;
        assert_eq!((job.nodes_min, job.nodes_max, job.ntasks), (Some(2), Some(4), Some(8)));
        assert_eq!((job.cpus_per_task, job.requeue), (None, Some(false)));
        assert_eq!((job.memory_per_node, job.gres.as_str()), (Some(100), "gpu:mi300x:2"));
        assert_eq!(job.placement().exclude, "n1,n2");
        let signal = job.lifecycle().signal.unwrap();
        assert_eq!((signal.signal, signal.secs_before_end, signal.batch_only), (10, 30, true));
        assert_eq!(job.lifecycle().wait_all_nodes, Some(true));
    }

    #[test]
    fn strangers_are_named() {
        let read = read(json!({"bogus_field": 1, "hold": "x"}).as_object().unwrap());
        assert_eq!(read.unknown, ["bogus_field"]);
        assert_eq!(read.malformed, ["hold"]);
    }

    proptest! {
        #[test]
        fn any_description_is_read(text in ".*", number in any::<i64>(), flag in any::<bool>()) {
            for (name, _) in fields() {
                for value in [json!(text), json!(number), json!(flag), json!([text])] {
                    let mut description = Map::new();
                    description.insert(name.to_owned(), value);
                    let _ = resolve(Tool::Sbatch, read(&description).settings);
                }
            }
        }
    }
}
