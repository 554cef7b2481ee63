//! `sreport`

use super::{Row, Tool, flag, option};

/// Its options.
pub const TOOL: Tool = Tool {
    name: "sreport",
    does: "report what was used",
    operands: " [REPORT ...]",
    usage: "",
    rows: ROWS,
};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    flag("all_clusters", Some('a'), "of every cluster"),
    option("cluster", Some('M'), "names", "of these clusters"),
    flag("federation", None, "of all clusters of the federation, together"),
    flag("help", Some('h'), "show this help"),
    flag("local", None, "of this cluster alone"),
    flag("noheader", Some('n'), "no names above the columns"),
    flag("parsable", Some('p'), "columns with | after each"),
    flag("parsable2", Some('P'), "columns with | between them"),
    flag("quiet", Some('Q'), "errors only"),
    option("t", Some('t'), "unit", "time in Seconds, Minutes, Hours or Percent"),
    option("tres", Some('T'), "names", "of these resources; cpu if not said"),
    flag("usage", None, "show a summary"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "show the version"),
];
