//! The columns of reservations: `sinfo -T`, `--json`, `GET /slurm/v0.0.42/reservations`.

use super::short::*;
use super::{Field, Value};
use crate::time::Timestamp;
use crate::views::ReservationView;

const fn field(
    name: &'static str,
    header: &'static str,
    get: fn(&ReservationView) -> Value,
) -> Field<ReservationView> {
    Field::new(name, header, get)
}

const fn only_json(
    json: &'static str,
    get: fn(&ReservationView) -> Value,
) -> Field<ReservationView> {
    Field::json_only(json, get)
}

/// Every column and every member of the JSON object.
#[rustfmt::skip]
pub static RESERVATION_FIELDS: &[Field<ReservationView>] = &[
    field("Name", "RESV_NAME", |r| text(&r.name)).json("name"),
    only_json("accounts", |r| text(&r.accounts)),
    only_json("burst_buffer", |r| text(&r.burst_buffer)),
    only_json("core_count", |r| number(r.core_count)),
    only_json("core_specializations", |_| Value::Json(serde_json::json!([]))),
    field("StartTime", "START_TIME", |r| Value::Moment(r.start_time, "Unknown")).json("start_time"),
    field("EndTime", "END_TIME", |r| Value::Moment(r.end_time, "Unknown")).json("end_time"),
    field("Duration", "DURATION", |r| Value::PaddedSpan(r.end_time - r.start_time)),
    only_json("features", |r| text(&r.features)),
    only_json("flags", |r| list(&r.flags)),
    only_json("groups", |r| text(&r.groups)),
    only_json("licenses", |r| text(&r.licenses)),
    only_json("max_start_delay", |r| number(r.max_start_delay_secs)),
    only_json("node_count", |r| number(r.node_count)),
    field("NodeList", "NODELIST", |r| text(&r.nodes)).json("node_list"),
    only_json("partition", |r| text(&r.partition)),
    only_json("purge_completed.time", |r| maybe(r.purge_completed_secs, "")),
    only_json("watts", |_| maybe(None::<u32>, "")),
    only_json("tres", |r| text(&r.tres)),
    only_json("users", |r| text(&r.users)),
];

/// Whether it is in force.
pub fn state(reservation: &ReservationView, now: Timestamp) -> &'static str {
    let active = reservation.start_time <= now.0 && now.0 < reservation.end_time;
    if active { "ACTIVE" } else { "INACTIVE" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{check_table, render};

    #[test]
    fn the_table_is_sound() {
        check_table(RESERVATION_FIELDS);
    }

    #[test]
    fn json_and_state() {
        let reservation = ReservationView {
            name: "maint".into(),
            start_time: 100,
            end_time: 7300,
            flags: vec!["MAINT".into()],
            ..ReservationView::default()
        };
        assert_eq!(state(&reservation, Timestamp(99)), "INACTIVE");
        assert_eq!(state(&reservation, Timestamp(100)), "ACTIVE");
        let told = render::json(RESERVATION_FIELDS, &reservation);
        assert_eq!(told["start_time"]["number"], 100);
        assert_eq!(told["purge_completed"]["time"]["set"], false);
    }
}
