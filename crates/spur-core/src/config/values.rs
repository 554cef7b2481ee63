//! What may stand to the right of an equals sign, and how each kind of setting reads it.

use std::collections::BTreeMap;

/// A value as TOML has it, without its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Number(i64),
    Decimal(f64),
    Truth(bool),
    List(Vec<Value>),
    Table(Vec<(String, Value)>),
    /// TOML's dates and times; no setting takes one.
    Moment,
}

/// A type a key can have.
///
/// The same three functions serve the reader, the import from Slurm, the change list and the printed
/// documentation, so a kind of value is described once.
pub trait Setting: Sized {
    /// What a value looks like, for the document and for refusals: `true or false`.
    fn kind() -> String;

    /// Reads a value; the error says what is wrong with it, without naming it.
    fn read(value: &Value) -> Result<Self, String>;

    /// Reads what Slurm's files have to the right of the equals sign.
    fn from_slurm(text: &str) -> Result<Self, String> {
        Self::read(&Value::Text(text.to_string()))
    }

    /// The value as TOML; empty when nothing is set.
    fn toml(&self) -> String;
}

/// The refusal of a value of the wrong kind.
pub(crate) fn expected<T: Setting>() -> String {
    format!("expected {}", T::kind())
}

/// Text as a TOML string.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other if other.is_control() => quoted.push_str(&format!("\\u{:04X}", other as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Splits at commas outside of brackets and parentheses: `n[1,3],m2` is two.
pub(crate) fn split_list(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let parts = text.split(move |letter| {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

impl Setting for bool {
    fn kind() -> String {
        "true or false".to_string()
    }

    fn read(value: &Value) -> Result<bool, String> {
        match value {
            Value::Truth(truth) => Ok(*truth),
            _ => Err(expected::<bool>()),
        }
    }

    fn from_slurm(text: &str) -> Result<bool, String> {
        match text.to_ascii_lowercase().as_str() {
            "yes" | "true" | "up" | "1" | "y" | "t" => Ok(true),
            "no" | "false" | "down" | "0" | "n" | "f" => Ok(false),
            _ => Err("expected YES or NO".to_string()),
        }
    }

    fn toml(&self) -> String {
        self.to_string()
    }
}

macro_rules! number_setting {
    ($($number:ty)*) => {$(
        impl Setting for $number {
            fn kind() -> String {
        "number".to_string()
    }

            fn read(value: &Value) -> Result<$number, String> {
                match value {
                    Value::Number(number) => <$number>::try_from(*number)
                        .map_err(|_| format!("expected a number from 0 to {}", <$number>::MAX)),
                    _ => Err("expected a whole number".to_string()),
                }
            }

            fn from_slurm(text: &str) -> Result<$number, String> {
                text.parse().map_err(|_| format!("expected a number from 0 to {}", <$number>::MAX))
            }

            fn toml(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

number_setting! { u16 u32 u64 }

impl Setting for f64 {
    fn kind() -> String {
        "number, also with a point".to_string()
    }

    fn read(value: &Value) -> Result<f64, String> {
        match value {
            Value::Number(number) => Ok(*number as f64),
            Value::Decimal(number) if number.is_finite() => Ok(*number),
            _ => Err("expected a number".to_string()),
        }
    }

    fn from_slurm(text: &str) -> Result<f64, String> {
        let number: f64 = text.parse().map_err(|_| "expected a number".to_string())?;
        if number.is_finite() { Ok(number) } else { Err("expected a number".to_string()) }
    }

    fn toml(&self) -> String {
        self.to_string()
    }
}

impl Setting for String {
    fn kind() -> String {
        "text".to_string()
    }

    fn read(value: &Value) -> Result<String, String> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err("expected text in quotes".to_string()),
        }
    }

    fn toml(&self) -> String {
        quote(self)
    }
}

impl<T: Setting> Setting for Option<T> {
    fn kind() -> String {
        T::kind()
    }

    fn read(value: &Value) -> Result<Option<T>, String> {
        T::read(value).map(Some)
    }

    fn from_slurm(text: &str) -> Result<Option<T>, String> {
        T::from_slurm(text).map(Some)
    }

    fn toml(&self) -> String {
        self.as_ref().map(T::toml).unwrap_or_default()
    }
}

/// A list may be written as a list or, as Slurm does it, as one text with commas.
impl<T: Setting> Setting for Vec<T> {
    fn kind() -> String {
        match T::kind() {
            text if text == "text" => "list".to_string(),
            other => format!("list: {other}"),
        }
    }

    fn read(value: &Value) -> Result<Vec<T>, String> {
        match value {
            Value::List(items) => items.iter().map(T::read).collect(),
            Value::Text(text) => split_list(text)
                .into_iter()
                .map(|part| T::read(&Value::Text(part.to_string())))
                .collect(),
            single => T::read(single).map(|item| vec![item]),
        }
    }

    fn from_slurm(text: &str) -> Result<Vec<T>, String> {
        split_list(text).into_iter().map(T::from_slurm).collect()
    }

    fn toml(&self) -> String {
        let items: Vec<String> = self.iter().map(T::toml).collect();
        format!("[{}]", items.join(", "))
    }
}

/// Names with a value each, written as a table: `{ cpu = 1.0, mem = 0.25 }`.
pub(crate) fn read_table<T>(
    value: &Value,
    read: impl Fn(&Value) -> Result<T, String>,
) -> Option<Result<BTreeMap<String, T>, String>> {
    let Value::Table(entries) = value else { return None };
    let read_entry = |(name, value): &(String, Value)| {
        read(value).map(|value| (name.clone(), value)).map_err(|what| format!("{name}: {what}"))
    };
    Some(entries.iter().map(read_entry).collect())
}

/// A name as a TOML key, in quotes only where TOML needs them.
pub(crate) fn bare_key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_string() } else { quote(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_split_outside_of_brackets_only() {
        assert_eq!(split_list("n[1,3],m2, gpu:a(S:0,1)"), ["n[1,3]", "m2", "gpu:a(S:0,1)"]);
        assert!(split_list(" , ").is_empty());
    }

    #[test]
    fn quoted_text_reads_back() {
        for text in ["", "a\"b\\c", "tab\tnew\nline", "\u{1}é"] {
            let document = format!("key = {}", quote(text));
            let table: toml::Table = document.parse().unwrap();
            assert_eq!(table["key"].as_str(), Some(text));
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert!(u16::read(&Value::Number(65536)).is_err());
        assert!(u32::read(&Value::Number(-1)).is_err());
        assert!(u32::from_slurm("4294967296").is_err());
    }
}
