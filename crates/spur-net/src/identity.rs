//! A machine's own key and certificate, and the files they are kept in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ring::signature::{Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ParsedCertificate;

use crate::shown::{self, Shown};
use crate::{Error, Role, files, hex, sha256};

/// A machine's public key (Ed25519): what an administrator lets in, and what is thrown out again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(pub Vec<u8>);

/// What stands before an Ed25519 key in a certificate.
const KEY_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

impl PublicKey {
    /// A key from the 32 bytes it has.
    pub fn new(bytes: &[u8]) -> Option<PublicKey> {
        (bytes.len() == 32).then(|| PublicKey(bytes.to_vec()))
    }

    /// As people compare it, shown on both sides.
    pub fn fingerprint(&self) -> String {
        let hash = hex(&sha256(&self.0)[..16]);
        let groups: Vec<&str> = (0..8).map(|at| &hash[at * 4..at * 4 + 4]).collect();
        groups.join("-")
    }

    /// Whether the key's owner signed this.
    pub fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ring::signature::ED25519, &self.0);
        key.verify(message, signature).is_ok()
    }
}

/// What a certificate of our authority says about its bearer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// What it may do.
    pub role: Role,
    /// Its key.
    pub key: PublicKey,
}

impl Bearer {
    /// Reads a certificate whose chain TLS has checked.
    pub fn of(certificate: &CertificateDer<'_>) -> Option<Bearer> {
        let parsed = webpki::EndEntityCert::try_from(certificate).ok()?;
        let mut roles = parsed.valid_dns_names().filter_map(Role::from_certificate_name);
        let role = roles.next().filter(|_| roles.next().is_none())?;
        let info = parsed.subject_public_key_info();
        let key = PublicKey::new(info.as_ref().strip_prefix(&KEY_PREFIX)?)?;
        Some(Bearer { role, key })
    }
}

/// A key of this machine's own making.
pub struct MachineKey {
    pkcs8: Vec<u8>,
    pair: Ed25519KeyPair,
}

impl MachineKey {
    /// Makes a key.
    pub fn generate() -> Result<MachineKey, Error> {
        let made = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
        MachineKey::new(made.serialize_der())
    }

    fn new(pkcs8: Vec<u8>) -> Result<MachineKey, Error> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pkcs8);
        let pair = pair.map_err(|_| Error::Unusable("the key is no Ed25519 key".to_string()))?;
        Ok(MachineKey { pkcs8, pair })
    }

    /// Reads the key of a machine that has one, or makes one: asking twice shows the same fingerprint.
    pub fn open(dir: &Path) -> Result<MachineKey, Error> {
        let file = dir.join(KEY);
        if let Some(pem) = files::read_if_there(&file)? {
            let key = PrivateKeyDer::from_pem_slice(&pem);
            let key = key.map_err(|_| Error::Unusable(format!("{} is no key", file.display())))?;
            return MachineKey::new(key.secret_der().to_vec());
        }
        files::make_dir(dir, 0o755)?;
        let key = MachineKey::generate()?;
        files::write(&file, files::SECRET, key.pem().as_bytes())?;
        Ok(key)
    }

    pub(crate) fn from_der(pkcs8: Vec<u8>) -> Result<MachineKey, Error> {
        MachineKey::new(pkcs8)
    }

    pub(crate) fn save(&self, dir: &Path) -> Result<(), Error> {
        files::make_dir(dir, 0o700)?;
        files::write(&dir.join(KEY), files::SECRET, self.pem().as_bytes())
    }

    pub(crate) fn secret(&self) -> Vec<u8> {
        self.pkcs8.clone()
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.pair.public_key().as_ref().to_vec())
    }

    /// Signs.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }

    pub(crate) fn der(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.pkcs8.clone().into())
    }

    pub(crate) fn pem(&self) -> String {
        pem("PRIVATE KEY", &self.pkcs8)
    }
}

impl std::fmt::Debug for MachineKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MachineKey({})", self.public().fingerprint())
    }
}

/// How it stands with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// So long it counts.
    pub left: Duration,
    /// So long it need not be renewed.
    pub due_in: Duration,
}

/// A machine that was let in.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its key.
    pub key: Arc<MachineKey>,
    /// What the authority says about it.
    pub shown: Arc<Shown>,
    /// The authority.
    pub authority: CertificateDer<'static>,
    /// What it may do.
    pub role: Role,
    /// Where controllers are, as the machine was told when it joined.
    pub controllers: String,
}

