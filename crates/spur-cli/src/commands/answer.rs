//! Answers for programs: the object that v0.0.42 puts around a list, as JSON or YAML.

use serde_json::{Map, Value as Json, json};

use super::{Notation, VERSION};
use crate::cluster::Controller;

/// The list under its name, with what every answer has around it.
pub fn envelope(
    controller: &mut Controller,
    name: &str,
    list: Vec<Json>,
    more: &[(&str, Json)],
    command: &[&str],
) -> Json {
    let cluster = controller.ping().map(|reply| reply.cluster_name).unwrap_or_default();
    enclosed(&cluster, name, list, more, command)
}

/// The same where the cluster's name is known already.
pub fn enclosed(
    cluster: &str,
    name: &str,
    list: Vec<Json>,
    more: &[(&str, Json)],
    command: &[&str],
) -> Json {
    let mut whole = Map::new();
    whole.insert(name.into(), Json::Array(list));
    for (name, value) in more {
        whole.insert((*name).into(), value.clone());
    }
    whole.insert("meta".into(), meta(cluster, command));
    whole.insert("errors".into(), json!([]));
    whole.insert("warnings".into(), json!([]));
    Json::Object(whole)
}

/// A moment as v0.0.42 wraps it.
pub fn moment(secs: i64) -> Json {
    json!({ "set": true, "infinite": false, "number": secs })
}

/// The text of an answer.
pub fn written(answer: &Json, notation: Notation) -> String {
    match notation {
        Notation::Yaml => {
            let mut text = String::from("---\n");
            yaml(&mut text, answer, 0);
            text + "...\n"
        }
        _ => format!("{answer:#}\n"),
    }
}

fn meta(cluster: &str, command: &[&str]) -> Json {
    let release = VERSION.trim_start_matches("slurm ");
    let mut parts = release.split('.');
    let mut part = || parts.next().unwrap_or("0");
    let (major, minor, micro) = (part(), part(), part());
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
    let group = nix::unistd::Group::from_gid(nix::unistd::getgid()).ok().flatten();
    json!({
        "plugin": {
            "type": "",
            "name": "",
            "data_parser": "data_parser/v0.0.42",
            "accounting_storage": "accounting_storage/slurmdbd",
        },
        "client": {
            "source": "",
            "user": user.map(|user| user.name).unwrap_or_default(),
            "group": group.map(|group| group.name).unwrap_or_default(),
        },
        "command": command,
        "slurm": {
            "version": { "major": major, "micro": micro, "minor": minor },
            "release": release,
            "cluster": cluster,
        },
    })
}

fn yaml(text: &mut String, value: &Json, depth: usize) {
    let margin = "  ".repeat(depth);
    match value {
        Json::Object(members) => {
            for (name, value) in members {
                text.push_str(&format!("{margin}{}:", scalar(&json!(name))));
                nested(text, value, depth + 1);
            }
        }
        Json::Array(items) => {
            for item in items {
                text.push_str(&format!("{margin}-"));
                nested(text, item, depth + 1);
            }
        }
        value => text.push_str(&format!("{margin}{}\n", scalar(value))),
    }
}

/// What stands behind a name or a dash: on the same line where it is short.
fn nested(text: &mut String, value: &Json, depth: usize) {
    match value {
        Json::Object(members) if members.is_empty() => text.push_str(" {}\n"),
        Json::Array(items) if items.is_empty() => text.push_str(" []\n"),
        Json::Object(_) | Json::Array(_) => {
            text.push('\n');
            yaml(text, value, depth);
        }
        value => text.push_str(&format!(" {}\n", scalar(value))),
    }
}

/// JSON's spelling is YAML's too; plain words need no quotes.
fn scalar(value: &Json) -> String {
    let Json::String(word) = value else { return value.to_string() };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_/".contains(c);
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = word.chars().all(plain)
        && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && !reserved.iter().any(|reserved| word.eq_ignore_ascii_case(reserved));
    if is_plain { word.clone() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_nests_and_quotes_what_could_be_misread() {
        let value = json!({"a": [1, {"b": "no"}], "c": {}, "d": "n[1-2]", "e": "root"});
        let text = written(&value, Notation::Yaml);
        let expected = "---\na:\n  - 1\n  -\n    b: \"no\"\nc: {}\nd: \"n[1-2]\"\ne: root\n...\n";
        assert_eq!(text, expected);
    }
}
