//! `--help` of the submission tools, printed from the table.

use super::options;
use super::row::{Arg, JobOption, Tool};

/// Every option with what it does.
pub fn help(tool: Tool) -> String {
    let mut text = shape(tool);
    text.push('\n');
    let mut rows: Vec<&JobOption> = options(tool).filter(|row| !row.long.is_empty()).collect();
    rows.sort_by_key(|row| row.long);
    for row in rows {
        let spelling = spelling(row);
        let separator = if spelling.len() > WIDTH {
            "\n".to_string() + &" ".repeat(WIDTH + 4)
        } else {
            "  ".to_string()
        };
        text.push_str(&format!("  {spelling:<WIDTH$}{separator}{}\n", row.help));
    }
    text
}

/// The shape of a command line.
fn shape(tool: Tool) -> String {
    let operand = match tool {
        Tool::Sbatch => "[SCRIPT [ARGUMENT …]]",
        Tool::Srun => "PROGRAM [ARGUMENT …]",
        Tool::Salloc => "[COMMAND [ARGUMENT …]]",
    };
    format!("Usage: {} [OPTION …] {operand}\n", tool.name())
}

const WIDTH: usize = 32;

fn spelling(row: &JobOption) -> String {
    let short = row.short.map_or("    ".to_string(), |short| format!("-{short}, "));
    let value = match row.arg {
        Arg::None => String::new(),
        Arg::Required(value) => format!("={value}"),
        Arg::Optional(value) => format!("[={value}]"),
    };
    format!("{short}--{}{value}", row.long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_option_once() {
        for tool in [Tool::Sbatch, Tool::Srun, Tool::Salloc] {
            let text = help(tool);
            for row in options(tool).filter(|row| !row.long.is_empty()) {
                let spelled = spelling(row);
                let lines =
                    text.lines().filter(|line| line.trim_start().starts_with(spelled.trim()));
                assert!(lines.count() >= 1, "{} of {}", row.long, tool.name());
            }
        }
    }
}
