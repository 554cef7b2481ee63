//! A crontab as a user writes it: comments, variables, `#SCRON` options, and lines that say when and what.

use super::Schedule;

/// One line that is a job, with everything said before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first line that belongs to it, counted from 1: an `#SCRON` line or its own.
    pub first: u32,
    /// Its own line.
    pub last: u32,
    /// When it is due.
    pub schedule: Schedule,
    /// The same as it was written.
    pub when: String,
    /// What is run.
    pub command: String,
    /// What its `#SCRON` lines say, with their numbers.
    pub options: Vec<(u32, String)>,
    /// The variables set above it, the last word on each last.
    pub variables: Vec<(String, String)>,
}

/// Why a crontab is refused, and from which line to which.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub first: u32,
    pub last: u32,
    pub message: String,
}

/// Reads a crontab.
pub fn read(text: &str) -> Result<Vec<Line>, Problem> {
    let mut lines = Vec::new();
    let mut options: Vec<(u32, String)> = Vec::new();
    let mut variables = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(said) = line.strip_prefix("#SCRON") {
            options.push((number, said.trim().to_string()));
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(variable) = variable(line) {
            variables.push(variable);
            continue;
        }
        let first = options.first().map_or(number, |(number, _)| *number);
        let refuse = |message: &str| Problem { first, last: number, message: message.to_string() };
        let (when, command) = split(line).ok_or_else(|| refuse("bad time specifier"))?;
        let schedule = when.parse::<Schedule>().map_err(|bad| refuse(bad.0))?;
        if command.is_empty() {
            return Err(refuse("bad command"));
        }
        lines.push(Line {
            first,
            last: number,
            schedule,
            when: when.to_string(),
            command: command.to_string(),
            options: std::mem::take(&mut options),
            variables: variables.clone(),
        });
    }
    Ok(lines)
}

/// The schedule of a line, and the command behind it.
fn split(line: &str) -> Option<(&str, &str)> {
    let words = if line.starts_with('@') { 1 } else { 5 };
    let mut rest = line;
    for _ in 0..words {
        let rest_of_word = rest.find(|letter: char| letter.is_ascii_whitespace());
        rest = match rest_of_word {
            Some(end) => rest[end..].trim_start(),
            None if rest.is_empty() => return None,
            None => "",
        };
    }
    Some((line[..line.len() - rest.len()].trim(), rest))
}

/// `NAME=value`, `NAME = "a value"`
fn variable(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let begins = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let goes_on = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !name.starts_with(begins) || !name.chars().all(goes_on) {
        return None;
    }
    let value = value.trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    Some((name.to_string(), value.to_string()))
}

/// The crontab with some of its lines put out of force.
pub fn comment_out(text: &str, first: u32, last: u32, mark: &str) -> String {
    let lines = (1..).zip(text.lines()).map(|(number, line)| match number {
        number if (first..=last).contains(&number) => format!("{mark} {line}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# every night
PLACE = \"the lab\"
#SCRON -p night -t 5
#SCRON --job-name=backup
0 3 * * *  tar c $HOME >/backup # all of it
A=1

@hourly   date
";

    #[test]
    fn options_are_for_the_line_below_and_variables_for_all_below() {
        let lines = read(TABLE).expect("is one");
        let [night, hour] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((night.first, night.last), (3, 5));
        assert_eq!(
            (night.when.as_str(), night.command.as_str()),
            ("0 3 * * *", "tar c $HOME >/backup # all of it")
        );
        let options: Vec<&str> = night.options.iter().map(|(_, said)| said.as_str()).collect();
        assert_eq!(options, ["-p night -t 5", "--job-name=backup"]);
        assert_eq!(night.variables, [("PLACE".to_string(), "the lab".to_string())]);
        assert_eq!((hour.first, hour.last), (8, 8));
        assert_eq!((hour.when.as_str(), hour.command.as_str()), ("@hourly", "date"));
        assert_eq!((hour.options.len(), hour.variables.len()), (0, 2));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named_with_its_options() {
        for (text, first, last, message) in [
            ("#SCRON -n1\n61 * * * * true\n", 1, 2, "bad minute"),
            ("\n* * * * *\n", 2, 2, "bad command"),
            ("true\n", 1, 1, "bad time specifier"),
            ("@reboot true\n", 1, 1, "bad time specifier"),
        ] {
            let problem = Problem { first, last, message: message.to_string() };
            assert_eq!(read(text), Err(problem), "{text}");
        }
    }

    #[test]
    fn lines_are_put_out_of_force_with_a_mark() {
        let text = comment_out("a\nb\nc", 2, 3, "#BAD:");
        assert_eq!(text, "a\n#BAD: b\n#BAD: c\n");
        assert_eq!(read(&comment_out(TABLE, 3, 5, "#DISABLED:")).map(|lines| lines.len()), Ok(1));
    }
}
