//! The network's root: certifies TLS keys, and signs the network's documents.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ledger::{LegalName, PartyId};
use primitives::{Encode, KeyPair, Scheme, SecretText, Seed, hex};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::documents::{Documents, PARAMETERS};
use super::error::BootstrapError;
use super::files::{AUTHORITY, ROOT, create, read, read_secret, write, write_secret};
use super::validity::not_after;

/// The root's key, and the seed of the documents' key.
const ROOT_KEY: &str = "root.key.pem";
const DOCUMENTS_KEY: &str = "network.key";
/// A certificate begins this many days ago: clocks of machines that are a little behind must not refuse a new one.
const SINCE_DAYS: u32 = 1;
const DAY: Duration = Duration::from_secs(86_400);

/// The root's certificate and key, and the key of the network's documents.
pub(crate) struct Authority {
    root_pem: String,
    /// The end of the root's certificate in seconds since 1970, if it can be read.
    root_end_s: Option<u64>,
    issuer: Issuer<'static, rcgen::KeyPair>,
    documents: KeyPair,
}

fn certificate(error: rcgen::Error) -> BootstrapError {
    BootstrapError::Certificate(error.to_string())
}

/// Draws 32 random bytes.
pub(crate) fn random_seed() -> Result<Seed, BootstrapError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| BootstrapError::Certificate(format!("no random bytes: {error}")))?;
    Ok(Seed::new(seed))
}

/// Returns a seed as its file holds it.
pub(crate) fn seed_text(seed: &Seed) -> SecretText {
    SecretText::new(hex::encode(seed.expose()))
}

/// The seed in a file of 64 hexadecimal digits.
pub(crate) fn read_seed(path: &Path) -> Result<Seed, BootstrapError> {
    let text = read_secret(path).map_err(|error| match error {
        BootstrapError::Missing { path } => BootstrapError::KeyLost {
            owner: "this folder".to_owned(),
            path,
        },
        error => error,
    })?;
    hex::decode_array(text.expose().trim())
        .map(Seed::new)
        .ok_or_else(|| BootstrapError::Damaged {
            path: path.to_owned(),
            message: "not 64 hexadecimal digits".to_owned(),
        })
}

/// Makes a certificate valid from now on, for some days.
fn set_validity(params: &mut CertificateParams, days: u32) -> Result<(), BootstrapError> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let early = |_| BootstrapError::Certificate("the machine's clock is before 1970".to_owned());
    let now = date_time_ymd(1970, 1, 1) + since_1970.map_err(early)?;
    params.not_before = now - DAY * SINCE_DAYS;
    params.not_after = now + DAY * days;
    Ok(())
}

fn root_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "Tallystick network root");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

impl Authority {
    /// Whether a network has its authority already.
    pub(crate) fn exists(out: &Path) -> bool {
        out.join(AUTHORITY).join(ROOT_KEY).exists()
    }

    /// Refuses a folder of the authority that signed for a network and lost one of its keys: another key would make another network.
    pub(crate) fn refuse_lost(out: &Path) -> Result<(), BootstrapError> {
        let folder = out.join(AUTHORITY);
        let lost = |name: &str| {
            Err(BootstrapError::KeyLost {
                path: folder.join(name),
                owner: "the network".to_owned(),
            })
        };
        let signed = folder.join(PARAMETERS).exists();
        let (root, documents) = (
            folder.join(ROOT_KEY).exists(),
            folder.join(DOCUMENTS_KEY).exists(),
        );
        // A run that was cut short leaves the root's key first, and no documents.
        if !root && (documents || signed) {
            return lost(ROOT_KEY);
        }
        if !documents && signed {
            return lost(DOCUMENTS_KEY);
        }
        Ok(())
    }

    /// The documents that the authority has signed, if it has.
    pub(crate) fn signed(out: &Path) -> Result<Option<Documents>, BootstrapError> {
        let folder = out.join(AUTHORITY);
        let key = folder.join(DOCUMENTS_KEY);
        if !key.exists() {
            return Ok(None);
        }
        let documents = KeyPair::from_seed(Scheme::EcdsaP256, *read_seed(&key)?.expose());
        Documents::existing(&folder, documents.public())
    }

    /// Opens the authority of a network, or makes it with a root that is valid for some days.
    pub(crate) fn open(out: &Path, root_days: u32) -> Result<Self, BootstrapError> {
        let folder = out.join(AUTHORITY);
        create(&folder)?;
        let (key_path, root_path) = (folder.join(ROOT_KEY), folder.join(ROOT));
        let documents_path = folder.join(DOCUMENTS_KEY);
        let key = if key_path.exists() {
            rcgen::KeyPair::from_pem(read_secret(&key_path)?.expose()).map_err(certificate)?
        } else {
            let key = rcgen::KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(certificate)?;
            let mut params = root_params();
            set_validity(&mut params, root_days)?;
            let root = params.self_signed(&key).map_err(certificate)?;
            write(&root_path, root.pem().as_bytes())?;
            write_secret(&key_path, &key.serialize_pem().into())?;
            key
        };
        if !documents_path.exists() {
            write_secret(&documents_path, &seed_text(&random_seed()?))?;
        }
        let documents =
            KeyPair::from_seed(Scheme::EcdsaP256, *read_seed(&documents_path)?.expose());
        let root_pem = read(&root_path)?;
        let root = CertificateDer::from_pem_slice(root_pem.as_bytes()).ok();
        let root_end_s = root.and_then(|root| u64::try_from(not_after(&root)?).ok());
        Ok(Self {
            root_pem,
            root_end_s,
            issuer: Issuer::new(root_params(), key),
            documents,
        })
    }

    pub(crate) fn root_pem(&self) -> &str {
        &self.root_pem
    }

    /// The public half of the key of the documents, as its file has it.
    pub(crate) fn documents_text(&self) -> String {
        hex::encode(&self.documents.public().to_bytes())
    }

    /// The key that signs the network's documents.
    pub(crate) fn documents(&self) -> &KeyPair {
        &self.documents
    }

    /// Makes a certificate chain and its key for a node, both as PEM. It is valid for some days.
    pub(crate) fn certify(
        &self,
        name: &LegalName,
        party: &PartyId,
        host_names: &[String],
        days: u32,
    ) -> Result<(String, SecretText), BootstrapError> {
        let mut names = vec![
            party.dns_name(),
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "::1".to_owned(),
        ];
        names.extend(host_names.iter().cloned());
        let mut params = CertificateParams::new(names).map_err(certificate)?;
        let mut subject = DistinguishedName::new();
        if let Some(common) = name.common_name() {
            subject.push(DnType::CommonName, common);
        }
        if let Some(unit) = name.organisational_unit() {
            subject.push(DnType::OrganizationalUnitName, unit);
        }
        subject.push(DnType::OrganizationName, name.organisation());
        subject.push(DnType::LocalityName, name.locality());
        if let Some(state) = name.state() {
            subject.push(DnType::StateOrProvinceName, state);
        }
        subject.push(DnType::CountryName, name.country());
        params.distinguished_name = subject;
        set_validity(&mut params, days)?;
        // Nobody accepts a certificate after the end of its root.
        if let Some(end_s) = self.root_end_s {
            let end = date_time_ymd(1970, 1, 1) + Duration::from_secs(end_s);
            params.not_after = params.not_after.min(end);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = rcgen::KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(certificate)?;
        let own = params.signed_by(&key, &self.issuer).map_err(certificate)?;
        Ok((own.pem(), key.serialize_pem().into()))
    }
}
