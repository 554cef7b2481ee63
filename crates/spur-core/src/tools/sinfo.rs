//! `sinfo`'s options.

use super::{Row, Tool, flag, option};

/// `sinfo`
pub static TOOL: Tool = Tool {
    name: "sinfo",
    does: "show nodes and partitions",
    operands: "",
    usage: USAGE,
    rows: ROWS,
};

const USAGE: &str = "\
Usage: sinfo [-abdelNRrsTv] [-i seconds] [-t states] [-p partition] [-n nodes]
             [-S fields] [-o format] [-O Format] [--federation] [--local]
";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    flag("all", Some('a'), "hidden partitions too").env("SINFO_ALL"),
    option("clusters", Some('M'), "names", "ask these clusters; says which one answers").env("SLURM_CLUSTERS"),
    flag("dead", Some('d'), "only nodes that do not respond"),
    flag("exact", Some('e'), "group nodes only where they are exactly alike"),
    flag("federation", None, "all clusters of the federation").env("SINFO_FEDERATION"),
    option("format", Some('o'), "format", "columns by letter: \"%9P %.5a\"").env("SINFO_FORMAT"),
    option("Format", Some('O'), "names", "columns by name: NodeList:20,CPUs"),
    flag("future", Some('F'), "nodes in state FUTURE too"),
    flag("help", None, "show this help"),
    flag("hide", None, "no hidden partitions"),
    option("iterate", Some('i'), "seconds", "again and again, this often"),
    option("json", None, "version", "JSON instead of a table").attached(),
    flag("list-reasons", Some('R'), "why nodes are down or closed"),
    flag("local", None, "only this cluster").env("SINFO_LOCAL"),
    flag("long", Some('l'), "more columns"),
    flag("Node", Some('N'), "a line for each node"),
    option("nodes", Some('n'), "hosts", "only these nodes"),
    flag("noconvert", None, "sizes in the unit they were given in"),
    flag("noheader", Some('h'), "no header"),
    option("partition", Some('p'), "names", "only these partitions").env("SINFO_PARTITION"),
    flag("reservation", Some('T'), "reservations"),
    flag("responding", Some('r'), "only nodes that respond"),
    option("sort", Some('S'), "letters", "order by these columns: #P,-t").env("SINFO_SORT"),
    option("states", Some('t'), "states", "only nodes in these states"),
    flag("summarize", Some('s'), "a line for each partition"),
    flag("usage", None, "show the options in short"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
    option("yaml", None, "version", "YAML instead of a table").attached(),
];
