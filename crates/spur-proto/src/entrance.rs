//! Connections as they come in, by the machine's own socket or by TLS, each with what its channel proved.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use spur_net::PublicKey;
use spur_net::assertion::Assertion;
use spur_net::identity::Bearer;
use spur_net::tls::{self, binding};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

use crate::proof::{LONGEST, TOKEN};

/// Connections at a time, of everybody together.
pub const CONNECTIONS: usize = 10_000;

/// Connections at a time of one caller: a user of this machine, or another machine.
pub const CONNECTIONS_PER_CALLER: usize = 2_000;

/// Who is at the other end, as the channel proved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Nobody in particular.
    Nobody,
    /// A user of this machine, known by the kernel.
    Local {
        /// The user.
        uid: u32,
        /// The user's group.
        gid: u32,
    },
    /// A machine, known by its certificate.
    Machine(Bearer),
    /// A user of another machine, by that machine's word.
    User {
        /// The name in the machine's certificate.
        machine: String,
        /// The key that the word was signed with.
        key: PublicKey,
        /// The user.
        uid: u32,
        /// The user's group.
        gid: u32,
    },
    /// Whoever this token names.
    Token(String),
}

/// What calls on a connection know about it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who.
    pub peer: Arc<Peer>,
    /// From where, if from another machine.
    pub from: Option<IpAddr>,
}

/// Finds the key of a machine by the name in its certificate.
pub type KeyOf = Arc<dyn Fn(&str) -> Option<PublicKey> + Send + Sync>;

/// A connection that was let in.
pub struct Connection {
    line: Line,
    caller: Caller,
    _seat: Seat,
}

enum Line {
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Takes connections until nobody wants them any more.
pub fn open(
    socket: UnixListener,
    network: Option<(TcpListener, TlsAcceptor)>,
    key_of: KeyOf,
) -> ReceiverStream<io::Result<Connection>> {
    let (taken, stream) = mpsc::channel(64);
    let seats = Seats::default();
    if let Some((listener, acceptor)) = network {
        tokio::spawn(take_tls(listener, acceptor, key_of, seats.clone(), taken.clone()));
    }
    tokio::spawn(take_unix(socket, seats, taken));
    ReceiverStream::new(stream)
}

type Taken = mpsc::Sender<io::Result<Connection>>;

/// How long to rest when the system has no more descriptors.
const REST: Duration = Duration::from_millis(50);

async fn take_unix(listener: UnixListener, seats: Seats, taken: Taken) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            () = taken.closed() => return,
        };
        let Ok((stream, _)) = stream else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let (peer, place) = match stream.peer_cred() {
            Ok(found) => {
                let (uid, gid) = (found.uid(), found.gid());
                (Peer::Local { uid, gid }, Place::User(uid))
            }
            Err(_) => (Peer::Nobody, Place::User(u32::MAX)),
        };
        let Some(seat) = seats.sit(place) else { continue };
        let caller = Caller { peer: Arc::new(peer), from: None };
        let connection = Connection { line: Line::Unix(stream), caller, _seat: seat };
        if taken.send(Ok(connection)).await.is_err() {
            return;
        }
    }
}

async fn take_tls(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    key_of: KeyOf,
    seats: Seats,
    taken: Taken,
) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            () = taken.closed() => return,
        };
        let Ok((stream, from)) = stream else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let from = from.ip().to_canonical();
        let Some(seat) = seats.sit(Place::Machine(from)) else { continue };
        let (acceptor, key_of, taken) = (acceptor.clone(), key_of.clone(), taken.clone());
        // One that is slow to say who it is keeps nobody else waiting.
        tokio::spawn(async move {
            match greet(&acceptor, stream, &key_of).await {
                Ok((line, peer)) => {
                    let caller = Caller { peer: Arc::new(peer), from: Some(from) };
                    let connection = Connection { line, caller, _seat: seat };
                    let _ = taken.send(Ok(connection)).await;
                }
                Err(error) => tracing::debug!(%from, %error, "a connection was refused"),
            }
        });
    }
}

async fn greet(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    key_of: &KeyOf,
) -> io::Result<(Line, Peer)> {
    let (mut stream, bearer) = tls::accept(acceptor, stream).await?;
    let says = stream.get_ref().1.alpn_protocol() == Some(tls::INTRODUCING);
    let peer = match bearer {
        Some(bearer) => Peer::Machine(bearer),
        None if says => timeout(tls::HANDSHAKE, introduced(&mut stream, key_of)).await??,
        None => Peer::Nobody,
    };
    Ok((Line::Tls(Box::new(stream)), peer))
}

/// Reads who calls. A word that does not hold ends the connection: nobody is let in as less than they said.
async fn introduced(stream: &mut TlsStream<TcpStream>, key_of: &KeyOf) -> io::Result<Peer> {
    let length = usize::from(stream.read_u16().await?);
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut word = vec![0; length];
    stream.read_exact(&mut word).await?;
    let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
    if let Some(token) = word.strip_prefix(TOKEN.as_bytes()) {
        let token = String::from_utf8(token.to_vec()).map_err(|_| refused())?;
        return Ok(Peer::Token(token));
    }
    let binding = binding(stream.get_ref().1)?;
    let mut key = None;
    let said = Assertion::read(&word, &binding, now(), |machine| {
        key = key_of(machine);
        key.clone()
    });
    let Assertion { machine, uid, gid, .. } = said.ok_or_else(refused)?;
    Ok(Peer::User { machine, key: key.ok_or_else(refused)?, uid, gid })
}

/// Seconds since the epoch.
pub fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |passed| passed.as_secs() as i64)
}

/// Where a caller sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    User(u32),
    Machine(IpAddr),
}

/// Who has how many connections.
#[derive(Clone, Default)]
struct Seats {
    taken: Arc<Mutex<Taking>>,
}

#[derive(Default)]
struct Taking {
    all: usize,
    of: BTreeMap<Place, usize>,
}

/// A connection's place among them, until it ends.
struct Seat {
    seats: Seats,
    place: Place,
}

impl Seats {
    /// None when there are too many already. Root always finds a place.
    fn sit(&self, place: Place) -> Option<Seat> {
        let mut taken = self.taken.lock().ok()?;
        let own = taken.of.get(&place).copied().unwrap_or(0);
        let is_full = taken.all >= CONNECTIONS || own >= CONNECTIONS_PER_CALLER;
        if is_full && place != Place::User(0) {
            tracing::debug!(?place, own, all = taken.all, "too many connections: one is refused");
            return None;
        }
        taken.all += 1;
        *taken.of.entry(place).or_insert(0) += 1;
        Some(Seat { seats: self.clone(), place })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Ok(mut taken) = self.seats.taken.lock() else { return };
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.of.get_mut(&self.place) {
            *own -= 1;
            if *own == 0 {
                taken.of.remove(&self.place);
            }
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        self.caller.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().line {
            Line::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Line::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().line {
            Line::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Line::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().line {
            Line::Unix(stream) => Pin::new(stream).poll_flush(context),
            Line::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().line {
            Line::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Line::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_cannot_take_all_places() {
        let seats = Seats::default();
        let greedy: Vec<Seat> =
            std::iter::from_fn(|| seats.sit(Place::User(1000))).take(CONNECTIONS).collect();
        assert_eq!(greedy.len(), CONNECTIONS_PER_CALLER);
        assert!(seats.sit(Place::User(1001)).is_some());
        drop(greedy);
        assert!(seats.sit(Place::User(1000)).is_some());
        assert_eq!(seats.taken.lock().expect("no holder panics").of.len(), 0);
    }
}
