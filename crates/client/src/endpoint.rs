//! The address of a node's API, and the certificates to trust.

use std::sync::Arc;
use std::time::Duration;

use api::SecretText;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::error::ClientError;

/// The address of a node's API, and the certificates to trust.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// `host:port`. If two processes of one node stand in for each other, the addresses of both, separated by a comma: the client uses the one
    /// that answers, and the first one if both do.
    pub address: String,
    /// The name that the node's certificate must bear.
    pub server_name: String,
    /// The certificates to trust, PEM.
    pub root_pem: String,
    /// The bearer token.
    pub token: SecretText,
}

/// Time limits and size limits of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit for TCP connect, TLS and HTTP/2 handshake together.
    pub connect_timeout: Duration,
    /// Time limit of a single call, in addition to the wait that it asks of the node.
    pub call_timeout: Duration,
    /// Maximum number of outstanding starts on one [`crate::Stream`]. Further starts wait.
    pub outstanding_max: usize,
    /// Largest answer to a single call and longest line of a stream, in bytes.
    pub answer_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(60),
            outstanding_max: 4_096,
            answer_bytes_max: 64 << 20,
        }
    }
}

impl Endpoint {
    /// Returns the configuration for HTTP/2 over TLS 1.3, which trusts only the given roots.
    pub(crate) fn tls(&self) -> Result<Arc<ClientConfig>, ClientError> {
        let bad = |text: String| ClientError::BadEndpoint(text);
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.root_pem.as_bytes()) {
            let certificate = certificate
                .map_err(|error| bad(format!("cannot parse the root certificate: {error}")))?;
            roots
                .add(certificate)
                .map_err(|error| bad(format!("cannot parse the root certificate: {error}")))?;
        }
        if roots.is_empty() {
            return Err(bad("the PEM text contains no certificate".to_owned()));
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| bad(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }

    /// Returns the addresses. There is at least one.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let addresses = self.address.split(',');
        addresses.map(|one| one.trim().to_owned()).collect()
    }

    /// Returns the checked server name.
    pub(crate) fn name(&self) -> Result<ServerName<'static>, ClientError> {
        ServerName::try_from(self.server_name.clone()).map_err(|error| {
            ClientError::BadEndpoint(format!(
                "invalid server name '{}': {error}",
                self.server_name
            ))
        })
    }

    /// Returns the checked `Authorization` header.
    pub(crate) fn authorization(&self) -> Result<hyper::header::HeaderValue, ClientError> {
        let mut value =
            hyper::header::HeaderValue::try_from(format!("Bearer {}", self.token.expose().trim()))
                .map_err(|_| {
                    ClientError::BadEndpoint(
                        "the token contains characters that are not allowed in a header".to_owned(),
                    )
                })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_token() {
        let endpoint = Endpoint {
            address: "host:1".to_owned(),
            server_name: "host".to_owned(),
            root_pem: String::new(),
            token: "swordfish".into(),
        };
        let header = endpoint.authorization().expect("a plain token");
        for shown in [
            format!("{endpoint:?}"),
            format!("{endpoint:#?}"),
            format!("{header:?}"),
        ] {
            assert!(!shown.contains("swordfish"), "{shown}");
        }
    }
}
