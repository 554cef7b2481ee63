//! `sacctmgr`

use super::{Row, Tool, flag, option};

/// Its options.
pub const TOOL: Tool = Tool {
    name: "sacctmgr",
    does: "show and change accounts, users, limits",
    operands: " [COMMAND ...]",
    usage: "",
    rows: ROWS,
};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    flag("associations", Some('s'), "associations along with users, accounts and clusters"),
    option("autocomplete", None, "option", "words that a shell may complete an option with"),
    flag("help", Some('h'), "show this help"),
    flag("immediate", Some('i'), "change without asking back"),
    option("json", None, "version", "for programs").attached(),
    flag("noheader", Some('n'), "no names above the columns"),
    flag("oneliner", Some('o'), "a line for each record"),
    flag("parsable", Some('p'), "columns with | after each"),
    flag("parsable2", Some('P'), "columns with | between them"),
    flag("quiet", Some('Q'), "errors only"),
    flag("readonly", Some('r'), "change nothing"),
    flag("usage", None, "show a summary"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "show the version"),
    option("yaml", None, "version", "for programs").attached(),
];
