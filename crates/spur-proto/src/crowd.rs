//! How much of a daemon one caller may have at a time: calls that are not answered yet, and bytes of them that are
//! held in memory. Machines of the cluster are not counted: each has one connection.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Body as Bytes, Frame, SizeHint};
use spur_core::auth::{Actor, Level};
use tokio::time::{Sleep, sleep};
use tonic::body::Body;
use tonic::{Code, Status};

/// How long a request may take to arrive.
pub const ARRIVAL: Duration = Duration::from_secs(10);

/// One kind of callers.
#[derive(Clone, Copy, Debug)]
struct Share {
    calls: usize,
    bytes: usize,
    who: &'static str,
}

const USER: Share = Share { calls: 4_096, bytes: 256 << 20, who: "one user" };
const STRANGER: Share = Share { calls: 16, bytes: 256 << 10, who: "an unknown caller" };

/// All strangers together.
const STRANGERS: usize = 256;

/// Whom something is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Guest {
    User(u32),
    Stranger(Option<IpAddr>),
}

/// Everybody who is being served.
#[derive(Clone, Debug, Default)]
pub struct Crowd(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    of: BTreeMap<Guest, Count>,
    strangers: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    calls: usize,
    bytes: usize,
}

/// One call, until it is answered and its request is forgotten.
#[derive(Debug)]
pub struct Stay {
    crowd: Crowd,
    guest: Guest,
    share: Share,
    bytes: Mutex<usize>,
}

impl Crowd {
    /// Counts a call; nothing to count for those who administer the cluster, and for its machines.
    pub fn enter(&self, actor: &Actor, from: Option<IpAddr>) -> Result<Option<Arc<Stay>>, Status> {
        let (guest, share) = match actor {
            Actor::User { level: Level::Administrator, .. } => return Ok(None),
            Actor::User { uid, .. } => (Guest::User(uid.0), USER),
            Actor::Anonymous => (Guest::Stranger(from), STRANGER),
            Actor::Node(_) | Actor::Controller => return Ok(None),
        };
        let mut counts = self.lock();
        let is_stranger = matches!(guest, Guest::Stranger(_));
        if is_stranger && counts.strangers >= STRANGERS {
            return Err(too_much("calls of unknown callers", STRANGERS));
        }
        let own = counts.of.entry(guest).or_default();
        if own.calls >= share.calls {
            return Err(too_much(&format!("calls of {}", share.who), share.calls));
        }
        own.calls += 1;
        counts.strangers += usize::from(is_stranger);
        Ok(Some(Arc::new(Stay { crowd: self.clone(), guest, share, bytes: Mutex::default() })))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Stay {
    /// More of the request has come.
    fn takes(&self, bytes: usize) -> Result<(), Status> {
        let mut counts = self.crowd.lock();
        let own = counts.of.entry(self.guest).or_default();
        if own.bytes + bytes > self.share.bytes {
            return Err(too_much(&format!("bytes of {}", self.share.who), self.share.bytes));
        }
        own.bytes += bytes;
        *self.bytes.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += bytes;
        Ok(())
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let bytes = *self.bytes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut counts = self.crowd.lock();
        if matches!(self.guest, Guest::Stranger(_)) {
            counts.strangers -= 1;
        }
        if let Some(own) = counts.of.get_mut(&self.guest) {
            own.calls -= 1;
            own.bytes -= bytes.min(own.bytes);
            if own.calls == 0 {
                counts.of.remove(&self.guest);
            }
        }
    }
}

fn too_much(what: &str, limit: usize) -> Status {
    let message = format!("too many {what} at a time, the limit is {limit}; ask again");
    Status::new(Code::ResourceExhausted, message)
}

/// A request as it arrives: in time, and not more of it than its caller may have.
pub struct Arriving {
    body: Body,
    late: Pin<Box<Sleep>>,
    stay: Option<Arc<Stay>>,
}

impl Arriving {
    /// Holds a request to its limits.
    pub fn body(body: Body, stay: Option<Arc<Stay>>) -> Body {
        Arriving::within(ARRIVAL, body, stay)
    }

    fn within(patience: Duration, body: Body, stay: Option<Arc<Stay>>) -> Body {
        Body::new(Arriving { body, late: Box::pin(sleep(patience)), stay })
    }
}

impl Bytes for Arriving {
    type Data = tonic::codegen::Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let own = self.get_mut();
        match Pin::new(&mut own.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(stay), Some(data)) = (&own.stay, frame.data_ref()) {
                    stay.takes(data.len())?;
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Pending if own.late.as_mut().poll(context).is_ready() => {
                let secs = ARRIVAL.as_secs();
                let message = format!("the request did not arrive whole, the limit is {secs} s");
                Poll::Ready(Some(Err(Status::new(Code::DeadlineExceeded, message))))
            }
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::ids::{Gid, Uid};

    fn user(uid: u32) -> Actor {
        Actor::user(Uid(uid), Gid(uid), Level::None)
    }

    fn from(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, last]))
    }

    #[test]
    fn calls_beyond_the_limit_are_refused_by_name_and_nobody_else_s() {
        let crowd = Crowd::default();
        let enter = |actor: &Actor, from| crowd.enter(actor, from);
        let held: Vec<_> = (0..USER.calls).map(|_| enter(&user(7), None)).collect();
        let refusal = enter(&user(7), None).expect_err("is too many");
        assert!(refusal.message().contains("calls of one user at a time, the limit is 4096"));
        assert!(enter(&user(8), None).is_ok());
        assert!(enter(&Actor::Controller, None).is_ok_and(|stay| stay.is_none()));
        drop(held);
        assert!(enter(&user(7), None).is_ok());
        let strangers: Vec<_> = (0..20).flat_map(|last| (0..20).map(move |_| last)).collect();
        let strangers: Vec<_> = strangers
            .iter()
            .filter_map(|last| enter(&Actor::Anonymous, from(*last)).ok())
            .collect();
        assert_eq!(strangers.len(), STRANGERS);
        drop(strangers);
        let counts = crowd.lock();
        assert_eq!((counts.of.len(), counts.strangers), (0, 0));
    }

    #[test]
    fn bytes_of_calls_that_are_not_answered_add_up() {
        let crowd = Crowd::default();
        let stay = || crowd.enter(&user(7), None).expect("is let in").expect("is counted");
        let (first, second) = (stay(), stay());
        assert!(first.takes(USER.bytes - 10).is_ok());
        assert!(second.takes(10).is_ok());
        assert!(second.takes(1).is_err());
        drop(first);
        assert!(second.takes(1).is_ok());
        drop(second);
        assert!(crowd.lock().of.is_empty());
    }

    #[tokio::test]
    async fn a_request_that_does_not_come_is_not_waited_for() {
        let mut body = Arriving::within(Duration::from_millis(1), never(), None);
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let refusal = frame.expect("something is said").expect_err("is too late");
        assert_eq!(refusal.code(), Code::DeadlineExceeded);
    }

    fn never() -> Body {
        struct Never;
        impl Bytes for Never {
            type Data = tonic::codegen::Bytes;
            type Error = Status;
            fn poll_frame(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
            ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
                Poll::Pending
            }
        }
        Body::new(Never)
    }
}
