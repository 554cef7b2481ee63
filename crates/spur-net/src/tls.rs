//! TLS 1.3 between machines: who listens, who dials, and how a machine that has not joined dials all the same.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring as provider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, ServerConfig,
    SignatureScheme,
};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::identity::Bearer;
use crate::{Error, Identity, Role, sha256};

/// How long the other side may take to show who it is.
pub const HANDSHAKE: Duration = Duration::from_secs(5);

/// Spoken by whoever says who they are before anything else: see spur-proto's `entrance`.
pub const INTRODUCING: &[u8] = b"spur-caller";
const HTTP2: &[u8] = b"h2";

/// Takes connections as this machine. Whoever shows no certificate comes in as nobody.
pub fn acceptor(own: &Identity) -> Result<TlsAcceptor, Error> {
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots(&own.authority)?), crypto())
            .allow_unauthenticated()
            .build()
            .map_err(|error| Error::Unusable(error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(own.shown.clone());
    config.alpn_protocols = vec![INTRODUCING.to_vec(), HTTP2.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Finishes a connection that was taken, and tells who is there.
pub async fn accept(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> std::io::Result<(server::TlsStream<TcpStream>, Option<Bearer>)> {
    let _ = stream.set_nodelay(true);
    let stream = timeout(HANDSHAKE, acceptor.accept(stream)).await??;
    let certificates = stream.get_ref().1.peer_certificates();
    let bearer = match certificates.and_then(<[_]>::first) {
        // Ours, and yet it says nothing that we understand: no reason to let it be nobody.
        Some(certificate) => Some(Bearer::of(certificate).ok_or(std::io::ErrorKind::InvalidData)?),
        None => None,
    };
    Ok((stream, bearer))
}

/// How a machine dials others.
#[derive(Clone)]
pub struct Dialler {
    config: Arc<ClientConfig>,
    pinned: Option<Arc<Pinned>>,
}

impl Dialler {
    /// As a machine of the cluster.
    pub fn member(own: &Identity) -> Result<Dialler, Error> {
        let config = ClientConfig::builder_with_provider(crypto())
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(roots(&own.authority)?)
            .with_client_cert_resolver(own.shown.clone());
        Ok(Dialler { config: Arc::new(config), pinned: None })
    }

    /// As nobody in particular who knows whom to believe.
    pub fn visitor(authority: &CertificateDer<'_>) -> Result<Dialler, Error> {
        let config = ClientConfig::builder_with_provider(crypto())
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(roots(authority)?)
            .with_no_client_auth();
        Ok(Dialler { config: Arc::new(config), pinned: None })
    }

    /// As somebody who knows the hash of the authority only, or who will believe the first one shown.
    pub fn newcomer(authority: Option<[u8; 32]>) -> Result<Dialler, Error> {
        let pinned = Arc::new(Pinned { authority, seen: Mutex::default() });
        let config = ClientConfig::builder_with_provider(crypto())
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(pinned.clone())
            .with_no_client_auth();
        Ok(Dialler { config: Arc::new(config), pinned: Some(pinned) })
    }

    /// The same, but first it will say who calls.
    pub fn introducing(&self) -> Dialler {
        let mut config = (*self.config).clone();
        config.alpn_protocols = vec![INTRODUCING.to_vec()];
        Dialler { config: Arc::new(config), pinned: self.pinned.clone() }
    }

    /// Connects to a machine, which must be this.
    pub async fn dial(
        &self,
        stream: TcpStream,
        role: &Role,
    ) -> std::io::Result<client::TlsStream<TcpStream>> {
        let _ = stream.set_nodelay(true);
        let name = ServerName::try_from(role.certificate_name()).map_err(std::io::Error::other)?;
        let connector = TlsConnector::from(self.config.clone());
        timeout(HANDSHAKE, connector.connect(name, stream)).await?
    }

    /// The authority that a newcomer has been shown.
    pub fn authority(&self) -> Option<CertificateDer<'static>> {
        let pinned = self.pinned.as_ref()?;
        pinned.seen.lock().ok()?.clone()
    }
}

/// What only the two ends of this connection know: proof made for it is worth nothing on another.
pub fn binding<D>(connection: &rustls::ConnectionCommon<D>) -> std::io::Result<[u8; 32]> {
    connection
        .export_keying_material([0; 32], b"EXPORTER-spur-caller", None)
        .map_err(std::io::Error::other)
}

fn crypto() -> Arc<CryptoProvider> {
    Arc::new(provider::default_provider())
}

fn roots(authority: &CertificateDer<'_>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone().into_owned())?;
    Ok(roots)
}

/// Believes one authority, by its hash; without one, the first it is shown, and only that from then on.
#[derive(Debug)]
struct Pinned {
    authority: Option<[u8; 32]>,
    seen: Mutex<Option<CertificateDer<'static>>>,
}

impl Pinned {
    fn believes(&self, shown: &CertificateDer<'_>) -> bool {
        let seen = self.seen.lock().ok().and_then(|seen| seen.clone());
        match (self.authority, seen) {
            (Some(hash), _) => sha256(shown) == hash,
            (None, Some(seen)) => seen == *shown,
            (None, None) => true,
        }
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let unknown = || TlsError::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let authority =
            intermediates.iter().find(|shown| self.believes(shown)).ok_or_else(unknown)?;
        let roots = roots(authority).map_err(|_| unknown())?;
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), crypto());
        let verifier = verifier.build().map_err(|_| unknown())?;
        let verified =
            verifier.verify_server_cert(end_entity, &[], server_name, ocsp_response, now)?;
        if let Ok(mut seen) = self.seen.lock() {
            *seen = Some(authority.clone().into_owned());
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::General("only TLS 1.3 is spoken".to_string()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &provider::default_provider().signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::Authority;
    use crate::identity::MachineKey;

    fn member(authority: &Authority, role: &Role) -> Identity {
        let key = MachineKey::generate().expect("is made");
        let certificate = authority.certify(role, &key.public()).expect("is signed");
        Identity::new(key, &certificate, authority.certificate(), "").expect("fits")
    }

    fn n1() -> Role {
        Role::Compute("n1".to_string())
    }

    /// Who the listener sees, or why the two do not speak; both ends must agree on the binding.
    async fn meet(
        own: &Identity,
        dialler: Dialler,
        asked_for: &Role,
    ) -> Result<Option<Role>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let acceptor = acceptor(own).expect("is usable");
        let asked_for = asked_for.clone();
        let dialled = tokio::spawn(async move {
            let stream = TcpStream::connect(address).await.expect("connects");
            let stream =
                dialler.dial(stream, &asked_for).await.map_err(|error| error.to_string())?;
            binding(stream.get_ref().1).map_err(|error| error.to_string())
        });
        let (stream, _) = listener.accept().await.expect("is dialled");
        let met = accept(&acceptor, stream).await.map_err(|error| error.to_string());
        let bound = dialled.await.expect("ends")?;
        let (stream, bearer) = met?;
        assert_eq!(binding(stream.get_ref().1).expect("is bound"), bound);
        Ok(bearer.map(|bearer| bearer.role))
    }

    #[tokio::test]
    async fn members_know_each_other_and_visitors_are_nobody() {
        let authority = Authority::generate().expect("is made");
        let controller = member(&authority, &Role::Controller);
        let node = Dialler::member(&member(&authority, &n1())).expect("is usable");
        assert_eq!(meet(&controller, node, &Role::Controller).await, Ok(Some(n1())));
        let visitor = Dialler::visitor(authority.certificate()).expect("is usable");
        assert_eq!(meet(&controller, visitor, &Role::Controller).await, Ok(None));
    }

    #[tokio::test]
    async fn what_was_made_with_an_old_certificate_shows_the_new_one() {
        let authority = Authority::generate().expect("is made");
        let controller = member(&authority, &Role::Controller);
        let node = member(&authority, &n1());
        let dialler = Dialler::member(&node).expect("is usable");
        let before = node.shown.certificate();
        let foreign = authority.certify(&n1(), &controller.key.public()).expect("is signed");
        assert!(node.renew(&foreign).is_err(), "for another key");
        let fresh = authority.certify(&Role::Login("n1".to_string()), &node.key.public());
        node.renew(&fresh.expect("is signed")).expect("fits");
        assert_ne!(node.shown.certificate(), before);
        let met = meet(&controller, dialler, &Role::Controller).await;
        assert_eq!(met, Ok(Some(Role::Login("n1".to_string()))));
    }

    #[tokio::test]
    async fn a_node_cannot_pass_for_a_controller() {
        let authority = Authority::generate().expect("is made");
        let visitor = Dialler::visitor(authority.certificate()).expect("is usable");
        let node = member(&authority, &n1());
        assert!(meet(&node, visitor, &Role::Controller).await.is_err());
    }

    #[tokio::test]
    async fn a_foreign_authority_counts_for_nothing() {
        let authority = Authority::generate().expect("is made");
        let foreign = Authority::generate().expect("is made");
        let controller = member(&authority, &Role::Controller);
        let intruder = Dialler::member(&member(&foreign, &n1())).expect("is usable");
        assert!(meet(&controller, intruder, &Role::Controller).await.is_err());
    }

    #[tokio::test]
    async fn a_newcomer_believes_the_authority_of_its_token_only() {
        let authority = Authority::generate().expect("is made");
        let controller = member(&authority, &Role::Controller);
        let good = Dialler::newcomer(Some(authority.hash())).expect("is usable");
        assert_eq!(meet(&controller, good.clone(), &Role::Controller).await, Ok(None));
        assert_eq!(good.authority().as_ref(), Some(authority.certificate()));
        let other = Dialler::newcomer(Some([1; 32])).expect("is usable");
        assert!(meet(&controller, other, &Role::Controller).await.is_err());
        let first = Dialler::newcomer(None).expect("is usable");
        assert_eq!(meet(&controller, first.clone(), &Role::Controller).await, Ok(None));
        let foreign = Authority::generate().expect("is made");
        let foreign = member(&foreign, &Role::Controller);
        assert!(meet(&foreign, first, &Role::Controller).await.is_err(), "it has seen another");
    }
}
