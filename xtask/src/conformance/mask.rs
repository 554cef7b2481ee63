//! What must differ between two clusters is made the same: moments, short spans of time, process numbers,
//! hosts, versions, loads. Widths stay as they are, so that columns are still compared.

/// Masks a text.
pub fn masked(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    for line in text.split_inclusive('\n').filter(|line| !is_a_matter_of_luck(line)) {
        // The recording's build has an agent for each node on one machine, and names it.
        let line = mask_line(&line.replace("slurmstepd-n1:", "slurmstepd:"));
        told.push_str(&number(&line).replace("=~  ", "=~ "));
    }
    told
}

/// A job that the questions release and hold again: it depends on who is first whether accounting knows it.
const RELEASED: [&str; 3] = ["15      ", "15.batch ", "15|"];

/// Whether a job had to wait before it started depends on when the scheduler looked.
fn is_a_matter_of_luck(line: &str) -> bool {
    [" queued and waiting for resources", " has been allocated resources"]
        .iter()
        .any(|end| line.trim_end().ends_with(end))
        || line.starts_with("salloc: Pending job allocation ")
        || RELEASED.iter().any(|start| line.starts_with(start))
}

/// Jobs that the questions themselves make are numbered from here on, and one that is taken or refused
/// unlike there shifts those behind it. They are told apart by what is said of them.
const ASKED: u32 = 30;

fn number(line: &str) -> String {
    let mut before = "";
    let mut told = String::with_capacity(line.len());
    for word in line.split_inclusive(' ') {
        let digits = word.trim_end_matches([' ', '\n', '.', ',', ':']);
        let is_job = ["job", "Job", "allocation"].contains(&before.trim_end());
        let is_asked = digits.parse().is_ok_and(|id: u32| (ASKED..90_000).contains(&id));
        match is_asked && (is_job || line.trim_end() == digits) {
            true => told.push_str(&word.replace(digits, "##")),
            false => told.push_str(word),
        }
        before = word;
    }
    told
}

/// Words whose value is a machine's own.
const OWN: &[&str] = &[
    "AllocNode:Sid=",
    "NodeHostName=",
    "TmpDisk=",
    "SecsPreSuspend=",
    "SrunHost:Pid=",
    "NodeAddr=",
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
    // A node's port is told only where it is not the usual one.
    if word.starts_with("Port=") {
        return String::new();
    }
    if let Some(key) = OWN.iter().find(|key| word.starts_with(**key)) {
        return format!("{key}~");
    }
    // Who closed a node, and when.
    if let Some((who, when)) = word.split_once('@')
        && is_moment(when.trim_end_matches(']'))
    {
        return format!("{who}@YYYY-MM-DDTHH:MM:SS]");
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

/// How long something has run. Limits are whole minutes, and none of them is below ten.
fn is_short_span(word: &str) -> bool {
    let parts: Vec<&str> = word.split(':').collect();
    let digits =
        parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    let is_span = digits && (2..=3).contains(&parts.len()) && parts[1].len() == 2;
    let is_short = word.starts_with("00:0") || (parts.len() == 2 && parts[0].len() == 1);
    is_span && (parts.last() != Some(&"00") || is_short)
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
            ("Submitted batch job 32\n", "Submitted batch job 33\n"),
            ("43\n", "44\n"),
            ("srun: job 47 queued and waiting for resources\n", ""),
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
            ("job 7\n", "job 8\n"),
            ("JobId=43\n", "JobId=44\n"),
            ("(Priority)", "(Resources)"),
        ];
        for (one, other) in differ {
            assert_ne!(masked(one), masked(other));
        }
    }
}
