//! Finds and dials a controller.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Error, Uri};

use crate::internal::agents_client::AgentsClient;
use crate::slurm::accounting_client::AccountingClient;
use crate::slurm::controller_client::ControllerClient;

/// The largest message either side takes.
pub const MAX_MESSAGE: usize = 16 << 20;

/// Where a controller listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket of this machine.
    Unix(PathBuf),
}

impl Address {
    /// Reads `unix:/path`, or a bare absolute path.
    pub fn parse(text: &str) -> Option<Address> {
        let path = text.strip_prefix("unix:").unwrap_or(text);
        path.starts_with('/').then(|| Address::Unix(PathBuf::from(path)))
    }

    /// Reads a list with commas between the addresses; nothing when one of them is none.
    pub fn parse_list(text: &str) -> Option<Vec<Address>> {
        text.split(',').map(|word| Address::parse(word.trim())).collect()
    }

    /// The addresses as one word, as [`Address::parse_list`] reads it.
    pub fn list(addresses: &[Address]) -> String {
        addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address::Unix(path) = self;
        write!(f, "unix:{}", path.display())
    }
}

impl From<Address> for Vec<Address> {
    fn from(address: Address) -> Vec<Address> {
        vec![address]
    }
}

/// Dials; the socket must be there.
pub async fn connect(address: &Address) -> Result<Channel, Error> {
    endpoint().connect_with_connector(connector(address)).await
}

/// A channel that dials when it is used, and again when it breaks.
pub fn connect_lazily(address: &Address) -> Channel {
    endpoint().connect_with_connector_lazy(connector(address))
}

/// How often an idle line is tried, and how long an answer may take: a controller that is stopped or cut
/// off holds nobody up who could ask another one.
const PROBE_EVERY: Duration = Duration::from_millis(500);
const PROBE_TIMEOUT: Duration = Duration::from_millis(1000);

fn endpoint() -> Endpoint {
    // The name only fills the HTTP/2 authority; the connector decides where the bytes go.
    Endpoint::from_static("http://controller")
        .initial_connection_window_size(8 << 20)
        .initial_stream_window_size(8 << 20)
        .http2_keep_alive_interval(PROBE_EVERY)
        .keep_alive_timeout(PROBE_TIMEOUT)
}

fn connector(
    address: &Address,
) -> impl tower::Service<Uri, Response = TokioIo<UnixStream>, Error = std::io::Error, Future: Send>
+ Send
+ 'static {
    let Address::Unix(path) = address.clone();
    tower::service_fn(move |_: Uri| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_addresses_read_back() {
        let list = "unix:/run/a.sock,unix:/run/b.sock";
        let addresses = Address::parse_list(list).expect("is read");
        assert_eq!(Address::list(&addresses), list);
        assert_eq!(Address::parse_list("/run/a.sock").expect("a bare path").len(), 1);
        assert_eq!(Address::parse_list("unix:/run/a.sock,here"), None);
    }
}
