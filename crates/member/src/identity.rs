//! A member's identity, as its folder holds it.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use ledger::{Document, LegalName, NetworkMap, NetworkParameters, NodeInfo, Party, SignedDocument};
use net::TlsMaterial;
use primitives::{Decode, KeyPair, PublicKey, Scheme, SignatureChecker, hex};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::MemberError;

/// Everything that a member needs to take part in a network.
pub struct Identity {
    /// The member.
    pub(crate) party: Party,
    /// Its identity key.
    pub(crate) key: KeyPair,
    /// Its certificate, its key and the network's root.
    pub(crate) tls: TlsMaterial,
    /// The network, as the network key signed it.
    pub(crate) network: NetworkMap,
    /// The address on which others expect it.
    pub(crate) listen: SocketAddr,
}

impl Identity {
    /// Reads a folder that `tally network bootstrap` made for a node.
    ///
    /// # Errors
    /// A file is missing or damaged, or the network map does not list the member.
    pub fn read(folder: &Path) -> Result<Self, MemberError> {
        let config_path = folder.join("node.toml");
        let config: toml::Table = text(&config_path)?
            .parse()
            .map_err(|error: toml::de::Error| damaged(&config_path, error.message()))?;
        let setting = |section: &str, name: &str| {
            let found = config.get(section).and_then(|section| section.get(name));
            let found = found.and_then(toml::Value::as_str);
            found.ok_or_else(|| damaged(&config_path, format!("{section}.{name} is missing")))
        };
        let name: LegalName = setting("node", "name")?
            .parse()
            .map_err(|error| damaged(&config_path, error))?;
        let listen = setting("p2p", "listen")?
            .parse()
            .map_err(|error| damaged(&config_path, error))?;

        let trusted_path = folder.join("network.pub");
        let trusted = hex::decode(text(&trusted_path)?.trim())
            .and_then(|bytes| PublicKey::from_bytes(&bytes).ok())
            .ok_or_else(|| damaged(&trusted_path, "not a public key in hexadecimal"))?;
        let network = network(&folder.join("network"), &trusted)?;
        let info = network.node(&name.party_id());
        let party = info
            .ok_or(MemberError::NotListed("such member"))?
            .party
            .clone();

        let key_path = folder.join("identity.key");
        let seed = hex::decode_array(text(&key_path)?.trim())
            .ok_or_else(|| damaged(&key_path, "not 64 hexadecimal digits"))?;
        let tls_path = folder.join("tls.key.pem");
        let tls_key = PrivateKeyDer::from_pem_slice(text(&tls_path)?.as_bytes());
        let chain = certificates(&folder.join("tls.pem"))?;
        let root_path = folder.join("root.pem");
        let root = certificates(&root_path)?.into_iter().next();
        Ok(Self {
            key: KeyPair::from_seed(Scheme::Ed25519, seed),
            tls: TlsMaterial {
                chain,
                key: tls_key.map_err(|error| damaged(&tls_path, error))?,
                root: root.ok_or_else(|| damaged(&root_path, "no certificate is in it"))?,
            },
            party,
            network,
            listen,
        })
    }
}

/// Reads the signed parameters and node infos.
fn network(folder: &Path, trusted: &PublicKey) -> Result<NetworkMap, MemberError> {
    let mut checker = SignatureChecker::new();
    let parameters: NetworkParameters =
        document(&folder.join("parameters"), trusted, &mut checker)?;
    let nodes = folder.join("nodes");
    let mut infos: Vec<NodeInfo> = Vec::new();
    for entry in fs::read_dir(&nodes).map_err(failed(&nodes))? {
        let path = entry.map_err(failed(&nodes))?.path();
        // A file with an extension was left by a write that did not finish.
        if path.extension().is_none() {
            infos.push(document(&path, trusted, &mut checker)?);
        }
    }
    Ok(NetworkMap::new(parameters, infos))
}

fn document<T: Document>(
    path: &Path,
    trusted: &PublicKey,
    checker: &mut SignatureChecker,
) -> Result<T, MemberError> {
    let bytes = fs::read(path).map_err(failed(path))?;
    let signed: SignedDocument<T> =
        Decode::from_bytes(&bytes).map_err(|error| damaged(path, error))?;
    signed
        .open(trusted, checker)
        .map_err(|error| damaged(path, error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, MemberError> {
    let found: Result<_, _> = CertificateDer::pem_slice_iter(text(path)?.as_bytes()).collect();
    found.map_err(|error| damaged(path, error))
}

fn text(path: &Path) -> Result<String, MemberError> {
    fs::read_to_string(path).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> MemberError {
    let path = path.to_owned();
    move |source| MemberError::File {
        path: path.clone(),
        source,
    }
}

fn damaged(path: &Path, reason: impl ToString) -> MemberError {
    MemberError::Damaged {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
