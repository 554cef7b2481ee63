//! The certificate a machine shows, which is renewed while connections come and go.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring as provider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::Error;
use crate::identity::MachineKey;

/// What is shown now; the authority goes along, so that newcomers can compare it with what their token pins.
#[derive(Debug)]
pub struct Shown(RwLock<Arc<CertifiedKey>>);

impl Shown {
    /// Begins with this certificate.
    pub fn new(
        key: &MachineKey,
        certificate: &CertificateDer<'static>,
        authority: &CertificateDer<'static>,
    ) -> Result<Shown, Error> {
        Ok(Shown(RwLock::new(certified(key, certificate, authority)?)))
    }

    /// From now on this one is shown.
    pub fn replace(
        &self,
        key: &MachineKey,
        certificate: &CertificateDer<'static>,
        authority: &CertificateDer<'static>,
    ) -> Result<(), Error> {
        let certified = certified(key, certificate, authority)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certified;
        Ok(())
    }

    /// The certificate shown now.
    pub fn certificate(&self) -> CertificateDer<'static> {
        self.now().cert.first().cloned().unwrap_or_else(|| CertificateDer::from(Vec::new()))
    }

    fn now(&self) -> Arc<CertifiedKey> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn certified(
    key: &MachineKey,
    certificate: &CertificateDer<'static>,
    authority: &CertificateDer<'static>,
) -> Result<Arc<CertifiedKey>, Error> {
    let key = provider::sign::any_supported_type(&key.der())?;
    Ok(Arc::new(CertifiedKey::new(vec![certificate.clone(), authority.clone()], key)))
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.now())
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.now())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// From when until when a certificate of this authority will do, if it does now. Nothing here reads certificates: the
/// ends are searched for.
pub fn term(
    certificate: &CertificateDer<'_>,
    authority: &CertificateDer<'_>,
    now: u64,
) -> Option<(u64, u64)> {
    let will_do = |at: u64| {
        let at = UnixTime::since_unix_epoch(Duration::from_secs(at));
        is_valid_at(certificate, authority, at)
    };
    if !will_do(now) {
        return None;
    }
    let end = |mut good: u64, mut bad: u64| {
        while good.abs_diff(bad) > 1 {
            let middle = good.midpoint(bad);
            if will_do(middle) { good = middle } else { bad = middle }
        }
        good
    };
    Some((end(now, now.saturating_sub(FAR)), end(now, now + FAR)))
}

/// No certificate of a machine lasts as long.
const FAR: u64 = 1 << 32;

/// Whether a certificate of this authority will do at a moment.
fn is_valid_at(
    certificate: &CertificateDer<'_>,
    authority: &CertificateDer<'_>,
    at: UnixTime,
) -> bool {
    let Ok(parsed) = webpki::EndEntityCert::try_from(certificate) else { return false };
    let Ok(anchor) = webpki::anchor_from_trusted_cert(authority) else { return false };
    let algorithms = provider::default_provider().signature_verification_algorithms.all;
    let usage = webpki::KeyUsage::client_auth();
    parsed.verify_for_usage(algorithms, &[anchor], &[], at, usage, None, None).is_ok()
}
