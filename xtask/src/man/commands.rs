//! Manual pages of `spur` itself and of commands without options.

use spur_cli::dispatch::{Command, NATIVE, SLURM};

use super::text;

/// `spur.1`: every verb, and Slurm's commands.
pub fn spur() -> String {
    let mut page = head("spur", "run jobs on many machines");
    page.push_str("\\fICOMMAND\\fR [\\fIARGUMENT\\fR ...]\n.SH COMMANDS\n");
    page.push_str(&list(NATIVE));
    page.push_str(
        ".SH SLURM'S COMMANDS\nAlso by these names alone, each with a page of its own.\n",
    );
    page.push_str(&list(SLURM));
    page.push_str(
        ".SH ENVIRONMENT\n.TP\n.B SPUR_CONTROLLER_ADDR\nWhere the controller listens.\n\
         .TP\n.B SPUR_CONF\nThe configuration, /etc/spur/spur.conf if not said.\n\
         .SH EXIT STATUS\n.TP\n.B 0\nAll went well.\n.TP\n.B 1\n\
         Something was refused, or nobody answered; why is on standard error.\n\
         .SH SEE ALSO\n.BR sbatch (1),\n.BR squeue (1),\n.BR scontrol (1)\n",
    );
    page
}

/// `seff.1`
pub fn seff() -> String {
    let mut page = head("seff", "show how well a job used what it had");
    page.push_str(
        "\\fIJOBID\\fR\n.SH DESCRIPTION\nTells of a job that is over how much of the processors and of the \
         memory it asked for it has used, from what accounting keeps of it. Tasks of an array are named as\n\
         .IR JOBID _ TASK .\n\
         .SH EXIT STATUS\n.TP\n.B 0\nThe job was found.\n.TP\n.B 1\nNobody answered, or that is no job.\n\
         .TP\n.B 2\nThere is no such job.\n.SH SEE ALSO\n.BR sacct (1)\n",
    );
    page
}

fn head(name: &str, does: &str) -> String {
    format!(
        ".\\\" Printed from the table of commands; `cargo xtask docs` writes it anew.\n\
         .TH {} 1 \"\" \"Spur\" \"User Commands\"\n\
         .SH NAME\n{name} \\- {}\n.SH SYNOPSIS\n.B {name}\n",
        name.to_uppercase(),
        text(does)
    )
}

fn list(commands: &[Command]) -> String {
    let one = |it: &Command| format!(".TP\n.B {}\n{}.\n", text(it.name), text(it.help));
    commands.iter().map(one).collect()
}
