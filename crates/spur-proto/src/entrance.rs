//! Connections as they come in, by the machine's own socket or by TLS, each with what its channel proved.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use spur_net::assertion::Assertion;
use spur_net::identity::Bearer;
use spur_net::tls::{self, binding};
use spur_net::{PublicKey, Role};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

use crate::proof::{LONGEST, TOKEN};
use crate::seats::{Place, Seat, Seats, Stool};

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

/// Whom the cluster knows at this moment.
pub trait Register: Send + Sync + 'static {
    /// The key of a machine, by the name in its certificate.
    fn key_of(&self, certificate: &str) -> Option<PublicKey>;

    /// Whose token this is, if it is good.
    fn user_of(&self, token: &str) -> Option<String>;
}

/// Knows nobody: for a daemon that only users of its machine talk to.
pub struct Nobody;

impl Register for Nobody {
    fn key_of(&self, _: &str) -> Option<PublicKey> {
        None
    }

    fn user_of(&self, _: &str) -> Option<String> {
        None
    }
}

/// A connection that was let in.
pub struct Connection {
    line: Line,
    caller: Caller,
    held: Held,
}

/// The place that a connection has.
enum Held {
    Seat(#[expect(dead_code, reason = "held until the connection ends")] Seat),
    Stool(Stool),
}

enum Line {
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Takes connections until nobody wants them any more.
pub fn open(
    socket: UnixListener,
    network: Option<(TcpListener, TlsAcceptor)>,
    register: Arc<dyn Register>,
) -> ReceiverStream<io::Result<Connection>> {
    let (taken, stream) = mpsc::channel(64);
    let seats = Seats::default();
    if let Some((listener, acceptor)) = network {
        tokio::spawn(take_tls(listener, acceptor, register, seats.clone(), taken.clone()));
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
        let connection = Connection { line: Line::Unix(stream), caller, held: Held::Seat(seat) };
        if taken.send(Ok(connection)).await.is_err() {
            return;
        }
    }
}

async fn take_tls(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    register: Arc<dyn Register>,
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
        let Some(mut stool) = seats.wait(from) else { continue };
        let (acceptor, register) = (acceptor.clone(), register.clone());
        let (seats, taken) = (seats.clone(), taken.clone());
        // One that is slow to say who it is keeps nobody else waiting.
        tokio::spawn(async move {
            let greeted = tokio::select! {
                greeted = greet(&acceptor, stream, &*register) => greeted,
                () = stool.needed() => Err(io::ErrorKind::ConnectionAborted.into()),
            };
            let held = greeted.and_then(|(line, peer)| {
                let held = match known(&peer, &*register) {
                    None => Held::Stool(stool),
                    Some(place) => {
                        let seat = seats.sit(place);
                        Held::Seat(seat.ok_or(io::ErrorKind::QuotaExceeded)?)
                    }
                };
                Ok((line, peer, held))
            });
            match held {
                Ok((line, peer, held)) => {
                    let caller = Caller { peer: Arc::new(peer), from: Some(from) };
                    let _ = taken.send(Ok(Connection { line, caller, held })).await;
                }
                Err(error) => tracing::debug!(%from, %error, "a connection was refused"),
            }
        });
    }
}

/// The place of somebody who has proven who they are; none for strangers, and for machines that were thrown out.
fn known(peer: &Peer, register: &dyn Register) -> Option<Place> {
    let name = match peer {
        Peer::Nobody | Peer::Local { .. } => return None,
        Peer::Machine(bearer) => {
            let name = bearer.role.certificate_name();
            let is_known = bearer.role == Role::Controller
                || register.key_of(&name).as_ref() == Some(&bearer.key);
            is_known.then_some(name)?
        }
        Peer::User { machine, uid, .. } => format!("{uid} of {machine}"),
        Peer::Token(token) => format!("bearer {}", register.user_of(token)?),
    };
    Some(Place::Known(name))
}

async fn greet(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    register: &dyn Register,
) -> io::Result<(Line, Peer)> {
    let (mut stream, bearer) = tls::accept(acceptor, stream).await?;
    let says = stream.get_ref().1.alpn_protocol() == Some(tls::INTRODUCING);
    let peer = match bearer {
        Some(bearer) => Peer::Machine(bearer),
        None if says => timeout(tls::HANDSHAKE, introduced(&mut stream, register)).await??,
        None => Peer::Nobody,
    };
    Ok((Line::Tls(Box::new(stream)), peer))
}

/// Reads who calls. A word that does not hold ends the connection: nobody is let in as less than they said.
async fn introduced(
    stream: &mut TlsStream<TcpStream>,
    register: &dyn Register,
) -> io::Result<Peer> {
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
        key = register.key_of(machine);
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
        let own = self.get_mut();
        if let Held::Stool(stool) = &mut own.held
            && stool.poll_needed(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        match &mut own.line {
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
