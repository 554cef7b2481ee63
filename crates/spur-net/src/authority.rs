//! The cluster's own certificate authority: made when the first controller starts for the first time, and
//! handed to those controllers that join.

use std::path::Path;
use std::time::Duration as StdDuration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, SignatureAlgorithm,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::{Duration, OffsetDateTime};

use crate::identity::{MachineKey, from_pem, pem};
use crate::{Error, Identity, PublicKey, Role, files, sha256};

/// How long a machine's certificate is good for unless the site says otherwise. Who is thrown out is refused at
/// once all the same.
pub const LIFETIME: StdDuration = StdDuration::from_secs(90 * 86_400);
const AUTHORITY_DAYS: i64 = 365 * 20;

/// Clocks of machines differ; by less than a certificate lasts.
const SLACK: StdDuration = StdDuration::from_secs(3600);

/// Signs certificates, and the words of users.
pub struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    key: Vec<u8>,
    /// Signs users' tokens. A key of its own, so that no token can pass for a certificate.
    users: MachineKey,
    /// How long its certificates are good for.
    lifetime: StdDuration,
}

/// All an authority is, for another controller.
pub struct Secrets {
    /// Its certificate.
    pub certificate: Vec<u8>,
    /// Its key (PKCS #8).
    pub key: Vec<u8>,
    /// The key that users' tokens are signed with (PKCS #8).
    pub users: Vec<u8>,
}

const KEY: &str = "ca.key";
const CERTIFICATE: &str = "ca.pem";
const USERS: &str = "users";

impl Authority {
    /// Makes an authority.
    pub fn generate() -> Result<Authority, Error> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
        let certificate = own_params()?.self_signed(&key)?.der().to_vec();
        let users = MachineKey::generate()?;
        Authority::put_together(certificate, key.serialize_der(), users)
    }

    /// An authority that another controller has.
    pub fn from_secrets(secrets: &Secrets, dir: &Path) -> Result<Authority, Error> {
        let users = MachineKey::from_der(secrets.users.clone())?;
        let made =
            Authority::put_together(secrets.certificate.clone(), secrets.key.clone(), users)?;
        made.save(dir)?;
        Ok(made)
    }

    /// Reads the authority of this directory; where there is none, makes one.
    pub fn open(dir: &Path) -> Result<Authority, Error> {
        if let Some(found) = Authority::load(dir)? {
            return Ok(found);
        }
        let made = Authority::generate()?;
        made.save(dir)?;
        Ok(made)
    }

    /// Reads the authority of this directory.
    pub fn load(dir: &Path) -> Result<Option<Authority>, Error> {
        let Some(certificate) = files::read_if_there(&dir.join(CERTIFICATE))? else {
            return Ok(None);
        };
        let key = files::read(&dir.join(KEY))?;
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|_| Error::Unusable(format!("{} is no key", dir.join(KEY).display())))?;
        let users = MachineKey::open(&dir.join(USERS))?;
        let made =
            Authority::put_together(from_pem(&certificate)?, key.secret_der().to_vec(), users)?;
        Ok(Some(made))
    }

    fn save(&self, dir: &Path) -> Result<(), Error> {
        files::make_dir(dir, 0o700)?;
        files::write(&dir.join(KEY), files::SECRET, pem("PRIVATE KEY", &self.key).as_bytes())?;
        self.users.save(&dir.join(USERS))?;
        // The last: whoever finds it finds the others.
        let certificate = pem("CERTIFICATE", &self.certificate);
        files::write(&dir.join(CERTIFICATE), files::PUBLIC, certificate.as_bytes())
    }

    fn put_together(
        certificate: Vec<u8>,
        key: Vec<u8>,
        users: MachineKey,
    ) -> Result<Authority, Error> {
        let pair = KeyPair::from_pkcs8_der_and_sign_algo(
            &PrivatePkcs8KeyDer::from(key.clone()),
            &rcgen::PKCS_ED25519,
        )?;
        let issuer = Issuer::new(own_params()?, pair);
        let certificate = CertificateDer::from(certificate);
        Ok(Authority { certificate, issuer, key, users, lifetime: LIFETIME })
    }

    /// The same, with certificates that are good for so long.
    pub fn lasting(self, lifetime: StdDuration) -> Authority {
        Authority { lifetime, ..self }
    }

    /// A certificate that lets the bearer of this key be this.
    pub fn certify(&self, role: &Role, key: &PublicKey) -> Result<CertificateDer<'static>, Error> {
        let mut params = CertificateParams::new(vec![role.certificate_name()])?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, role.to_string());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let now = OffsetDateTime::now_utc();
        params.not_before = now - self.lifetime.min(SLACK);
        params.not_after = now + self.lifetime;
        let certificate = params.signed_by(&Subject(key.0.clone()), &self.issuer)?;
        Ok(certificate.der().clone())
    }

    /// The identity of the controller that has this authority, made anew at each start.
    pub fn controller(&self) -> Result<Identity, Error> {
        let key = MachineKey::generate()?;
        let certificate = self.certify(&Role::Controller, &key.public())?;
        Identity::new(key, &certificate, &self.certificate, "")
    }

    /// Its certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// What a token pins.
    pub fn hash(&self) -> [u8; 32] {
        sha256(&self.certificate)
    }

    /// The key that users' tokens are signed with.
    pub fn users(&self) -> &MachineKey {
        &self.users
    }

    /// What another controller needs to be one.
    pub fn secrets(&self) -> Secrets {
        let (certificate, key) = (self.certificate.to_vec(), self.key.clone());
        Secrets { certificate, key, users: self.users.secret() }
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Authority({})", crate::hex(&self.hash()[..8]))
    }
}

