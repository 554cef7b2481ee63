//! Reads a list: names and bracketed ranges, separated by commas or blanks.

use super::{Error, Hostlist, MAX_BYTES, MAX_HOSTS, MAX_RANGE, Range, Span, digits};

const SEPARATORS: [char; 3] = [',', ' ', '\t'];

/// Reads a list such as `n[1-4,7],gpu[001-003]`, refusing one that is malformed or too long
/// before any name of it is made.
pub fn parse(list: &str) -> Result<Hostlist, Error> {
    let mut hosts = Hostlist::default();
    let mut budget = Budget { hosts: MAX_HOSTS, bytes: MAX_BYTES };
    let mut rest = list.trim_start_matches(SEPARATORS);
    while !rest.is_empty() {
        let token = first_token(rest);
        rest = rest[token.len()..].trim_start_matches(SEPARATORS);
        push_token(&mut hosts, token, &mut budget)?;
    }
    Ok(hosts)
}

/// What a list may still take.
struct Budget {
    hosts: u64,
    bytes: u64,
}

impl Budget {
    fn spend(&mut self, hosts: u64, longest_name: usize) -> Result<(), Error> {
        let bytes = hosts.saturating_mul(longest_name as u64);
        self.hosts = self.hosts.checked_sub(hosts).ok_or(Error::TooManyHosts)?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Error::TooManyHosts)?;
        Ok(())
    }
}

/// The text up to the first separator that stands outside of brackets. A bracket that is never
/// closed holds nothing together, nor does one behind a closing bracket that was never opened.
fn first_token(list: &str) -> &str {
    let mut from = 0;
    loop {
        let end = list[from..].find(SEPARATORS).map_or(list.len(), |at| from + at);
        let Some(open) = list[from..end].find('[').map(|at| from + at) else {
            return &list[..end];
        };
        match list[from..].find(']').map(|at| from + at) {
            Some(close) if close > open => from = close + 1,
            _ => return &list[..end],
        }
    }
}

fn push_token(hosts: &mut Hostlist, token: &str, budget: &mut Budget) -> Result<(), Error> {
    let Some((prefix, inside)) = token.rsplit_once('[') else {
        budget.spend(1, token.len())?;
        hosts.push(Range::of_name(token));
        return Ok(());
    };
    let Some((ranges, after)) = inside.split_once(']') else {
        // Slurm takes an unclosed bracket for the end of a name.
        let name = if prefix.is_empty() { inside.to_owned() } else { format!("{prefix}]") };
        if !name.is_empty() {
            budget.spend(1, name.len())?;
            hosts.push(Range::of_name(&name));
        }
        return Ok(());
    };
    if !after.is_empty() {
        return Err(Error::TextAfterBracket(token.to_owned()));
    }
    let spans = parse_spans(ranges)?;
    let (head, dimensions) = split_dimensions(prefix, &mut hosts.skipped)?;

    let mut count = count_of(&spans);
    let mut longest = head.len() + widest(&spans);
    for dimension in &dimensions {
        count = count.saturating_mul(count_of(&dimension.spans));
        longest += widest(&dimension.spans) + dimension.text.len();
    }
    budget.spend(count, longest)?;
    if count == 0 {
        // A bracket that was skipped leaves no names, however many the others would make.
        return Ok(());
    }

    for prefix in prefixes(head, &dimensions) {
        for span in &spans {
            hosts.push(Range { prefix: prefix.clone(), span: Some(*span) });
        }
    }
    Ok(())
}

/// A bracket before the last one, and the text behind it.
struct Dimension<'a> {
    spans: Vec<Span>,
    text: &'a str,
}

/// Splits `r[1-2]n[1-2]p` into `r` and a dimension for each bracket.
fn split_dimensions<'a>(
    prefix: &'a str,
    skipped: &mut Vec<Error>,
) -> Result<(&'a str, Vec<Dimension<'a>>), Error> {
    let mut dimensions = Vec::new();
    let mut rest = prefix;
    while let Some((before, inside)) = rest.rsplit_once('[') {
        let Some((ranges, text)) = inside.rsplit_once(']') else { break };
        let spans = match parse_spans(ranges) {
            Ok(spans) => spans,
            Err(error) if dimensions.is_empty() => return Err(error),
            // Slurm complains of what is wrong further in front, and goes on without these names.
            Err(error) => {
                skipped.push(error);
                Vec::new()
            }
        };
        dimensions.push(Dimension { spans, text });
        rest = before;
    }
    dimensions.reverse();
    Ok((rest, dimensions))
}

/// Every prefix the dimensions make. The first bracket counts fastest, as in Slurm.
fn prefixes(head: &str, dimensions: &[Dimension<'_>]) -> Vec<String> {
    let mut made = vec![head.to_owned()];
    for dimension in dimensions {
        let before = std::mem::take(&mut made);
        for span in &dimension.spans {
            for number in span.low..=span.high {
                made.extend(before.iter().map(|before| {
                    format!("{before}{number:0width$}{}", dimension.text, width = span.width)
                }));
            }
        }
    }
    made
}

fn count_of(spans: &[Span]) -> u64 {
    spans.iter().fold(0, |count: u64, span| count.saturating_add(span.count()))
}

fn widest(spans: &[Span]) -> usize {
    spans.iter().map(|span| span.width.max(digits(span.high))).max().unwrap_or(0)
}

fn parse_spans(ranges: &str) -> Result<Vec<Span>, Error> {
    ranges.split(',').map(parse_span).collect()
}

/// Reads `7`, `1-4` or `001-010`. Blanks and a sign before a number, and anything between the
/// first number and the dash, count for the width only: `[1 - 3]` is 01, 02 and 03.
fn parse_span(range: &str) -> Result<Span, Error> {
    let invalid = || Error::InvalidRange(range.to_owned());
    if range.contains('x') {
        return Err(invalid());
    }
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (first, Some(last)),
        None => (range, None),
    };
    let (low, after) = leading_number(first).ok_or_else(invalid)?;
    if last.is_none() && !after.is_empty() {
        return Err(invalid());
    }
    let high = match last {
        None | Some("") => low,
        Some(last) => match leading_number(last) {
            Some((high, "")) => high,
            _ => return Err(invalid()),
        },
    };
    if high < low {
        return Err(invalid());
    }
    let span = Span { low, high, width: first.len() };
    if span.count() > MAX_RANGE {
        return Err(Error::RangeTooLong(range.to_owned()));
    }
    Ok(span)
}

/// The number at the start of the text, and what follows it. Too large a number is the largest.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start_matches(|blank: char| blank.is_ascii_whitespace());
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|end: char| !end.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return None;
    }
    let number = text[..end].parse().unwrap_or(u64::MAX);
    Some((number, &text[end..]))
}
