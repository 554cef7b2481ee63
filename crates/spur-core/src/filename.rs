//! Names of output files: `slurm-%A_%a.out`, `%5t`, `\%j`.

use std::borrow::Cow;

/// Slurm's number for "no array task", which `%a` shows in a job without an array.
const NO_ARRAY: u32 = 4_294_967_294;

/// The most digits a width asks for; more are taken as this.
const WIDEST: usize = 10;

/// What the letters stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// `%j`: the job's own id.
    pub job: u32,
    /// `%A`: the id of its array, if it is part of one.
    pub array_job: Option<u32>,
    /// `%a`: its task id in the array.
    pub array_task: Option<u32>,
    /// `%s`: the step's number; a batch script has none and shows `batch`.
    pub step: Option<u32>,
    /// `%t`: the task's number in the step.
    pub task: u32,
    /// `%n`: the node's number in the job.
    pub node: u32,
    /// `%N`: the node's short name.
    pub node_name: String,
    /// `%u`: the user's name.
    pub user: String,
    /// `%x`: the job's name.
    pub job_name: String,
}

/// Where a batch script writes that was not told where.
pub fn batch_output(is_array_task: bool) -> &'static str {
    if is_array_task { "slurm-%A_%a.out" } else { "slurm-%j.out" }
}

/// Writes a pattern with its letters filled in. A pattern with a backslash is taken as it is, less
/// the backslashes.
pub fn expand(pattern: &str, values: &Values) -> String {
    if pattern.contains('\\') {
        return unescape(pattern);
    }
    let mut name = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        name.push_str(before);
        let end = after.find(|end: char| !end.is_ascii_digit()).unwrap_or(after.len());
        let (digits, from_letter) = after.split_at(end);
        let letter = from_letter.chars().next();
        rest = match letter.and_then(|letter| values.expand(letter, width(digits))) {
            Some(text) if letter != Some('%') || digits.is_empty() => {
                name.push_str(&text);
                &from_letter[1..]
            }
            // An unknown letter stays, with its sign unless a width came between.
            _ => {
                name.push_str(if digits.is_empty() { "%" } else { digits });
                from_letter
            }
        };
    }
    name.push_str(rest);
    name
}

/// Writes a pattern as Slurm shows it: what the node fills in stays, and so do widths. Of an array that waits as a
/// whole the task stays open, so that one of them can be shown by itself; see [`of_whole_array`].
pub fn shown(pattern: &str, values: &Values) -> String {
    let mut name = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        name.push_str(before);
        let is_open = values.array_job.is_some() && values.array_task.is_none();
        let is_filled = |letter: &char| "jAaux".contains(*letter) && !(is_open && *letter == 'a');
        let letter = after.chars().next().filter(is_filled);
        rest = match letter.and_then(|letter| values.expand(letter, 0)) {
            Some(text) => {
                name.push_str(&text);
                &after[1..]
            }
            None => {
                name.push('%');
                after
            }
        };
    }
    name.push_str(rest);
    name
}

/// A name as shown of an array that waits as a whole: no task is meant.
pub fn of_whole_array(name: &str) -> Cow<'_, str> {
    match name.contains("%a") {
        true => name.replace("%a", &NO_ARRAY.to_string()).into(),
        false => name.into(),
    }
}

/// Whether tasks of a step write to files of their own: the pattern tells them apart.
pub fn is_per_task(pattern: &str) -> bool {
    let one =
        |task, node| Values { task, node, node_name: format!("n{node}"), ..Values::default() };
    expand(pattern, &one(0, 0)) != expand(pattern, &one(1, 1))
}

fn width(digits: &str) -> usize {
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(WIDEST).min(WIDEST) }
}

fn unescape(pattern: &str) -> String {
    let mut name = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        name.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    name
}

