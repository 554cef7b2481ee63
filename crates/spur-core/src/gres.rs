//! Generic resources asked for: `gpu:2`, `gpu:mi300x:8`, `shard:1k`.

use std::fmt;

use crate::number;

/// The name of GPUs.
pub const GPU: &str = "gpu";
/// The name of their parts.
pub const SHARD: &str = "shard";

/// One kind of resource and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `gpu`
    pub name: String,
    /// `mi300x`, if one model is wanted.
    pub model: Option<String>,
    /// 1 if not said.
    pub count: u64,
}

/// A request that Slurm would refuse, in its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Found by the tool; exit status 1. Also for a name that no configured resource has.
    #[error("Invalid generic resource (gres) specification")]
    Gres,
    /// Found by the tool; exit status 1.
    #[error("Invalid GRES specification (with and without type identification)")]
    WithAndWithoutModel,
    /// Found by the controller, error 2115: `Batch job submission failed: …`.
    #[error("Invalid Trackable RESource (TRES) specification")]
    Tres,
}

/// Reads `--gres`. `NONE` asks for nothing. The most that is said of a kind counts.
pub fn parse(text: &str) -> Result<Vec<Request>, Error> {
    parse_known(text, |_| true)
}

/// Reads `--gres` on a cluster with some kinds of resources: others are refused, unless none of
/// them is asked for.
pub fn parse_known(text: &str, is_known: impl Fn(&str) -> bool) -> Result<Vec<Request>, Error> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(vec![]);
    }
    let mut requests: Vec<Request> = Vec::new();
    // The tool looks at names first and leaves amounts to the controller.
    let mut amounts_hold = true;
    for item in text.split(',') {
        if item.is_empty() {
            amounts_hold = false;
            continue;
        }
        let (request, holds) = parse_item(item)?;
        if request.count > 0 && !is_known(&request.name) {
            return Err(Error::Gres);
        }
        amounts_hold &= holds;
        add(&mut requests, request);
    }
    let mixed = requests.iter().any(|typed| {
        let plain = |other: &Request| other.name == typed.name && other.model.is_none();
        typed.model.is_some() && requests.iter().any(plain)
    });
    match amounts_hold {
        _ if mixed => Err(Error::WithAndWithoutModel),
        true => Ok(requests),
        false => Err(Error::Tres),
    }
}

/// Reads `--gpus`, `--gpus-per-node`, `--gpus-per-task` and `--gpus-per-socket`: `4`, `mi300x:2`.
pub fn parse_gpus(text: &str) -> Result<Vec<Request>, Error> {
    let items = text.split(',').filter(|item| !item.is_empty());
    let gres = items.map(|item| format!("gpu:{item}")).collect::<Vec<_>>();
    if gres.is_empty() { Ok(vec![]) } else { parse(&gres.join(",")) }
}

