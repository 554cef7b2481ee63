//! A picture: how many jobs waited how long, one line for each policy.

use super::measure::Outcome;
use super::trace::Trace;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 400.0;
const COLOURS: [&str; 5] = ["#888888", "#d95f02", "#1b9e77", "#7570b3", "#e7298a"];

/// The part of jobs that waited at most so long, over the wait on a logarithmic scale.
pub fn svg(outcomes: &[(&str, Outcome)], trace: &Trace) -> String {
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        WIDTH + 120.0,
        HEIGHT + 60.0
    );
    for (power, name) in
        [(0, "1 s"), (1, "10 s"), (2, "100 s"), (3, "17 min"), (4, "3 h"), (5, "1 d"), (6, "12 d")]
    {
        let x = 40.0 + WIDTH * f64::from(power) / 7.0;
        text += &format!(
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"20\" y2=\"{}\" stroke=\"#eeeeee\"/>\
             <text x=\"{x}\" y=\"{}\">{name}</text>\n",
            20.0 + HEIGHT,
            40.0 + HEIGHT
        );
    }
    for (number, (name, outcome)) in outcomes.iter().enumerate() {
        let jobs = trace.jobs.iter().enumerate();
        let mut waits: Vec<i64> =
            jobs.filter_map(|(index, job)| Some(outcome.start_of(index)? - job.submit)).collect();
        waits.sort_unstable();
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> = (0..=200)
            .filter_map(|step| {
                let place = step * waits.len().saturating_sub(1) / 200;
                let wait = *waits.get(place)?;
                let x = 40.0 + WIDTH * (wait.max(1) as f64).log10().min(7.0) / 7.0;
                Some(format!("{x:.1},{:.1}", 20.0 + HEIGHT * (1.0 - step as f64 / 200.0)))
            })
            .collect();
        text += &format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>\n",
            points.join(" "),
            WIDTH + 50.0,
            40 + 18 * number
        );
    }
    text + "</svg>\n"
}