const KEY: &str = "machine.key";
const CERTIFICATE: &str = "machine.pem";
const AUTHORITY: &str = "ca.pem";
const CONTROLLERS: &str = "controllers";

impl Identity {
    /// Puts together what a machine has and what it was given.
    pub fn new(
        key: MachineKey,
        certificate: &[u8],
        authority: &[u8],
        controllers: &str,
    ) -> Result<Identity, Error> {
        let authority = CertificateDer::from(authority.to_vec());
        let (certificate, role) = checked(&key, certificate)?;
        let shown = Arc::new(Shown::new(&key, &certificate, &authority)?);
        let (key, controllers) = (Arc::new(key), controllers.to_string());
        Ok(Identity { key, shown, authority, role, controllers })
    }

    /// Shows another certificate from now on, on connections to come.
    pub fn renew(&self, certificate: &[u8]) -> Result<(), Error> {
        let (certificate, _) = checked(&self.key, certificate)?;
        self.shown.replace(&self.key, &certificate, &self.authority)
    }

    /// How long others will believe its certificate, and how long it need not be renewed: until a third of its
    /// time is left. Nothing where they do not believe it now.
    pub fn times(&self) -> Option<Times> {
        let now = UnixTime::now().as_secs();
        let (from, until) = shown::term(&self.shown.certificate(), &self.authority, now)?;
        let due = until - (until - from) / 3;
        let [left, due_in] = [until, due].map(|at| Duration::from_secs(at.saturating_sub(now)));
        Some(Times { left, due_in })
    }

    /// Where a daemon that keeps its state in this directory has its identity.
    pub fn dir(state_dir: &Path) -> PathBuf {
        state_dir.join("identity")
    }

    /// Reads the identity of a machine that has joined.
    pub fn load(dir: &Path) -> Result<Option<Identity>, Error> {
        let Some(certificate) = files::read_if_there(&dir.join(CERTIFICATE))? else {
            return Ok(None);
        };
        let authority = files::read(&dir.join(AUTHORITY))?;
        let controllers = files::read_if_there(&dir.join(CONTROLLERS))?.unwrap_or_default();
        let controllers = String::from_utf8_lossy(&controllers).trim().to_string();
        let key = MachineKey::open(dir)?;
        let (certificate, authority) = (from_pem(&certificate)?, from_pem(&authority)?);
        Identity::new(key, &certificate, &authority, &controllers).map(Some)
    }

    /// Keeps it; the key is there already.
    pub fn save(&self, dir: &Path) -> Result<(), Error> {
        files::make_dir(dir, 0o755)?;
        files::write(&dir.join(KEY), files::SECRET, self.key.pem().as_bytes())?;
        let public = |name: &str, text: String| {
            files::write(&dir.join(name), files::PUBLIC, text.as_bytes())
        };
        public(AUTHORITY, pem("CERTIFICATE", &self.authority))?;
        public(CONTROLLERS, format!("{}\n", self.controllers))?;
        // The last: whoever finds it finds the others.
        public(CERTIFICATE, pem("CERTIFICATE", &self.shown.certificate()))
    }

    /// What tells this cluster from others, and what a token pins.
    pub fn authority_hash(&self) -> [u8; 32] {
        sha256(&self.authority)
    }
}

/// A certificate that is for this key, and what it says its bearer is.
fn checked(key: &MachineKey, certificate: &[u8]) -> Result<(CertificateDer<'static>, Role), Error> {
    let certificate = CertificateDer::from(certificate.to_vec());
    ParsedCertificate::try_from(&certificate)?;
    let bearer = Bearer::of(&certificate)
        .ok_or_else(|| Error::Unusable("the certificate names no role".to_string()))?;
    if bearer.key != key.public() {
        return Err(Error::Unusable("the certificate is for another key".to_string()));
    }
    Ok((certificate, bearer.role))
}

/// Reads the certificate of a cluster's authority from a file.
pub fn read_authority(file: &Path) -> Result<Vec<u8>, Error> {
    from_pem(&files::read(file)?)
}

pub(crate) fn from_pem(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let read = CertificateDer::from_pem_slice(bytes);
    let read = read.map_err(|_| Error::Unusable("this is no certificate".to_string()))?;
    Ok(read.to_vec())
}

/// Writes bytes the way certificates and keys are kept in files.
pub(crate) fn pem(label: &str, bytes: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
