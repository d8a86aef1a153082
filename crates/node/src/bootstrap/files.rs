//! The names of the files of a node's folder, and reading and writing them with an error for each mistake of an operator.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ledger::PartyId;
use primitives::SecretText;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use store::{Custody, CustodyKey};

use super::error::BootstrapError;
use crate::config::text_of;

/// The folder of the authority, next to the folders of the nodes.
pub(crate) const AUTHORITY: &str = "network-root";

/// Files of a node's folder.
pub(crate) const CONFIG: &str = "node.toml";
pub(crate) const ROOT: &str = "root.pem";
pub(crate) const NETWORK_KEY: &str = "network.pub";
pub(crate) const CHAIN: &str = "tls.pem";
pub(crate) const TLS_KEY: &str = "tls.key.pem";
pub(crate) const IDENTITY: &str = "identity.key";
pub(crate) const TOKEN: &str = "api-token";
/// The file of the key of a replicated notary, in the folder of each of its workers.
pub(crate) fn service_key_file(service: &PartyId) -> String {
    format!("notary-{service}.key")
}

/// The anchor of the ledger's store, next to the identity key.
pub(crate) const ANCHOR: &str = "ledger.anchor";
/// The inventory of the ledger's store, within the data folder.
pub(crate) const INVENTORY: &str = "ledger.inventory";
/// The ledger's store, within the data folder.
pub(crate) const LEDGER: &str = "ledger";
/// The data folder of a node whose configuration names no other.
const DATA: &str = "data";

/// The places of the inventory and the anchor of the ledger's store in a node's folder.
pub(crate) fn ledger_custody(dir: &Path, data: &Path, key: CustodyKey) -> Custody {
    Custody {
        inventory: data.join(INVENTORY),
        anchor: dir.join(ANCHOR),
        key,
    }
}

/// The data folder of a node whose configuration names no other.
pub(crate) fn default_data(dir: &Path) -> PathBuf {
    dir.join(DATA)
}

pub(crate) fn file(path: &Path) -> impl Fn(std::io::Error) -> BootstrapError {
    let path = path.to_owned();
    move |source| BootstrapError::File {
        path: path.clone(),
        source,
    }
}

/// The error of a file that could not be read.
pub(crate) fn missing_or(path: &Path) -> impl Fn(std::io::Error) -> BootstrapError {
    let other = file(path);
    let path = path.to_owned();
    move |error| match error.kind() {
        std::io::ErrorKind::NotFound => BootstrapError::Missing { path: path.clone() },
        _ => other(error),
    }
}

pub(crate) fn damaged(path: &Path, message: impl ToString) -> BootstrapError {
    BootstrapError::Damaged {
        path: path.to_owned(),
        message: message.to_string(),
    }
}

pub(crate) fn create(folder: &Path) -> Result<(), BootstrapError> {
    fs::create_dir_all(folder).map_err(file(folder))
}

pub(crate) fn read(path: &Path) -> Result<String, BootstrapError> {
    let bytes = fs::read(path).map_err(missing_or(path))?;
    text_of(bytes).map_err(|message| damaged(path, message))
}

/// Reads a file that only its owner may read.
pub(crate) fn read_secret(path: &Path) -> Result<SecretText, BootstrapError> {
    let mode = fs::metadata(path)
        .map_err(missing_or(path))?
        .permissions()
        .mode()
        & 0o777;
    if mode & 0o077 != 0 {
        return Err(BootstrapError::Exposed {
            path: path.to_owned(),
            mode,
        });
    }
    read(path).map(SecretText::new)
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), BootstrapError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file(path)(error)),
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BootstrapError> {
    write_with(path, bytes, 0o644)
}

/// Likewise, for the owner alone.
pub(crate) fn write_secret(path: &Path, secret: &SecretText) -> Result<(), BootstrapError> {
    write_with(path, secret.expose().as_bytes(), 0o600)
}

fn write_with(path: &Path, bytes: &[u8], mode: u32) -> Result<(), BootstrapError> {
    // A path without a name is refused below: nothing can be renamed to it.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let written = (|| {
        let mut options = fs::OpenOptions::new();
        let mut out = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(&new)?;
        out.write_all(bytes)?;
        out.sync_all()?;
        fs::rename(&new, path)
    })();
    written.map_err(file(path))
}

pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, BootstrapError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(damaged(path, "no certificate is in it")),
        Err(error) => Err(damaged(path, error)),
    }
}
