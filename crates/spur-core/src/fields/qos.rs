//! The columns of QOS: `sacctmgr show qos`.

use serde_json::json;

use super::association::{limit, megabytes, part, tres, wall};
use super::short::*;
use super::{Field, Value};
use crate::limit::Limit;
use crate::views::QosView;

/// `sacctmgr show qos`
pub const DEFAULT: &str = "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags%40,\
UsageThreshold,UsageFactor,GrpTRES,GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,\
MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,MaxJobsPU,MaxSubmitPU,MaxTRESPA,MaxJobsPA,MaxSubmitPA,\
MinTRES";

const fn field(
    name: &'static str,
    header: &'static str,
    width: usize,
    get: fn(&QosView) -> Value,
) -> Field<QosView> {
    Field::new(name, header, get).width(width)
}

/// Every column and every member of the JSON object. Earlier rows win when a name is shortened.
#[rustfmt::skip]
pub static QOS_FIELDS: &[Field<QosView>] = &[
    field("Description", "Descr", 20, |q| text(&q.description)).json("description"),
    field("Flags", "Flags", 20, |q| list(&q.flags)).json("flags"),
    field("GraceTime", "GraceTime", 10, |q| Value::both(Value::PaddedSpan(q.grace_secs.into()), number(q.grace_secs))).json("limits.grace_time"),
    field("GrpJobs", "GrpJobs", 7, |q| limit(q.grp_jobs)).json("limits.max.active_jobs.count"),
    field("GrpJobsAccrue", "GrpJobsAccrue", 13, |q| limit(q.grp_jobs_accrue)).json("limits.max.active_jobs.accruing"),
    field("GrpSubmitJobs", "GrpSubmit", 9, |q| limit(q.grp_submit)).json("limits.max.jobs.count"),
    field("GrpTRES", "GrpTRES", 13, |q| tres(&q.grp_tres)).json("limits.max.tres.total"),
    field("GrpTRESMins", "GrpTRESMins", 13, |q| tres(&q.grp_tres_mins)).json("limits.max.tres.minutes.total"),
    field("GrpTRESRunMins", "GrpTRESRunMins", 13, |q| tres(&q.grp_tres_run_mins)).json("limits.max.tres.minutes.per.qos"),
    field("GrpWall", "GrpWall", 11, |q| wall(q.grp_wall)).json("limits.max.wall_clock.per.qos"),
    field("GrpCPUMins", "GrpCPUMins", 11, |q| part(&q.grp_tres_mins, "cpu")),
    field("GrpCPURunMins", "GrpCPURunMins", 13, |q| part(&q.grp_tres_run_mins, "cpu")),
    field("GrpCPUs", "GrpCPUs", 8, |q| part(&q.grp_tres, "cpu")),
    field("GrpMem", "GrpMem", 7, |q| megabytes(&q.grp_tres)),
    field("GrpNodes", "GrpNodes", 8, |q| part(&q.grp_tres, "node")),
    field("MaxCPUMins", "MaxCPUMins", 11, |q| part(&q.max_tres_mins_per_job, "cpu")),
    field("MaxCPURunMins", "MaxCPURunMinsPU", 15, |q| part(&q.max_tres_run_mins_per_user, "cpu")),
    field("MaxCPUsPerJob", "MaxCPUs", 8, |q| part(&q.max_tres_per_job, "cpu")),
    field("MaxCPUsPU", "MaxCPUsPU", 9, |q| part(&q.max_tres_per_user, "cpu")),
    field("MaxNodesPerJob", "MaxNodes", 8, |q| part(&q.max_tres_per_job, "node")),
    field("MaxNodesPU", "MaxNodesPU", 10, |q| part(&q.max_tres_per_user, "node")),
    field("MinCPUs", "MinCPUs", 8, |q| part(&q.min_tres_per_job, "cpu")),
    field("ID", "ID", 6, |q| number(q.id)).json("id"),
    field("LimitFactor", "LimitFactor", 11, |q| factor(q.limit_factor)).json("limits.factor"),
    field("MaxJobsAccruePA", "MaxJobsAccruePA", 15, |q| limit(q.max_jobs_accrue_per_account)).json("limits.max.accruing.per.account"),
    field("MaxJobsAccruePerAccount", "MaxJobsAccruePA", 15, |q| limit(q.max_jobs_accrue_per_account)),
    field("MaxJobsAccruePU", "MaxJobsAccruePU", 15, |q| limit(q.max_jobs_accrue_per_user)).json("limits.max.accruing.per.user"),
    field("MaxJobsAccruePerUser", "MaxJobsAccruePU", 15, |q| limit(q.max_jobs_accrue_per_user)),
    field("MaxJobsPA", "MaxJobsPA", 9, |q| limit(q.max_jobs_per_account)).json("limits.max.jobs.active_jobs.per.account"),
    field("MaxJobsPerAccount", "MaxJobsPA", 9, |q| limit(q.max_jobs_per_account)),
    field("MaxJobsPU", "MaxJobsPU", 9, |q| limit(q.max_jobs_per_user)).json("limits.max.jobs.active_jobs.per.user"),
    field("MaxJobsPerUser", "MaxJobsPU", 9, |q| limit(q.max_jobs_per_user)),
    field("MaxSubmitPA", "MaxSubmitPA", 11, |q| limit(q.max_submit_per_account)).json("limits.max.jobs.per.account"),
    field("MaxSubmitJobsPA", "MaxSubmitPA", 11, |q| limit(q.max_submit_per_account)),
    field("MaxSubmitJobsPerAccount", "MaxSubmitPA", 11, |q| limit(q.max_submit_per_account)),
    field("MaxSubmitPU", "MaxSubmitPU", 11, |q| limit(q.max_submit_per_user)).json("limits.max.jobs.per.user"),
    field("MaxSubmitJobsPU", "MaxSubmitPU", 11, |q| limit(q.max_submit_per_user)),
    field("MaxSubmitJobsPerUser", "MaxSubmitPU", 11, |q| limit(q.max_submit_per_user)),
    field("MaxTRES", "MaxTRES", 13, |q| tres(&q.max_tres_per_job)).json("limits.max.tres.per.job"),
    field("MaxTRESPerJob", "MaxTRES", 13, |q| tres(&q.max_tres_per_job)),
    field("MaxTRESMins", "MaxTRESMins", 13, |q| tres(&q.max_tres_mins_per_job)).json("limits.max.tres.minutes.per.job"),
    field("MaxTRESMinsPerJob", "MaxTRESMins", 13, |q| tres(&q.max_tres_mins_per_job)),
    field("MaxTRESPA", "MaxTRESPA", 13, |q| tres(&q.max_tres_per_account)).json("limits.max.tres.per.account"),
    field("MaxTRESPerAccount", "MaxTRESPA", 13, |q| tres(&q.max_tres_per_account)),
    field("MaxTRESPerNode", "MaxTRESPerNode", 14, |q| tres(&q.max_tres_per_node)).json("limits.max.tres.per.node"),
    field("MaxTRESPU", "MaxTRESPU", 13, |q| tres(&q.max_tres_per_user)).json("limits.max.tres.per.user"),
    field("MaxTRESPerUser", "MaxTRESPU", 13, |q| tres(&q.max_tres_per_user)),
    field("MaxTRESRunMinsPA", "MaxTRESRunMinsPA", 15, |q| tres(&q.max_tres_run_mins_per_account)).json("limits.max.tres.minutes.per.account"),
    field("MaxTRESRunMinsPU", "MaxTRESRunMinsPU", 15, |q| tres(&q.max_tres_run_mins_per_user)).json("limits.max.tres.minutes.per.user"),
    field("MaxWall", "MaxWall", 11, |q| wall(q.max_wall)).json("limits.max.wall_clock.per.job"),
    field("MaxWallDurationPerJob", "MaxWall", 11, |q| wall(q.max_wall)),
    field("MinPrioThreshold", "MinPrioThres", 12, |q| limit(q.min_priority_threshold.map(|n| Limit::Is(n.into())))).json("limits.min.priority_threshold"),
    field("MinTRES", "MinTRES", 13, |q| tres(&q.min_tres_per_job)).json("limits.min.tres.per.job"),
    field("MinTRESPerJob", "MinTRES", 13, |q| tres(&q.min_tres_per_job)),
    field("Name", "Name", 10, |q| text(&q.name)).json("name"),
    field("Preempt", "Preempt", 10, |q| list(&q.preempt)).json("preempt.list"),
    field("PreemptMode", "PreemptMode", 11, preempt_mode).json("preempt.mode"),
    field("PreemptExemptTime", "PreemptExemptTime", 19, exempt_time).json("preempt.exempt_time"),
    field("Priority", "Priority", 10, |q| counted(q.priority)).json("priority"),
    field("UsageFactor", "UsageFactor", 11, |q| factor(Some(q.usage_factor))).json("usage_factor"),
    field("UsageThreshold", "UsageThres", 10, |q| factor(q.usage_threshold)).json("usage_threshold"),
];

