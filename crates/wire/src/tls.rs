//! Mutual TLS 1.3 against the network's root. A certificate names its party by a DNS name made from the legal name's hash,
//! so the chain proves the root's word for the name, and the name is compared by the TLS library itself.

use std::sync::Arc;

use ledger::PartyId;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;

/// A node's certificate chain, its key, and the root it trusts.
pub struct TlsMaterial {
    /// The node's own certificate first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The key of that certificate.
    pub key: PrivateKeyDer<'static>,
    /// The network's root.
    pub root: CertificateDer<'static>,
}

/// The material does not fit together.
#[derive(Debug, Error)]
#[error("the node's TLS certificate, key and root do not work: {0}")]
pub struct TlsError(pub(crate) String);

/// Both directions.
#[derive(Clone)]
pub(crate) struct TlsConfigs {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
}

impl TlsMaterial {
    pub(crate) fn configs(&self) -> Result<TlsConfigs, TlsError> {
        let fail = |error: &dyn std::fmt::Display| TlsError(error.to_string());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).map_err(|e| fail(&e))?;
        let roots = Arc::new(roots);
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|e| fail(&e))?;
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|e| fail(&e))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|e| fail(&e))?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|e| fail(&e))?
            .with_root_certificates(roots)
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|e| fail(&e))?;
        Ok(TlsConfigs { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// The name by which a party's certificate is asked for.
pub(crate) fn server_name(party: &PartyId) -> Option<ServerName<'static>> {
    ServerName::try_from(party.dns_name()).ok()
}

/// Whether a certificate that the root vouches for is the party's own.
pub(crate) fn is_certificate_of(certificate: &CertificateDer<'_>, party: &PartyId) -> bool {
    let Some(name) = server_name(party) else { return false };
    webpki::EndEntityCert::try_from(certificate)
        .is_ok_and(|certificate| certificate.verify_is_valid_for_subject_name(&name).is_ok())
}
