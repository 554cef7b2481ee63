//! A file that is read as it grows, its lines marked where several are shown together.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};

use super::sources::Source;

/// How much is read at a time.
const PIECE: usize = 64 << 10;

/// One file of those that are shown.
pub struct Reader {
    /// Where it comes from.
    pub source: Source,
    /// Only the last lines.
    tail: Option<usize>,
    file: Option<File>,
    /// A line that has begun; only where lines are marked.
    begun: Vec<u8>,
}

impl Reader {
    pub fn new(source: Source, tail: Option<usize>) -> Reader {
        Reader { source, tail, file: None, begun: Vec::new() }
    }

    /// Opens the file, if it is there.
    pub fn open(&mut self) -> std::io::Result<bool> {
        if self.file.is_none() {
            let mut file = match File::open(&self.source.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                opened => opened?,
            };
            if let Some(lines) = self.tail {
                skip_to_last(&mut file, lines)?;
            }
            self.file = Some(file);
        }
        Ok(true)
    }

    /// Shows what has come since the last time; tells how much that was.
    pub fn show(&mut self, out: &mut impl Write) -> std::io::Result<u64> {
        if !self.open()? {
            return Ok(0);
        }
        let Some(file) = &mut self.file else { return Ok(0) };
        if self.source.label.is_empty() {
            return std::io::copy(file, out);
        }
        let (mut read, mut piece) = (0, vec![0; PIECE]);
        loop {
            let count = match file.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                count => count?,
            };
            if count == 0 {
                return Ok(read);
            }
            read += count as u64;
            self.begun.extend_from_slice(&piece[..count]);
            let whole = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let lines: Vec<u8> = self.begun.drain(..whole).collect();
            mark(&self.source.label, &lines, out)?;
        }
    }

    /// Shows a last line that has no end.
    pub fn finish(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        if !self.begun.is_empty() {
            let mut line = std::mem::take(&mut self.begun);
            line.push(b'\n');
            mark(&self.source.label, &line, out)?;
        }
        Ok(())
    }

    /// What is there now, for programs.
    pub fn text(&mut self) -> std::io::Result<String> {
        let mut bytes = Vec::new();
        if self.open()?
            && let Some(file) = &mut self.file
        {
            file.read_to_end(&mut bytes)?;
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn mark(label: &str, lines: &[u8], out: &mut impl Write) -> std::io::Result<()> {
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        write!(out, "{label}: ")?;
        out.write_all(line)?;
    }
    Ok(())
}

/// Goes to where the last lines begin.
fn skip_to_last(file: &mut File, lines: usize) -> std::io::Result<()> {
    let end = file.seek(SeekFrom::End(0))?;
    let (mut start, mut seen) = (end, Vec::new());
    while start > 0 {
        let from = start.saturating_sub(PIECE as u64);
        let mut piece = vec![0; (start - from) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut piece)?;
        piece.extend_from_slice(&seen);
        (seen, start) = (piece, from);
        if let Some(place) = last_lines(&seen, lines) {
            file.seek(SeekFrom::Start(start + place as u64))?;
            return Ok(());
        }
    }
    file.seek(SeekFrom::Start(0)).map(drop)
}

/// Where the last lines of a text begin; nothing when it has no more than these.
fn last_lines(text: &[u8], lines: usize) -> Option<usize> {
    let whole = text.strip_suffix(b"\n").unwrap_or(text);
    let mut breaks = whole.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match lines {
        0 => Some(text.len()),
        lines => breaks.nth(lines - 1).map(|(place, _)| place + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::views::JobView;

    #[test]
    fn the_last_lines_are_found() {
        let text = b"a\nb\nc\n";
        assert_eq!(last_lines(text, 1), Some(4));
        assert_eq!(last_lines(text, 2), Some(2));
        assert_eq!(last_lines(text, 3), None);
        assert_eq!(last_lines(b"a\nb", 1), Some(2));
        assert_eq!(last_lines(text, 0), Some(6));
    }

    #[test]
    fn lines_are_marked_when_they_are_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("out");
        std::fs::write(&path, "one\ntw").expect("written");
        let path = path.to_str().expect("a name").to_string();
        let source =
            Source { label: "3".into(), path: path.clone(), job: JobView::default().into() };
        let (mut reader, mut out) = (Reader::new(source, None), Vec::new());
        assert_eq!(reader.show(&mut out).expect("read"), 6);
        assert_eq!(out, b"3: one\n");
        std::fs::write(&path, "one\ntwo\nend").expect("written");
        reader.show(&mut out).expect("read");
        reader.finish(&mut out).expect("written");
        assert_eq!(String::from_utf8_lossy(&out), "3: one\n3: two\n3: end\n");
    }
}
