//! getopt's habits: names may be shortened as long as one option remains, a value may be attached or
//! follow, flags may be clustered, `--` ends the options.

/// An option as far as reading a command line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// After two dashes; empty when there is none.
    pub long: &'static str,
    /// After one dash.
    pub short: Option<char>,
    /// Whether a value belongs to it.
    pub takes: Takes,
}

/// Whether a value belongs to an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// Always.
    Value,
    /// Only attached: `--name=value`, `-nvalue`.
    MayValue,
    /// Attached, or the next word unless that is an option: squeue's `-j`.
    MayFollow,
}

/// A command line, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Options in order, each with its value or an empty one.
    pub options: Vec<(Flag, String)>,
    /// What is no option.
    pub rest: Vec<String>,
}

/// A flag without a value.
pub const fn flag(long: &'static str, short: Option<char>) -> Flag {
    Flag { long, short, takes: Takes::Nothing }
}

/// An option with a value.
pub const fn option(long: &'static str, short: Option<char>) -> Flag {
    Flag { long, short, takes: Takes::Value }
}

impl Default for Flag {
    fn default() -> Flag {
        flag("", None)
    }
}

/// Reads all words, options in any place. The error is what getopt prints behind the tool's name.
pub fn read(flags: &[Flag], args: &[String]) -> Result<Words, String> {
    let mut words = Words::default();
    let mut args = args.iter();
    while let Some(word) = args.next() {
        if word == "--" {
            words.rest.extend(args.cloned());
            break;
        }
        match word.strip_prefix("--") {
            Some(long) => words.options.push(read_long(flags, long, &mut args)?),
            None if word.len() > 1 && word.starts_with('-') => {
                read_cluster(flags, &word[1..], &mut args, &mut words.options)?;
            }
            None => words.rest.push(word.clone()),
        }
    }
    Ok(words)
}

fn read_long(
    flags: &[Flag],
    word: &str,
    args: &mut std::slice::Iter<'_, String>,
) -> Result<(Flag, String), String> {
    let (name, attached) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    let flag = find_long(flags, name, word)?;
    let value = match (flag.takes, attached) {
        (Takes::Nothing, Some(_)) => {
            return Err(format!("option '--{}' doesn't allow an argument", flag.long));
        }
        (Takes::Value, None) => {
            let missing = || format!("option '--{}' requires an argument", flag.long);
            args.next().ok_or_else(missing)?.as_str()
        }
        (Takes::MayFollow, None) => following(args),
        (_, attached) => attached.unwrap_or_default(),
    };
    Ok((flag, value.to_string()))
}

/// The next word where it is a value.
fn following<'a>(args: &mut std::slice::Iter<'a, String>) -> &'a str {
    let is_value = args.as_slice().first().is_some_and(|word| !word.starts_with('-'));
    if is_value { args.next().map_or("", String::as_str) } else { "" }
}

fn find_long(flags: &[Flag], name: &str, word: &str) -> Result<Flag, String> {
    let begins = |flag: &&Flag| !flag.long.is_empty() && flag.long.starts_with(name);
    let found: Vec<&Flag> = flags.iter().filter(begins).collect();
    let exact = found.iter().find(|flag| flag.long == name);
    match (exact, &found[..]) {
        (Some(flag), _) | (None, [flag]) => Ok(**flag),
        (None, []) => Err(format!("unrecognized option '--{word}'")),
        (None, several) => {
            let names: Vec<String> =
                several.iter().map(|flag| format!("'--{}'", flag.long)).collect();
            let names = names.join(" ");
            Err(format!("option '--{word}' is ambiguous; possibilities: {names}"))
        }
    }
}

fn read_cluster(
    flags: &[Flag],
    letters: &str,
    args: &mut std::slice::Iter<'_, String>,
    options: &mut Vec<(Flag, String)>,
) -> Result<(), String> {
    for (at, letter) in letters.char_indices() {
        let flag = flags
            .iter()
            .find(|flag| flag.short == Some(letter))
            .ok_or_else(|| format!("invalid option -- '{letter}'"))?;
        let attached = &letters[at + letter.len_utf8()..];
        let value = match flag.takes {
            Takes::Nothing => {
                options.push((*flag, String::new()));
                continue;
            }
            Takes::MayValue => attached,
            Takes::Value | Takes::MayFollow if !attached.is_empty() => attached,
            Takes::MayFollow => following(args),
            Takes::Value => {
                let missing = || format!("option requires an argument -- '{letter}'");
                args.next().ok_or_else(missing)?.as_str()
            }
        };
        options.push((*flag, value.to_string()));
        return Ok(());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FLAGS: &[Flag] = &[
        flag("noheader", Some('h')),
        flag("noconvert", None),
        option("jobs", Some('j')),
        option("format", Some('o')),
        Flag { long: "steps", short: Some('s'), takes: Takes::MayValue },
        Flag { long: "task", short: Some('t'), takes: Takes::MayFollow },
    ];

    fn read_words(words: &str) -> Result<Vec<String>, String> {
        let args: Vec<String> = words.split_whitespace().map(str::to_string).collect();
        let words = read(FLAGS, &args)?;
        let options = words.options.iter().map(|(flag, value)| format!("{}={value}", flag.long));
        Ok(options.chain(words.rest.iter().cloned()).collect())
    }

    #[test]
    fn reads_as_getopt_does() {
        let table = [
            ("-h -j 5", "noheader= jobs=5"),
            ("-hj5", "noheader= jobs=5"),
            ("--jobs=5 --job 6", "jobs=5 jobs=6"),
            ("7 -h 8", "noheader= 7 8"),
            ("-- -h", "-h"),
            ("-s 5", "steps= 5"),
            ("-s5 --steps=6", "steps=5 steps=6"),
            ("-", "-"),
        ];
        for (words, expected) in table {
            assert_eq!(read_words(words).map(|got| got.join(" ")), Ok(expected.to_string()));
        }
    }

    #[test]
    fn complains_as_getopt_does() {
        let table = [
            ("-x", "invalid option -- 'x'"),
            ("--bogus=1", "unrecognized option '--bogus=1'"),
            ("--no", "option '--no' is ambiguous; possibilities: '--noheader' '--noconvert'"),
            ("-j", "option requires an argument -- 'j'"),
            ("--jobs", "option '--jobs' requires an argument"),
            ("--noheader=1", "option '--noheader' doesn't allow an argument"),
        ];
        for (words, expected) in table {
            assert_eq!(read_words(words), Err(expected.to_string()));
        }
    }

    proptest! {
        #[test]
        fn never_panics(args: Vec<String>) {
            let _ = read(FLAGS, &args);
        }
    }
}
