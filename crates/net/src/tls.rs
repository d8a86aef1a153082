//! Mutual TLS 1.3 against the network's root. A certificate binds a legal name by the DNS name made from its party id.

use std::fmt;
use std::sync::Arc;

use ledger::PartyId;
use primitives::Coded;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;

use crate::errors;

/// The protocol's name in the TLS handshake (ALPN): other protocols are refused there.
const ALPN: &[u8] = b"tally-peer/1";

/// A node's certificate chain, its key, and the root it trusts.
pub struct TlsMaterial {
    /// The node's own certificate first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The key of the node's certificate.
    pub key: PrivateKeyDer<'static>,
    /// The network's root certificate.
    pub root: CertificateDer<'static>,
}

impl fmt::Debug for TlsMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TlsMaterial({} certificates)", self.chain.len())
    }
}

/// Why certificate, key and root cannot be used.
#[derive(Debug, Error)]
pub enum TlsMaterialError {
    /// They do not parse, or do not belong together.
    #[error("the node's TLS certificate, key and root cannot be used: {0}")]
    Unusable(String),
    /// The certificate belongs to another party.
    #[error("the node's TLS certificate belongs to another party; it must name '{0}'")]
    WrongName(String),
}

impl Coded for TlsMaterialError {
    fn code(&self) -> &'static str {
        "net.bad_tls_material"
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

/// The TLS configurations of a node as client and as server.
#[derive(Clone)]
pub(crate) struct TlsConfigs {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
}

impl TlsMaterial {
    /// Checks that the certificate belongs to `me`, and builds both configurations.
    pub(crate) fn configs(self, me: &PartyId) -> Result<TlsConfigs, TlsMaterialError> {
        if !self
            .chain
            .first()
            .is_some_and(|own| is_certificate_of(own, me))
        {
            return Err(TlsMaterialError::WrongName(me.dns_name()));
        }
        self.both().map_err(TlsMaterialError::Unusable)
    }

    fn both(self) -> Result<TlsConfigs, String> {
        let text = |error: rustls::Error| error.to_string();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let versions = &[&rustls::version::TLS13];
        let mut roots = RootCertStore::empty();
        roots.add(self.root).map_err(text)?;
        let roots = Arc::new(roots);
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|error| error.to_string())?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(text)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(text)?;
        // Every connection proves its identity again: no session is resumed.
        server.send_tls13_tickets = 0;
        server.alpn_protocols = vec![ALPN.to_vec()];
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(text)?
            .with_root_certificates(roots)
            .with_client_auth_cert(self.chain, self.key)
            .map_err(text)?;
        client.resumption = Resumption::disabled();
        client.alpn_protocols = vec![ALPN.to_vec()];
        Ok(TlsConfigs {
            client: Arc::new(client),
            server: Arc::new(server),
        })
    }
}

/// Returns the server name that a party's certificate must be valid for.
pub(crate) fn server_name(party: &PartyId) -> Result<ServerName<'static>, String> {
    ServerName::try_from(party.dns_name()).map_err(|error| error.to_string())
}

/// Returns whether a certificate that the root has signed belongs to the party.
pub(crate) fn is_certificate_of(certificate: &CertificateDer<'_>, party: &PartyId) -> bool {
    let (Ok(name), Ok(parsed)) = (server_name(party), ParsedCertificate::try_from(certificate))
    else {
        return false;
    };
    rustls::client::verify_server_name(&parsed, &name).is_ok()
}