impl Values {
    fn expand(&self, letter: char, width: usize) -> Option<String> {
        let number = |number: u32| Some(format!("{number:0width$}"));
        match letter {
            '%' => Some("%".to_owned()),
            'j' => number(self.job),
            'A' => number(self.array_job.unwrap_or(self.job)),
            'a' => number(self.array_task.unwrap_or(NO_ARRAY)),
            'b' => number(self.array_task.unwrap_or(NO_ARRAY) % 10),
            'J' => number(self.job).map(|job| match self.step {
                None => job,
                Some(step) => format!("{job}.{step}"),
            }),
            's' => self.step.map_or_else(|| Some("batch".to_owned()), number),
            't' => number(self.task),
            'n' => number(self.node),
            'N' => Some(self.node_name.clone()),
            'u' => Some(self.user.clone()),
            'x' => Some(self.job_name.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batch() -> Values {
        Values {
            job: 1569,
            node_name: "n1".to_owned(),
            user: "root".to_owned(),
            job_name: "name".to_owned(),
            ..Values::default()
        }
    }

    #[test]
    fn what_the_node_fills_in_is_shown_as_it_was_written() {
        let table = [
            ("%j.%t", "1569.%t"),
            ("%5j", "%5j"),
            ("%%", "%%"),
            ("a\\%j", "a\\1569"),
            ("%N-%n", "%N-%n"),
            ("%u_%x_%A", "root_name_1569"),
        ];
        for (pattern, text) in table {
            assert_eq!(shown(pattern, &batch()), text, "{pattern}");
        }
    }

    /// `sbatch --output=…` and the file that was written.
    #[rustfmt::skip]
    static BATCH: &[(&str, &str)] = &[
        ("%j", "1569"), ("%J", "1569"), ("%A", "1569"), ("%a", "4294967294"),
        ("%A_%a", "1569_4294967294"), ("%N", "n1"), ("%n", "0"), ("%s", "batch"), ("%t", "0"),
        ("%x", "name"), ("%u", "root"), ("%%", "%"), ("%5j", "01569"), ("%05j", "01569"),
        ("%10j", "0000001569"), ("%11j", "0000001569"), ("%20j", "0000001569"), ("%0j", "1569"),
        ("%1j", "1569"), ("%3x", "name"), ("%3N", "n1"), ("%5t", "00000"), ("%5n", "00000"),
        ("%5s", "batch"), ("%5a", "4294967294"), ("%5A", "01569"), ("%z", "%z"), ("%", "%"),
        ("%5", "5"), ("%5%", "5%"), ("\\%j", "%j"), ("%%j", "%j"), ("%j\\", "%j"), ("a\\b", "ab"),
        ("a\\\\%j", "a\\%j"), ("%c", "%c"), ("%5J", "01569"), ("%5u", "root"),
        ("%099j", "0000001569"), ("%-5j", "%-5j"), ("%5z", "5z"), ("%j%x%u", "1569nameroot"),
        ("%100000j", "0000001569"), ("%99999999999999999999999j", "0000001569"),
    ];

    #[test]
    fn batch_files_are_named_as_slurm_names_them() {
        for (pattern, name) in BATCH {
            assert_eq!(expand(pattern, &batch()), *name, "{pattern:?}");
        }
    }

    #[test]
    fn array_tasks_show_both_numbers() {
        let task = Values { job: 1614, array_job: Some(1613), array_task: Some(13), ..batch() };
        assert_eq!(
            expand("%j-%A-%a-%5a-%4a-%10a-%11A-%b", &task),
            "1614-1613-13-00013-0013-0000000013-0000001613-3"
        );
    }

    #[test]
    fn step_files_are_named_as_slurm_names_them() {
        let task = Values { job: 1614, step: Some(0), task: 2, node: 1, ..batch() };
        let pattern = "%J-%9J-%s-%5s-%t-%3t-%n-%2n-%j-%A-%a-%%-%z-%5z";
        let name = "1614.0-000001614.0-0-00000-2-002-1-01-1614-1614-4294967294-%-%z-5z";
        // The width of %J counts the job's digits alone.
        assert_eq!(expand(pattern, &task), name);
    }

    #[test]
    fn patterns_of_tasks_are_known() {
        for pattern in ["%t", "%5t", "%n", "%N", "x-%j-%t"] {
            assert!(is_per_task(pattern), "{pattern}");
        }
        for pattern in ["%j", "%%t", "\\%t", "out", "%x"] {
            assert!(!is_per_task(pattern), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn any_pattern_has_a_name(pattern in "[%0-9jJAaNnstxu\\\\]{0,12}|\\PC{0,16}") {
            let name = expand(&pattern, &batch());
            prop_assert!(name.len() <= pattern.len() * 10);
        }
    }
}
