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
    /// `host:port`.
    pub address: String,
    /// The name that the node's certificate must bear.
    pub server_name: String,
    /// The certificates to trust, PEM.
    pub root_pem: String,
    /// The bearer token.
    pub token: SecretText,
}

/// How long and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For TCP, TLS and HTTP/2 together.
    pub connect_timeout: Duration,
    /// For a single call, beyond the time it asks the node to wait.
    pub call_timeout: Duration,
    /// Starts outstanding on one [`crate::Stream`]; further ones wait.
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
    /// TLS 1.3 towards HTTP/2, trusting exactly the given roots.
    pub(crate) fn tls(&self) -> Result<Arc<ClientConfig>, ClientError> {
        let bad = |text: String| ClientError::BadEndpoint(text);
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.root_pem.as_bytes()) {
            let certificate =
                certificate.map_err(|error| bad(format!("the root certificate: {error}")))?;
            roots
                .add(certificate)
                .map_err(|error| bad(format!("the root certificate: {error}")))?;
        }
        if roots.is_empty() {
            return Err(bad("no certificate is in the PEM text".to_owned()));
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

    /// The server name, checked.
    pub(crate) fn name(&self) -> Result<ServerName<'static>, ClientError> {
        ServerName::try_from(self.server_name.clone()).map_err(|error| {
            ClientError::BadEndpoint(format!("server name '{}': {error}", self.server_name))
        })
    }

    /// The header that authenticates, checked.
    pub(crate) fn authorization(&self) -> Result<hyper::header::HeaderValue, ClientError> {
        let mut value =
            hyper::header::HeaderValue::try_from(format!("Bearer {}", self.token.expose().trim()))
                .map_err(|_| {
                    ClientError::BadEndpoint(
                        "the token has characters that no header may have".to_owned(),
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
