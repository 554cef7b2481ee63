//! `scancel`'s options.

use super::{Row, Tool, flag, option};

/// `scancel`
pub static TOOL: Tool = Tool {
    name: "scancel",
    does: "end jobs, or send them signals",
    operands: " [job_id[_array_id][.step_id] ...]",
    usage: USAGE,
    rows: ROWS,
};

const USAGE: &str = "\
Usage: scancel [-A account] [--batch] [--full] [--interactive] [-n job_name]
               [-p partition] [-Q] [-q qos] [-R reservation] [-s signal | integer]
               [-t PENDING | RUNNING | SUSPENDED] [--usage] [-u user_name]
               [--hurry] [-V] [-v] [-w hosts...] [--wckey=wckey]
               [job_id[_array_id][.step_id]]
";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    option("account", Some('A'), "name", "only jobs of this account").env("SCANCEL_ACCOUNT"),
    flag("admin-comment", None, "note in each job who ended it"),
    flag("batch", Some('b'), "signal the batch script alone").env("SCANCEL_BATCH"),
    option("clusters", Some('M'), "names", "at these clusters").env("SLURM_CLUSTERS"),
    flag("ctld", None, "leave it to the controller").env("SCANCEL_CTLD"),
    flag("cron", None, "jobs of the crontab too").env("SCANCEL_CRON"),
    flag("full", Some('f'), "signal the batch script and its steps").env("SCANCEL_FULL"),
    flag("help", None, "show this help"),
    flag("hurry", Some('H'), "skip the stage out of burst buffers").env("SCANCEL_HURRY"),
    flag("interactive", Some('i'), "ask about each job").env("SCANCEL_INTERACTIVE"),
    option("jobname", Some('n'), "name", "only jobs of this name").env("SCANCEL_NAME"),
    flag("me", None, "only your own jobs"),
    option("name", None, "name", "only jobs of this name"),
    option("nodelist", Some('w'), "hosts", "only jobs on these nodes").env("SCANCEL_NODELIST"),
    option("partition", Some('p'), "name", "only jobs in this partition").env("SCANCEL_PARTITION"),
    option("qos", Some('q'), "name", "only jobs with this quality of service").env("SCANCEL_QOS"),
    flag("quiet", Some('Q'), "no warnings").env("SCANCEL_QUIET"),
    option("reservation", Some('R'), "name", "only jobs in this reservation").env("SCANCEL_RESERVATION"),
    option("sibling", None, "cluster", "a sibling of a federated job"),
    option("signal", Some('s'), "signal", "send this signal instead of ending the job").env("SCANCEL_SIGNAL"),
    option("state", Some('t'), "state", "only jobs in this state: PENDING, RUNNING or SUSPENDED").env("SCANCEL_STATE"),
    flag("usage", None, "show the options in short"),
    option("user", Some('u'), "user", "only jobs of this user").env("SCANCEL_USER"),
    flag("verbose", Some('v'), "say more").env("SCANCEL_VERBOSE"),
    flag("version", Some('V'), "print the version"),
    option("wckey", None, "key", "only jobs with this characterization key").env("SCANCEL_WCKEY"),
];
