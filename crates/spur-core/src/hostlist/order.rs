//! The order in which people count: n2 before n10.

use std::cmp::Ordering;

use super::{Hostlist, Range, Span};

/// Orders names by their text with runs of digits taken as numbers: `n2` before `n10`.
///
/// A run that starts with a zero is compared digit by digit, so `a010b` is before `a9b`; at the
/// end of a name fewer digits come first, so `n9` is before `n09`. That is Slurm's order.
pub fn natural(left: &str, right: &str) -> Ordering {
    Range::of_name(left).cmp_natural(&Range::of_name(right)).then_with(|| left.cmp(right))
}

impl Hostlist {
    /// Puts the hosts in natural order. Repeated names stay, next to each other.
    pub fn sort(&mut self) {
        self.ranges.sort_by(Range::cmp_natural);
        let mut sorted = Vec::with_capacity(self.ranges.len());
        let mut rest = std::mem::take(&mut self.ranges).into_iter().peekable();
        while let Some(first) = rest.next() {
            let Some(span) = first.span else {
                sorted.push(first);
                continue;
            };
            let mut touching = vec![span];
            let mut high = span.high;
            while let Some(next) = rest.next_if(|next| {
                next.prefix == first.prefix
                    && next.span.is_some_and(|next| {
                        span.writes_like(next) && next.low <= high.saturating_add(1)
                    })
            }) {
                let next = next.span.expect("checked above");
                high = high.max(next.high);
                touching.push(next);
            }
            let spans = untangle(&touching, span.width).into_iter();
            sorted
                .extend(spans.map(|span| Range { prefix: first.prefix.clone(), span: Some(span) }));
        }
        self.ranges = sorted;
    }
}

impl Range {
    fn cmp_natural(&self, other: &Range) -> Ordering {
        let key = |range: &Range| range.span.map(|span| (span.width, span.low, span.high));
        compare_text(self.prefix.as_bytes(), other.prefix.as_bytes())
            .then_with(|| signed(&self.prefix).cmp(signed(&other.prefix)))
            .then_with(|| key(self).cmp(&key(other)))
    }
}

/// Spans that touch or overlap, said as spans that rise one after the other: 1-3 and 2-5 hold
/// 1, 2, 2, 3, 3, 4, 5, which is written 1-2, 2-3, 3-5.
fn untangle(touching: &[Span], width: usize) -> Vec<Span> {
    let span = |low, high| Span { low, high, width };
    if touching.windows(2).all(|pair| pair[0].high < pair[1].low) {
        let (Some(first), Some(last)) = (touching.first(), touching.last()) else { return vec![] };
        return vec![span(first.low, last.high)];
    }
    let mut numbers: Vec<u64> = touching.iter().flat_map(|span| span.low..=span.high).collect();
    numbers.sort_unstable();
    let mut spans: Vec<Span> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some(last) if last.high.checked_add(1) == Some(number) => last.high = number,
            _ => spans.push(Span {
                low: number,
                high: number,
                width: width.max(super::digits(number)),
            }),
        }
    }
    spans
}

fn compare_text(mut left: &[u8], mut right: &[u8]) -> Ordering {
    loop {
        // A text ends with a zero, which letters beyond ASCII come before.
        let (a, b) = match (left.first(), right.first()) {
            (None, None) => return Ordering::Equal,
            (a, b) => (a.copied().unwrap_or(0), b.copied().unwrap_or(0)),
        };
        if a.is_ascii_digit() && b.is_ascii_digit() {
            let (number, other) = (digit_run(left), digit_run(right));
            // As a fraction is compared when there are leading zeros, by length otherwise.
            let by_length = if a == b'0' || b == b'0' {
                Ordering::Equal
            } else {
                number.len().cmp(&other.len())
            };
            let order = by_length.then_with(|| number.cmp(other));
            if order.is_ne() {
                return order;
            }
            left = &left[number.len()..];
            right = &right[other.len()..];
        } else if a != b {
            return a.cast_signed().cmp(&b.cast_signed());
        } else if left.is_empty() || right.is_empty() {
            // A zero byte within a text.
            return left.len().cmp(&right.len());
        } else {
            left = &left[1..];
            right = &right[1..];
        }
    }
}

/// Bytes as Slurm compares them: what is not ASCII comes first.
fn signed(text: &str) -> impl Iterator<Item = i8> {
    text.bytes().map(u8::cast_signed)
}

fn digit_run(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}
