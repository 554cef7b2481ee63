//! Who has how many connections. Whoever has proven who they are has places of their own; strangers share a few,
//! and of those the oldest makes room for the newest, so that no crowd keeps anybody from showing who they are.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::oneshot;

/// Connections at a time, of everybody together; fewer where the system allows fewer open files.
pub const CONNECTIONS: usize = 10_000;

/// Of all places, one caller may have so many, and all strangers together as many.
const PARTS: usize = 5;

/// Of the strangers' places, one address may have so many.
const PARTS_OF_STRANGERS: usize = 4;

/// Somebody who has shown who they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A user of this machine.
    User(u32),
    /// Another machine, or a user of one.
    Known(String),
}

/// The places there are.
#[derive(Clone)]
pub struct Seats {
    taken: Arc<Mutex<Taken>>,
    most: usize,
}

#[derive(Default)]
struct Taken {
    all: usize,
    of: BTreeMap<Place, usize>,
    strangers: BTreeMap<IpAddr, VecDeque<(u64, oneshot::Sender<()>)>>,
    stranger_count: usize,
    next: u64,
}

/// The place of somebody known, until it is dropped.
pub struct Seat {
    seats: Seats,
    place: Place,
}

/// A stranger's place, until it is dropped or somebody else needs it.
pub struct Stool {
    seats: Seats,
    from: IpAddr,
    number: u64,
    needed: oneshot::Receiver<()>,
}

impl Default for Seats {
    fn default() -> Seats {
        let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
        // Files of the daemon's own are files too.
        Seats::new(CONNECTIONS.min(usize::try_from(files / 4 * 3).unwrap_or(CONNECTIONS)))
    }
}

impl Seats {
    fn new(most: usize) -> Seats {
        Seats { taken: Arc::default(), most }
    }

    fn of_one(&self) -> usize {
        (self.most / PARTS).max(1)
    }

    /// A place for somebody known; none when they, or all together, have too many. Root always finds one.
    pub fn sit(&self, place: Place) -> Option<Seat> {
        let mut taken = self.taken.lock().ok()?;
        let own = taken.of.get(&place).copied().unwrap_or(0);
        let is_full = taken.all >= self.most || own >= self.of_one();
        if is_full && place != Place::User(0) {
            tracing::debug!(?place, own, all = taken.all, "too many connections: one is refused");
            return None;
        }
        taken.all += 1;
        *taken.of.entry(place.clone()).or_insert(0) += 1;
        Some(Seat { seats: self.clone(), place })
    }

    /// A place for somebody unknown. There always is one: where there are too many, the oldest of the address
    /// that has most has to go.
    pub fn wait(&self, from: IpAddr) -> Option<Stool> {
        let most = self.of_one();
        let mut taken = self.taken.lock().ok()?;
        let own = taken.strangers.get(&from).map_or(0, VecDeque::len);
        if own >= (most / PARTS_OF_STRANGERS).max(1) {
            taken.show_out(from);
        } else if taken.stranger_count >= most {
            let greediest = taken.strangers.iter().max_by_key(|(_, its)| its.len());
            if let Some(greediest) = greediest.map(|(from, _)| *from) {
                taken.show_out(greediest);
            }
        }
        let (leave, needed) = oneshot::channel();
        let number = taken.next;
        taken.next += 1;
        taken.all += 1;
        taken.stranger_count += 1;
        taken.strangers.entry(from).or_default().push_back((number, leave));
        Some(Stool { seats: self.clone(), from, number, needed })
    }
}

impl Taken {
    fn show_out(&mut self, from: IpAddr) {
        let Some(its) = self.strangers.get_mut(&from) else { return };
        if let Some((_, leave)) = its.pop_front() {
            let _ = leave.send(());
            self.stranger_count -= 1;
            self.all -= 1;
        }
        if its.is_empty() {
            self.strangers.remove(&from);
        }
    }
}

impl Stool {
    /// Ready when somebody else needs the place.
    pub fn poll_needed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.needed).poll(context).map(drop)
    }

    /// Returns when somebody else needs the place.
    pub async fn needed(&mut self) {
        std::future::poll_fn(|context| self.poll_needed(context)).await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Ok(mut taken) = self.seats.taken.lock() else { return };
        taken.all -= 1;
        if let Some(own) = taken.of.get_mut(&self.place) {
            *own -= 1;
            if *own == 0 {
                taken.of.remove(&self.place);
            }
        }
    }
}

impl Drop for Stool {
    fn drop(&mut self) {
        let Ok(mut taken) = self.seats.taken.lock() else { return };
        let Some(its) = taken.strangers.get_mut(&self.from) else { return };
        // One that was shown out has no place any more.
        let Some(at) = its.iter().position(|(number, _)| *number == self.number) else { return };
        its.remove(at);
        if its.is_empty() {
            taken.strangers.remove(&self.from);
        }
        taken.stranger_count -= 1;
        taken.all -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn is_needed(stool: &mut Stool) -> bool {
        let mut context = Context::from_waker(std::task::Waker::noop());
        stool.poll_needed(&mut context).is_ready()
    }

    #[test]
    fn one_caller_cannot_take_all_places() {
        let seats = Seats::new(100);
        let greedy: Vec<Seat> =
            std::iter::from_fn(|| seats.sit(Place::User(1000))).take(100).collect();
        assert_eq!(greedy.len(), 20);
        assert!(seats.sit(Place::User(1001)).is_some());
        drop(greedy);
        assert!(seats.sit(Place::User(1000)).is_some());
        let taken = seats.taken.lock().expect("no holder panics");
        assert_eq!((taken.of.len(), taken.all), (0, 0));
    }

    #[test]
    fn a_crowd_of_strangers_keeps_nobody_out_who_has_something_to_show() {
        let seats = Seats::new(100);
        let mut crowd: Vec<Stool> = (0..500).filter_map(|_| seats.wait(address(1))).collect();
        let stay = crowd.iter_mut().filter_map(|it| (!is_needed(it)).then_some(())).count();
        assert_eq!(stay, 5, "a quarter of a fifth");
        // The agent of the same machine comes in, shows who it is, and has a place of its own.
        let mut agent = seats.wait(address(1)).expect("there always is one");
        assert!(!is_needed(&mut agent));
        let seat = seats.sit(Place::Known("n1.compute.spur".to_string()));
        assert!(seat.is_some());
        drop(agent);
        drop(crowd);
        let taken = seats.taken.lock().expect("no holder panics");
        assert_eq!((taken.stranger_count, taken.strangers.len(), taken.all), (0, 0, 1));
    }

    #[test]
    fn strangers_from_everywhere_leave_most_places_to_others() {
        let seats = Seats::new(100);
        let crowd: Vec<Stool> = (0..=255).filter_map(|last| seats.wait(address(last))).collect();
        assert_eq!(crowd.len(), 256);
        assert_eq!(seats.taken.lock().expect("no holder panics").stranger_count, 20);
        let known = (0..100).filter_map(|number| seats.sit(Place::User(number)));
        let known: Vec<Seat> = known.collect();
        // Root beyond the last.
        assert_eq!(known.len(), 80);
        assert!(seats.sit(Place::User(0)).is_some());
    }
}
