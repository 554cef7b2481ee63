//! Reservations as readers see them.

use spur_core::hostlist;
use spur_core::ids::NodeName;
use spur_core::reservation::Reservation;
use spur_core::state::State;
use spur_core::views::ReservationView;
use spur_proto::slurm::ListReservationsReply;
use tonic::Status;

use super::service::Service;

impl Service {
    pub(super) async fn reservations(&self) -> Result<ListReservationsReply, Status> {
        let published = self.latest().await?;
        let state = &published.state;
        let mut all: Vec<&Reservation> = state.reservations.values().map(|it| &**it).collect();
        all.sort_by_key(|it| (it.start, &it.name));
        let reservations = all.into_iter().map(|it| view(state, it)).collect();
        Ok(ListReservationsReply { reservations })
    }
}

fn view(state: &State, it: &Reservation) -> ReservationView {
    let members = it.nodes.iter().filter_map(|name| state.nodes.get(name));
    let (mut cpus, mut cores) = (0, 0);
    for node in members {
        cpus += node.inventory.cpus;
        cores += node.inventory.cpus / node.inventory.threads_per_core.max(1);
    }
    ReservationView {
        name: it.name.clone(),
        start_time: it.start.0,
        end_time: it.end.0,
        nodes: hostlist::compress(it.nodes.iter().map(NodeName::as_str)),
        node_count: it.nodes.len() as u32,
        core_count: cores,
        partition: it.partition.clone(),
        features: it.features.clone(),
        flags: it.flags.words(),
        tres: format!("cpu={cpus}"),
        users: it.users.join(","),
        accounts: it.accounts.join(","),
        max_start_delay_secs: it.max_start_delay_secs,
        purge_completed_secs: it.purge_secs,
        comment: it.comment.clone(),
        ..ReservationView::default()
    }
}
