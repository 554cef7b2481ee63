//! `sprio`'s options.

use super::{Row, Tool, flag, option};

/// `sprio`
pub static TOOL: Tool = Tool {
    name: "sprio",
    does: "show what priorities are made of",
    operands: "",
    usage: USAGE,
    rows: ROWS,
};

const USAGE: &str = "\
Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]
   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]
";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    option("clusters", Some('M'), "names", "ask these clusters; says which one answers").env("SLURM_CLUSTERS"),
    flag("federation", None, "all clusters of the federation").env("SPRIO_FEDERATION"),
    option("format", Some('o'), "format", "columns by letter: \"%.15i %9r %.10Y\"").env("SPRIO_FORMAT"),
    flag("help", None, "show this help"),
    option("jobs", Some('j'), "ids", "only these jobs"),
    flag("local", None, "only this cluster").env("SPRIO_LOCAL"),
    flag("long", Some('l'), "every part of a priority"),
    flag("noheader", Some('h'), "no header"),
    flag("norm", Some('n'), "factors between 0 and 1 instead of what they come to"),
    option("partition", Some('p'), "names", "only these partitions").env("SPRIO_PARTITION"),
    flag("sibling", None, "all jobs of a federated job").env("SPRIO_SIBLING"),
    option("sort", Some('S'), "letters", "order by these columns: -Y,i"),
    flag("usage", None, "show the options in short"),
    option("user", Some('u'), "users", "only jobs of these users"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
    flag("weights", Some('w'), "what each part weighs"),
];
