//! What `--verbose` tells about the options that were said.

use super::resolve::Request;
use super::row::Arg;
use super::{JobOption, options};
use crate::job::mail::MailTypes;
use crate::size::display_megabytes;
use crate::time::{Timestamp, Zone, display};

const RULE: &str = "-------------------- --------------------";

/// The lines, each to be printed after the tool's name. Defaults must have been filled in.
pub fn defined_options(request: &Request, zone: &impl Zone) -> Vec<String> {
    let mut rows: Vec<&JobOption> =
        options(request.asked_by).filter(|option| request.said(option.long)).collect();
    rows.sort_by_key(|option| (option.listed_as, option.long));
    let mut lines = vec!["defined options".to_owned(), RULE.to_owned()];
    lines.extend(
        rows.iter().map(|option| format!("{:<20}: {}", option.long, value(request, option, zone))),
    );
    lines.extend([RULE.to_owned(), "end of defined options".to_owned()]);
    lines
}

/// A value as the request has it, or as it was said.
fn value(request: &Request, option: &JobOption, zone: &impl Zone) -> String {
    let job = &request.job;
    let lifecycle = job.lifecycle();
    let said = request.values.get(option.long).map_or("", String::as_str);
    let moment = |at: Option<i64>| at.map(|at| display::moment(Timestamp(at), zone));
    let below = |path: &str| match path {
        path if path.starts_with('/') => path.to_owned(),
        path => format!("{}/{path}", job.work_dir),
    };
    let shown = match option.long {
        "begin" => moment(job.begin),
        "chdir" => Some(job.work_dir.clone()),
        "deadline" => moment(lifecycle.deadline),
        "delay-boot" => lifecycle
            .delay_boot_secs
            .map(|secs| secs.number().map_or("UNLIMITED".to_owned(), display::long)),
        "error" => Some(below(&job.error)),
        "exclusive" if said.is_empty() => Some("exclusive".to_owned()),
        "gres" => Some(
            said.split(',')
                .map(|part| format!("gres:{}", part.strip_prefix("gres:").unwrap_or(part)))
                .collect::<Vec<_>>()
                .join(","),
        ),
        "input" => Some(below(&job.input)),
        "mail-type" => Some(MailTypes(lifecycle.mail_type).to_string()),
        "mem" => job.memory_per_node.map(megabytes),
        "mem-per-cpu" => job.memory_per_cpu.map(megabytes),
        "mem-per-gpu" => job.gpu().memory_per_gpu.map(megabytes),
        "nice" => job.nice.map(|nice| nice.to_string()),
        "no-kill" => Some(if lifecycle.no_kill { "set" } else { "unset" }.to_owned()),
        "open-mode" => job.open_append.map(|append| if append { "a" } else { "t" }.to_owned()),
        "output" => Some(below(&job.output)),
        "oversubscribe" | "requeue" => Some(option.long.to_owned()),
        "power" => Some(said.to_ascii_uppercase()),
        "propagate" => Some(job.rare().propagate.clone()),
        "quiet" => Some(request.tool.quiet.to_string()),
        "time" => job.time_limit.map(display::limit_long),
        "time-min" => lifecycle.time_min.map(display::limit_long),
        "tmp" => job.placement().tmp.map(megabytes),
        "verbose" => Some(request.tool.verbose.to_string()),
        _ => None,
    };
    shown.unwrap_or_else(|| match option.arg {
        Arg::None => "set".to_owned(),
        Arg::Required(_) | Arg::Optional(_) => said.to_owned(),
    })
}

/// Whole gigabytes have a letter; megabytes are bare here.
fn megabytes(size: u64) -> String {
    let shown = display_megabytes(size);
    shown.strip_suffix('M').map(str::to_owned).unwrap_or(shown)
}
