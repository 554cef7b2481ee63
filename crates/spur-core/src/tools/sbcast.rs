//! `sbcast`'s options.

use super::{Row, Tool, flag, option};

/// `sbcast`
pub static TOOL: Tool = Tool {
    name: "sbcast",
    does: "copy a file to every node of a job",
    operands: " SOURCE DEST",
    usage: "Usage: sbcast [--exclude] [-CfFjpvV] [--send-libs] SOURCE DEST\n",
    rows: ROWS,
};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    option("compress", Some('C'), "library", "taken for Slurm's sake; nodes are near").env("SBCAST_COMPRESS").attached(),
    option("fanout", Some('F'), "num", "taken for Slurm's sake").env("SBCAST_FANOUT"),
    flag("force", Some('f'), "replace a file that is there").env("SBCAST_FORCE"),
    flag("help", None, "show this help"),
    option("jobid", Some('j'), "id", "the job; inside of one it is known").env("SLURM_JOB_ID"),
    flag("preserve", Some('p'), "keep the time of the file").env("SBCAST_PRESERVE"),
    option("size", Some('s'), "num", "taken for Slurm's sake").env("SBCAST_SIZE"),
    option("timeout", Some('t'), "secs", "taken for Slurm's sake").env("SBCAST_TIMEOUT"),
    flag("usage", None, "show the options in short"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
];
