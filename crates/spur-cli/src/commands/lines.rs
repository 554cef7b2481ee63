//! Commands that come line by line, as `sacctmgr` and `sreport` take them when they are called without any.

use std::io::{BufRead, IsTerminal, Write};

use crate::output::print;

/// Hands over the words of each line until there are no more, or nobody wants more. `!!` is the line before.
pub fn each(prompt: &str, mut obey: impl FnMut(&[String]) -> bool) {
    let is_terminal = std::io::stdin().is_terminal();
    let mut last = String::new();
    loop {
        print(prompt);
        let _ = std::io::stdout().flush();
        let mut line = String::new();
        if !matches!(std::io::stdin().lock().read_line(&mut line), Ok(1..)) {
            print("\n");
            return;
        }
        if !is_terminal {
            print(&format!("{}\n", line.trim_end()));
        }
        let mut line = line.trim().to_string();
        match line.as_str() {
            "" => continue,
            "!!" => line.clone_from(&last),
            _ => last.clone_from(&line),
        }
        let words = split(&line);
        if !words.is_empty() && !obey(&words) {
            return;
        }
    }
}

/// Words of a line; what stands in quotes is one word, without them.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(mark), _) if letter == mark => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(
            split(r#"add account  x description="a b" org='c'"#),
            ["add", "account", "x", "description=a b", "org=c"]
        );
        assert_eq!(split("\"\""), [""]);
        assert!(split("  ").is_empty());
    }
}
