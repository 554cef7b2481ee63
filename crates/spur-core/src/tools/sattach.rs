//! `sattach`'s options.

use super::{Row, Tool, flag, option};

/// `sattach`
pub static TOOL: Tool = Tool {
    name: "sattach",
    does: "see the output of a step that runs",
    operands: " <jobid.stepid>",
    usage: "Usage: sattach [options] <jobid.stepid>\n",
    rows: ROWS,
};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    option("error-filter", None, "task number", "errors of this task only"),
    flag("help", Some('h'), "show this help"),
    flag("label", Some('l'), "lines begin with the number of their task"),
    flag("layout", None, "show which task is where, and end"),
    option("output-filter", None, "task number", "output of this task only"),
    flag("quiet", Some('Q'), "say only what went wrong"),
    flag("usage", None, "show the options in short"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
];
