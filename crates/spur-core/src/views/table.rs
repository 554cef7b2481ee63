//! Many rows member by member: what neighbours have in common is carried once, and nothing is made of a member
//! that nobody asked for.

use std::collections::BTreeMap;

use prost::Message;

use super::JobNodeShare;
use crate::limit::Limit;

/// Some rows of an answer.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Table {
    /// How many.
    #[prost(uint32, tag = "1")]
    pub rows: u32,
    /// One for each member that was asked for.
    #[prost(message, repeated, tag = "2")]
    pub columns: Vec<TableColumn>,
}

/// One member of some rows.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct TableColumn {
    /// Its number in the record.
    #[prost(uint32, tag = "1")]
    pub member: u32,
    /// One a row, or a single one that holds for all of them. Of a text it is the place among the words of all
    /// pages so far.
    #[prost(uint64, repeated, tag = "2")]
    pub values: Vec<u64>,
    /// Words that no page before had.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub words: Vec<Vec<u8>>,
}

/// A set of members, by their place in the table of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members([u64; 3]);

impl Members {
    /// All there can be.
    pub const ALL: Members = Members([u64::MAX; 3]);

    /// Those with these names, a blank between them.
    pub fn named<Row>(table: &[Member<Row>], names: &str) -> Members {
        let mut members = Members::default();
        for name in names.split_whitespace() {
            if let Some(place) = table.iter().position(|member| member.name == name) {
                members.insert(place);
            }
        }
        members
    }

    /// One more.
    pub fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    /// Whether it is one of them.
    pub fn contains(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }

    /// Whether any is in both.
    pub fn meets(&self, other: &Members) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    /// Those of both.
    pub fn and(mut self, other: Members) -> Members {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
        self
    }
}

/// A member of a record.
pub struct Member<Row: 'static> {
    /// Its number on the wire.
    pub tag: u32,
    /// Its name there.
    pub name: &'static str,
    /// Puts a row's value behind the others.
    pub take: fn(&Row, &mut Writer),
    /// Gives a row this value.
    pub set: fn(&mut Row, Given<'_>),
}

/// Makes the column of one member, page by page.
#[derive(Default)]
pub struct Writer {
    values: Vec<u64>,
    words: Vec<Vec<u8>>,
    known: BTreeMap<Vec<u8>, u64>,
    last: (Vec<u8>, u64),
    /// How many bytes the words of this page have.
    bytes: usize,
}

impl Writer {
    fn number(&mut self, number: u64) {
        self.values.push(number);
    }

    fn text(&mut self, text: &[u8]) {
        if text != self.last.0 || self.known.is_empty() {
            let next = self.known.len() as u64;
            let place = match self.known.get(text) {
                Some(place) => *place,
                None => {
                    self.known.insert(text.to_vec(), next);
                    self.words.push(text.to_vec());
                    self.bytes += text.len();
                    next
                }
            };
            self.last.0.clear();
            self.last.0.extend_from_slice(text);
            self.last.1 = place;
        }
        self.values.push(self.last.1);
    }

    fn page(&mut self, member: u32) -> TableColumn {
        let mut values = std::mem::take(&mut self.values);
        self.bytes = 0;
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            values.truncate(1);
        }
        TableColumn { member, values, words: std::mem::take(&mut self.words) }
    }
}

/// A page does not grow much beyond this: messages have an end.
const MOST_BYTES: usize = 1 << 20;

/// Makes pages of rows.
pub struct TableWriter<Row: 'static> {
    columns: Vec<(&'static Member<Row>, Writer)>,
    rows: u32,
}

impl<Row> TableWriter<Row> {
    /// Of these members.
    pub fn new(table: &'static [Member<Row>], members: Members) -> Self {
        let wanted = table.iter().enumerate().filter(|(place, _)| members.contains(*place));
        let columns = wanted.map(|(_, member)| (member, Writer::default())).collect();
        TableWriter { columns, rows: 0 }
    }

    /// One more row.
    pub fn add(&mut self, row: &Row) {
        self.rows += 1;
        for (member, writer) in &mut self.columns {
            (member.take)(row, writer);
        }
    }

    /// Whether the page has so many rows, or is so large that it should go.
    pub fn is_full(&self, rows: u32) -> bool {
        let bytes = || self.columns.iter().map(|(_, writer)| writer.bytes).sum::<usize>();
        self.rows >= rows || (self.rows.is_multiple_of(64) && bytes() > MOST_BYTES)
    }

    /// What came since the last page.
    pub fn page(&mut self) -> Table {
        let columns = self.columns.iter_mut();
        Table {
            rows: std::mem::take(&mut self.rows),
            columns: columns.map(|(member, writer)| writer.page(member.tag)).collect(),
        }
    }
}

