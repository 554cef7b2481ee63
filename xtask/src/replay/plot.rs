//! Pictures: how many jobs waited how long, or how much was given of what was asked; one line for each policy.

use std::path::Path;

use anyhow::{Context, Result};

use super::measure::Outcome;
use super::trace::Trace;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 40.0;

/// Colours and dashes: where lines lie on each other, all of them are seen.
const PENS: [(&str, &str); 6] = [
    ("#888888", ""),
    ("#d95f02", ""),
    ("#1f78b4", "12 4"),
    ("#1b9e77", "6 6"),
    ("#7570b3", "2 4"),
    ("#e7298a", "14 3 2 3"),
];

/// A line: its name, and points as parts of width and height.
type Line<'a> = (&'a str, Vec<(f64, f64)>);

/// Marks of an axis: where, as a part of it, and what is written there.
type Marks = Vec<(f64, String)>;

/// Writes a picture to a file.
pub fn write(path: &Path, svg: &str) -> Result<()> {
    std::fs::write(path, svg).with_context(|| format!("could not write {}", path.display()))
}

/// The part of jobs that waited at most so long, over the wait on a logarithmic scale.
pub fn waited(outcomes: &[(&str, Outcome)], trace: &Trace) -> String {
    /// The longest wait is ten to this many seconds.
    const DECADES: f64 = 7.0;
    let names = ["1 s", "10 s", "100 s", "17 min", "2.8 h", "1.2 d", "12 d", "116 d"];
    let marks = (0..).zip(names).map(|(power, name)| (f64::from(power) / DECADES, name.into()));
    let lines = outcomes.iter().map(|(name, outcome)| {
        let jobs = trace.jobs.iter().enumerate();
        let mut waits: Vec<i64> =
            jobs.filter_map(|(index, job)| Some(outcome.start_of(index)? - job.submit)).collect();
        waits.sort_unstable();
        let points = (0..=200).filter_map(|step| {
            let place = step * waits.len().saturating_sub(1) / 200;
            let wait = (*waits.get(place)?).max(1) as f64;
            Some((wait.log10().min(DECADES) / DECADES, step as f64 / 200.0))
        });
        (*name, points.collect())
    });
    let title = format!(
        "{} jobs on {}: how many started within which time",
        trace.jobs.len(),
        trace.machine
    );
    chart(&title, ("wait", &marks.collect()), &percents(100), &lines.collect::<Vec<_>>())
}

/// How much was given of what was asked, both as parts of all GPUs.
pub fn given(curves: &[(&str, Vec<(f64, f64)>)], what: &str) -> String {
    /// What the axis ends at, in percent; less than this part of the devices need not be seen.
    const MOST: u32 = 130;
    const LEAST: f64 = 0.7;
    let asked = (LEAST, f64::from(MOST) / 100.0);
    let place = |value: f64| (value - asked.0) / (asked.1 - asked.0);
    let tens = |until: u32| (70..=until).step_by(10);
    let marks =
        tens(MOST).map(|percent| (place(f64::from(percent) / 100.0), format!("{percent} %")));
    let height = |value: f64| (value - LEAST) / (1.0 - LEAST);
    let heights =
        tens(100).map(|percent| (height(f64::from(percent) / 100.0), format!("{percent} %")));
    let lines = curves.iter().map(|(name, curve)| {
        let seen = curve.iter().filter(|(asked, given)| *asked >= LEAST && *given >= LEAST);
        (*name, seen.map(|(asked, given)| (place(*asked).min(1.0), height(*given))).collect())
    });
    let title = format!("{what}: how much of the GPUs could be given");
    let bottom = ("asked, of all GPUs", &marks.collect());
    chart(&title, bottom, &heights.collect(), &lines.collect::<Vec<_>>())
}

fn percents(most: u32) -> Marks {
    let quarters = (0..=4).map(|quarter| quarter * most / 4);
    quarters.map(|it| (f64::from(it) / f64::from(most), format!("{it} %"))).collect()
}

fn chart(title: &str, (label, bottom): (&str, &Marks), left: &Marks, lines: &[Line<'_>]) -> String {
    let (right, base) = (LEFT + WIDTH, TOP + HEIGHT);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"14\">{title}</text>\n",
        right + 130.0,
        base + 50.0,
    );
    for (part, name) in left {
        let y = base - HEIGHT * part;
        text += &format!(
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\n",
            LEFT - 8.0,
            y + 4.0
        );
    }
    for (part, name) in bottom {
        let x = LEFT + WIDTH * part;
        text += &format!(
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{base}\" stroke=\"#dddddd\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{name}</text>\n",
            base + 18.0
        );
    }
    text += &format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{label}</text>\n",
        LEFT + WIDTH / 2.0,
        base + 38.0
    );
    for ((name, points), ((colour, dashes), place)) in
        lines.iter().zip(PENS.iter().cycle().zip(0..))
    {
        let at = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", LEFT + WIDTH * x, base - HEIGHT * y);
        let points: Vec<String> = points.iter().map(at).collect();
        let pen = format!(
            "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\""
        );
        let y = TOP + 12.0 + 20.0 * f64::from(place);
        text += &format!(
            "<polyline {pen} points=\"{}\"/>\
             <line {pen} x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\
             <text x=\"{}\" y=\"{y}\">{name}</text>\n",
            points.join(" "),
            right + 12.0,
            right + 48.0,
            y - 4.0,
            y - 4.0,
            right + 56.0,
        );
    }
    text + "</svg>\n"
}
