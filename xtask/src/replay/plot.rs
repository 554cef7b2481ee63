//! A picture: how many jobs waited how long, one line for each policy.

use super::measure::Outcome;
use super::trace::Trace;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 40.0;
const COLOURS: [&str; 5] = ["#888888", "#d95f02", "#1b9e77", "#7570b3", "#e7298a"];

/// The part of jobs that waited at most so long, over the wait on a logarithmic scale.
pub fn svg(outcomes: &[(&str, Outcome)], trace: &Trace) -> String {
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"14\">{} jobs on {}: how many started within which time</text>\n",
        LEFT + WIDTH + 100.0,
        TOP + HEIGHT + 50.0,
        trace.jobs.len(),
        trace.machine,
    );
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    for percent in [0, 25, 50, 75, 100] {
        let y = bottom - HEIGHT * f64::from(percent) / 100.0;
        text += &format!(
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#eeeeee\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{percent} %</text>\n",
            LEFT - 8.0,
            y + 4.0
        );
    }
    for (power, name) in
        [(0, "1 s"), (1, "10 s"), (2, "100 s"), (3, "17 min"), (4, "3 h"), (5, "1 d"), (6, "12 d")]
    {
        let x = LEFT + WIDTH * f64::from(power) / 7.0;
        text += &format!(
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#eeeeee\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{name}</text>\n",
            bottom + 18.0
        );
    }
    text += &format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">wait</text>\n",
        LEFT + WIDTH / 2.0,
        bottom + 38.0
    );
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
                let x = LEFT + WIDTH * (wait.max(1) as f64).log10().min(7.0) / 7.0;
                Some(format!("{x:.1},{:.1}", bottom - HEIGHT * step as f64 / 200.0))
            })
            .collect();
        text += &format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>\n",
            points.join(" "),
            right + 12.0,
            TOP + 12.0 + 18.0 * number as f64
        );
    }
    text + "</svg>\n"
}
