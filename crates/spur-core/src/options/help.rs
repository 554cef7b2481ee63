//! `--help` of the submission tools, printed from the table.

use super::options;
use super::row::{Arg, JobOption, Tool};

/// Every option with what it does.
pub fn help(tool: Tool) -> String {
    let mut text = shape(tool);
    let mut rows: Vec<&JobOption> = options(tool).filter(|row| !row.long.is_empty()).collect();
    rows.sort_by_key(|row| row.long);
    for group in GROUPS.iter().map(|(heading, _)| *heading) {
        text.push_str(&format!("\n{group}\n"));
        rows.iter().filter(|row| group_of(row) == group).for_each(|row| add(&mut text, row));
    }
    text
}

fn add(text: &mut String, row: &JobOption) {
    let spelling = spelling(row);
    let separator = if spelling.len() > WIDTH {
        "\n".to_string() + &" ".repeat(WIDTH + 4)
    } else {
        "  ".to_string()
    };
    text.push_str(&format!("  {spelling:<WIDTH$}{separator}{}\n", row.help));
}

/// Slurm's headings, and what stands below each; the first has everything else.
const GROUPS: &[(&str, &[&str])] = &[
    ("Parallel run options:", &[]),
    (
        "Constraint options:",
        &[
            "cluster-constraint",
            "constraint",
            "contiguous",
            "exclude",
            "mem",
            "mincpus",
            "nodefile",
            "nodelist",
            "prefer",
            "reservation",
            "segment",
            "consolidate-segments",
            "spread-segments",
            "tmp",
        ],
    ),
    (
        "Consumable resources related options:",
        &["exclusive", "exact", "mem-per-cpu", "overlap", "resv-ports", "whole"],
    ),
    (
        "Affinity/Multi-core options: (when the task/affinity plugin is enabled)",
        &[
            "accel-bind",
            "cores-per-socket",
            "cpu-bind",
            "extra-node-info",
            "hint",
            "mem-bind",
            "ntasks-per-core",
            "ntasks-per-socket",
            "sockets-per-node",
            "threads-per-core",
        ],
    ),
    (
        "GPU scheduling options:",
        &[
            "cpus-per-gpu",
            "gpu-bind",
            "gpu-freq",
            "gpus",
            "gpus-per-node",
            "gpus-per-socket",
            "gpus-per-task",
            "mem-per-gpu",
            "ntasks-per-gpu",
        ],
    ),
    ("Help options:", &["autocomplete", "help", "usage"]),
    ("Other options:", &["version"]),
];

fn group_of(row: &JobOption) -> &'static str {
    let group = GROUPS.iter().find(|(_, names)| names.contains(&row.long));
    group.map_or(GROUPS[0].0, |(heading, _)| heading)
}

/// The shape of a command line.
fn shape(tool: Tool) -> String {
    let operands = match tool {
        Tool::Sbatch => "[OPTIONS(0)...] [ : [OPTIONS(N)...]] script(0) [args(0)...]",
        Tool::Srun => {
            "[OPTIONS(0)... [executable(0) [args(0)...]]] [ : [OPTIONS(N)...]] executable(N) \
             [args(N)...]"
        }
        Tool::Salloc => "[OPTIONS(0)...] [ : [OPTIONS(N)]] [command(0) [args(0)...]]",
    };
    format!("Usage: {} {operands}\n", tool.name())
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
            for (heading, _) in GROUPS {
                assert_eq!(text.matches(heading).count(), 1, "{heading}");
            }
        }
    }
}
