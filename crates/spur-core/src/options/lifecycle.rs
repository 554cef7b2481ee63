//! What happens to a job between submission and end.

use super::error::{BAD_VALUE, Refusal};
use super::json::Form;
use super::number::{called, leading_or_zero, not_negative};
use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, SALLOC, SBATCH, Tool, flag, option, put, text};
use crate::job::{JobSpec, mail, signal};
use crate::number;
use crate::time::duration::parse_seconds;

const SRUN_SALLOC: &[Tool] = &[Tool::Srun, Tool::Salloc];
const SBATCH_SALLOC: &[Tool] = &[Tool::Sbatch, Tool::Salloc];

/// Slurm's `NO_VAL`: priorities stay below it.
const NO_VALUE: i64 = 0xffff_fffe;
/// The farthest a nice value may go.
const NICE_LIMIT: i64 = 2_147_483_645;

pub(super) static ROWS: &[JobOption] = &[
    option("acctg-freq", "Take samples for accounting this often.")
        .json("account_gather_frequency", Form::Plain)
        .whole_job()
        .takes("type=seconds,...")
        .env(&[
            (Sbatch, "SBATCH_ACCTG_FREQ"),
            (Srun, "SLURM_ACCTG_FREQ"),
            (Salloc, "SALLOC_ACCTG_FREQ"),
        ])
        .job(|job, value| text(&mut job.rare_mut().acctg_freq, sampling(value)?)),
    option("array", "Submit many jobs that differ by an index.")
        .json("array", Form::Plain)
        .short('a')
        .takes("indexes")
        .of(SBATCH)
        .env(&[(Sbatch, "SBATCH_ARRAY_INX")])
        .job(|job, indexes| text(&mut job.array, indexes)),
    option("dependency", "Start the job after others.")
        .json("dependency", Form::Plain)
        .whole_job()
        .short('d')
        .takes("type:job[:job...]")
        .env(&[(Srun, "SLURM_DEPENDENCY")])
        .job(|job, list| text(&mut job.dependency, list)),
    option("external", "Make a job whose work is started by somebody else.")
        .of(SBATCH)
        .job(|_, _| Err(Refusal::Said("--external is not supported".into(), BAD_VALUE))),
    option("hold", "Submit the job held: it waits until released.")
        .json("hold", Form::Flag(true))
        .whole_job()
        .short('H')
        .job(|job, _| flag(&mut job.hold)),
    option("immediate", "Give up unless the resources are free now, or so many seconds from now.")
        .json("immediate", Form::Flag(true))
        .short('I')
        .may_take("seconds")
        .of(SRUN_SALLOC)
        .env(&[(Srun, "SLURM_IMMEDIATE"), (Salloc, "SALLOC_IMMEDIATE")])
        .job(|job, seconds| {
            let seconds =
                if seconds.is_empty() { Ok(0) } else { called("immediate", seconds, not_negative) };
            put(&mut job.lifecycle_mut().immediate_secs, seconds)
        }),
    option("kill-command", "Send the command this signal when the job ends.")
        .short('K')
        .may_take("signal")
        .of(SALLOC)
        .env(&[(Salloc, "SALLOC_KILL_CMD")])
        .tool(|tool, name| {
            // Termination is the default.
            let number = if name.is_empty() { Ok(15) } else { signal::parse(name) };
            put(&mut tool.kill_command, number.map_err(|_| Refusal::Specification))
        }),
    option("kill-on-invalid-dep", "Cancel the job when its dependency can never be met.")
        .takes("yes|no")
        .of(SBATCH)
        .job(|job, answer| {
            let answer = match answer.to_ascii_lowercase().as_str() {
                "yes" => Ok(true),
                "no" => Ok(false),
                _ => Err(Refusal::Specification),
            };
            put(&mut job.lifecycle_mut().kill_on_invalid_dep, answer)
        }),
    option("mail-type", "Send mail when these things happen.")
        .json("mail_type", Form::List).whole_job().takes("type,...").job(
        |job, kinds| {
            let kinds = mail::parse(kinds).map_err(|_| Refusal::Specification)?;
            // Each word of it adds to what was said before; even NONE takes nothing away.
            job.lifecycle_mut().mail_type |= kinds.0;
            Ok(())
        },
    ),
    option("mail-user", "Send mail to this address.")
        .json("mail_user", Form::Plain)
        .whole_job()
        .takes("user")
        .job(|job, user| text(&mut job.lifecycle_mut().mail_user, user)),
    option(
        "max-restarts",
        "Start the job again this often after a failure, and as often after a lost node.",
    )
    .whole_job()
    .takes("count")
    .of(SBATCH)
    .env(&[(Sbatch, "SBATCH_MAX_RESTARTS")])
    .job(|job, count| put(&mut job.lifecycle_mut().max_restarts, not_negative(count))),
    option("nice", "Lower the job's priority by this much.")
        .json("nice", Form::Number)
        .whole_job()
        .may_take("adjustment")
        .job(nice),
    option("no-kill", "Keep the job when one of its nodes fails.")
        .json("kill_on_node_fail", Form::Flag(false))
        .whole_job()
        .short('k')
        .may_take("off")
        .env(&[(Sbatch, "SBATCH_NO_KILL"), (Srun, "SLURM_NO_KILL"), (Salloc, "SALLOC_NO_KILL")])
        .job(|job, value| {
            job.lifecycle_mut().no_kill = match value {
                "" | "set" => true,
                "off" | "no" => false,
                _ => return Err(Refusal::Specification),
            };
            Ok(())
        }),
    option("no-requeue", "Do not start the job again after a failure of its nodes.")
        .json("requeue", Form::Flag(false))
        .whole_job()
        .of(SBATCH)
        .env(&[(Sbatch, "SBATCH_NO_REQUEUE")])
        .job(|job, _| {
            job.requeue = Some(false);
            Ok(())
        }),
    option("oom-kill-step", "End the whole step when memory runs out for one of its tasks.")
        .json("oom_kill_step", Form::Number)
        .may_take("0|1")
        .env(&[(Srun, "SLURM_OOM_KILL_STEP")])
        .job(|job, value| {
            let value = if value.is_empty() { Ok(1) } else { not_negative(value) };
            put(&mut job.lifecycle_mut().oom_kill_step, value.map(|number| number != 0))
        })
        .no_effect("the kernel chooses what it ends when memory runs out; the step is told as out of memory"),
    option("profile", "Collect these kinds of detailed data.")
        .json("profile", Form::List)
        .whole_job()
        .takes("all|none|type,...")
        .env(&[(Sbatch, "SBATCH_PROFILE"), (Srun, "SLURM_PROFILE"), (Salloc, "SALLOC_PROFILE")])
        .job(|job, kinds| put(&mut job.rare_mut().profile, profile(kinds))),
    option("requeue", "Start the job again after a failure of its nodes.")
        .json("requeue", Form::Flag(true))
        .whole_job()
        .may_take("expedite")
        .of(SBATCH)
        .env(&[(Sbatch, "SBATCH_REQUEUE")])
        .job(|job, how| {
            match how {
                "" | "expedite" => job.requeue = Some(true),
                _ => return Err(Refusal::Specification),
            }
            Ok(())
        }),
    option(
        "restart-delay",
        "Wait this long after the first failure, and twice as long after each further one.",
    )
    .whole_job()
    .takes("time")
    .of(SBATCH)
    .job(|job, time| {
        let secs = parse_seconds(time).ok().and_then(|it| u32::try_from(it.number()?).ok());
        put(&mut job.lifecycle_mut().restart_delay_secs, secs.ok_or(Refusal::Specification))
    }),
    option(
        "restart-on",
        "Start the job again only after these exit codes; 128 and more are signals.",
    )
    .whole_job()
    .takes("code,...")
    .of(SBATCH)
    .job(|job, codes| text(&mut job.lifecycle_mut().restart_on, exit_codes(codes)?)),
    option("signal", "Send the job a signal some time before its end.")
        .whole_job()
        .takes("[R][B:]signal[@seconds]")
        .of(SBATCH)
        .env(&[(Sbatch, "SBATCH_SIGNAL")])
        .job(early_signal),
    // Without a batch shell there is none to tell apart.
    option("signal", "Send the job a signal some time before its end.")
        .whole_job()
        .takes("[R:]signal[@seconds]")
        .of(SRUN_SALLOC)
        .env(&[(Srun, "SLURM_SIGNAL"), (Salloc, "SALLOC_SIGNAL")])
        .job(|job, value| {
            early_signal(job, value)?;
            match job.lifecycle().signal {
                Some(signal) if signal.batch_only => Err(Refusal::Specification),
                _ => Ok(()),
            }
        }),
    option("stepmgr", "Let the job's first node manage its steps.")
        .job(|job, _| flag(&mut job.rare_mut().stepmgr))
        .no_effect("the controller manages all steps"),
    option("wait-all-nodes", "Start only when every node is ready.")
        .json("wait_all_nodes", Form::Bit)
        .whole_job()
        .takes("0|1")
        .of(SBATCH_SALLOC)
        .env(&[(Sbatch, "SBATCH_WAIT_ALL_NODES"), (Salloc, "SALLOC_WAIT_ALL_NODES")])
        .job(|job, value| {
            let wait = match not_negative(value)? {
                0 => Ok(false),
                1 => Ok(true),
                _ => Err(Refusal::Specification),
            };
            put(&mut job.lifecycle_mut().wait_all_nodes, wait)
        })
        .no_effect("a job starts when all its nodes are ready"),
];

