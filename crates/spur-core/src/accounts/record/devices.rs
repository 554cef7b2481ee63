//! Devices that a step has of its job's: those it asks for, or all of them on its nodes.

use crate::gres;
use crate::job::Share;
use crate::job::steps::{Step, StepShare};

/// What a step has on one node, of what its job has there.
pub fn of_step(step: &Step, part: &StepShare, whole: &Share) -> Vec<crate::job::GresShare> {
    let Some(spec) = step.spec.as_deref() else { return whole.gres.clone() };
    let request = spec.request.as_deref();
    let none = |text: &str| text.eq_ignore_ascii_case("none");
    let said = [request.map_or("", |it| it.gres.as_str()), spec.gres.as_str()];
    if said.into_iter().any(none) {
        return Vec::new();
    }
    let (nodes, tasks) = (step.shares.len().max(1) as u64, part.ranks.len() as u64);
    let mut asked: Vec<(gres::Request, u64)> = Vec::new();
    for text in said {
        asked.extend(gres::parse(text).unwrap_or_default().into_iter().map(|it| (it, 1)));
    }
    if let Some(gpu) = request.map(|it| it.gpu()) {
        for (text, times) in [(&gpu.gpus_per_node, 1), (&gpu.gpus_per_task, tasks)] {
            asked.extend(
                gres::parse_gpus(text).unwrap_or_default().into_iter().map(|it| (it, times)),
            );
        }
        // What is asked for altogether is spread evenly.
        for mut it in gres::parse_gpus(&gpu.gpus).unwrap_or_default() {
            it.count = it.count.div_ceil(nodes);
            asked.push((it, 1));
        }
    }
    if asked.is_empty() {
        return whole.gres.clone();
    }
    let mut given = Vec::new();
    for (request, times) in asked {
        let mut left = request.count.saturating_mul(times);
        let fits = |held: &&crate::job::GresShare| {
            held.name == request.name
                && request.model.as_deref().is_none_or(|model| held.kind == model)
        };
        for held in whole.gres.iter().filter(fits) {
            let count = left.min(held.count);
            left -= count;
            if count > 0 {
                given.push(crate::job::GresShare { count, ..held.clone() });
            }
        }
    }
    given
}
