//! `scontrol`'s options. Most are also commands of its interactive mode.

use super::{Row, Tool, flag, option};

/// `scontrol`
pub static TOOL: Tool = Tool {
    name: "scontrol",
    does: "show and change the cluster",
    operands: " [COMMAND ...]",
    usage: "",
    rows: ROWS,
};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    flag("all", Some('a'), "hidden partitions too").env("SCONTROL_ALL"),
    option("clusters", Some('M'), "name", "at this cluster").env("SLURM_CLUSTERS"),
    flag("details", Some('d'), "tell more about jobs and nodes").env("SCONTROL_DETAIL"),
    flag("federation", None, "all clusters of the federation").env("SCONTROL_FEDERATION"),
    flag("future", Some('F'), "nodes in state FUTURE too").env("SCONTROL_FUTURE"),
    flag("help", Some('h'), "show this help"),
    flag("hide", None, "no hidden partitions"),
    option("json", None, "version", "JSON instead of text").attached(),
    flag("local", None, "only this cluster").env("SCONTROL_LOCAL"),
    flag("oneliner", Some('o'), "a line for each record").env("SCONTROL_ONELINER"),
    flag("quiet", Some('Q'), "no warnings"),
    flag("sibling", None, "all jobs of a federated job").env("SCONTROL_SIBLING"),
    option("uid", Some('u'), "user", "change jobs as this user"),
    flag("usage", None, "show the options in short"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
    option("yaml", None, "version", "YAML instead of text").attached(),
];
