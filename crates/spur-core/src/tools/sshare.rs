//! `sshare`'s options.

use super::{Row, Tool, flag, option};

/// `sshare`
pub static TOOL: Tool =
    Tool { name: "sshare", does: "show shares and usage", operands: "", usage: "", rows: ROWS };

#[rustfmt::skip]
const ROWS: &[Row] = &[
    option("accounts", Some('A'), "names", "only these accounts"),
    flag("all", Some('a'), "all users"),
    option("clusters", Some('M'), "names", "ask these clusters; says which one answers").env("SLURM_CLUSTERS"),
    option("format", Some('o'), "names", "columns: Account,User%20"),
    flag("help", None, "show this help"),
    flag("helpformat", Some('e'), "names of columns"),
    option("json", None, "version", "JSON instead of a table").attached(),
    flag("long", Some('l'), "more columns"),
    flag("noheader", Some('n'), "no header"),
    flag("no-header", Some('h'), "the same"),
    flag("parsable", Some('p'), "columns end with |"),
    flag("parsable2", Some('P'), "columns with | between them"),
    flag("partition", Some('m'), "the partition of each association"),
    option("uid", None, "users", "as --users"),
    flag("usage", None, "show the options in short"),
    option("users", Some('u'), "names", "only these users"),
    flag("Users", Some('U'), "only users, no accounts"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
    option("yaml", None, "version", "YAML instead of a table").attached(),
];
