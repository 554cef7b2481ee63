//! Nodes out of service, and what clusters had.

use prost::Message;
use spur_core::views::EventView;
use spur_proto::slurm::ListEventsRequest;

use crate::db::{Connection, Error, Value};
use crate::ingest::OPEN;

/// Keeps an event as it stands now; part of the caller's transaction.
pub fn put(connection: &mut Connection, event: &EventView) -> Result<(), Error> {
    let closed = if event.end_time > 0 { event.end_time } else { OPEN };
    connection.execute(
        "INSERT INTO events (cluster, node, start_time, closed_time, record) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (cluster, node, start_time) \
         DO UPDATE SET closed_time = excluded.closed_time, record = excluded.record",
        &[
            Value::from(&event.cluster),
            Value::from(&subject(event)),
            event.start_time.into(),
            closed.into(),
            event.encode_to_vec().into(),
        ],
    )?;
    Ok(())
}

/// What an event is about, as no other is called: a node, or a reservation.
fn subject(event: &EventView) -> String {
    match event.reservation.as_str() {
        "" => event.node.clone(),
        name => format!("reservation {name}"),
    }
}

/// Events of a time, in their order.
pub fn find(
    connection: &mut Connection,
    request: &ListEventsRequest,
) -> Result<Vec<EventView>, Error> {
    let end = if request.end > 0 { request.end } else { OPEN - 1 };
    let rows = connection.query(
        "SELECT record FROM events WHERE closed_time >= $1 AND start_time <= $2 \
         ORDER BY cluster, start_time, node",
        &[request.start.into(), end.into()],
    )?;
    let mut found = Vec::new();
    for row in rows {
        let event = EventView::decode(row.bytes(0)?)?;
        let is = |list: &[String], word: &String| list.is_empty() || list.contains(word);
        if is(&request.clusters, &event.cluster)
            && is(&request.nodes, &event.node)
            && event.reservation.is_empty() != request.reservations
            && !(request.open && event.end_time > 0)
        {
            found.push(event);
        }
    }
    Ok(found)
}
