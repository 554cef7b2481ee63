//! Checks what `--cpu-bind`, `--mem-bind`, `--gpu-bind` and `--gpu-freq` say.

use super::error::{BAD_VALUE, Refusal};

const CPU_WORDS: &[&str] = &[
    "q",
    "quiet",
    "v",
    "verbose",
    "no",
    "none",
    "rank",
    "rank_ldom",
    "socket",
    "sockets",
    "core",
    "cores",
    "thread",
    "threads",
    "ldom",
    "help",
    "ldoms",
    "one_thread",
];
const CPU_LISTS: &[&str] = &["map_cpu", "mask_cpu", "map_ldom", "mask_ldom"];
const MEM_WORDS: &[&str] =
    &["q", "quiet", "v", "verbose", "no", "none", "p", "prefer", "rank", "local", "sort", "nosort"];
const MEM_LISTS: &[&str] = &["map_mem", "mask_mem"];

/// The answer to `--mem-bind=help`.
pub(super) const MEM_HELP: &str = "\
Memory bind options:
    --mem-bind=         Bind memory to locality domains (ldom)
        nosort          avoid sorting pages at startup
        sort            sort pages at startup
        q[uiet]         quietly bind before task runs (default)
        v[erbose]       verbosely report binding before task runs
        no[ne]          don't bind tasks to memory (default)
        rank            bind by task rank
        local           bind to memory local to processor
        map_mem:<list>  specify a memory binding for each task
                        where <list> is <cpuid1>,<cpuid2>,...<cpuidN>
        mask_mem:<list> specify a memory binding mask for each tasks
                        where <list> is <mask1>,<mask2>,...<maskN>
        help            show this help message
";

/// Checks `--mem-bind`.
pub(super) fn memory(value: &str) -> Result<String, Refusal> {
    // The list of words goes to standard output and the tool ends.
    if value.eq_ignore_ascii_case("help") {
        return Err(Refusal::Said(String::new(), BAD_VALUE));
    }
    match first_problem("mem-bind", value, MEM_WORDS, MEM_LISTS) {
        None => Ok(value.to_owned()),
        Some(problem) => Err(Refusal::Said(problem, BAD_VALUE)),
    }
}

/// What Slurm says about a `--cpu-bind` that it does not take.
pub(super) fn cpu_problem(value: &str) -> Option<String> {
    first_problem("cpu-bind", value, CPU_WORDS, CPU_LISTS)
}

fn first_problem(option: &str, value: &str, words: &[&str], lists: &[&str]) -> Option<String> {
    let mut rest = value;
    loop {
        let lower = rest.to_ascii_lowercase();
        if let Some(list) = lists.iter().find(|list| lower.starts_with(**list)) {
            // The list has commas of its own and is the last thing said.
            let after = &rest[list.len()..];
            return match after.strip_prefix([':', '=']) {
                Some(numbers) if !numbers.is_empty() && option == "mem-bind" => {
                    wrong_number(numbers, list.starts_with("mask"))
                }
                Some(numbers) if !numbers.is_empty() => None,
                _ => Some(format!("missing list for \"--{option}={list}:<list>\"")),
            };
        }
        let (word, after) = match rest.split_once(',') {
            Some((word, after)) => (word, Some(after)),
            None => (rest, None),
        };
        if !words.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            return Some(format!("unrecognized --{option} argument \"{value}\""));
        }
        rest = after?;
    }
}

/// What Slurm says about the first of some numbers, where it cannot be read.
fn wrong_number(numbers: &str, is_mask: bool) -> Option<String> {
    let first = numbers.split(',').next().unwrap_or_default();
    let first = first.strip_prefix("0x").or_else(|| first.strip_prefix("0X")).unwrap_or(first);
    let is_digit = |digit: char| match is_mask {
        true => digit.is_ascii_hexdigit(),
        false => digit.is_ascii_digit(),
    };
    let wrong = first.split('*').next().unwrap_or_default().chars().find(|it| !is_digit(*it))?;
    Some(format!("Failed to validate number: {first}, the offending character is {wrong}"))
}

/// Checks `--gpu-bind`.
pub(super) fn gpu(value: &str) -> Result<String, Refusal> {
    let invalid = format!("Invalid --gpu-bind argument: gpu:{value}");
    let refuse = |message: String| Err(Refusal::Said(message, BAD_VALUE));
    let lower = value.to_ascii_lowercase();
    let kind = lower.strip_prefix("verbose,").unwrap_or(&lower);
    if ["closest", "none", "single:", "per_task:"].iter().any(|known| kind.starts_with(known)) {
        return Ok(value.to_owned());
    }
    let list = kind.strip_prefix("map_gpu:").map(|list| (list, false));
    match list.or_else(|| kind.strip_prefix("mask_gpu:").map(|list| (list, true))) {
        None => refuse(invalid),
        Some((list, mask)) => {
            let digits = |part: &'_ str| match mask {
                true => part.strip_prefix("0x").unwrap_or(part).to_owned(),
                false => part.to_owned(),
            };
            let stranger = |part: &String| {
                part.chars().find(|c| match c {
                    '0'..='9' | '*' => false,
                    'a'..='f' => !mask,
                    _ => true,
                })
            };
            let wrong = list.split(',').map(digits).find_map(|it| Some((stranger(&it)?, it)));
            match wrong {
                None => Ok(value.to_owned()),
                Some((c, part)) => refuse(format!(
                    "Failed to validate {part}, offending character is {c}\n{invalid}"
                )),
            }
        }
    }
}

/// Checks `--gpu-freq`.
pub(super) fn gpu_frequency(value: &str) -> Result<String, Refusal> {
    let known = |text: &str| {
        matches!(text, "low" | "medium" | "high" | "highm1")
            || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts = value.split(',').filter(|part| !part.is_empty() || value.is_empty());
    let well_formed = parts.into_iter().all(|part| match part.split_once('=') {
        Some((kind, frequency)) => kind == "memory" && known(frequency),
        None => part == "verbose" || known(part),
    });
    if well_formed {
        return Ok(value.to_owned());
    }
    Err(Refusal::Said(format!("Invalid --gpu-freq argument: gpu:{value}"), BAD_VALUE))
}
