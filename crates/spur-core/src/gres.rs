//! Generic resources asked for: `gpu:2`, `gpu:mi300x:8`, `shard:1k`.

use std::fmt;

use crate::number;

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

/// Reads `--gres`. `NONE` asks for nothing. What is said last about a kind counts.
pub fn parse(text: &str) -> Result<Vec<Request>, Error> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(vec![]);
    }
    let mut requests: Vec<Request> = Vec::new();
    // The tool looks at names first and leaves amounts to the controller.
    let mut refused = None;
    for item in text.split(',') {
        if item.is_empty() {
            refused = refused.or(Some(Error::Tres));
            continue;
        }
        match parse_item(item) {
            Ok(request) => add(&mut requests, request),
            Err(Error::Tres) => refused = refused.or(Some(Error::Tres)),
            Err(error) => return Err(error),
        }
    }
    let mixed = requests.iter().any(|typed| {
        let plain = |other: &Request| other.name == typed.name && other.model.is_none();
        typed.model.is_some() && requests.iter().any(plain)
    });
    match refused {
        _ if mixed => Err(Error::WithAndWithoutModel),
        Some(error) => Err(error),
        None => Ok(requests),
    }
}

/// Reads `--gpus`, `--gpus-per-node`, `--gpus-per-task` and `--gpus-per-socket`: `4`, `mi300x:2`.
pub fn parse_gpus(text: &str) -> Result<Vec<Request>, Error> {
    let items = text.split(',').filter(|item| !item.is_empty());
    let gres = items.map(|item| format!("gpu:{item}")).collect::<Vec<_>>();
    if gres.is_empty() { Ok(vec![]) } else { parse(&gres.join(",")) }
}

/// Reads `name`, `name:count`, `name:model` or `name:model:count`.
fn parse_item(item: &str) -> Result<Request, Error> {
    let item = item.strip_prefix("gres:").unwrap_or(item);
    let parts: Vec<&str> = item.splitn(4, ':').collect();
    if parts.iter().any(|part| part.is_empty()) || !is_name(parts[0]) {
        return Err(Error::Gres);
    }
    let (model, amount) = match parts[1..] {
        [] => (None, None),
        [amount] if is_amount(amount) => (None, Some(amount)),
        [model] => (Some(model), None),
        [model, amount] if is_amount(amount) => (Some(model), Some(amount)),
        _ => return Err(Error::Gres),
    };
    Ok(Request {
        name: parts[0].to_owned(),
        model: model.map(str::to_owned),
        count: amount.map_or(Ok(1), parse_amount)?,
    })
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

fn is_amount(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    digits.starts_with(|first: char| first.is_ascii_digit()) || is_unit(text)
}

/// `gpu:g` is no model: Slurm takes the letter for an amount without digits.
fn is_unit(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "k" | "m" | "g" | "t" | "p")
}

/// A number, perhaps with a power of 1024 behind it.
fn parse_amount(text: &str) -> Result<u64, Error> {
    if is_unit(text) {
        return Ok(1);
    }
    let (number, suffix) = number::leading(text).ok_or(Error::Tres)?;
    let shift = match suffix.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        "p" => 50,
        _ => return Err(Error::Tres),
    };
    u64::try_from(number).ok().and_then(|number| number.checked_mul(1 << shift)).ok_or(Error::Tres)
}

fn add(requests: &mut Vec<Request>, request: Request) {
    let same = |other: &&mut Request| other.name == request.name && other.model == request.model;
    match requests.iter_mut().find(same) {
        Some(before) => *before = request,
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
        ("gpu:mi300x:1,gpu:mi300x:2", "gpu:mi300x:2"), ("gpu:h100:1", "gpu:h100:1"),
        ("gres:gpu:1", "gpu:1"), ("gpu:g,gpu", "gpu:1"), ("gpu:99999999999", "gpu:99999999999"), ("none", ""), ("NONE", ""),
        ("gpu:+1", "gpu:1"), ("gpu:01", "gpu:1"), ("craynetwork:0", "craynetwork:0"),
    ];

    #[rustfmt::skip]
    static REFUSED: &[(&str, Error)] = &[
        ("gpu:mi300x:a", Error::Gres), ("gpu:", Error::Gres), ("gpu::", Error::Gres),
        ("gpu::1", Error::Gres), ("gpu:mi300x:2:3", Error::Gres), ("gpu=1", Error::Gres),
        ("gpu*2", Error::Gres), ("gres/gpu:1", Error::Gres), (" gpu:1", Error::Gres),
        ("gpu :1", Error::Gres), ("gpu:1:S:0-1", Error::Gres), ("gpu(S:0):1", Error::Gres),
        ("gpu:1,gpu:mi300x:1", Error::WithAndWithoutModel), ("gpu:2*3", Error::Tres),
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