/// A value as a column has it.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    value: u64,
    words: &'a [Vec<u8>],
}

impl<'a> Given<'a> {
    #[cfg(test)]
    pub(crate) fn new(value: u64, words: &'a [Vec<u8>]) -> Given<'a> {
        Given { value, words }
    }

    fn bytes(&self) -> &[u8] {
        self.words.get(self.value as usize).map(Vec::as_slice).unwrap_or_default()
    }
}

struct Column<Row: 'static> {
    place: usize,
    member: &'static Member<Row>,
    values: Vec<u64>,
    words: Vec<Vec<u8>>,
    varies: bool,
}

/// The rows of an answer.
pub struct Rows<Row: 'static> {
    table: &'static [Member<Row>],
    columns: Vec<Column<Row>>,
    rows: usize,
}

impl<Row: Default> Rows<Row> {
    /// None yet.
    pub fn new(table: &'static [Member<Row>]) -> Self {
        Rows { table, columns: Vec::new(), rows: 0 }
    }

    /// Takes the rows of one more page. Members that this version does not know are left out.
    pub fn add(&mut self, page: Table) {
        let (before, rows) = (self.rows, page.rows as usize);
        for column in page.columns {
            let Some(place) = self.table.iter().position(|member| member.tag == column.member)
            else {
                continue;
            };
            let at = match self.columns.iter().position(|known| known.place == place) {
                Some(at) => at,
                None => {
                    let member = &self.table[place];
                    let values = vec![0; before];
                    let (words, varies) = (Vec::new(), false);
                    self.columns.push(Column { place, member, values, words, varies });
                    self.columns.len() - 1
                }
            };
            let known = &mut self.columns[at];
            known.words.extend(column.words);
            if let [single] = column.values[..] {
                known.values.resize(before + rows, single);
            } else {
                known.varies = true;
                known.values.extend(column.values);
                known.values.resize(before + rows, 0);
            }
            let differs = known.values.first() != known.values.last();
            known.varies |= differs;
        }
        self.rows += rows;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether this member came with them.
    pub fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.member.name == name)
    }

    /// Looks at one row after another.
    pub fn cursor(&self) -> Cursor<'_, Row> {
        let last = vec![None; self.columns.len()];
        Cursor { rows: self, last, row: Row::default(), changed: Members::ALL, all: true }
    }
}

/// One row at a time, in any order; only what differs from the row before is set anew.
pub struct Cursor<'a, Row: 'static> {
    rows: &'a Rows<Row>,
    last: Vec<Option<u64>>,
    /// The row.
    pub row: Row,
    changed: Members,
    all: bool,
}

impl<Row> Cursor<'_, Row> {
    /// Goes to a row.
    pub fn go(&mut self, place: usize) {
        let is_first = std::mem::take(&mut self.all);
        for (column, last) in self.rows.columns.iter().zip(&mut self.last) {
            if !column.varies && !is_first {
                continue;
            }
            let value = column.values[place];
            if *last != Some(value) {
                *last = Some(value);
                (column.member.set)(&mut self.row, Given { value, words: &column.words });
                self.changed.insert(column.place);
            }
        }
    }

    /// Marks members that were set otherwise.
    pub fn mark(&mut self, members: &Members) {
        self.changed = self.changed.and(*members);
    }

    /// What has changed since this was asked last.
    pub fn changed(&mut self) -> Members {
        std::mem::take(&mut self.changed)
    }
}

/// A member's type, as a column carries it.
pub trait Cell {
    /// Puts it behind the others.
    fn put(&self, column: &mut Writer);
    /// Takes a value.
    fn receive(&mut self, given: Given<'_>);
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Cell for $type {
            fn put(&self, column: &mut Writer) {
                column.number(*self as u64);
            }
            fn receive(&mut self, given: Given<'_>) {
                *self = given.value as $type;
            }
        }
    )*};
}

numbers!(u32 u64 i64 i32);

impl Cell for bool {
    fn put(&self, column: &mut Writer) {
        column.number((*self).into());
    }
    fn receive(&mut self, given: Given<'_>) {
        *self = given.value != 0;
    }
}

impl Cell for Option<u32> {
    fn put(&self, column: &mut Writer) {
        column.number(self.map_or(0, |number| u64::from(number) + 1));
    }
    fn receive(&mut self, given: Given<'_>) {
        *self = given.value.checked_sub(1).map(|number| number as u32);
    }
}

impl Cell for Option<u64> {
    fn put(&self, column: &mut Writer) {
        column.number(self.map_or(0, |number| number.saturating_add(1)));
    }
    fn receive(&mut self, given: Given<'_>) {
        *self = given.value.checked_sub(1);
    }
}

