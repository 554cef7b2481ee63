//! Names into ranges, and ranges into text.

use std::fmt;

use super::{Hostlist, Range, Span};

impl<Name: AsRef<str>> FromIterator<Name> for Hostlist {
    fn from_iter<Names: IntoIterator<Item = Name>>(names: Names) -> Hostlist {
        let mut hosts = Hostlist::default();
        for name in names {
            hosts.push(Range::of_name(name.as_ref()));
        }
        hosts
    }
}

impl Hostlist {
    /// Appends hosts, lengthening the last range where they follow on.
    pub(super) fn push(&mut self, next: Range) {
        if let (Some(last), Some(span)) = (self.ranges.last_mut(), next.span)
            && let Some(before) = &mut last.span
            && last.prefix == next.prefix
            && before.high.checked_add(1) == Some(span.low)
            && before.writes_like(span)
        {
            before.high = span.high;
            return;
        }
        self.ranges.push(next);
    }
}

impl Range {
    /// One host. The digits at the end of its name are its number.
    pub(super) fn of_name(name: &str) -> Range {
        let prefix = name.trim_end_matches(|end: char| end.is_ascii_digit());
        let number = &name[prefix.len()..];
        match number.parse() {
            Ok(low) => Range {
                prefix: prefix.to_owned(),
                span: Some(Span { low, high: low, width: number.len() }),
            },
            // No digits, or more of them than we count with: the name is taken as it is.
            Err(_) => Range { prefix: name.to_owned(), span: None },
        }
    }
}

impl fmt::Display for Hostlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.ranges.as_slice();
        while let Some(first) = rest.first() {
            let alike = |range: &&Range| range.span.is_some() && range.prefix == first.prefix;
            let together = rest.iter().take_while(alike).count().max(1);
            let (group, after) = rest.split_at(together);
            if rest.len() != self.ranges.len() {
                f.write_str(",")?;
            }
            write_group(f, group)?;
            rest = after;
        }
        Ok(())
    }
}

fn write_group(f: &mut fmt::Formatter<'_>, group: &[Range]) -> fmt::Result {
    f.write_str(&group[0].prefix)?;
    let bracketed = group.len() > 1 || group[0].span.is_some_and(|span| span.low != span.high);
    if bracketed {
        f.write_str("[")?;
    }
    for (index, span) in group.iter().filter_map(|range| range.span).enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        write!(f, "{:0width$}", span.low, width = span.width)?;
        if span.low != span.high {
            write!(f, "-{:0width$}", span.high, width = span.width)?;
        }
    }
    if bracketed {
        f.write_str("]")?;
    }
    Ok(())
}
