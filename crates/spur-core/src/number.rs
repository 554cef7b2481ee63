//! Whole numbers as C's library reads them, since Slurm's habits come from there.

/// The number at the start of the text and what follows it: blanks, a sign, then digits. Numbers
/// too large for 64 bits are the largest there is.
pub(crate) fn leading(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start_matches(|blank: char| blank.is_ascii_whitespace());
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|end: char| !end.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    let number: i64 = digits[..end].parse().unwrap_or(i64::MAX);
    Some((if negative { -number } else { number }, &digits[end..]))
}

/// The number that is the whole text.
pub(crate) fn whole(text: &str) -> Option<i64> {
    leading(text).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number)
}

/// The number that is the whole text, perhaps one of thousands (`k`) or millions (`m`).
pub(crate) fn multiple(text: &str) -> Option<i64> {
    let (number, letter) = leading(text)?;
    let factor = match letter {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_a_sign_may_come_first() {
        for (text, number) in [
            ("7", Some((7, ""))),
            (" +7x", Some((7, "x"))),
            ("-0", Some((0, ""))),
            ("99999999999999999999", Some((i64::MAX, ""))),
            ("- 7", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(leading(text), number, "{text:?}");
        }
        assert_eq!(whole("7 "), None);
    }
}
