//! A node's folder: reading it back, with every mistake that operators make told apart.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ledger::{NetworkMap, NodeInfo};
use primitives::{Decode, KeyPair, PublicKey, Scheme, SecretText, hex};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use store::{Custody, CustodyKey};

use super::authority::read_seed;
use super::documents::Documents;
use super::error::BootstrapError;
use crate::config::NodeConfig;

/// Files of a node's folder.
pub(crate) const CONFIG: &str = "node.toml";
pub(crate) const ROOT: &str = "root.pem";
pub(crate) const NETWORK_KEY: &str = "network.pub";
pub(crate) const CHAIN: &str = "tls.pem";
pub(crate) const TLS_KEY: &str = "tls.key.pem";
pub(crate) const IDENTITY: &str = "identity.key";
pub(crate) const TOKEN: &str = "api-token";
/// The anchor of the ledger's store, next to the identity key.
pub(crate) const ANCHOR: &str = "ledger.anchor";
/// The inventory of the ledger's store, within the data folder.
pub(crate) const INVENTORY: &str = "ledger.inventory";
/// The ledger's store, within the data folder.
pub(crate) const LEDGER: &str = "ledger";
/// The data folder of a node whose configuration names no other.
const DATA: &str = "data";

/// Everything that a node's folder holds.
pub struct NodeFiles {
    /// The folder.
    pub dir: PathBuf,
    /// The configuration.
    pub config: NodeConfig,
    /// The identity key.
    pub identity: KeyPair,
    /// Authenticates the inventory of the ledger's store.
    pub custody_key: CustodyKey,
    /// The TLS certificate chain, the node's own first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The key of the TLS certificate.
    pub tls_key: PrivateKeyDer<'static>,
    /// The network's root.
    pub root: CertificateDer<'static>,
    /// Parameters and node infos, as the network key signed them.
    pub network: NetworkMap,
    /// The node's own info.
    pub info: NodeInfo,
}

impl NodeFiles {
    /// The folder of everything that grows.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.dir.join(&self.config.node.data_dir)
    }

    /// The places of the inventory and the anchor of the ledger's store.
    #[must_use]
    pub fn custody(&self) -> Custody {
        ledger_custody(&self.dir, &self.data(), self.custody_key.clone())
    }

    /// The ledger's store.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.data().join(LEDGER)
    }
}

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
    fs::read_to_string(path).map_err(missing_or(path))
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

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BootstrapError> {
    write_with(path, bytes, 0o644)
}

/// Likewise, for the owner alone.
pub(crate) fn write_secret(path: &Path, secret: &SecretText) -> Result<(), BootstrapError> {
    write_with(path, secret.expose().as_bytes(), 0o600)
}

fn write_with(path: &Path, bytes: &[u8], mode: u32) -> Result<(), BootstrapError> {
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

/// Reads and checks a node's folder.
///
/// # Errors
/// A file that is missing, can't be read, is damaged, is open to others though it is a secret, has expired, or belongs to
/// another node or network than the rest.
pub fn load_node_dir(dir: &Path) -> Result<NodeFiles, BootstrapError> {
    let config_path = dir.join(CONFIG);
    if !config_path.exists() {
        return Err(BootstrapError::Missing { path: config_path });
    }
    let config = NodeConfig::read(&config_path)?;
    let seed = read_seed(&dir.join(IDENTITY))?;
    let identity = KeyPair::from_seed(Scheme::Ed25519, *seed.expose());
    let trusted_path = dir.join(NETWORK_KEY);
    let trusted = hex::decode(read(&trusted_path)?.trim())
        .and_then(|bytes| PublicKey::from_bytes(&bytes).ok())
        .ok_or_else(|| damaged(&trusted_path, "not a public key in hexadecimal"))?;
    let Documents { parameters, nodes } = Documents::read(dir, &trusted)?;
    let network = NetworkMap::new(parameters, nodes.into_values());
    let info = own_info(dir, &config, &identity, &network)?;

    let chain = certificates(&dir.join(CHAIN))?;
    let key_path = dir.join(TLS_KEY);
    let tls_key = PrivateKeyDer::from_pem_slice(read_secret(&key_path)?.expose().as_bytes())
        .map_err(|error| damaged(&key_path, error))?;
    let root = certificates(&dir.join(ROOT))?.swap_remove(0);
    super::certificate::check(dir, &info.party.id(), &chain, &tls_key, &root)?;
    Ok(NodeFiles {
        dir: dir.to_owned(),
        config,
        identity,
        custody_key: CustodyKey::derive(seed.expose()),
        chain,
        tls_key,
        root,
        network,
        info,
    })
}

/// The node's own info, if configuration, key and network map agree.
fn own_info(
    dir: &Path,
    config: &NodeConfig,
    identity: &KeyPair,
    network: &NetworkMap,
) -> Result<NodeInfo, BootstrapError> {
    let name = &config.node.name;
    let mismatched = |file: &str, message: String| {
        Err(BootstrapError::Mismatched {
            path: dir.join(file),
            message,
        })
    };
    let Some(info) = network.node(&name.party_id()) else {
        return mismatched(CONFIG, format!("{name} is not among the network's nodes"));
    };
    if info.party.key != *identity.public() {
        let message = format!("the key is not the one that the network map lists for {name}");
        return mismatched(IDENTITY, message);
    }
    let signed = info.notary.map(|notary| notary.validating);
    if signed != config.notary.map(|notary| notary.validating) {
        let message = "the section [notary] and the network map disagree about whether this is a notary, and of what kind";
        return mismatched(CONFIG, message.to_owned());
    }
    Ok(info.clone())
}
