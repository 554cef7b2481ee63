//! The words of PMI-1 and PMI-2, as MPI libraries say them to whoever started their process.
//!
//! Everybody begins with a line of PMI-1 that names a version. PMI-1 goes on in lines of blank-separated pairs; PMI-2 in
//! messages with six digits of length before them and pairs that each end with a semicolon, doubled where it is meant.

/// A longer message is nobody's: six digits of PMI-2, and what a line of PMI-1 needs for its longest value.
const LONGEST: usize = 64 << 10;

const LENGTH_DIGITS: usize = 6;

/// Which of the two is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Lines.
    #[default]
    One,
    /// Messages with a length.
    Two,
}

/// What a task says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What it is about.
    pub command: String,
    pairs: Vec<(String, String)>,
}

impl Request {
    /// A word of it; empty if it is not there.
    pub fn get(&self, key: &str) -> &str {
        let found = self.pairs.iter().find(|(name, _)| name == key);
        found.map_or("", |(_, value)| value.as_str())
    }
}

/// Not what either version says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

/// Takes the next message out of what was heard, if it is all there.
pub fn take(heard: &mut Vec<u8>, version: Version) -> Result<Option<Request>, Garbled> {
    let (start, end, next) = match version {
        Version::One => match heard.iter().position(|byte| *byte == b'\n') {
            Some(at) => (0, at, at + 1),
            None if heard.len() > LONGEST => return Err(Garbled),
            None => return Ok(None),
        },
        Version::Two => {
            let Some(digits) = heard.get(..LENGTH_DIGITS) else { return Ok(None) };
            let digits = std::str::from_utf8(digits).map_err(|_| Garbled)?;
            let length: usize = digits.trim().parse().map_err(|_| Garbled)?;
            if length > LONGEST {
                return Err(Garbled);
            }
            let end = LENGTH_DIGITS + length;
            if heard.len() < end {
                return Ok(None);
            }
            (LENGTH_DIGITS, end, end)
        }
    };
    let text = String::from_utf8_lossy(&heard[start..end]).into_owned();
    heard.drain(..next);
    let pairs = match version {
        Version::One => text.split(' ').map(str::to_string).collect(),
        Version::Two => split_two(&text),
    };
    let mut pairs: Vec<(String, String)> =
        pairs.iter().filter_map(|pair| pair.split_once('=')).map(own).collect();
    match pairs.iter().position(|(name, _)| name == "cmd" || name == "mcmd") {
        Some(at) => {
            let command = pairs.remove(at).1;
            Ok(Some(Request { command, pairs }))
        }
        None => Err(Garbled),
    }
}

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_string(), value.to_string())
}

/// Pairs end with a semicolon; two of them are one that is meant.
fn split_two(text: &str) -> Vec<String> {
    let mut pairs = Vec::new();
    let mut pair = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ';' if letters.next_if_eq(&';').is_some() => pair.push(';'),
            ';' => pairs.push(std::mem::take(&mut pair)),
            letter => pair.push(letter),
        }
    }
    pairs.push(pair);
    pairs
}

/// An answer as it is sent.
pub fn answer(version: Version, command: &str, pairs: &[(&str, &str)]) -> Vec<u8> {
    match version {
        Version::One => {
            let pairs: String =
                pairs.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            format!("cmd={command}{pairs}\n").into_bytes()
        }
        Version::Two => {
            let pairs: String = pairs
                .iter()
                .map(|(name, value)| format!("{name}={};", value.replace(';', ";;")))
                .collect();
            let text = format!("cmd={command};{pairs}");
            format!("{:<LENGTH_DIGITS$}{text}", text.len()).into_bytes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_one_by_one_as_they_come() {
        let mut heard = b"cmd=put kvsname=5.0 key=a value=b=c\ncmd=barr".to_vec();
        let put = take(&mut heard, Version::One).expect("is a line").expect("is all there");
        assert_eq!((put.command.as_str(), put.get("key"), put.get("value")), ("put", "a", "b=c"));
        assert_eq!(put.get("other"), "");
        assert_eq!(take(&mut heard, Version::One), Ok(None));
        heard.extend(b"ier_in\n");
        assert_eq!(
            take(&mut heard, Version::One).map(|it| it.map(|it| it.command)),
            Ok(Some("barrier_in".into()))
        );
    }

    #[test]
    fn messages_have_a_length_and_semicolons_that_are_meant() {
        let mut heard =
            b"45    cmd=kvs-put;key=key;;0=x;value=val;;0;;;;= y;14    cmd=kvs-fen".to_vec();
        let put = take(&mut heard, Version::Two).expect("is a message").expect("is all there");
        assert_eq!(put.command, "kvs-put");
        assert_eq!(
            (put.get("key"), put.get("value")),
            ("key;0=x", "val;0;;= y"),
            "the first = counts"
        );
        assert_eq!(take(&mut heard, Version::Two), Ok(None));
        let told = answer(Version::Two, "kvs-get-response", &[("rc", "0"), ("value", "a;b")]);
        assert_eq!(told, b"37    cmd=kvs-get-response;rc=0;value=a;;b;");
    }

    #[test]
    fn what_neither_version_says_is_refused() {
        let refused: &[(&[u8], Version)] = &[
            (b"hello\n", Version::One),
            (b"abcdefcmd=x;", Version::Two),
            (b"999999cmd=x;", Version::Two),
            (b"5     x=yz;", Version::Two),
            (&[b'a'; LONGEST + 1], Version::One),
        ];
        for (bytes, version) in refused {
            assert_eq!(take(&mut bytes.to_vec(), *version), Err(Garbled));
        }
    }
}
