//! How this process shows other machines who it is, and how it dials them.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use spur_net::tls::{Dialler, binding};
use spur_net::{Role, tls};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::client::knock;
use crate::step_io::{self, EVERYBODY, Frames, Kind};

/// Who this process is.
#[derive(Clone)]
pub enum Proof {
    /// A machine of the cluster, or one that wants to be.
    Machine(Dialler),
    /// A user of a machine of the cluster: its agent, at this socket, says who.
    User {
        /// The agent's socket.
        agent: PathBuf,
    },
    /// Whoever a token of `scontrol token` says.
    Token {
        /// The token.
        token: String,
        /// The cluster's authority.
        authority: Vec<u8>,
    },
}

/// One process is one machine or one user, to whomever it talks.
static OWN: RwLock<Option<Arc<Proof>>> = RwLock::new(None);

/// From now on this process is known by this.
pub fn set(proof: Proof) {
    if let Ok(mut own) = OWN.write() {
        *own = Some(Arc::new(proof));
    }
}

/// From now on this process is nobody: what a newcomer believed counts for nothing else.
pub fn forget() {
    if let Ok(mut own) = OWN.write() {
        *own = None;
    }
}

/// Whether this process has said who it is.
pub fn is_set() -> bool {
    OWN.read().is_ok_and(|own| own.is_some())
}

const CONNECT: Duration = Duration::from_secs(5);

/// The longest a caller may say about themselves when a connection is made.
pub const LONGEST: usize = 8 << 10;

/// Connects to a controller, or to accounting: as this process, or with a proof for this once.
pub async fn dial(
    host: &str,
    port: u16,
    role: &Role,
    proof: Option<Arc<Proof>>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let own = proof.or_else(|| OWN.read().ok().and_then(|own| own.clone()));
    let own = own.ok_or_else(|| {
        Error::other("this machine has not joined the cluster; run: spur join TOKEN")
    })?;
    let connect = || async { timeout(CONNECT, TcpStream::connect((host, port))).await? };
    match &*own {
        Proof::Machine(dialler) => dialler.dial(connect().await?, role).await,
        Proof::User { agent } => {
            let mut agent = Agent::connect(agent).await?;
            let authority = agent.ask(Kind::Introduce, &[]).await?;
            let mut stream = visit(connect().await?, authority, role).await?;
            let word = agent.ask(Kind::Vouch, &binding(stream.get_ref().1)?).await?;
            introduce(&mut stream, &word).await?;
            Ok(stream)
        }
        Proof::Token { token, authority } => {
            let mut stream = visit(connect().await?, authority.clone(), role).await?;
            introduce(&mut stream, format!("{TOKEN}{token}").as_bytes()).await?;
            Ok(stream)
        }
    }
}

/// What stands before a token at the beginning of a connection.
pub const TOKEN: &str = "bearer ";

async fn visit(
    stream: TcpStream,
    authority: Vec<u8>,
    role: &Role,
) -> std::io::Result<TlsStream<TcpStream>> {
    let dialler = Dialler::visitor(&CertificateDer::from(authority)).map_err(Error::other)?;
    dialler.introducing().dial(stream, role).await
}

/// The first bytes of a connection that was agreed to begin so: a length, and who calls.
async fn introduce(stream: &mut TlsStream<TcpStream>, word: &[u8]) -> std::io::Result<()> {
    if stream.get_ref().1.alpn_protocol() != Some(tls::INTRODUCING) {
        return Err(Error::other("the controller takes nobody's word"));
    }
    let length = u16::try_from(word.len()).map_err(Error::other)?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(word).await?;
    stream.flush().await
}

/// The agent of this machine, as its users talk to it.
struct Agent {
    stream: UnixStream,
    frames: Frames,
}

impl Agent {
    async fn connect(socket: &PathBuf) -> std::io::Result<Agent> {
        let stream = knock(socket).await.map_err(|error| {
            let socket = socket.display();
            Error::new(error.kind(), format!("no agent of this machine at {socket}: {error}"))
        })?;
        Ok(Agent { stream, frames: Frames::default() })
    }

    async fn ask(&mut self, kind: Kind, payload: &[u8]) -> std::io::Result<Vec<u8>> {
        self.stream.write_all(&step_io::frame(kind, EVERYBODY, payload)).await?;
        let mut bytes = vec![0; 16 << 10];
        loop {
            if let Some(frame) = self.frames.take_frame().map_err(Error::other)? {
                return match frame.kind {
                    answered if answered == kind => Ok(frame.payload),
                    _ => Err(Error::other(String::from_utf8_lossy(&frame.payload).into_owned())),
                };
            }
            match timeout(CONNECT, self.stream.read(&mut bytes)).await?? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => self.frames.push(&bytes[..count]),
            }
        }
    }
}
