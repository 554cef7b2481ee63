//! Manual pages of the tools that ask and control.

use spur_core::getopt::Takes;
use spur_core::tools::{Row, Tool};

use super::text;

/// A manual page in roff.
pub fn page(tool: &Tool) -> String {
    let name = tool.name;
    let mut page = format!(
        ".\\\" Printed from the table of options; `cargo xtask docs` writes it anew.\n\
         .TH {} 1 \"\" \"Spur\" \"User Commands\"\n\
         .SH NAME\n{name} \\- {}\n\
         .SH SYNOPSIS\n.B {name}\n[\\fIOPTION\\fR ...]{}\n.SH OPTIONS\n",
        name.to_uppercase(),
        text(tool.does),
        text(tool.operands)
    );
    for row in tool.rows {
        page.push_str(&format!(".TP\n{}\n{}.\n", spelling(row), text(&capital(row.help))));
    }
    page.push_str(".SH ENVIRONMENT\n");
    for row in tool.rows.iter().filter(|row| !row.env.is_empty()) {
        let long = text(row.flag.long);
        page.push_str(&format!(".TP\n.B {}\nAs \\fB\\-\\-{long}\\fR.\n", row.env));
    }
    page.push_str(".TP\n.B SLURM_TIME_FORMAT\nHow moments are written: standard, relative, or a format of strftime.\n");
    page.push_str(".TP\n.B SPUR_CONTROLLER_ADDR\nWhere the controller listens.\n");
    page.push_str(".SH EXIT STATUS\n.TP\n.B 0\nAll went well.\n");
    page.push_str(
        ".TP\n.B 1\nSomething was refused, or nobody answered; why is on standard error.\n",
    );
    page.push_str(".SH SEE ALSO\n.BR sbatch (1),\n.BR squeue (1),\n.BR scontrol (1)\n");
    page
}

fn spelling(row: &Row) -> String {
    let short = row.flag.short.map(|letter| format!("\\fB\\-{letter}\\fR, ")).unwrap_or_default();
    let long = format!("\\fB\\-\\-{}\\fR", text(row.flag.long));
    let value = match row.flag.takes {
        Takes::Nothing => String::new(),
        Takes::Value => format!("=\\fI{}\\fR", text(row.value)),
        Takes::MayValue | Takes::MayFollow => format!("[=\\fI{}\\fR]", text(row.value)),
    };
    format!("{short}{long}{value}")
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
