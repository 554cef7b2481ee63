//! Finds and dials a controller.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper_util::rt::TokioIo;
use nix::sys::socket::{Backlog, listen};
use spur_net::Role;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Error, Uri};

pub use crate::address::Address;
use crate::internal::agents_client::AgentsClient;
use crate::proof::{self, Proof};
use crate::slurm::accounting_client::AccountingClient;
use crate::slurm::controller_client::ControllerClient;

/// The largest message either side takes.
pub const MAX_MESSAGE: usize = 16 << 20;

/// Connects to a socket of this machine. Where so many stand in line there that none more is taken, it stands by and
/// tries again: whoever listens is there, and busy.
pub async fn knock(path: impl AsRef<Path>) -> io::Result<UnixStream> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(5);
    loop {
        match UnixStream::connect(&path).await {
            Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < CROWDED => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(100));
            }
            other => return other,
        }
    }
}

/// How long one tries to get into the line.
const CROWDED: Duration = Duration::from_secs(60);

/// As many as the system allows stand in line before this socket: whoever starts hundreds of commands at once has them
/// all there before the first is let in.
pub fn widen(listener: impl AsFd) -> io::Result<()> {
    Ok(listen(&listener, Backlog::MAXALLOWABLE)?)
}

/// The same where there is nobody else to ask: one that is slow to answer is waited for.
pub async fn connect_to_only(address: &Address) -> Result<Channel, Error> {
    let endpoint = endpoint().keep_alive_timeout(ONLY_TIMEOUT);
    endpoint.connect_with_connector(connector(address, Role::Controller, None)).await
}

/// Dials; the socket must be there.
pub async fn connect(address: &Address) -> Result<Channel, Error> {
    endpoint().connect_with_connector(connector(address, Role::Controller, None)).await
}

/// Dials accounting; with another proof than the process's own, if there is one.
pub async fn connect_accounting(address: &Address, proof: Option<Proof>) -> Result<Channel, Error> {
    endpoint().connect_with_connector(connector(address, Role::Dbd, proof.map(Arc::new))).await
}

/// A channel that dials when it is used, and again when it breaks.
pub fn connect_lazily(address: &Address) -> Channel {
    endpoint().connect_with_connector_lazy(connector(address, Role::Controller, None))
}

/// How often an idle line is tried, and how long an answer may take: a controller that is stopped or cut
/// off holds nobody up who could ask another one.
const PROBE_EVERY: Duration = Duration::from_millis(500);
const PROBE_TIMEOUT: Duration = Duration::from_millis(1000);

/// How long the only controller may take. On a machine where hundreds of programs begin at once everybody is slow.
const ONLY_TIMEOUT: Duration = Duration::from_secs(30);

fn endpoint() -> Endpoint {
    // The name only fills the HTTP/2 authority; the connector decides where the bytes go.
    Endpoint::from_static("http://controller")
        .initial_connection_window_size(8 << 20)
        .initial_stream_window_size(8 << 20)
        .http2_keep_alive_interval(PROBE_EVERY)
        .keep_alive_timeout(PROBE_TIMEOUT)
}

/// A connection of either kind.
trait Line: AsyncRead + AsyncWrite + Send {}
impl<T: AsyncRead + AsyncWrite + Send> Line for T {}

type Io = TokioIo<Pin<Box<dyn Line>>>;

fn connector(
    address: &Address,
    role: Role,
    proof: Option<Arc<Proof>>,
) -> impl tower::Service<Uri, Response = Io, Error = io::Error, Future: Send> + Send + 'static {
    let address = address.clone().nearest();
    tower::service_fn(move |_: Uri| {
        let (address, role, proof) = (address.clone(), role.clone(), proof.clone());
        async move {
            let line: Pin<Box<dyn Line>> = match address {
                Address::Unix(path) => Box::pin(knock(path).await?),
                Address::Tls { host, port } => {
                    Box::pin(proof::dial(&host, port, &role, proof).await?)
                }
            };
            Ok(TokioIo::new(line))
        }
    })
}

/// A client of the public surface.
pub fn controller(channel: Channel) -> ControllerClient<Channel> {
    ControllerClient::new(channel)
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(MAX_MESSAGE)
}

/// A client of accounting.
pub fn accounting(channel: Channel) -> AccountingClient<Channel> {
    AccountingClient::new(channel)
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(MAX_MESSAGE)
}

/// An agent's side of its stream.
pub fn agents(channel: Channel) -> AgentsClient<Channel> {
    AgentsClient::new(channel).max_decoding_message_size(MAX_MESSAGE)
}
