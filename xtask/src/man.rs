//! `docs/man/*.1`: the manual pages.

pub mod commands;
pub mod tools;

use spur_core::errors::exit::{self, Failure, Program};
use spur_core::jobenv::{VARIABLES, Where};
use spur_core::options::{Arg, JobOption, Tool, options};

/// A manual page in roff.
pub fn page(tool: Tool) -> String {
    let words = words(tool);
    let name = tool.name();
    let mut page = format!(
        ".\\\" Printed from the table of options; `cargo xtask docs` writes it anew.\n\
         .TH {} 1 \"\" \"Spur\" \"User Commands\"\n\
         .SH NAME\n{name} \\- {}\n\
         .SH SYNOPSIS\n.B {name}\n{}\n.SH DESCRIPTION\n",
        name.to_uppercase(),
        words.does,
        words.synopsis
    );
    for paragraph in words.description {
        page.push_str(&format!(".PP\n{}\n", text(paragraph)));
    }
    page.push_str(".SH OPTIONS\n");
    let mut rows: Vec<&JobOption> = options(tool).filter(|row| !row.long.is_empty()).collect();
    rows.sort_by_key(|row| row.long);
    for row in rows {
        page.push_str(&format!(".TP\n{}\n{}\n", spelling(row), text(row.help)));
        if !row.no_effect.is_empty() {
            page.push_str(&format!("Taken without effect: {}.\n", text(row.no_effect)));
        }
    }
    page.push_str(&environment(tool, words.sees));
    page.push_str(&exit_status(words.program, words.ends));
    page.push_str(".SH SEE ALSO\n");
    page.push_str(words.see_also);
    page.push('\n');
    page
}

/// What is said of a tool beside its options.
struct Words {
    program: Program,
    does: &'static str,
    synopsis: &'static str,
    description: &'static [&'static str],
    /// Whose environment the tool prepares, and what it is called.
    sees: (Where, &'static str),
    /// What it means when the tool ends with 0, and with what else it ends on behalf of others.
    ends: (&'static str, &'static str),
    see_also: &'static str,
}

fn words(tool: Tool) -> Words {
    match tool {
        Tool::Sbatch => Words {
            program: Program::Sbatch,
            does: "hand in a script that runs later",
            synopsis: "[\\fIOPTION\\fR ...] [\\fISCRIPT\\fR [\\fIARGUMENT\\fR ...]]",
            description: &[
                "Hands a script to the controller and prints the number of the job. Without a script it is \
                 read from standard input; with --wrap it is made of one command.",
                "Options also stand in the script, on lines that begin with #SBATCH, before its first \
                 command. Variables count more than those lines, and the command line more than both.",
                "The job waits until its resources are free. The script then runs on the first of its nodes, \
                 in the directory sbatch was called in, and its output goes to slurm-%j.out there.",
            ],
            sees: (Where::BATCH, "the script"),
            ends: (
                "The job was taken. With --wait: it ended with 0.",
                "With --wait: the exit status of the job.",
            ),
            see_also: ".BR srun (1),\n.BR salloc (1)",
        },
        Tool::Srun => Words {
            program: Program::Srun,
            does: "run a program on the nodes of a job",
            synopsis: "[\\fIOPTION\\fR ...] \\fIPROGRAM\\fR [\\fIARGUMENT\\fR ...]",
            description: &[
                "Inside a job, runs a program as a step of it, one copy a task. Outside of one, asks for a job \
                 first, waits for it, and gives it back afterwards.",
                "What the tasks print appears where srun was called, and what is typed there goes to them, \
                 unless --output, --error and --input say otherwise.",
            ],
            sees: (Where::TASK, "each task"),
            ends: (
                "All tasks ended with 0.",
                "The highest exit status of the tasks, or 128 and the signal if one died of a signal.",
            ),
            see_also: ".BR sbatch (1),\n.BR salloc (1)",
        },
        Tool::Salloc => Words {
            program: Program::Salloc,
            does: "get nodes and run a command while they are yours",
            synopsis: "[\\fIOPTION\\fR ...] [\\fICOMMAND\\fR [\\fIARGUMENT\\fR ...]]",
            description: &[
                "Asks for a job, waits until it has its nodes, and runs a command, or a shell if none is \
                 named. The nodes are given back when the command ends.",
                "The command runs where salloc was called. Programs started from it with srun run on the \
                 nodes of the job.",
            ],
            sees: (Where::ALLOCATION, "the command"),
            ends: ("The command ended with 0.", "The exit status of the command."),
            see_also: ".BR sbatch (1),\n.BR srun (1)",
        },
    }
}

fn spelling(row: &JobOption) -> String {
    let short = row.short.map(|letter| format!("\\fB\\-{letter}\\fR"));
    let long = row.names().map(|name| format!("\\fB\\-\\-{}\\fR", text(name)));
    let mut spelling = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    match row.arg {
        Arg::None => {}
        Arg::Required(value) => spelling.push_str(&format!("=\\fI{}\\fR", text(value))),
        Arg::Optional(value) => spelling.push_str(&format!("[=\\fI{}\\fR]", text(value))),
    }
    spelling
}

fn environment(tool: Tool, (place, whose): (Where, &str)) -> String {
    let mut section = format!(".SH ENVIRONMENT\n.SS Read by {}\n", tool.name());
    let mut read: Vec<(&str, String)> = Vec::new();
    for row in options(tool) {
        let meaning = match row.long {
            "" => text(row.help),
            long => format!("As \\fB\\-\\-{}\\fR.", text(long)),
        };
        let names = row.env.iter().filter(|(owner, _)| *owner == tool);
        read.extend(names.map(|(_, name)| (*name, meaning.clone())));
    }
    read.push(("SPUR_CONTROLLER_ADDR", "Where the controller listens.".into()));
    read.sort();
    for (name, meaning) in read {
        section.push_str(&format!(".TP\n.B {name}\n{meaning}\n"));
    }
    section.push_str(&format!(".SS Set for {whose}\n"));
    let seen = VARIABLES.iter().filter(|variable| variable.seen.overlaps(place));
    let names: Vec<&str> = seen.map(|variable| variable.name).collect();
    // Names are long and do not break, so the lines stay ragged.
    section.push_str(&format!(".na\n.nh\n{}.\n.hy\n.ad\n", names.join(",\n")));
    section
}

fn exit_status(program: Program, (well, other): (&str, &str)) -> String {
    const FAILURES: &[(Failure, &str)] = &[
        (Failure::Usage, "There is no such option, or its value is missing."),
        (Failure::BadValue, "A value cannot be read."),
        (Failure::BadNumber, "A value is not the number above zero that it must be."),
        (Failure::Refused, "The controller refused, or could not be reached."),
    ];
    let mut section = format!(".SH EXIT STATUS\n.TP\n.B 0\n{}\n", text(well));
    let mut statuses: Vec<u8> = FAILURES.iter().map(|(f, _)| exit::status(program, *f)).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let why = FAILURES.iter().filter(|(failure, _)| exit::status(program, *failure) == status);
        let why: Vec<String> = why.map(|(_, why)| text(why)).collect();
        section.push_str(&format!(".TP\n.B {status}\n{}\n", why.join("\n")));
    }
    section.push_str(&format!(".TP\n.I other\n{}\n", text(other)));
    section
}

/// Text in which roff finds nothing of its own.
fn text(plain: &str) -> String {
    let escaped = plain.replace('\\', "\\e").replace('-', "\\-").replace('`', "\\(ga");
    // A line that begins with one of these would be a request.
    if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_request() {
        assert_eq!(text(".so a-b\\"), "\\&.so a\\-b\\e");
    }
}
