//! Splits the text of a directive into words, with quotes, backslashes and comments.

use crate::options::OptionError;

/// The words of a line of a script, of which the refusal tells name and number.
pub fn split_line(text: &str, script: &str, number: usize) -> Result<Vec<String>, OptionError> {
    let words = split(text);
    words.map_err(|problem| OptionError::fatal(format!("{script}: line {number}: {problem}")))
}

/// Splits at blanks. A quoted stretch keeps its blanks, a backslash keeps the character after it, and `#`
/// outside quotes starts a comment. An empty word ends the line, as in Slurm, and so does the word that separates
/// components.
///
/// The error is what stands in Slurm's message after the line number.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some((word, after)) = next(rest)? {
        words.push(word);
        rest = after;
    }
    Ok(words)
}

/// Whether a line of a script begins with the word that separates components.
pub fn starts_component(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    ["hetjob", "packjob"].iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// The first word of a line, and what follows it.
fn next(line: &str) -> Result<Option<(String, &str)>, String> {
    let text = line.trim_start();
    // A separator between components is a line of its own here, not a word.
    if text.starts_with(':') {
        return Err(format!("Unexpected `:` in [{line}]"));
    }
    if starts_component(text) {
        return Ok(None);
    }
    let mut word = String::new();
    let mut quote = None;
    let mut end = text.len();
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (_, '\\') => {
                if let Some((_, kept)) = letters.next_if(|(_, next)| !next.is_whitespace()) {
                    word.push(kept);
                }
            }
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.push(letter),
            (None, '"' | '\'') => quote = Some(letter),
            (None, '#') => {
                end = text.len();
                break;
            }
            (None, _) if letter.is_whitespace() => {
                end = at;
                break;
            }
            (None, _) => word.push(letter),
        }
    }
    match quote {
        Some(open) => Err(format!("Unmatched `{open}` in [{line}]")),
        None if word.is_empty() => Ok(None),
        None => Ok(Some((word, &text[end..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_as_slurm_splits_them() {
        for (text, words) in [
            (" -J a", &["-J", "a"][..]),
            ("\t-J\ta\t--comment=\"#no\" #-N2", &["-J", "a", "--comment=#no"]),
            (" -J \"a\\\"b\" --comment=\"x y\"z", &["-J", "a\"b", "--comment=x yz"]),
            (" -J 'a\\'b'", &["-J", "a'b"]),
            (" -J a\\ b", &["-J", "a", "b"]),
            (" a\\\\b", &["a\\b"]),
            (" -J a#b -N2", &["-J", "a"]),
            (" -J \"\" -N2", &["-J"]),
            (" -J \"\\n\" '\\x\\\\y'", &["-J", "n", "x\\y"]),
            (" a \\", &["a"]),
            (" -J hetjob -N2", &["-J"]),
            (" -J \"hetjob\" -N2", &["-J", "hetjob", "-N2"]),
            (" HetJob", &[]),
            ("", &[]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn an_open_quote_is_refused_with_the_rest_of_the_line() {
        assert_eq!(split(" -J a 'b").unwrap_err(), "Unmatched `'` in [ 'b]");
        assert_eq!(split(": -N2").unwrap_err(), "Unexpected `:` in [: -N2]");
    }

    proptest! {
        #[test]
        fn any_line_is_split_or_refused(text in ".*") {
            let _ = split(&text);
        }
    }
}
