//! The agent's port, for `srun` on other machines.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use anyhow::{Context, Result, bail};
use spur_proto::client::Address;
use tokio::net::TcpListener;

/// Listens.
pub async fn listen(at: &Address) -> Result<TcpListener> {
    let Address::Tls { host, port } = at else { bail!("{at} is no port") };
    let listener = TcpListener::bind((host.as_str(), *port)).await;
    listener.with_context(|| format!("could not listen on {at}"))
}

/// What the controller is told: where this machine is as seen from there. On the controller's own machine
/// the socket comes first.
pub fn announced(listener: &TcpListener, controllers: &[Address], socket: &str) -> Result<String> {
    let at = listener.local_addr()?;
    let remote = controllers.iter().find_map(|address| match address {
        Address::Tls { host, port } => Some((host.as_str(), *port)),
        Address::Unix(_) => None,
    });
    let ip = match at.ip() {
        ip if !ip.is_unspecified() => Some(ip),
        _ => remote.and_then(towards),
    };
    let host = match ip {
        Some(ip) => ip.to_canonical().to_string(),
        None => nix::unistd::gethostname()?.to_string_lossy().into_owned(),
    };
    let port = Address::Tls { host, port: at.port() };
    Ok(match remote {
        Some(_) => port.to_string(),
        None => format!("{socket},{port}"),
    })
}

/// This machine's own address on the way to another; nothing is sent.
fn towards((host, port): (&str, u16)) -> Option<IpAddr> {
    use std::net::ToSocketAddrs;
    let there: SocketAddr = (host, port).to_socket_addrs().ok()?.next()?;
    let any: SocketAddr = if there.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().ok()?;
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(there).ok()?;
    Some(socket.local_addr().ok()?.ip())
}