/// Always the same, so that the issuer can be made again from the key alone.
fn own_params() -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "Spur cluster");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let now = OffsetDateTime::now_utc();
    params.not_before = now - SLACK;
    params.not_after = now + Duration::days(AUTHORITY_DAYS);
    Ok(params)
}

/// A key that somebody else has.
struct Subject(Vec<u8>);

impl PublicKeyData for Subject {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ED25519
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::identity::Bearer;

    #[test]
    fn a_certificate_says_who_its_bearer_is_and_survives_its_files() {
        let dir = tempfile::tempdir().expect("a directory");
        let authority = Authority::open(&dir.path().join("ca")).expect("is made");
        let key = MachineKey::open(&dir.path().join("n1")).expect("is made");
        let role = Role::Compute("n1".to_string());
        let certificate = authority.certify(&role, &key.public()).expect("is signed");
        let bearer = Bearer { role: role.clone(), key: key.public() };
        assert_eq!(Bearer::of(&certificate), Some(bearer));
        let identity = Identity::new(key, &certificate, authority.certificate(), "ctl:6817");
        identity.expect("fits").save(&dir.path().join("n1")).expect("is kept");
        let found = Identity::load(&dir.path().join("n1")).expect("is read").expect("is there");
        assert_eq!((found.role, found.controllers.as_str()), (role, "ctl:6817"));
        let again = Authority::open(&dir.path().join("ca")).expect("is read");
        assert_eq!(again.hash(), authority.hash());
        assert_eq!(again.users().public(), authority.users().public());
    }

    #[test]
    fn a_certificate_is_renewed_when_a_third_of_its_time_is_left() {
        let authority = Authority::generate().expect("is made");
        let left_and_due = |authority: &Authority| {
            let times = authority.controller().expect("is signed").times().expect("counts now");
            [times.left, times.due_in].map(|it| it.as_secs())
        };
        let day = 86_400;
        let [left, due] = left_and_due(&authority);
        assert!(left.abs_diff(90 * day) < 60 && due.abs_diff(60 * day) < day, "{left} {due}");
        let [left, due] = left_and_due(&authority.lasting(StdDuration::from_secs(600)));
        assert!(left.abs_diff(600) < 60 && due.abs_diff(200) < 60, "{left} {due}");
    }

    #[test]
    fn secrets_are_for_their_owner_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        Authority::open(dir.path()).expect("is made");
        for secret in ["ca.key", "users/machine.key"] {
            let found = std::fs::metadata(dir.path().join(secret)).expect("is there");
            assert_eq!(found.permissions().mode() & 0o777, 0o600, "{secret}");
        }
    }

    #[test]
    fn a_certificate_for_another_key_is_no_identity() {
        let authority = Authority::generate().expect("is made");
        let (own, other) = (MachineKey::generate(), MachineKey::generate());
        let (own, other) = (own.expect("is made"), other.expect("is made"));
        let certificate = authority.certify(&Role::Controller, &other.public()).expect("is signed");
        assert!(Identity::new(own, &certificate, authority.certificate(), "").is_err());
    }
}
