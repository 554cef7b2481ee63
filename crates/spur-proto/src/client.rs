//! Finds and dials a controller.

use std::path::{Path, PathBuf};

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
}

/// Dials; the socket must be there.
pub async fn connect(address: &Address) -> Result<Channel, Error> {
    let Address::Unix(path) = address;
    connect_unix(path).await
}

async fn connect_unix(path: &Path) -> Result<Channel, Error> {
    let path = path.to_path_buf();
    // The name only fills the HTTP/2 authority; the connector decides where the bytes go.
    let dial = move |_: Uri| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
    };
    Endpoint::from_static("http://controller")
        .initial_connection_window_size(8 << 20)
        .initial_stream_window_size(8 << 20)
        .connect_with_connector(tower::service_fn(dial))
        .await
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
