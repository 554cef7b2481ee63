//! `docs/completions/spur.fish`.

use spur_core::options::Arg;

use super::{HEAD, Spelled, choices, first_words, is_path, tools};

/// The script, to be sourced or put where fish looks for completions.
pub fn script() -> String {
    let mut text = String::from(HEAD);
    let tools = tools();
    for tool in &tools {
        text.push('\n');
        for row in &tool.options {
            text.push_str(&line(tool.name, row));
        }
    }
    text.push('\n');
    for (name, help) in first_words() {
        text.push_str(&format!(
            "complete -c spur -n __fish_use_subcommand -f -a {name} -d {}\n",
            quoted(help)
        ));
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    text.push_str(&CODE.replace("@tools@", &names.join(" ")));
    text
}

fn line(tool: &str, row: &Spelled) -> String {
    let mut line = format!("complete -c {tool}");
    for name in &row.long {
        line.push_str(&format!(" -l {name}"));
    }
    if let Some(letter) = row.short {
        line.push_str(&format!(" -s {letter}"));
    }
    let choices = choices(row.arg);
    match row.arg {
        Arg::Required(_) if is_path(row.arg) => line.push_str(" -r"),
        Arg::Required(_) => line.push_str(" -x"),
        // Without this, files are offered beside the words.
        Arg::Optional(_) if !is_path(row.arg) => line.push_str(" -f"),
        Arg::None | Arg::Optional(_) => {}
    }
    if !choices.is_empty() {
        line.push_str(&format!(" -a {}", quoted(&choices.join(" "))));
    }
    format!("{line} -d {}\n", quoted(row.help))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

const CODE: &str = r#"
# After "spur sbatch" everything is as after "sbatch".
function __spur_rest
    set -l words (commandline -opc) (commandline -ct)
    complete -C (string join ' ' -- $words[2..-1])
end
complete -c spur -n '__fish_seen_subcommand_from @tools@' -f -a '(__spur_rest)'
"#;
