//! `scontrol show reservation`

use super::{Item, first, if_any, moment, or_null, then};
use crate::fields::clock;
use crate::fields::reservation::state;
use crate::views::ReservationView;

/// Its words.
#[rustfmt::skip]
pub static RESERVATION: &[Item<ReservationView>] = &[
    first("ReservationName", |r, _| Some(r.name.clone())),
    then("StartTime", |r, s| moment(r.start_time, "Unknown", s)),
    then("EndTime", |r, s| moment(r.end_time, "Unknown", s)),
    then("Duration", |r, _| Some(clock::span_padded(r.end_time - r.start_time))),
    first("Nodes", |r, _| or_null(&r.nodes)),
    then("NodeCnt", |r, _| Some(r.node_count.to_string())),
    then("CoreCnt", |r, _| Some(r.core_count.to_string())),
    then("Features", |r, _| or_null(&r.features)),
    then("PartitionName", |r, _| or_null(&r.partition)),
    then("Flags", |r, _| Some(r.flags.join(","))),
    first("TRES", |r, _| or_null(&r.tres)),
    first("Users", |r, _| or_null(&r.users)),
    then("Groups", |r, _| or_null(&r.groups)),
    then("Accounts", |r, _| or_null(&r.accounts)),
    then("Licenses", |r, _| or_null(&r.licenses)),
    then("State", |r, s| Some(state(r, s.context.now).into())),
    then("BurstBuffer", |r, _| or_null(&r.burst_buffer)),
    then("Watts", |_, _| Some("n/a".into())),
    first("MaxStartDelay", |r, _| Some(match r.max_start_delay_secs { 0 => "(null)".into(), secs => clock::span_padded(secs.into()) })),
    first("Comment", |r, _| if_any(&r.comment)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::RenderContext;
    use crate::show::{Scene, text};

    #[test]
    fn a_reservation_as_slurm_prints_it() {
        let reservation = ReservationView {
            name: "maint".into(),
            start_time: 1_896_134_400,
            end_time: 1_896_141_600,
            nodes: "n3".into(),
            node_count: 1,
            core_count: 64,
            flags: vec!["MAINT".into(), "SPEC_NODES".into()],
            tres: "cpu=64".into(),
            users: "root".into(),
            ..ReservationView::default()
        };
        let scene = Scene { context: RenderContext::default(), details: false };
        let expected = "\
ReservationName=maint StartTime=2030-02-01T00:00:00 EndTime=2030-02-01T02:00:00 Duration=02:00:00
   Nodes=n3 NodeCnt=1 CoreCnt=64 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES
   TRES=cpu=64
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)";
        assert_eq!(text(RESERVATION, &reservation, &scene, false), expected);
    }
}