/// A list such as `1,3-5`.
fn exit_codes(text: &str) -> Result<&str, Refusal> {
    let is_code = |text: &str| text.parse::<u32>().is_ok_and(|code| code < 256);
    let is_range = |part: &str| match part.split_once('-') {
        Some((first, last)) => is_code(first) && is_code(last),
        None => is_code(part),
    };
    let is_list = text.split(',').all(is_range);
    is_list.then_some(text).ok_or(Refusal::Specification)
}

fn early_signal(job: &mut JobSpec, value: &str) -> Result<(), Refusal> {
    let signal = signal::parse_early(value).map_err(|_| Refusal::Specification);
    put(&mut job.lifecycle_mut().signal, signal)
}

pub(super) fn set_priority(job: &mut JobSpec, value: &str) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::Said(message, BAD_VALUE));
    let number = match value {
        value if value.eq_ignore_ascii_case("top") => NO_VALUE - 1,
        value => leading_or_zero(value),
    };
    if number < 0 {
        return refuse("Priority must be >= 0".to_owned());
    }
    if number >= NO_VALUE {
        return refuse(format!("Priority must be < {NO_VALUE}"));
    }
    // Slurm takes zero for nothing said.
    let number = u32::try_from(number).map_err(|_| Refusal::Number)?;
    job.priority = (number > 0).then_some(number);
    Ok(())
}

