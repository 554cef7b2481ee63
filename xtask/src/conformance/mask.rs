//! What must differ between two clusters is made the same: moments, short spans of time, process numbers,
//! hosts, versions, loads. Widths stay as they are, so that columns are still compared.

/// Masks a text.
pub fn masked(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        told.push_str(&mask_line(line));
    }
    told
}

/// Words whose value is a machine's own.
const OWN: &[&str] = &[
    "AllocNode:Sid=",
    "SrunHost:Pid=",
    "NodeAddr=",
    "Port=",
    "Version=",
    "OS=",
    "CPULoad=",
    "FreeMem=",
    "BootTime=",
    "SlurmdStartTime=",
    "LastBusyTime=",
    "Arch=",
];

fn mask_line(line: &str) -> String {
    let line = dates(line);
    let mut told = String::with_capacity(line.len());
    let mut rest = line.as_str();
    while !rest.is_empty() {
        let end = rest.find([' ', '\n', '|', ',']).map_or(rest.len(), |end| end.max(1));
        let (word, after) = rest.split_at(end);
        told.push_str(&mask_word(word));
        // The name of an operating system has blanks of its own.
        rest = match word.starts_with("OS=") {
            true => after.find('\n').map_or("", |end| &after[end..]),
            false => after,
        };
    }
    told
}

fn mask_word(word: &str) -> String {
    if let Some(key) = OWN.iter().find(|key| word.starts_with(**key)) {
        return format!("{key}~");
    }
    let (key, value) = word.rsplit_once('=').map_or(("", word), |(key, value)| (key, value));
    let value = match value {
        "22.05.8" | "25.11.0" => "~",
        value if is_moment(value) => "YYYY-MM-DDTHH:MM:SS",
        value if is_short_span(value) => {
            return join(key, &value.replace(|c: char| c.is_ascii_digit(), "#"));
        }
        value => value,
    };
    join(key, value)
}

fn join(key: &str, value: &str) -> String {
    if key.is_empty() { value.to_string() } else { format!("{key}={value}") }
}

/// `2026-11-15T18:07:28`; years far ahead were asked for and stay.
fn is_moment(word: &str) -> bool {
    let shape = "dddd-dd-ddTdd:dd:dd";
    let fits = word.len() == shape.len()
        && word
            .chars()
            .zip(shape.chars())
            .all(|(c, s)| if s == 'd' { c.is_ascii_digit() } else { c == s });
    fits && !word.starts_with("203")
}

/// How long something has run; limits are whole minutes.
fn is_short_span(word: &str) -> bool {
    let parts: Vec<&str> = word.split(':').collect();
    let digits =
        parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    digits && (2..=3).contains(&parts.len()) && parts.last() != Some(&"00") && parts[1].len() == 2
}

/// `Sun Nov 15 18:08:52 2026` in front of a table.
fn dates(line: &str) -> String {
    const DAYS: [&str; 7] = ["Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "];
    match line.len() == 25 && DAYS.iter().any(|day| line.starts_with(day)) {
        true => "DDD MMM DD HH:MM:SS YYYY\n".into(),
        false => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_differ_is_made_the_same() {
        let same = [
            (
                "StartTime=2026-11-15T18:07:25 EndTime=Unknown",
                "StartTime=2026-11-16T01:00:00 EndTime=Unknown",
            ),
            ("Sun Nov 15 18:08:52 2026\n", "Mon Nov 16 00:00:01 2026\n"),
            (" 7 R 1:27 2 n[1-2]\n", " 7 R 2:31 2 n[1-2]\n"),
            ("OS=Linux 6.18 x \n   State=IDLE\n", "OS=Linux 6.1 \n   State=IDLE\n"),
            ("AllocNode:Sid=localhost:2468", "AllocNode:Sid=vm:11"),
        ];
        for (one, other) in same {
            assert_eq!(masked(one), masked(other));
        }
    }

    #[test]
    fn what_was_asked_for_is_compared() {
        let differ = [
            ("TimeLimit=01:00:00", "TimeLimit=02:00:00"),
            ("StartTime=2030-01-01T00:00:00", "StartTime=2030-02-01T00:00:00"),
            ("1:27", "11:27"),
            ("(Priority)", "(Resources)"),
        ];
        for (one, other) in differ {
            assert_ne!(masked(one), masked(other));
        }
    }
}