fn factor(factor: Option<f64>) -> Value {
    let json = json!({
        "set": factor.is_some(), "infinite": factor.is_none(), "number": factor.unwrap_or(0.0),
    });
    let said = factor.map_or_else(|| text(""), |factor| Value::Fraction(factor, 6));
    Value::both(said, Value::Json(json))
}

fn preempt_mode(qos: &QosView) -> Value {
    let json = match qos.preempt_mode.as_str() {
        "" | "cluster" => json!(["DISABLED"]),
        mode => json!([mode.to_uppercase()]),
    };
    Value::both(or(&qos.preempt_mode, "cluster"), Value::Json(json))
}

fn exempt_time(qos: &QosView) -> Value {
    let json = limit(qos.preempt_exempt_secs.map(|secs| Limit::Is(secs.into())));
    let said =
        qos.preempt_exempt_secs.map_or_else(|| text(""), |secs| Value::PaddedSpan(secs.into()));
    Value::both(said, json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::format::accounting;
    use crate::fields::render::{self, Layout, accounting_header, accounting_row};
    use crate::fields::{RenderContext, check_table};

    fn high() -> QosView {
        QosView {
            name: "high".into(),
            priority: 1000,
            usage_factor: 1.0,
            max_wall: Some(Limit::Is(720)),
            ..QosView::default()
        }
    }

    #[test]
    fn the_table_is_sound() {
        check_table(QOS_FIELDS);
    }

    #[test]
    fn layouts_of_sacctmgr() {
        let columns = accounting(QOS_FIELDS, DEFAULT).unwrap();
        let context = RenderContext::default();
        let told = accounting_row(&columns, &high(), &Layout::Fixed, &context);
        assert_eq!(
            [accounting_header(&columns, &Layout::Fixed)[0].as_str(), told.as_str()],
            [
                "      Name   Priority  GraceTime    Preempt   PreemptExemptTime PreemptMode                                    Flags UsageThres UsageFactor       GrpTRES   GrpTRESMins GrpTRESRunMin GrpJobs GrpSubmit     GrpWall       MaxTRES MaxTRESPerNode   MaxTRESMins     MaxWall     MaxTRESPU MaxJobsPU MaxSubmitPU     MaxTRESPA MaxJobsPA MaxSubmitPA       MinTRES ",
                "      high       1000   00:00:00                                    cluster                                                        1.000000                                                                                                                       12:00:00                                                                                       ",
            ]
        );
        let columns = accounting(QOS_FIELDS, "name,priority,maxwall,maxjobspu").unwrap();
        assert_eq!(
            accounting_row(&columns, &high(), &Layout::Fixed, &context),
            "      high       1000    12:00:00           "
        );
        let parts = "GrpCPUs,GrpMem,GrpNodes,MaxCPUsPU,MinCPUs";
        let qos = QosView {
            grp_tres: "cpu=5,mem=10G".into(),
            max_tres_per_user: "cpu=3".into(),
            ..high()
        };
        let columns = accounting(QOS_FIELDS, parts).unwrap();
        assert_eq!(
            accounting_row(&columns, &qos, &Layout::Fixed, &context),
            "       5   10240                  3          "
        );
    }

    #[test]
    fn json_is_nested() {
        let told = render::json(QOS_FIELDS, &high());
        assert_eq!(told["limits"]["max"]["wall_clock"]["per"]["job"]["number"], 720);
        assert_eq!(told["preempt"]["mode"], json!(["DISABLED"]));
        assert_eq!(told["usage_factor"]["number"], 1.0);
    }
}
