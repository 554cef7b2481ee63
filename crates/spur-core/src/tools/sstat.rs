//! `sstat`'s options.

use super::{Row, Tool, flag, option};

/// `sstat`
pub static TOOL: Tool = Tool {
    name: "sstat",
    does: "see what running steps use",
    operands: "",
    usage: "Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help\n",
    rows: ROWS,
};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    flag("allsteps", Some('a'), "all steps of a job that is named without one"),
    option("format", Some('o'), "name[%size],...", "columns, as --helpformat lists them"),
    option("fields", None, "name[%size],...", "the same"),
    flag("help", Some('h'), "show this help"),
    flag("helpformat", Some('e'), "list the columns"),
    option("jobs", Some('j'), "job[.step],...", "which steps; the first of a job if none is named"),
    option("json", None, "version", "print JSON").attached(),
    flag("noconvert", None, "leave numbers in their units"),
    flag("noheader", Some('n'), "no header"),
    flag("parsable", Some('p'), "a | behind each column"),
    flag("parsable2", Some('P'), "a | between columns"),
    flag("pidformat", Some('i'), "the processes of each step"),
    flag("usage", None, "show the options in short"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
    option("yaml", None, "version", "print YAML").attached(),
];