fn nice(job: &mut JobSpec, value: &str) -> Result<(), Refusal> {
    let number = if value.is_empty() { 100 } else { leading_or_zero(value) };
    if number.unsigned_abs() > NICE_LIMIT.unsigned_abs() {
        let message = format!("Invalid --nice value, out of range (+/- {NICE_LIMIT})");
        return Err(Refusal::Said(message, BAD_VALUE));
    }
    put(&mut job.nice, i32::try_from(number).map_err(|_| Refusal::Number))
}

/// Checks `--acctg-freq`: a number, or kinds of samples with a number each.
fn sampling(value: &str) -> Result<&str, Refusal> {
    let digits = |text: &str| number::leading(text).is_some_and(|(number, _)| number >= 0);
    let is_good = |part: &&str| match part.split_once('=') {
        Some((kind, interval)) => {
            let kind = kind.to_ascii_lowercase();
            let known = ["task", "energy", "network", "filesystem"].contains(&kind.as_str());
            known && digits(interval)
        }
        // What follows the number is not looked at.
        None => digits(part),
    };
    match value.split(',').filter(|part| !part.is_empty()).find(|part| !is_good(part)) {
        None => Ok(value),
        Some(part) => {
            Err(Refusal::Said(format!("Invalid --acctg-freq specification: {part}"), BAD_VALUE))
        }
    }
}

/// The kinds as Slurm's bits.
fn profile(kinds: &str) -> Result<u32, Refusal> {
    kinds.split(',').try_fold(0, |bits, kind| match kind.to_ascii_lowercase().as_str() {
        "none" => Ok(bits | 1),
        "energy" => Ok(bits | 2),
        "task" => Ok(bits | 4),
        "lustre" => Ok(bits | 8),
        "network" => Ok(bits | 16),
        "all" => Ok(u32::MAX),
        _ => Err(Refusal::Said(format!("invalid --profile={kinds} option"), BAD_VALUE)),
    })
}
