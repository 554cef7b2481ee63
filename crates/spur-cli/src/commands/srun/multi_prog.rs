//! `--multi-prog`: a file that says which tasks run what.

use spur_proto::internal::RankProgram;

/// Reads the file for so many tasks. Words after the file's name are added to every program's.
pub fn read(path: &str, tasks: u32, more: &[String]) -> Result<Vec<RankProgram>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|_| format!("Could not open multi_prog config file {path}"))?;
    let mut programs: Vec<RankProgram> = Vec::new();
    let mut taken = vec![false; tasks as usize];
    for (number, line) in joined(&text) {
        let wrong =
            |why: String| format!("{why}Line {number} of configuration file {path} invalid");
        let mut words = words(&line);
        if words.is_empty() {
            continue;
        }
        let chosen = words.remove(0);
        if words.is_empty() {
            return Err(wrong(String::new()));
        }
        let is_rest = chosen == "*";
        let ranks =
            if is_rest { (0..tasks).collect() } else { ranks(&chosen, tasks).map_err(wrong)? };
        for (offset, rank) in (0_u32..).zip(ranks) {
            let Some(taken) = taken.get_mut(rank as usize) else { continue };
            match std::mem::replace(taken, true) {
                true if is_rest => continue,
                true => return Err(wrong(format!("Duplicate record for task {rank}\n"))),
                false => {}
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

/// Lines without comments, and the number of each; one that ends with a backslash goes on in the next.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let (line, goes_on) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some((_, last)) if open => last.push_str(line),
            _ => lines.push((number, line.to_string())),
        }
        open = goes_on;
    }
    lines
}

/// Words, in single quotes or not; a backslash keeps what follows it. Double quotes mean nothing to Slurm.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            '\\' if !is_quoted => word.get_or_insert_default().extend(letters.next()),
            letter if letter.is_whitespace() && !is_quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// `0`, `1-3`, `0,2-4`; what is wrong with others is told as Slurm tells it, on a line of its own.
fn ranks(text: &str, tasks: u32) -> Result<Vec<u32>, String> {
    let mut ranks = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return Err(format!("Invalid task range specification ({text})\n"));
        };
        if last < first {
            return Err(format!("Invalid task range, {first}-{last}\n"));
        }
        if last >= tasks {
            return Err(format!("Invalid task id, {last} >= ntasks\n"));
        }
        ranks.extend(first..=last);
    }
    Ok(ranks)
}

/// `%t` is the task's number, `%o` its place in the line's range.
fn fill(word: &str, rank: u32, offset: u32) -> String {
    word.replace("%t", &rank.to_string()).replace("%o", &offset.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_slurm() {
        let line = r#"0 echo a\ b "c d" \\ 'x\y  z' e'f g'h"#;
        assert_eq!(words(line), ["0", "echo", "a b", "\"c", "d\"", "\\", "x\\y  z", "ef gh"]);
    }

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
        // As Slurm 22.05 says it.
        for (text, why) in [
            ("0 echo a\nfoo bar\n", "Invalid task range specification (foo)\nLine 2"),
            ("0 echo a\n0 echo b\n", "Duplicate record for task 0\nLine 2"),
            ("1-0 echo a\n", "Invalid task range, 1-0\nLine 1"),
            ("# who\n0-5 echo a\n", "Invalid task id, 5 >= ntasks\nLine 2"),
            ("0\n1 echo\n", "Line 1"),
        ] {
            std::fs::write(file.path(), text).expect("writes");
            let refused = read(&path, 2, &[]).expect_err("is wrong");
            assert_eq!(refused, format!("{why} of configuration file {path} invalid"));
        }
    }
}
