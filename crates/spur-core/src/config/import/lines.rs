//! Slurm's file format: `Key=Value` pairs, several on a line, names in any case.

/// One line of pairs, after joining continued lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The file it is from.
    pub file: String,
    /// The first line it stands on.
    pub line: usize,
    pub pairs: Vec<Pair>,
}

/// One `Key=Value`, the value without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub key: String,
    pub value: String,
}

impl Record {
    /// Whether the first key is this one.
    pub fn starts_with(&self, key: &str) -> bool {
        self.pairs.first().is_some_and(|pair| pair.key.eq_ignore_ascii_case(key))
    }
}

/// What a line of a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Pairs(Record),
    /// `Include FILE`
    Include {
        line: usize,
        file: String,
    },
    /// Text that is no pair.
    Odd {
        line: usize,
        text: String,
    },
}

/// Splits a file into lines of pairs.
pub(super) fn parse(file: &str, text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for (line, text) in joined(text) {
        let words = text.split_whitespace().collect::<Vec<_>>();
        match words.as_slice() {
            [] => {}
            [word, name, ..] if word.eq_ignore_ascii_case("include") => {
                lines.push(Line::Include { line, file: name.to_string() });
            }
            _ => {
                let (pairs, odd) = pairs(&text);
                if !pairs.is_empty() {
                    lines.push(Line::Pairs(Record { file: file.to_string(), line, pairs }));
                }
                lines.extend(odd.into_iter().map(|text| Line::Odd { line, text }));
            }
        }
    }
    lines
}

/// Lines without comments, those ending in a backslash joined with the next.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let line = without_comment(line);
        let trimmed = line.trim_end();
        let (body, continued) = match trimmed.strip_suffix('\\') {
            Some(body) => (body, true),
            None => (trimmed, false),
        };
        match lines.last_mut() {
            Some((_, before)) if open => before.push_str(body),
            _ => lines.push((index + 1, body.to_string())),
        }
        open = continued;
    }
    lines
}

/// A `#` starts a comment unless a backslash is before it.
fn without_comment(line: &str) -> String {
    let mut kept = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('#')) => kept.extend(letters.next()),
            ('#', _) => break,
            _ => kept.push(letter),
        }
    }
    kept
}

/// The pairs of a line, and the words between them that are none.
fn pairs(text: &str) -> (Vec<Pair>, Vec<String>) {
    let (mut pairs, mut odd) = (Vec::new(), Vec::new());
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !is_key_letter(letter)).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        // Slurm's files also know `+=`, which adds to what is there.
        let after = after.trim_start();
        let value = after.strip_prefix("+=").or_else(|| after.strip_prefix('='));
        match value {
            Some(value) if !key.is_empty() => {
                let (value, left) = take_value(value);
                pairs.push(Pair { key: key.to_string(), value });
                rest = left.trim_start();
            }
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let (word, left) = rest.split_at(end);
                odd.push(word.to_string());
                rest = left.trim_start();
            }
        }
    }
    (pairs, odd)
}

fn is_key_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// A value up to the next blank, or up to the closing quote. `Nodes= State=UP` has an empty first one.
fn take_value(text: &str) -> (String, &str) {
    let text = match text.trim_start() {
        // A blank before the value is allowed, unless another pair follows.
        trimmed if !starts_a_pair(trimmed) => trimmed,
        _ => text,
    };
    if let Some(quoted) = text.strip_prefix('"') {
        let (value, rest) = quoted.split_once('"').unwrap_or((quoted, ""));
        return (value.to_string(), rest);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (value, rest) = text.split_at(end);
    // A quote may also begin inside: TRESBillingWeights=CPU="1.0".
    (value.replace('"', ""), rest)
}

fn starts_a_pair(text: &str) -> bool {
    let end = text.find(|letter: char| !is_key_letter(letter)).unwrap_or(text.len());
    end > 0 && text[end..].starts_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, Vec<(String, String)>)> {
        let record = |line| match line {
            Line::Pairs(record) => {
                let pairs = record.pairs.into_iter().map(|pair| (pair.key, pair.value)).collect();
                Some((record.line, pairs))
            }
            _ => None,
        };
        parse("slurm.conf", text).into_iter().filter_map(record).collect()
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_string(), value.to_string())
    }

    #[test]
    fn lines_are_joined_and_comments_dropped() {
        let text =
            "# all comment\nNodeName=n[1-2] CPUs=4 \\\n  RealMemory=100 # why\n\nKillWait = 30\n";
        assert_eq!(
            read(text),
            [
                (2, vec![pair("NodeName", "n[1-2]"), pair("CPUs", "4"), pair("RealMemory", "100")]),
                (5, vec![pair("KillWait", "30")]),
            ]
        );
    }

    #[test]
    fn quotes_hold_blanks_and_values_may_be_empty() {
        assert_eq!(
            read("DownNodes=n1 Reason=\"bad disk\" State=DOWN\nPartitionName=a Nodes= State=UP"),
            [
                (
                    1,
                    vec![
                        pair("DownNodes", "n1"),
                        pair("Reason", "bad disk"),
                        pair("State", "DOWN")
                    ]
                ),
                (2, vec![pair("PartitionName", "a"), pair("Nodes", ""), pair("State", "UP")]),
            ]
        );
        assert_eq!(read("Prolog=/a\\#b"), [(1, vec![pair("Prolog", "/a#b")])]);
    }

    #[test]
    fn what_is_no_pair_is_kept_apart() {
        let lines = parse("slurm.conf", "Include /etc/nodes.conf\njunk KillWait=3\n=5\n");
        assert_eq!(lines[0], Line::Include { line: 1, file: "/etc/nodes.conf".to_string() });
        assert!(lines.contains(&Line::Odd { line: 2, text: "junk".to_string() }));
        assert!(lines.contains(&Line::Odd { line: 3, text: "=5".to_string() }));
    }
}
