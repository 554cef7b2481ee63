//! `docs/completions/_spur`, for zsh.

use spur_core::options::Arg;

use super::{HEAD, Operands, Spelled, choices, first_words, is_path, tools, value};

/// The script, to be put into a directory of `fpath`.
pub fn script() -> String {
    let tools = tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    let mut text = format!("#compdef spur {}\n{HEAD}", names.join(" "));
    for tool in &tools {
        let rows: String = tool.options.iter().flat_map(specifications).collect();
        let operands = match tool.operands {
            Operands::Script => "'(-)1:script:_files' '*::argument:_files'",
            Operands::Program => "'(-)1:program:_command_names -e' '*::argument:_normal'",
            Operands::Words => "'*:word:_files'",
        };
        text.push_str(&format!(
            "\n_spur_{}() {{\n  _arguments -s -S -A '-*' \\\n{rows}    {operands}\n}}\n",
            tool.name
        ));
    }
    text.push_str("\n_spur_commands() {\n  local -a commands=(\n");
    for (name, help) in first_words() {
        text.push_str(&format!("    {}\n", quoted(&format!("{name}:{help}"))));
    }
    text.push_str("  )\n  _describe command commands\n}\n");
    text.push_str(&CODE.replace("@tools@", &names.join("|")));
    text
}

/// The lines of `_arguments` for an option: one a spelling, each ruling out the others.
fn specifications(row: &Spelled) -> Vec<String> {
    let long = row.long.iter().map(|name| format!("--{name}"));
    let spellings: Vec<String> = long.chain(row.short.map(|short| format!("-{short}"))).collect();
    let others =
        if spellings.len() > 1 { format!("({})", spellings.join(" ")) } else { String::new() };
    let line = |spelling: &String| {
        // "=" and "+" let a value follow or be attached, "=-" and "-" want it attached.
        let attached = match (row.arg, spelling.starts_with("--")) {
            (Arg::None, _) => "",
            (Arg::Required(_), true) => "=",
            (Arg::Required(_), false) => "+",
            (Arg::Optional(_), true) => "=-",
            (Arg::Optional(_), false) => "-",
        };
        let specification =
            format!("{others}{spelling}{attached}[{}]{}", escaped(row.help), argument(row.arg));
        format!("    {} \\\n", quoted(&specification))
    };
    spellings.iter().map(line).collect()
}

fn argument(arg: Arg) -> String {
    let Some(name) = value(arg) else { return String::new() };
    let choices = choices(arg);
    let action = match () {
        () if !choices.is_empty() => format!("({})", choices.join(" ")),
        () if is_path(arg) => "_files".into(),
        // A blank: the value is the user's own.
        () => " ".into(),
    };
    let colon = if matches!(arg, Arg::Optional(_)) { "::" } else { ":" };
    format!("{colon}{}:{action}", escaped(name))
}

/// Colons and brackets end parts of a specification.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if matches!(letter, ':' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

const CODE: &str = r#"
_spur() {
  case $service in
    (@tools@) _spur_$service; return ;;
  esac
  local curcontext=$curcontext state line
  _arguments -C '1:command:_spur_commands' '*:: :->rest' && return
  case $words[1] in
    (@tools@) _spur_$words[1] ;;
    (*) _files ;;
  esac
}

_spur "$@"
"#;
