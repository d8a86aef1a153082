//! The server's side of TLS.

use std::sync::Arc;

use primitives::{Coded, ErrorInfo};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificate and key do not make a server.
#[derive(Debug, thiserror::Error)]
#[error("the API's certificate cannot be used: {0}")]
pub struct TlsError(#[from] rustls::Error);

pub(super) const BAD_CERTIFICATE: ErrorInfo = ErrorInfo {
    code: "http.bad_certificate",
    cause: "The certificate and key of the API do not fit each other or do not parse.",
    action: "Bootstrap the node's folder again, or give a certificate chain and its key.",
};

impl Coded for TlsError {
    fn code(&self) -> &'static str {
        BAD_CERTIFICATE.code
    }

    fn hint(&self) -> &'static str {
        BAD_CERTIFICATE.action
    }
}

/// TLS 1.3 with this certificate, for HTTP/2 and HTTP/1.1.
pub fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
