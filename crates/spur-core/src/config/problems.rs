//! What is wrong with a file: everything at once, each with its line and the nearest right word.

use std::fmt;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1; 0 when the file as a whole is meant.
    pub line: usize,
    /// The section as written, `[[partitions]]`; empty for the file as a whole.
    pub section: String,
    /// The key, or the section when it is the section that is unknown.
    pub key: String,
    /// The value as written; empty when it is not the value that is wrong.
    pub value: String,
    /// The whole sentence, without file and line.
    pub message: String,
    /// The nearest right word, where one is near.
    pub nearest: Option<String>,
}

impl Problem {
    /// A problem of the file or section as a whole.
    pub(crate) fn general(line: usize, section: String, message: String) -> Problem {
        let (key, value) = Default::default();
        Problem { line, section, key, value, message, nearest: None }
    }

    /// The problem as one line, with the file named as the caller knows it.
    pub fn at(&self, file: &str) -> String {
        match self.line {
            0 => format!("{file}: {}", self.message),
            line => format!("{file}:{line}: {}", self.message),
        }
    }
}

/// All that is wrong with a file, in the order of its lines. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// One line for each problem, with the file named as the caller knows it.
    pub fn lines<'a>(&'a self, file: &'a str) -> impl Iterator<Item = String> + 'a {
        self.0.iter().map(move |problem| problem.at(file))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.lines("spur.conf").collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

/// A value without the password that the address of a database may hold, for logs and listings.
pub(crate) fn without_password(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else { return value.to_string() };
    match rest.rsplit_once('@') {
        Some((login, host)) if login.contains(':') => {
            let user = login.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:...@{host}")
        }
        _ => value.to_string(),
    }
}

/// The candidate that a slip of the fingers turns into `word`, if there is one.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long words are not worth comparing letter by letter with every candidate.
    if word.len() > 64 {
        return None;
    }
    let near = candidates.into_iter().filter_map(|candidate| {
        let distance = slips(word, candidate);
        let allowed = 1 + word.len().min(candidate.len()) / 4;
        (distance <= allowed && distance < candidate.len()).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// How many letters were dropped, added, changed or swapped with the next one.
fn slips(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, letter) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in right.iter().enumerate() {
            let changed = above[column] + usize::from(letter != other);
            let mut least = changed.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && *letter == right[column - 1] && left[row - 1] == *other;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_fingers_are_recognised() {
        let keys = ["default", "default_time", "nodes", "max_time"];
        assert_eq!(nearest("defualt", keys), Some("default"));
        assert_eq!(nearest("defaulttime", keys), Some("default_time"));
        assert_eq!(nearest("node", keys), Some("nodes"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest(&"x".repeat(10_000), keys), None);
    }

    #[test]
    fn swapped_letters_are_one_slip() {
        assert_eq!(slips("ab", "ba"), 1);
        assert_eq!(slips("abc", "abc"), 0);
        assert_eq!(slips("abc", "xbcd"), 2);
    }
}
