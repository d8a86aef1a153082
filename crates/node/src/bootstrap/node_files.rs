//! A node's folder, read back and checked as a whole.

use std::path::{Path, PathBuf};

use kernel::NotaryService;
use ledger::{NetworkMap, NodeInfo};
use primitives::{Decode, KeyPair, PublicKey, Scheme, hex};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use store::{Custody, CustodyKey};

use super::authority::read_seed;
use super::certificate::check;
use super::documents::Documents;
use super::error::BootstrapError;
use super::files::{
    CHAIN, CONFIG, IDENTITY, LEDGER, NETWORK_KEY, ROOT, TLS_KEY, certificates, damaged,
    ledger_custody, read, read_secret, service_key_file,
};
use super::validity::not_after;
use crate::config::NodeConfig;

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
    /// The replicated notary that the node works for, if it is one of its workers.
    pub service: Option<NotaryService>,
}

/// The end of the first of a node's certificates that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CertificatesEnd {
    /// The end, in seconds since 1970.
    pub(crate) at_s: i64,
    /// It is the root's, which no repeated bootstrap renews.
    pub(crate) is_root: bool,
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

    /// The end of the first certificate that ends, the root's included. `None` if none can be read.
    #[must_use]
    pub(crate) fn certificates_end(&self) -> Option<CertificatesEnd> {
        let root_s = not_after(&self.root);
        let own_s = self.chain.iter().filter_map(|own| not_after(own)).min();
        let at_s = own_s.into_iter().chain(root_s).min()?;
        Some(CertificatesEnd {
            at_s,
            is_root: root_s == Some(at_s),
        })
    }

    /// The ledger's store.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.data().join(LEDGER)
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
    check(dir, &info.party.id(), &chain, &tls_key, &root)?;
    let service = own_service(dir, &config, &info)?;
    Ok(NodeFiles {
        service,
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

/// The notary that the node works for, if the network map, the key file and the configuration agree.
fn own_service(
    dir: &Path,
    config: &NodeConfig,
    info: &NodeInfo,
) -> Result<Option<NotaryService>, BootstrapError> {
    let mismatched = |file: &str, message: &str| {
        Err(BootstrapError::Mismatched {
            path: dir.join(file),
            message: message.to_owned(),
        })
    };
    let service = info.notary.as_ref().and_then(|one| one.service.clone());
    let has_database = !config.notary_database.url.is_empty();
    let Some(party) = service else {
        return match has_database {
            true => mismatched(
                CONFIG,
                "the section [notary_database] is for the workers of a replicated notary, and the network map names this node as none",
            ),
            false => Ok(None),
        };
    };
    if !has_database {
        return mismatched(
            CONFIG,
            "this node works for a replicated notary, and the section [notary_database] is missing",
        );
    }
    let file = service_key_file(&party.id());
    let key = KeyPair::from_seed(Scheme::Ed25519, *read_seed(&dir.join(&file))?.expose());
    if party.key != *key.public() {
        return mismatched(
            &file,
            "the key is not the one that the network map lists for the notary",
        );
    }
    Ok(Some(NotaryService { party, key }))
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
    let signed = info.notary.as_ref().map(|notary| notary.validating);
    if signed != config.notary.map(|notary| notary.validating) {
        let message = "the section [notary] and the network map disagree about whether this is a notary, and of what kind";
        return mismatched(CONFIG, message.to_owned());
    }
    Ok(info.clone())
}
