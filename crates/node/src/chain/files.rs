//! A chain node's folder.
//!
//! ```text
//!   chain.toml genesis.toml root.pem tls.pem tls.key.pem identity.key api-token chain.anchor data/
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chain::bundle::Bundler;
use chain::genesis::GenesisSpec;
use chain::{Genesis, Height, key_of_passphrase};
use primitives::{Hash, KeyPair, Scheme, Seed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use store::{Custody, CustodyKey};

use super::config::ChainConfig;
use super::start_error::ChainStartError;
use crate::bootstrap::authority::read_seed;
use crate::bootstrap::files::{CHAIN, IDENTITY, TLS_KEY, certificates, damaged, read_secret};
use crate::config::{ConfigKind, read_toml};

/// The configuration, in a chain node's folder.
pub const CONFIG: &str = "chain.toml";
/// The genesis, in a chain node's folder.
pub const GENESIS: &str = "genesis.toml";

/// The anchor of the store, next to the identity key.
const ANCHOR: &str = "chain.anchor";
/// The inventory of the store, within the data folder.
const INVENTORY: &str = "chain.inventory";

/// Everything that a chain node's folder holds.
pub struct ChainFiles {
    /// The folder.
    pub dir: PathBuf,
    /// The configuration.
    pub config: ChainConfig,
    /// The network.
    pub genesis: Arc<Genesis>,
    /// The seed of the node's identity key.
    pub identity: Seed,
    /// The API's certificates, its own first.
    pub chain: Vec<CertificateDer<'static>>,
    /// Their key.
    pub tls_key: PrivateKeyDer<'static>,
    /// Keys that forge.
    pub forgers: Vec<KeyPair>,
    /// The bundlers.
    pub bundlers: Vec<Bundler>,
    /// Blocks that must be on the chain.
    pub checkpoints: Vec<(Height, Hash)>,
}

impl ChainFiles {
    /// The folder of everything that grows.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.dir.join(&self.config.node.data_dir)
    }

    /// The places of the inventory and the anchor of the chain's store.
    #[must_use]
    pub fn custody(&self) -> Custody {
        chain_custody(&self.dir, &self.data(), &self.identity)
    }
}

/// The places of the inventory and the anchor of the store in a chain node's folder.
pub(super) fn chain_custody(dir: &Path, data: &Path, seed: &Seed) -> Custody {
    Custody {
        inventory: data.join(INVENTORY),
        anchor: dir.join(ANCHOR),
        key: CustodyKey::derive(seed.expose()),
    }
}

/// Reads a genesis file.
pub fn read_genesis(path: &Path) -> Result<Genesis, ChainStartError> {
    let read = read_toml(path).map_err(|error| error.in_file(ConfigKind::Genesis));
    let spec: GenesisSpec = read?;
    spec.build().map_err(|rejection| ChainStartError::Genesis {
        path: path.to_owned(),
        rejection,
    })
}

/// Reads and checks a chain node's folder, or the one that a `chain.toml` is in.
///
/// # Errors
/// A file that is missing, can't be read, is damaged, or is open to others though it is a secret.
pub fn load_chain_dir(path: &Path) -> Result<ChainFiles, ChainStartError> {
    let (dir, config_path) = if path.is_dir() {
        (path.to_owned(), path.join(CONFIG))
    } else {
        let dir = path.parent().unwrap_or(Path::new("."));
        (dir.to_owned(), path.to_owned())
    };
    let config = ChainConfig::read(&config_path)?;
    let genesis = Arc::new(read_genesis(&dir.join(&config.node.genesis))?);
    let key_path = dir.join(TLS_KEY);
    let tls_key = PrivateKeyDer::from_pem_slice(read_secret(&key_path)?.expose().as_bytes())
        .map_err(|error| damaged(&key_path, error))?;
    let mut forgers = Vec::new();
    for file in &config.forging.key_files {
        forgers.push(key_of_file(&dir.join(file))?);
    }
    forgers.extend(
        config
            .forging
            .passphrases
            .iter()
            .map(|text| key_of_passphrase(text.expose())),
    );
    let mut bundlers = Vec::new();
    for entry in &config.bundlers {
        let key = match (&entry.key_file, &entry.passphrase) {
            (Some(file), None) => key_of_file(&dir.join(file))?,
            (None, Some(passphrase)) => key_of_passphrase(passphrase.expose()),
            _ => {
                return Err(ChainStartError::Key {
                    field: "bundlers",
                    message: "either key_file or passphrase is to be given".into(),
                });
            }
        };
        let rules = entry.rules.clone();
        if genesis.chain(rules.child).is_none() || !rules.child.is_child() {
            return Err(ChainStartError::Key {
                field: "bundlers",
                message: format!("the network has no child chain {}", rules.child),
            });
        }
        bundlers.push(Bundler { key, rules });
    }
    let checkpoints = config.checkpoints.iter().map(|checkpoint| {
        let hash = checkpoint.hash.parse::<Hash>();
        hash.map(|hash| (Height::new(checkpoint.height), hash))
            .map_err(|error| ChainStartError::Key {
                field: "checkpoints",
                message: format!("height {}: {error}", checkpoint.height),
            })
    });
    let checkpoints = checkpoints.collect::<Result<_, _>>()?;
    Ok(ChainFiles {
        identity: read_seed(&dir.join(IDENTITY))?,
        chain: certificates(&dir.join(CHAIN))?,
        tls_key,
        forgers,
        bundlers,
        checkpoints,
        genesis,
        config,
        dir,
    })
}

fn key_of_file(path: &Path) -> Result<KeyPair, ChainStartError> {
    Ok(KeyPair::from_seed(
        Scheme::Ed25519,
        *read_seed(path)?.expose(),
    ))
}

/// Whether a folder, or a file, is a chain node's.
#[must_use]
pub fn is_chain_dir(path: &Path) -> bool {
    fs::exists(path.join(CONFIG)).unwrap_or(false)
}
