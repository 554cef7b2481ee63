//! `cargo xtask bench`: the same work by the same commands on Spur and, if a configuration is named, on a
//! Slurm that runs beside it, in one go. Times of one machine mean little; the ratio is what counts.

mod api;
mod failover;
mod measure;
mod site;

use anyhow::{Context, Result, bail};

use self::measure::{Amount, Number, Unit};
use self::site::Site;

/// How it is called.
pub const USAGE: &str = "\
cargo xtask bench [--slurm SLURM_CONF] [--jobs N] [--tasks N] [--queue N] [--only TEXT]
                               the same work on Spur and on Slurm, side by side, with the ratio
";

/// What is to be measured.
struct Request {
    slurm: Option<String>,
    amount: Amount,
    only: String,
}

impl Request {
    fn read(words: &[&str]) -> Result<Request> {
        let amount = Amount { jobs: 500, tasks: 5_000, queue: 100_000 };
        let mut request = Request { slurm: None, amount, only: String::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} wants a value"));
            let number = |value: &str| {
                let number = value.parse().ok().filter(|number| *number > 0);
                number.with_context(|| format!("{word} wants a number"))
            };
            match *word {
                "--slurm" => request.slurm = Some((*value()?).to_string()),
                "--jobs" => request.amount.jobs = number(value()?)?,
                "--tasks" => request.amount.tasks = number(value()?)?,
                "--queue" => request.amount.queue = number(value()?)?,
                "--only" => request.only = (*value()?).to_string(),
                other => bail!("there is no option {other}\n\n{USAGE}"),
            }
        }
        Ok(request)
    }
}

/// Measures and prints the table.
pub fn run(words: &[&str]) -> Result<()> {
    let request = Request::read(words)?;
    site::build()?;
    let spur = Site::spur(&["--cpus", "64", "--nodes", "n[1-4]"])?;
    let slurm = request.slurm.as_deref().map(Site::slurm).transpose()?;
    println!("{:<52} {:>12} {:>12} {:>8}", "what", "Spur", "Slurm", "ratio");
    for measure in measure::all(request.amount) {
        if !measure.name.contains(&request.only) {
            continue;
        }
        let ours = (measure.take)(&spur).with_context(|| measure.name.to_string())?;
        let theirs = match &slurm {
            Some(slurm) => (measure.take)(slurm).with_context(|| measure.name.to_string())?,
            None => Vec::new(),
        };
        for (at, number) in ours.iter().enumerate() {
            let theirs = theirs.get(at).map(|number| number.amount);
            println!("{}", line(&measure.name, measure.unit, number, theirs));
        }
    }
    Ok(())
}

/// More is better where things are counted by the second, less where time or memory is taken.
fn line(name: &str, unit: Unit, ours: &Number, theirs: Option<f64>) -> String {
    let name = match ours.name {
        "" => name.to_string(),
        part => format!("{name}: {part}"),
    };
    let shown = |amount: f64| match unit {
        Unit::EachSecond => format!("{amount:.0}/s"),
        Unit::Milliseconds => format!("{amount:.1} ms"),
        Unit::Bytes => format!("{amount:.0} B"),
    };
    let ratio = theirs.map(|theirs| match unit {
        Unit::EachSecond => ours.amount / theirs,
        Unit::Milliseconds | Unit::Bytes => theirs / ours.amount,
    });
    let (theirs, ratio) = (
        theirs.map_or("-".to_string(), shown),
        ratio.map_or("-".to_string(), |ratio| format!("{ratio:.1} x")),
    );
    format!("{name:<52} {:>12} {theirs:>12} {ratio:>8}", shown(ours.amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_says_how_much_better_spur_is() {
        let line = |unit, amount, theirs| line("x", unit, &Number { name: "", amount }, theirs);
        assert!(line(Unit::EachSecond, 500.0, Some(20.0)).ends_with(" 25.0 x"));
        assert!(line(Unit::Milliseconds, 8.0, Some(40.0)).ends_with(" 5.0 x"));
        assert!(line(Unit::Milliseconds, 8.0, None).ends_with(" -        -"));
        assert!(line(Unit::Bytes, 900.0, Some(3_600.0)).ends_with(" 4.0 x"));
        let named = Number { name: "p50", amount: 1.0 };
        assert!(super::line("x", Unit::Milliseconds, &named, None).starts_with("x: p50 "));
    }

    #[test]
    fn wrong_words_are_refused() {
        assert!(Request::read(&["--jobs", "many"]).is_err());
        assert!(Request::read(&["--queue", "0"]).is_err());
        assert!(Request::read(&["--slurm"]).is_err());
        assert!(Request::read(&["--nosuch"]).is_err());
    }
}
