//! `sdiag`'s options.

use super::{Row, Tool, flag, option};

/// `sdiag`
pub static TOOL: Tool = Tool {
    name: "sdiag",
    does: "show how the controller fares",
    operands: "",
    usage: USAGE,
    rows: ROWS,
};

const USAGE: &str = "Usage: sdiag [-M cluster] [-aritT]\n";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    flag("all", Some('a'), "everything; the default"),
    option("cluster", Some('M'), "name", "ask this cluster").env("SLURM_CLUSTERS"),
    flag("help", Some('h'), "show this help"),
    option("json", None, "version", "JSON instead of text").attached(),
    flag("reset", Some('r'), "begin to count anew"),
    flag("sort-by-id", Some('i'), "calls by number"),
    flag("sort-by-time", Some('t'), "calls by the time they took in all"),
    flag("sort-by-time2", Some('T'), "calls by the time one took"),
    flag("usage", None, "show the options in short"),
    flag("version", Some('V'), "print the version"),
    option("yaml", None, "version", "YAML instead of text").attached(),
];
