//! Whether a node's TLS certificate, its key and the network's root belong together, now.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ledger::PartyId;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, Error, RootCertStore};

use super::error::BootstrapError;
use super::files::{CHAIN, ROOT, TLS_KEY, damaged};

/// Makes the checks that peers and clients will make, so that an operator learns of a fault at the start.
pub(super) fn check(
    dir: &Path,
    party: &PartyId,
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
    root: &CertificateDer<'static>,
) -> Result<(), BootstrapError> {
    let (chain_path, key_path, root_path) = (dir.join(CHAIN), dir.join(TLS_KEY), dir.join(ROOT));
    let Some((own, others)) = chain.split_first() else {
        return Err(damaged(&chain_path, "no certificate is in it"));
    };
    let provider = aws_lc_rs::default_provider();
    match CertifiedKey::from_der(chain.to_vec(), key.clone_key(), &provider) {
        Ok(_) => {}
        Err(Error::InconsistentKeys(_)) => {
            let message = "it is not the key of the certificate in tls.pem".to_owned();
            return Err(BootstrapError::Mismatched {
                path: key_path,
                message,
            });
        }
        Err(error) => return Err(damaged(&key_path, error)),
    }
    let mut roots = RootCertStore::empty();
    roots
        .add(root.clone())
        .map_err(|error| damaged(&root_path, error))?;
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::new(provider))
        .build()
        .map_err(|error| damaged(&root_path, error))?;
    let name =
        ServerName::try_from(party.dns_name()).map_err(|error| damaged(&chain_path, error))?;
    match verifier.verify_server_cert(own, others, &name, &[], UnixTime::now()) {
        Ok(_) => Ok(()),
        Err(Error::InvalidCertificate(why)) => Err(invalid(chain_path, &why)),
        Err(error) => Err(damaged(&chain_path, error)),
    }
}

fn invalid(path: PathBuf, why: &CertificateError) -> BootstrapError {
    let mismatched = |message: &str| BootstrapError::Mismatched {
        path: path.clone(),
        message: message.to_owned(),
    };
    let expired = |message: &str| BootstrapError::Expired {
        path: path.clone(),
        message: message.to_owned(),
    };
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            expired("has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            expired("is not valid yet")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            mismatched("it is the certificate of another party")
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            mismatched("it was not issued by the root in root.pem")
        }
        other => damaged(&path, format!("{other:?}")),
    }
}