/// Reads `name`, `name:count`, `name:model` or `name:model:count`, and says whether the controller
/// would agree: a model alone may not begin with a digit.
fn parse_item(item: &str) -> Result<(Request, bool), Error> {
    let item = item.strip_prefix("gres:").unwrap_or(item);
    let parts: Vec<&str> = item.splitn(4, ':').collect();
    if parts.iter().any(|part| part.is_empty()) || !is_name(parts[0]) {
        return Err(Error::Gres);
    }
    let (model, count) = match parts[1..] {
        [] => (None, Some(1)),
        [last] => match parse_amount(last) {
            Some(count) => (None, Some(count)),
            None => (Some(last), Some(1)),
        },
        [model, amount] => (Some(model), parse_amount(amount)),
        _ => (None, None),
    };
    let holds = parts.len() == 3
        || !model.is_some_and(|model| model.starts_with(|first: char| first.is_ascii_digit()));
    let (name, model) = (parts[0].to_owned(), model.map(str::to_owned));
    Ok((Request { name, model, count: count.ok_or(Error::Gres)? }, holds))
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// A number, perhaps with a power of 1024 behind it, or of 1000 (`kb`). A power alone is nothing.
pub(crate) fn parse_amount(text: &str) -> Option<u64> {
    let (number, suffix) = number::leading(text).unwrap_or((0, text));
    let suffix = suffix.to_ascii_lowercase();
    let power = match suffix.get(..1).unwrap_or_default() {
        "" => 0,
        letter => 1 + "kmgtp".find(letter)? as u32,
    };
    let base: u64 = match suffix.get(1..).unwrap_or_default() {
        "" | "ib" => 1024,
        "b" => 1000,
        _ => return None,
    };
    let number = u64::try_from(number).ok().filter(|_| !text.starts_with('-'))?;
    number.checked_mul(base.pow(power))
}

/// Of two amounts of one kind the larger counts.
fn add(requests: &mut Vec<Request>, request: Request) {
    let same = |other: &&mut Request| other.name == request.name && other.model == request.model;
    match requests.iter_mut().find(same) {
        Some(before) => before.count = before.count.max(request.count),
        None => requests.push(request),
    }
}

/// What `scontrol` shows as `TresPerNode` and its like: the text, with `gres:` before each item.
pub fn shown(text: &str) -> String {
    let prefixed = |item: &str| match item.starts_with("gres:") {
        true => item.to_owned(),
        false => format!("gres:{item}"),
    };
    text.split(',').map(prefixed).collect::<Vec<_>>().join(",")
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(model) = &self.model {
            write!(f, ":{model}")?;
        }
        write!(f, ":{}", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(requests: &[Request]) -> String {
        requests.iter().map(Request::to_string).collect::<Vec<_>>().join(",")
    }

    /// `sbatch --gres=…` on a cluster with GPUs, and what the job's TRES came to.
    #[rustfmt::skip]
    static ACCEPTED: &[(&str, &str)] = &[
        ("gpu", "gpu:1"), ("gpu:1", "gpu:1"), ("gpu:2", "gpu:2"), ("gpu:mi300x", "gpu:mi300x:1"),
        ("gpu:mi300x:2", "gpu:mi300x:2"), ("gpu:0", "gpu:0"), ("gpu:-1", "gpu:-1:1"),
        ("gpu:1k", "gpu:1024"), ("gpu:1K", "gpu:1024"), ("gpu:1m", "gpu:1048576"),
        ("gpu:a", "gpu:a:1"), ("gpu:1:2", "gpu:1:2"), ("gpu,gpu", "gpu:1"), ("gpu:1,gpu:2", "gpu:2"),
        ("gpu:2,gpu:1", "gpu:2"), ("gpu:1kb", "gpu:1000"), ("gpu:1KiB", "gpu:1024"),
        ("gpu:mi300x:2,gpu:mi300x:1", "gpu:mi300x:2"), ("gpu:h100:1", "gpu:h100:1"),
        ("gres:gpu:1", "gpu:1"), ("gpu:g,gpu", "gpu:1"), ("gpu:2,gpu:g", "gpu:2"), ("gpu:1u:2", "gpu:1u:2"),
        ("gpu: 1", "gpu:1"), ("gpu:mi300x: 2", "gpu:mi300x:2"), ("gpu:mi300x:k", "gpu:mi300x:0"),
        ("gpu:99999999999", "gpu:99999999999"), ("none", ""), ("NONE", ""),
        ("gpu:+1", "gpu:1"), ("gpu:01", "gpu:1"), ("craynetwork:0", "craynetwork:0"),
    ];

    #[rustfmt::skip]
    static REFUSED: &[(&str, Error)] = &[
        ("gpu:mi300x:a", Error::Gres), ("gpu:", Error::Gres), ("gpu::", Error::Gres),
        ("gpu::1", Error::Gres), ("gpu:mi300x:2:3", Error::Gres), ("gpu=1", Error::Gres),
        ("gpu*2", Error::Gres), ("gres/gpu:1", Error::Gres), (" gpu:1", Error::Gres),
        ("gpu :1", Error::Gres), ("gpu:1:S:0-1", Error::Gres), ("gpu(S:0):1", Error::Gres),
        ("gpu:1,gpu:mi300x:1", Error::WithAndWithoutModel), ("gpu:1u", Error::Tres),
        ("gpu:1u,gpu:2", Error::WithAndWithoutModel), ("gpu:mi300x:1u", Error::Gres),
        ("gpu:mi300x:-1", Error::Gres), ("gpu:1kk", Error::Tres), ("gpu:1b", Error::Tres), ("gpu:1kx", Error::Tres), ("gpu:2*3", Error::Tres),
        ("", Error::Tres), ("gpu:1 ", Error::Tres), (",gpu:1", Error::Tres), ("gpu:1,", Error::Tres),
        ("gpu:1,,gpu:2", Error::Tres), ("gpu:1.5", Error::Tres),
    ];

    #[test]
    fn requests_are_read_as_slurm_reads_them() {
        for (text, requests) in ACCEPTED {
            let read = parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(written(&read), *requests, "{text:?}");
        }
        for (text, error) in REFUSED {
            assert_eq!(parse(text), Err(*error), "{text:?}");
        }
    }

    #[test]
    fn unknown_kinds_may_be_left_unasked() {
        let parse = |text| parse_known(text, |name| name == "gpu");
        for text in ["nosuch:0", "nosuch:a:0", "nosuch:0,gpu:1", "gpu:2"] {
            assert!(parse(text).is_ok(), "{text}");
        }
        for text in ["nosuch", "nosuch:1", "GPU:1", "gpu:1,none", "nosuch:1u"] {
            assert_eq!(parse(text), Err(Error::Gres), "{text}");
        }
    }

    #[test]
    fn gpus_need_no_name() {
        for (text, requests) in [
            ("1", "gpu:1"),
            ("0", "gpu:0"),
            ("mi300x", "gpu:mi300x:1"),
            ("mi300x:2", "gpu:mi300x:2"),
            ("mi300x:1,mi300x:1", "gpu:mi300x:1"),
            ("mi300x:1,h100:1", "gpu:mi300x:1,gpu:h100:1"),
            ("", ""),
            ("1:2", "gpu:1:2"),
            ("1k", "gpu:1024"),
            (",1", "gpu:1"),
            ("1,", "gpu:1"),
        ] {
            assert_eq!(written(&parse_gpus(text).unwrap()), requests, "{text:?}");
        }
        assert_eq!(parse_gpus("mi300x:1,2"), Err(Error::WithAndWithoutModel));
        assert_eq!(parse_gpus("mi300x:"), Err(Error::Gres));
    }

    #[test]
    fn scontrol_shows_the_text_with_its_kind() {
        assert_eq!(shown("gpu:1,gpu:2"), "gres:gpu:1,gres:gpu:2");
        assert_eq!(shown("gres:gpu:1"), "gres:gpu:1");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(text in "[a-c](:[a-c])?(:[0-9]{1,4})?(,[d-f](:[a-c])?(:[0-9]{1,4})?){0,3}") {
            if let Ok(requests) = parse(&text) {
                prop_assert_eq!(parse(&written(&requests)), Ok(requests));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(gpu|:|,|[0-9]{1,3}|k){0,8}|\\PC{0,16}") {
            let _ = parse(&text);
            let _ = parse_gpus(&text);
        }
    }
}
