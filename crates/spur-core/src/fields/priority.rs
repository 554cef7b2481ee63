//! The columns of priorities: `sprio`.

use super::short::*;
use super::{Field, Value};
use crate::views::PriorityView;

/// `sprio` with every factor weighted; factors without a weight are left out by the tool.
pub const DEFAULT: &str = "%.15i %9r %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.20T";
/// `sprio -l`
pub const LONG: &str = "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T";
/// `sprio -n`
pub const NORMAL: &str = "%.15i %9r %10y %10a %10b %10f %10j %10p %10q %20t";
/// `sprio -l -n`
pub const LONG_NORMAL: &str = "%.15i %9r %.8u %10y %10a %10b %10f %10j %10p %10q %20t";

const fn letter(
    letter: char,
    header: &'static str,
    get: fn(&PriorityView) -> Value,
) -> Field<PriorityView> {
    Field::new("", header, get).letter(letter)
}

/// Every column.
#[rustfmt::skip]
pub static PRIORITY_FIELDS: &[Field<PriorityView>] = &[
    letter('a', "AGE", |p| normal(p, p.age)),
    letter('A', "AGE", |p| weighted(p, p.age, p.age_weight)),
    letter('b', "ASSOC", |p| normal(p, p.association)),
    letter('B', "ASSOC", |p| weighted(p, p.association, p.association_weight)),
    letter('c', "CLUSTER", |p| nullable(&p.cluster)),
    letter('f', "FAIRSHARE", |p| normal(p, p.fairshare)),
    letter('F', "FAIRSHARE", |p| weighted(p, p.fairshare, p.fairshare_weight)),
    letter('i', "JOBID", |p| Value::Text(shown_id(p))),
    letter('j', "JOBSIZE", |p| normal(p, p.job_size)),
    letter('J', "JOBSIZE", |p| weighted(p, p.job_size, p.job_size_weight)),
    letter('N', "NICE", |p| but_weights(p, Value::Integer(p.nice))),
    letter('n', "QOS_NAME", |p| text(&p.qos)),
    letter('o', "ACCOUNT", |p| text(&p.account)),
    letter('p', "PARTITION", |p| normal(p, p.partition_factor)),
    letter('P', "PARTITION", |p| weighted(p, p.partition_factor, p.partition_weight)),
    letter('q', "QOS", |p| normal(p, p.qos_factor)),
    letter('Q', "QOS", |p| weighted(p, p.qos_factor, p.qos_weight)),
    letter('r', "PARTITION", |p| text(&p.partition)),
    letter('S', "SITE", |p| if p.is_weights { number(1u32) } else { Value::Integer(p.site) }),
    letter('t', "TRES", |p| text(&p.tres_normalized)),
    letter('T', "TRES", |p| if p.is_weights { nullable(&p.tres_weights) } else { text(&p.tres) }),
    letter('u', "USER", |p| text(&p.user_name)),
    letter('y', "PRIORITY", |p| but_weights(p, Value::Fraction(f64::from(p.priority) / f64::from(u32::MAX), 14))),
    letter('Y', "PRIORITY", |p| but_weights(p, number(p.priority))),
];

fn shown_id(view: &PriorityView) -> String {
    match view {
        PriorityView { is_weights: true, .. } => "Weights".into(),
        PriorityView { array_job_id: 1.., array_task_id: Some(task), .. } => {
            format!("{}_{task}", view.array_job_id)
        }
        PriorityView { array_job_id: 1.., .. } if !view.array_task_string.is_empty() => {
            format!("{}_[{}]", view.array_job_id, view.array_task_string)
        }
        _ => view.job_id.to_string(),
    }
}

fn but_weights(view: &PriorityView, value: Value) -> Value {
    if view.is_weights { text("") } else { value }
}

fn normal(view: &PriorityView, factor: f64) -> Value {
    but_weights(view, Value::Fraction(factor, 7))
}

/// The factor's part of the priority, or on the line of weights the weight.
fn weighted(view: &PriorityView, factor: f64, weight: u32) -> Value {
    if view.is_weights {
        return number(weight);
    }
    Value::Fraction(factor * f64::from(weight), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::format::letters;
    use crate::fields::{RenderContext, check_table, render};

    #[test]
    fn the_table_is_sound() {
        check_table(PRIORITY_FIELDS);
    }

    #[test]
    fn layouts_of_sprio() {
        let job = PriorityView {
            job_id: 25,
            partition: "debug".into(),
            user_name: "root".into(),
            priority: 12_480,
            fairshare: 1.0,
            fairshare_weight: 10_000,
            job_size: 0.381,
            job_size_weight: 1000,
            partition_factor: 0.1,
            partition_weight: 1000,
            qos_factor: 1.0,
            qos_weight: 2000,
            age_weight: 1000,
            ..PriorityView::default()
        };
        let context = RenderContext::default();
        let columns =
            letters(PRIORITY_FIELDS, "%.15i %9r %.10Y %.10S %.10A %.10F %.10J %.10P %.10Q").columns;
        let weights =
            PriorityView { is_weights: true, priority: 0, partition: String::new(), ..job.clone() };
        assert_eq!(
            [
                render::header(&columns),
                render::row(&columns, &job, &context),
                render::row(&columns, &weights, &context),
            ],
            [
                "          JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE    JOBSIZE  PARTITION        QOS",
                "             25 debug          12480          0          0      10000        381        100       2000",
                "        Weights                               1       1000      10000       1000       1000       2000",
            ]
        );
        let columns = letters(PRIORITY_FIELDS, LONG).columns;
        assert_eq!(
            render::row(&columns, &job, &context),
            "             25 debug         root      12480          0          0          0      10000        381        100       2000           0                     "
        );
    }
}
