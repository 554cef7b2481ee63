//! `sacctmgr show reservation`: what was kept for whom, and how much of it nobody used.

use spur_core::fields::rules::ReservationRow;
use spur_core::tres::{self, Tres};
use spur_proto::slurm::accounting_client::AccountingClient;
use spur_proto::slurm::{ListEventsRequest, SumUsageRequest};
use tonic::transport::Channel;

use super::events;
use super::show::Wanted;
use crate::accounting::{self, Trouble};
use crate::zone;

/// Reservations of the time that is asked about, each with how long it stood idle.
pub async fn reservations(
    client: &mut AccountingClient<Channel>,
    wanted: &Wanted,
) -> Result<Vec<ReservationRow>, Trouble> {
    let request = ListEventsRequest { reservations: true, ..events::request(wanted) };
    let names: Vec<String> = wanted
        .conditions
        .iter()
        .filter(|word| word.name.is_empty() || word.is(&["names"]))
        .flat_map(|word| word.list())
        .collect();
    let reply = client.list_events(request).await.map_err(accounting::refused)?;
    let mut rows = Vec::new();
    for kept in reply.into_inner().events {
        let is_meant = names.is_empty() || names.contains(&kept.reservation.to_lowercase());
        let (start, end) = (kept.start_time, kept.end_time.min(zone::now().0));
        // What is to come is shown to whoever asks for that time.
        let is_to_come = wanted.end == 0 && start > zone::now().0;
        // What ended before it began was never there.
        if !is_meant || is_to_come || kept.end_time <= start {
            continue;
        }
        let request = SumUsageRequest {
            start,
            end,
            clusters: vec![kept.cluster.clone()],
            reservations: vec![kept.reservation.clone()],
            ..SumUsageRequest::default()
        };
        let used = client.sum_usage(request).await.map_err(accounting::refused)?.into_inner();
        let seconds = used.usage.iter().flat_map(|row| &row.seconds);
        let used: u64 = seconds.filter(|it| it.name == "cpu").map(|it| it.seconds).sum();
        let amounts = tres::read(&kept.tres);
        let cpus = amounts.get(&Tres::Cpu).copied().flatten().unwrap_or(0).max(1);
        let unused_secs = ((end - start).max(0) as f64 - used as f64 / cpus as f64).max(0.0);
        rows.push(ReservationRow { kept, unused_secs });
    }
    Ok(rows)
}
