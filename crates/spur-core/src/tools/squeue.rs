//! `squeue`'s options.

use super::{Row, Tool, flag, option};

/// `squeue`
pub static TOOL: Tool =
    Tool { name: "squeue", does: "show jobs in the queue", operands: "", usage: USAGE, rows: ROWS };

const USAGE: &str = "\
Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]
              [-n name] [-o format] [-p partitions] [--qos qos]
              [--reservation reservation] [--sort fields] [--start]
              [--step step_id] [-t states] [-u user_name] [--usage]
              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]
\t      [-ahjlrsv]
";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    option("accounts", Some('A'), "names", "only jobs of these accounts").env("SQUEUE_ACCOUNT"),
    flag("all", Some('a'), "jobs in hidden partitions too").env("SQUEUE_ALL"),
    flag("array", Some('r'), "a line for each task of an array").env("SQUEUE_ARRAY"),
    flag("array-unique", None, "pending tasks of an array together, as without --array").env("SQUEUE_ARRAY_UNIQUE"),
    option("clusters", Some('M'), "names", "ask these clusters; says which one answers").env("SLURM_CLUSTERS"),
    flag("expand-patterns", None, "write file names with their patterns filled in").env("SQUEUE_EXPAND_PATTERNS"),
    flag("federation", None, "jobs of the federation").env("SQUEUE_FEDERATION"),
    option("format", Some('o'), "format", "columns by letter: \"%.18i %.9P\"").env("SQUEUE_FORMAT"),
    option("Format", Some('O'), "names", "columns by name: JobID:10,Name").env("SQUEUE_FORMAT2"),
    flag("help", None, "show this help"),
    flag("hide", None, "no jobs in hidden partitions"),
    option("iterate", Some('i'), "seconds", "again and again, this often"),
    option("jobs", Some('j'), "ids", "only these jobs: 12, 12_4, 27+1").optional(),
    option("json", None, "version", "JSON instead of a table").attached(),
    option("licenses", Some('L'), "names", "only jobs that ask for these licences").env("SQUEUE_LICENSES"),
    flag("local", None, "only jobs of this cluster").env("SQUEUE_LOCAL"),
    flag("long", Some('l'), "more columns"),
    flag("me", None, "only your own jobs"),
    option("name", Some('n'), "names", "only jobs of these names").env("SQUEUE_NAMES"),
    flag("noconvert", None, "sizes in the unit they were given in"),
    option("nodelist", Some('w'), "hosts", "only jobs on these nodes").env("SQUEUE_NODELIST"),
    option("nodes", None, "hosts", "the same as --nodelist"),
    flag("noheader", Some('h'), "no header"),
    flag("notme", None, "only jobs of others"),
    flag("only-job-state", None, "nothing but ids and states"),
    option("partitions", Some('p'), "names", "only jobs in these partitions").env("SQUEUE_PARTITION"),
    flag("priority", Some('P'), "a line for each partition a job asks for").env("SQUEUE_PRIORITY"),
    option("qos", Some('q'), "names", "only jobs with these qualities of service").env("SQUEUE_QOS"),
    option("reservation", Some('R'), "name", "only jobs in this reservation"),
    flag("sibling", None, "all jobs of a federated job").env("SQUEUE_SIBLING"),
    option("sort", Some('S'), "letters", "order by these columns: P,t,-p").env("SQUEUE_SORT"),
    flag("start", None, "when pending jobs are expected to start"),
    option("steps", Some('s'), "steps", "steps instead of jobs").optional(),
    option("states", Some('t'), "states", "only jobs in these states, or all").env("SQUEUE_STATES"),
    flag("usage", None, "show the options in short"),
    option("users", Some('u'), "users", "only jobs of these users").env("SQUEUE_USERS"),
    flag("verbose", Some('v'), "say more"),
    flag("version", Some('V'), "print the version"),
    option("yaml", None, "version", "YAML instead of a table").attached(),
];
