//! `--multi-prog`: a file that says which tasks run what.

use spur_proto::internal::RankProgram;

/// Reads the file for so many tasks. Words after the file's name are added to every program's.
pub fn read(path: &str, tasks: u32, more: &[String]) -> Result<Vec<RankProgram>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|_| format!("Could not open multi_prog config file {path}"))?;
    let mut programs: Vec<RankProgram> = Vec::new();
    let mut taken = vec![false; tasks as usize];
    for line in joined(&text) {
        let mut words = words(&line);
        if words.is_empty() {
            continue;
        }
        let chosen = words.remove(0);
        if words.is_empty() {
            return Err(format!("Configuration file {path} invalid: {line}"));
        }
        let chosen = if chosen == "*" { format!("0-{}", tasks.saturating_sub(1)) } else { chosen };
        let ranks = ranks(&chosen)
            .ok_or_else(|| format!("Configuration file {path} invalid, bad task id: {chosen}"))?;
        for (offset, rank) in (0_u32..).zip(ranks) {
            let Some(taken) = taken.get_mut(rank as usize) else { continue };
            // The first line that names a task has the word.
            if std::mem::replace(taken, true) {
                continue;
            }
            let fill = |word: &String| fill(word, rank, offset).into_bytes();
            let arguments = words.iter().map(fill).chain(more.iter().map(|it| it.clone().into()));
            programs.push(RankProgram { ranks: vec![rank], arguments: arguments.collect() });
        }
    }
    match taken.iter().position(|taken| !taken) {
        Some(rank) => {
            Err(format!("Configuration file {path} invalid, no record for task id {rank}"))
        }
        None => Ok(programs),
    }
}

/// Lines without comments; one that ends with a backslash goes on in the next.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let (line, goes_on) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some(last) if open => last.push_str(line),
            _ => lines.push(line.to_string()),
        }
        open = goes_on;
    }
    lines
}

/// Words, in quotes or not.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// `0`, `1-3`, `0,2-4`.
fn ranks(text: &str) -> Option<Vec<u32>> {
    let mut ranks = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last.checked_sub(first)? > 1_000_000 {
            return None;
        }
        ranks.extend(first..=last);
    }
    Some(ranks)
}

/// `%t` is the task's number, `%o` its place in the line's range.
fn fill(word: &str, rank: u32, offset: u32) -> String {
    word.replace("%t", &rank.to_string()).replace("%o", &offset.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_finds_its_program() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text = "# who runs what\n0 echo zero\n1-2 echo %t %o 'two words'\n* echo rest\n";
        std::fs::write(file.path(), text).expect("writes");
        let path = file.path().display().to_string();
        let more = ["-x".to_string()];
        let programs = read(&path, 4, &more).expect("is well formed");
        let shown: Vec<String> = programs
            .iter()
            .map(|program| {
                let words = program.arguments.iter().map(|word| String::from_utf8_lossy(word));
                words.collect::<Vec<_>>().join("|")
            })
            .collect();
        assert_eq!(
            shown,
            ["echo|zero|-x", "echo|1|0|two words|-x", "echo|2|1|two words|-x", "echo|rest|-x"]
        );
        std::fs::write(file.path(), "0 echo a\n").expect("writes");
        let refused = read(&path, 2, &[]).expect_err("nobody runs as task 1");
        assert!(refused.ends_with("invalid, no record for task id 1"), "{refused}");
    }
}
