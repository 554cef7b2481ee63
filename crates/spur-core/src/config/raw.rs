//! The file as TOML has it: sections and entries with their lines, nothing decided yet.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problems::Problem;
use super::sections;
use super::values::Value;

/// One `key = value`.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub line: usize,
    pub value: Value,
    /// The value as it stands in the file.
    pub source: String,
    /// Where the names inside of a table stand.
    pub inner: Vec<(String, usize)>,
}

/// One section, or the top of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawSection {
    pub name: String,
    /// Whether it was written with two brackets.
    pub repeated: bool,
    pub line: usize,
    /// In the order of the file.
    pub entries: Vec<Entry>,
}

/// Splits a file into sections; what TOML itself refuses becomes a problem, and the rest is still read.
pub(crate) fn parse(text: &str) -> (Vec<RawSection>, Vec<Problem>) {
    let lines = Lines::of(text);
    let (document, refused) = DeTable::parse_recoverable(text);
    let problems = refused
        .into_iter()
        .map(|error| {
            let span = error.span().unwrap_or_default();
            let mut message = error.message().trim().to_string();
            if message == "duplicate key" {
                message = format!("{:?} is said twice", text.get(span.clone()).unwrap_or_default());
            }
            Problem::general(lines.line(span.start), String::new(), message)
        })
        .collect();

    let mut top = RawSection { line: 1, ..RawSection::default() };
    let mut found = Vec::new();
    for (key, value) in document.into_inner() {
        let line = lines.line(key.span().start);
        let name = key.into_inner().into_owned();
        // A table such as [licenses] is the value of a key at the top; names in it are free.
        let is_key = sections::table("").is_some_and(|table| table.key(&name).is_some());
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(entries) if !is_key => {
                found.push(section(name, false, line, entries, &lines));
            }
            DeValue::Array(items) if !is_key && is_list_of_tables(&items) => {
                for item in items {
                    let line = lines.line(item.span().start);
                    if let DeValue::Table(entries) = item.into_inner() {
                        found.push(section(name.clone(), true, line, entries, &lines));
                    }
                }
            }
            value => top.entries.push(entry(name, line, Spanned::new(span, value), &lines)),
        }
    }
    top.entries.sort_by_key(|entry| entry.line);
    found.sort_by_key(|section| section.line);
    found.insert(0, top);
    (found, problems)
}

fn is_list_of_tables(items: &toml::de::DeArray<'_>) -> bool {
    !items.is_empty() && items.iter().all(|item| matches!(item.get_ref(), DeValue::Table(_)))
}

fn section(
    name: String,
    repeated: bool,
    line: usize,
    entries: DeTable<'_>,
    lines: &Lines<'_>,
) -> RawSection {
    let read = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| {
        let line = lines.line(key.span().start);
        let key: std::borrow::Cow<'_, str> = key.into_inner();
        entry(key.into_owned(), line, value, lines)
    };
    let mut entries: Vec<Entry> = entries.into_iter().map(read).collect();
    entries.sort_by_key(|entry| entry.line);
    RawSection { name, repeated, line, entries }
}

fn entry(key: String, line: usize, value: Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Entry {
    let source = lines.text.get(value.span()).unwrap_or_default().to_string();
    let inner = match value.get_ref() {
        DeValue::Table(entries) => entries
            .keys()
            .map(|key| (key.get_ref().to_string(), lines.line(key.span().start)))
            .collect(),
        _ => Vec::new(),
    };
    Entry { key, line, value: plain(value.into_inner()), source, inner }
}

fn plain(value: DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Number(number),
            // Beyond what any setting takes; a decimal is refused where a number is expected.
            Err(_) => Value::Decimal(f64::INFINITY),
        },
        DeValue::Float(number) => Value::Decimal(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(truth) => Value::Truth(truth),
        DeValue::Datetime(_) => Value::Moment,
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| plain(item.into_inner())).collect())
        }
        DeValue::Table(entries) => Value::Table(
            entries
                .into_iter()
                .map(|(key, value)| (key.into_inner().into_owned(), plain(value.into_inner())))
                .collect(),
        ),
    }
}

/// Turns places in a text into line numbers.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Lines<'a> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(place, _)| place + 1)).collect();
        Lines { text, starts }
    }

    fn line(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start <= place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_know_their_line_and_source() {
        let text = "cluster_name = \"a\"\n\n[scheduler]\nplugin = \"backfill\" # why\n\n\
                    [[nodes]]\nnames = \"n[1-2]\"\n[[nodes]]\nnames = \"m\"\n";
        let (sections, problems) = parse(text);
        assert!(problems.is_empty());
        let lines: Vec<(&str, usize)> =
            sections.iter().map(|section| (section.name.as_str(), section.line)).collect();
        assert_eq!(lines, [("", 1), ("scheduler", 3), ("nodes", 6), ("nodes", 8)]);
        let plugin = &sections[1].entries[0];
        assert_eq!((plugin.line, plugin.source.as_str()), (4, "\"backfill\""));
    }

    #[test]
    fn what_toml_refuses_has_a_line_and_the_rest_is_read() {
        let (sections, problems) = parse("a = \n\n[scheduler]\nplugin = \"builtin\"\nb = = 1\n");
        let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
        assert!(lines.contains(&1) && lines.contains(&5), "{problems:?}");
        assert!(sections.iter().any(|section| section.name == "scheduler"));
    }
}
