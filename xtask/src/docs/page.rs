//! How a printed page is written: a heading, paragraphs, tables.

/// A page of Markdown that grows from top to bottom.
pub(super) struct Page(String);

impl Page {
    /// Begins with the title, and with what keeps people from editing it by hand.
    pub(super) fn new(title: &str, source: &str) -> Page {
        Page(format!(
            "# {title}\n\n<!-- Printed from {source}; `cargo xtask docs` writes it anew. -->\n"
        ))
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.0.push_str(&format!("\n{text}\n"));
    }

    pub(super) fn section(&mut self, title: &str) {
        self.0.push_str(&format!("\n## {title}\n"));
    }

    pub(super) fn table(&mut self, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        self.0.push_str(&format!(
            "\n| {} |\n|{}\n",
            header.join(" | "),
            "---|".repeat(header.len())
        ));
        for row in rows {
            self.0.push_str(&format!("| {} |\n", row.join(" | ")));
        }
    }

    pub(super) fn text(self) -> String {
        self.0
    }
}

/// A word as it is typed. Nothing where there is none.
pub(super) fn code(word: &str) -> String {
    // A bar ends a cell even inside a code span.
    if word.is_empty() { String::new() } else { format!("`{}`", word.replace('|', "\\|")) }
}

/// Words as they are typed, by comma.
pub(super) fn codes<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(code).collect::<Vec<_>>().join(", ")
}

/// A sentence in a cell, with nothing in it that Markdown would take for its own outside of code.
pub(super) fn cell(text: &str) -> String {
    let mut cell = String::new();
    let mut in_code = false;
    for letter in text.chars() {
        in_code ^= letter == '`';
        match letter {
            '|' => cell.push_str("\\|"),
            '<' | '>' | '*' | '_' | '[' | ']' if !in_code => cell.extend(['\\', letter]),
            letter => cell.push(letter),
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_stars_stay_what_they_are() {
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(cell("a|b <c> `d_e` f_g"), "a\\|b \\<c\\> `d_e` f\\_g");
    }
}
