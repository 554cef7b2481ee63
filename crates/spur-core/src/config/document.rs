//! Prints the table of keys as the page administrators read.

use super::keys::Table;
use super::sections::TABLES;

/// `docs/admin/configuration.md`.
pub fn document() -> String {
    let mut page = String::from(HEAD);
    for table in TABLES {
        page.push('\n');
        page.push_str(&section(table));
    }
    page
}

fn section(table: &Table) -> String {
    let title = match table.name {
        "" => "At the top of the file".to_string(),
        _ => format!("`{}`", table.heading()),
    };
    let mut page = format!("## {title}\n\n{}\n\n", table.help.trim());
    page.push_str("| key | value | default | meaning | change takes effect | in Slurm |\n");
    page.push_str("|---|---|---|---|---|---|\n");
    for (key, default) in table.keys.iter().zip((table.defaults)()) {
        let default = match default.as_str() {
            "" | "\"\"" => String::new(),
            value => format!("`{value}`"),
        };
        let effect = match key.reload.restart() {
            None => "at once".to_string(),
            Some(daemon) => format!("restart of {daemon}"),
        };
        page.push_str(&format!(
            "| `{}` | {} | {default} | {} | {effect} | {} |\n",
            key.name,
            (key.kind)(),
            key.help.trim(),
            key.slurm.join(", "),
        ));
    }
    page
}

const HEAD: &str = "\
# spur.conf

<!-- Printed from the table of keys; `cargo xtask docs` writes it anew. -->

TOML, in `/etc/spur/spur.conf`, the same file on every machine. Every key has a default: an empty file runs
a cluster with one partition named `default` and every node that joins.

- `spur config check FILE` names everything that is wrong at once, with its line; unknown keys are errors.
- `spur config import slurm.conf` turns Slurm's files into this one and lists what it could not carry over.
- `scontrol reconfigure` reads the file again. What needs a restart is named and left as it is.

Values: where seconds are expected, a bare number is seconds and `\"30s\"`, `\"5m\"`, `\"2h\"`, `\"7d\"` work too;
where a time limit is expected, a bare number is minutes, as in Slurm, beside `\"HH:MM:SS\"` and
`\"D-HH:MM:SS\"`. Memory is MiB, or `\"4G\"`. Lists may also be one text with commas. Node lists are written as in
Slurm: `\"gpu[001-064],login1\"`.

First questions:

- A node's name is what `spurd -N` says, or its short host name.
- Without `[[nodes]]`, any node that joined is taken as it is. With it, an unknown name is refused and the known
  ones are listed. A node with less than declared is drained, unless it says `trial = true`.
- `cpus = N` alone means one socket with N cores of one thread.
- A job that asks for no memory gets the node's memory divided by its CPUs, for each of its CPUs;
  `def_mem_per_cpu` and its relatives change that.
";
