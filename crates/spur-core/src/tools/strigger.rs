//! `strigger`'s options.

use super::{Row, Tool, flag, option};

/// `strigger`
pub static TOOL: Tool = Tool {
    name: "strigger",
    does: "have programs run when something happens",
    operands: "",
    usage: "Usage: strigger [--set | --get | --clear | --version] [-aAbBcCdDefFgGhHiIjnNopQrtuv]\n",
    rows: ROWS,
};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    flag("backup_slurmctld_assumed_control", Some('C'), "when another controller leads"),
    flag("backup_slurmctld_failure", Some('B'), "not noticed here"),
    flag("backup_slurmctld_resumed_operation", Some('c'), "not noticed here"),
    flag("burst_buffer", None, "not noticed here"),
    flag("clear", None, "take triggers away"),
    option("clusters", Some('M'), "names", "only our own has an answer"),
    flag("down", Some('d'), "when a node goes down"),
    flag("drained", Some('D'), "when a drained node has no job any more"),
    flag("fail", Some('F'), "when a node is about to fail"),
    flag("fini", Some('f'), "when a job ends"),
    option("flags", None, "flag", "PERM: it stays after it was told"),
    flag("get", None, "show triggers"),
    flag("help", None, "show this help"),
    option("id", Some('i'), "id", "the trigger of this number"),
    flag("idle", Some('I'), "when a node has had nothing to do for --offset seconds"),
    option("jobid", Some('j'), "id", "about this job"),
    option("node", Some('n'), "host", "about these nodes; all where none is named").attached(),
    flag("noheader", Some('N'), "no header"),
    option("offset", Some('o'), "seconds", "this much later, or earlier where it is negative"),
    flag("primary_database_failure", Some('h'), "not noticed here"),
    flag("primary_database_resumed_operation", Some('H'), "not noticed here"),
    flag("primary_slurmctld_acct_buffer_full", Some('e'), "not noticed here"),
    flag("primary_slurmctld_failure", Some('a'), "when a controller leads after another one was lost"),
    flag("primary_slurmctld_resumed_control", Some('b'), "when a controller leads again"),
    flag("primary_slurmctld_resumed_operation", Some('A'), "when a controller leads again"),
    flag("primary_slurmdbd_failure", Some('g'), "not noticed here"),
    flag("primary_slurmdbd_resumed_operation", Some('G'), "not noticed here"),
    option("program", Some('p'), "path", "what is run, with its arguments"),
    flag("quiet", Some('Q'), "say only what went wrong"),
    flag("reconfig", Some('r'), "when another configuration is in force"),
    flag("set", None, "set a trigger"),
    flag("time", Some('t'), "when a job's time is up"),
    flag("up", Some('u'), "when a node is back"),
    flag("usage", None, "show the options in short"),
    option("user", None, "user", "those of this user"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
];
