//! `cargo xtask bench`: the same work by the same commands on Spur and, if a configuration is named, on a
//! Slurm that runs beside it, in one go. Times of one machine mean little; the ratio is what counts.

mod measure;
mod site;

use anyhow::{Context, Result, bail};

use self::measure::{Measure, Unit};
use self::site::Site;

/// How it is called.
pub const USAGE: &str = "\
cargo xtask bench [--slurm SLURM_CONF] [--jobs N] [--only TEXT]
                               the same work on Spur and on Slurm, side by side, with the ratio
";

/// What is to be measured.
struct Request {
    slurm: Option<String>,
    jobs: u32,
    only: String,
}

impl Request {
    fn read(words: &[&str]) -> Result<Request> {
        let mut request = Request { slurm: None, jobs: 200, only: String::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} wants a value"));
            match *word {
                "--slurm" => request.slurm = Some((*value()?).to_string()),
                "--jobs" => request.jobs = value()?.parse().context("--jobs wants a number")?,
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
    let spur = Site::spur(4)?;
    let slurm = request.slurm.as_deref().map(Site::slurm).transpose()?;
    println!("{:<44} {:>12} {:>12} {:>8}", "what", "Spur", "Slurm", "ratio");
    for measure in measure::all(request.jobs) {
        if !measure.name.contains(&request.only) {
            continue;
        }
        let ours = (measure.take)(&spur).with_context(|| measure.name.to_string())?;
        let theirs = match &slurm {
            Some(slurm) => Some((measure.take)(slurm).with_context(|| measure.name.to_string())?),
            None => None,
        };
        println!("{}", line(&measure, ours, theirs));
    }
    Ok(())
}

/// More is better where things are counted by the second, less where time is taken.
fn line(measure: &Measure, ours: f64, theirs: Option<f64>) -> String {
    let shown = |amount: f64| match measure.unit {
        Unit::EachSecond => format!("{amount:.0}/s"),
        Unit::Milliseconds => format!("{amount:.1} ms"),
    };
    let ratio = theirs.map(|theirs| match measure.unit {
        Unit::EachSecond => ours / theirs,
        Unit::Milliseconds => theirs / ours,
    });
    let (theirs, ratio) = (
        theirs.map_or("-".to_string(), shown),
        ratio.map_or("-".to_string(), |ratio| format!("{ratio:.1} x")),
    );
    format!("{:<44} {:>12} {theirs:>12} {ratio:>8}", measure.name, shown(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_says_how_much_better_spur_is() {
        let measure = |unit| Measure { name: "x".into(), unit, take: Box::new(|_| Ok(0.0)) };
        let line = |unit, ours, theirs| super::line(&measure(unit), ours, theirs);
        assert!(line(Unit::EachSecond, 500.0, Some(20.0)).ends_with(" 25.0 x"));
        assert!(line(Unit::Milliseconds, 8.0, Some(40.0)).ends_with(" 5.0 x"));
        assert!(line(Unit::Milliseconds, 8.0, None).ends_with(" -        -"));
    }

    #[test]
    fn wrong_words_are_refused() {
        assert!(Request::read(&["--jobs", "many"]).is_err());
        assert!(Request::read(&["--slurm"]).is_err());
        assert!(Request::read(&["--nosuch"]).is_err());
    }
}
