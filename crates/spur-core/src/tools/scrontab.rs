//! `scrontab`'s options.

use super::{Row, Tool, flag, option};

/// `scrontab`
pub static TOOL: Tool = Tool {
    name: "scrontab",
    does: "manage jobs that come again by the calendar",
    operands: " [file | -]",
    usage: "Usage: scrontab [-u user] [-e | -l | -r | file]\n",
    rows: ROWS,
};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    flag("edit", Some('e'), "edit the crontab"),
    flag("help", None, "show this help"),
    flag("list", Some('l'), "print the crontab"),
    flag("remove", Some('r'), "take the crontab away; its jobs end"),
    flag("usage", None, "show the options in short"),
    option("user", Some('u'), "user", "the crontab of this user"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
];
