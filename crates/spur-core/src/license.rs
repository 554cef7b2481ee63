//! Licences asked for: `matlab:2,ansys`, `matlab@server:1`.

use std::fmt;

use crate::number;

/// A licence and how many of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `matlab`, or `matlab@server`.
    pub name: String,
    /// 1 if not said.
    pub count: u32,
}

/// A request that Slurm would refuse with error 2048, as it does for a licence it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid license specification")]
pub struct Error;

/// Reads `--licenses`. Items are separated by commas or semicolons; empty ones are passed over.
pub fn parse(text: &str) -> Result<Vec<Request>, Error> {
    let mut requests: Vec<Request> = Vec::new();
    for item in text.split([',', ';']).filter(|item| !item.is_empty()) {
        let request = parse_item(item)?;
        // What is said twice adds up.
        match requests.iter_mut().find(|other| other.name == request.name) {
            Some(before) => before.count = before.count.checked_add(request.count).ok_or(Error)?,
            None => requests.push(request),
        }
    }
    Ok(requests)
}

fn parse_item(item: &str) -> Result<Request, Error> {
    let (name, count) = match item.split_once(':') {
        None => (item, 1),
        Some((name, "")) => (name, 0),
        Some((name, count)) => {
            let count = number::whole(count).filter(|count| *count <= i64::from(i32::MAX));
            (name, count.and_then(|count| u32::try_from(count).ok()).ok_or(Error)?)
        }
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@+/#".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(Error);
    }
    Ok(Request { name: name.to_owned(), count })
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(requests: &[Request]) -> String {
        requests.iter().map(Request::to_string).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn licences_are_accepted_and_refused_as_slurm_does() {
        for (text, requests) in [
            ("matlab", "matlab:1"),
            ("matlab:2", "matlab:2"),
            ("matlab:0", "matlab:0"),
            ("matlab:", "matlab:0"),
            ("matlab:1,matlab:2", "matlab:3"),
            ("matlab:1;ansys:1", "matlab:1,ansys:1"),
            ("matlab,ansys", "matlab:1,ansys:1"),
            ("matlab: 1", "matlab:1"),
            ("matlab:1,", "matlab:1"),
            (",matlab:1", "matlab:1"),
            ("matlab:1,,ansys:1", "matlab:1,ansys:1"),
            ("", ""),
        ] {
            assert_eq!(written(&parse(text).unwrap()), requests, "{text:?}");
        }
        for text in [
            "matlab*2",
            "matlab:-1",
            "matlab:a",
            "matlab:1|ansys:1",
            "matlab:1k",
            "matlab:1 ",
            " matlab:1",
            "matlab=1",
            "matlab:1:2",
            "matlab:99999999999",
            "matlab:1(nosuch)",
            ":1",
        ] {
            assert_eq!(parse(text), Err(Error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([a-c]|:|,|;|[0-9]{1,3}){0,12}|\\PC{0,16}") {
            if let Ok(requests) = parse(&text) {
                prop_assert_eq!(parse(&written(&requests)), Ok(requests));
            }
        }
    }
}
