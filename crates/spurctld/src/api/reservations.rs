//! Reservations as readers see them.

use spur_core::auth::Actor;
use spur_core::config::words::Private;
use spur_core::fields::clock;
use spur_core::hostlist;
use spur_core::ids::NodeName;
use spur_core::reservation::{Flags, Reservation};
use spur_core::state::State;
use spur_core::views::ReservationView;
use spur_proto::slurm::ListReservationsReply;
use tonic::Status;

use super::service::Service;
use super::sight::Sight;

impl Service {
    /// All of them, or where they are private those that the caller may use.
    pub(super) async fn reservations(&self, actor: Actor) -> Result<ListReservationsReply, Status> {
        let published = self.latest().await?;
        let state = &published.state;
        let own = match actor.uid() {
            Some(uid) => self.names.of(uid).await,
            None => String::new(),
        };
        let is_open = Sight::of(&actor, state).is_open(Private::Reservations);
        let accounts: Vec<&String> = state.rules.of_user(&own).map(|one| &one.account).collect();
        let is_own = |it: &&Reservation| {
            it.users.contains(&own) || it.accounts.iter().any(|one| accounts.contains(&one))
        };
        let mut all: Vec<&Reservation> = state.reservations.values().map(|it| &**it).collect();
        all.retain(|it| is_open || is_own(it));
        all.sort_by_key(|it| (it.number, it.start, &it.name));
        let reservations = all.into_iter().map(|it| view(state, it)).collect();
        Ok(ListReservationsReply { reservations })
    }
}

/// The words, with how long it may be idle.
fn flags(it: &Reservation) -> Vec<String> {
    let after = [Flags::NO_HOLD_JOBS_AFTER, Flags::MAGNETIC];
    let last = after.iter().fold(Flags::default(), |all, flag| all.with(*flag));
    let mut words = it.flags.without(last).words();
    let purge = it.purge_secs.map(|secs| clock::span_padded(secs.into()));
    words.extend(purge.map(|time| format!("PURGE_COMP={time}")));
    words.extend(Flags(it.flags.0 & last.0).words());
    words
}

fn view(state: &State, it: &Reservation) -> ReservationView {
    let it = &it.at(state.now);
    let members = it.nodes.iter().enumerate();
    let members = members.filter_map(|(place, name)| Some((place, state.nodes.get(name)?)));
    let (mut cpus, mut cores) = (0, 0);
    for (place, node) in members {
        let threads = node.inventory.threads_per_core.max(1);
        let kept = it.cores.get(place).copied().unwrap_or(node.inventory.cpus / threads);
        cpus += kept * threads;
        cores += kept;
    }
    let licenses: Vec<String> =
        it.licenses.iter().map(|(name, count)| format!("{name}:{count}")).collect();
    ReservationView {
        name: it.name.clone(),
        start_time: it.start.0,
        end_time: it.end.0,
        nodes: hostlist::compress(it.nodes.iter().map(NodeName::as_str)),
        node_count: it.nodes.len() as u32,
        core_count: cores,
        partition: it.partition.clone(),
        features: it.features.clone(),
        flags: flags(it),
        tres: if cpus > 0 { format!("cpu={cpus}") } else { String::new() },
        users: it.users.join(","),
        accounts: it.accounts.join(","),
        groups: it.groups.join(","),
        licenses: licenses.join(","),
        max_start_delay_secs: it.max_start_delay_secs,
        purge_completed_secs: it.purge_secs,
        comment: it.comment.clone(),
        ..ReservationView::default()
    }
}
