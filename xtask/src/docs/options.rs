//! `docs/compat/options.md`: every submission option.

use spur_core::options::{Arg, JobOption, LISTS};

use super::page::{Page, cell, code, codes};

pub(super) fn page() -> String {
    let mut rows: Vec<&JobOption> = LISTS.iter().flat_map(|rows| rows.iter()).collect();
    rows.sort_by_key(|row| (row.long, variables(row), row.tools));
    let mut page = Page::new("Submission options", "the table of options");
    page.paragraph(
        "What `sbatch`, `srun` and `salloc` take, on the command line, after `#SBATCH` and in their\n\
         variables. A row is an option and the tools that share its meaning. An option that cannot be\n\
         carried out is refused; the only ones that are taken and change nothing are at the end.",
    );
    page.paragraph(
        "Directives in the script count first, then variables, then the command line: the last word wins.\n\
         A flag's variable raises it when it is empty, `yes`, or a number other than zero.",
    );
    page.table(
        &["option", "short", "argument", "tools", "variables", "what it does"],
        rows.iter().filter(|row| !row.long.is_empty()).map(|row| {
            let names: Vec<String> = row.names().map(|name| format!("--{name}")).collect();
            vec![
                codes(names.iter().map(String::as_str)),
                row.short.map_or(String::new(), |letter| code(&format!("-{letter}"))),
                argument(row.arg),
                tools(row),
                codes(variables(row).into_iter()),
                cell(row.help),
            ]
        }),
    );
    page.section("Set by variables only");
    page.table(
        &["variable", "value", "tools", "what it does"],
        rows.iter().filter(|row| row.long.is_empty()).map(|row| {
            vec![codes(variables(row).into_iter()), argument(row.arg), tools(row), cell(row.help)]
        }),
    );
    page.section("Taken without effect");
    page.paragraph("So that scripts keep running. This list is closed: a test keeps it short.");
    page.table(
        &["option", "tools", "why nothing comes of it"],
        rows.iter()
            .filter(|row| !row.no_effect.is_empty())
            .map(|row| vec![code(&format!("--{}", row.long)), tools(row), cell(row.no_effect)]),
    );
    page.text()
}

fn argument(arg: Arg) -> String {
    match arg {
        Arg::None => String::new(),
        Arg::Required(value) => code(value),
        Arg::Optional(value) => format!("{} or none", code(value)),
    }
}

fn tools(row: &JobOption) -> String {
    row.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(" ")
}

/// The variables' names; some tools share one.
fn variables(row: &JobOption) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, name) in row.env {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}