impl Cell for Option<Limit> {
    fn put(&self, column: &mut Writer) {
        column.number(match self {
            None => 0,
            Some(Limit::Unlimited) => 1,
            Some(Limit::Is(number)) => number.saturating_add(2),
        });
    }
    fn receive(&mut self, given: Given<'_>) {
        *self = match given.value {
            0 => None,
            1 => Some(Limit::Unlimited),
            number => Some(Limit::Is(number - 2)),
        };
    }
}

impl Cell for String {
    fn put(&self, column: &mut Writer) {
        column.text(self.as_bytes());
    }
    fn receive(&mut self, given: Given<'_>) {
        self.clear();
        self.push_str(&String::from_utf8_lossy(given.bytes()));
    }
}

/// Lists are carried as a record of their own would have them.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
struct Lists {
    #[prost(string, repeated, tag = "1")]
    texts: Vec<String>,
    #[prost(message, repeated, tag = "2")]
    shares: Vec<JobNodeShare>,
}

impl Cell for Vec<String> {
    fn put(&self, column: &mut Writer) {
        if self.is_empty() {
            return column.text(&[]);
        }
        column.text(&Lists { texts: self.clone(), shares: Vec::new() }.encode_to_vec());
    }
    fn receive(&mut self, given: Given<'_>) {
        *self = Lists::decode(given.bytes()).map(|list| list.texts).unwrap_or_default();
    }
}

impl Cell for Vec<JobNodeShare> {
    fn put(&self, column: &mut Writer) {
        if self.is_empty() {
            return column.text(&[]);
        }
        column.text(&Lists { texts: Vec::new(), shares: self.clone() }.encode_to_vec());
    }
    fn receive(&mut self, given: Given<'_>) {
        *self = Lists::decode(given.bytes()).map(|list| list.shares).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::{JOB_MEMBERS, JobView};

    fn job(id: u32) -> JobView {
        let mut job = JobView {
            job_id: id,
            name: format!("name{}", id % 3),
            start_time: -i64::from(id),
            time_limit: [None, Some(Limit::Unlimited), Some(Limit::Is(7))][id as usize % 3],
            array_task_id: id.is_multiple_of(2).then_some(id),
            ..JobView::default()
        };
        job.nice = -4;
        job.contiguous = true;
        job.flags = vec!["A".to_string(), id.to_string()];
        job.resources = vec![JobNodeShare { name: "n1".into(), cpus: id, ..Default::default() }];
        job
    }

    #[test]
    fn rows_come_back_as_they_were_page_by_page_and_in_any_order() {
        let mut writer = TableWriter::new(JOB_MEMBERS, Members::ALL);
        let mut rows = Rows::new(JOB_MEMBERS);
        for id in 1..=10 {
            writer.add(&job(id));
            if u32::is_multiple_of(id, 4) {
                rows.add(writer.page());
            }
        }
        rows.add(writer.page());
        assert_eq!(rows.len(), 10);
        let mut cursor = rows.cursor();
        for place in [3, 9, 0, 0, 5, 1, 8] {
            cursor.go(place);
            assert_eq!(cursor.row, job(place as u32 + 1));
        }
    }

    #[test]
    fn what_all_rows_share_is_carried_once() {
        let members = Members::named(JOB_MEMBERS, "job_id name nice");
        let mut writer = TableWriter::new(JOB_MEMBERS, members);
        (1..=6).for_each(|id| writer.add(&job(id)));
        let page = writer.page();
        let lengths: Vec<(usize, usize)> =
            page.columns.iter().map(|it| (it.values.len(), it.words.len())).collect();
        assert_eq!(lengths, [(6, 0), (6, 3), (1, 0)]);
        writer.add(&job(7));
        assert!(writer.page().columns[1].words.is_empty(), "a word is carried once");
    }

    #[test]
    fn a_cursor_tells_what_differs_from_the_row_before() {
        let mut writer = TableWriter::new(JOB_MEMBERS, Members::ALL);
        [1, 4, 4].iter().for_each(|id| writer.add(&job(*id)));
        let mut rows = Rows::new(JOB_MEMBERS);
        rows.add(writer.page());
        let mut cursor = rows.cursor();
        cursor.go(0);
        assert!(cursor.changed().meets(&Members::named(JOB_MEMBERS, "nice")), "all at first");
        cursor.go(1);
        let changed = cursor.changed();
        assert!(changed.meets(&Members::named(JOB_MEMBERS, "job_id")));
        assert!(!changed.meets(&Members::named(JOB_MEMBERS, "nice name")));
        cursor.go(2);
        assert_eq!(cursor.changed(), Members::default());
    }
}
