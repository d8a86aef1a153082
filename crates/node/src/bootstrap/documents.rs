//! The network's documents: parameters and node infos, kept with the authority and copied to every node.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ledger::{Document, LegalName, NetworkParameters, NodeInfo, PartyId, SignedDocument};
use primitives::{Decode, Encode, KeyPair, PublicKey, SignatureChecker, Timestamp, whole_ms};

use super::error::BootstrapError;
use super::files::{create, damaged, file, missing_or, write};
use super::spec::NetworkSpec;

/// The parameters, within a folder.
pub(super) const PARAMETERS: &str = "network/parameters";
/// The node infos, within a folder, each named by its party id.
const NODES: &str = "network/nodes";

/// The file of a member, within a node's folder.
pub(crate) fn member_file(folder: &Path, id: &PartyId) -> PathBuf {
    folder.join(NODES).join(id.to_string())
}

/// Parameters and node infos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Documents {
    pub(super) parameters: NetworkParameters,
    pub(super) nodes: BTreeMap<PartyId, NodeInfo>,
}

impl Documents {
    /// Returns whether the parameters name a notary.
    pub(super) fn has_notary(&self, name: &LegalName) -> bool {
        let mut notaries = self.parameters.notaries.iter();
        notaries.any(|notary| notary.name == *name)
    }

    /// Those in a folder, if there are any.
    pub(super) fn existing(
        folder: &Path,
        trusted: &PublicKey,
    ) -> Result<Option<Self>, BootstrapError> {
        if folder.join(PARAMETERS).exists() {
            Self::read(folder, trusted).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Those in a folder.
    pub(super) fn read(folder: &Path, trusted: &PublicKey) -> Result<Self, BootstrapError> {
        let mut checker = SignatureChecker::new();
        let parameters = read_one(&folder.join(PARAMETERS), trusted, &mut checker)?;
        let (path, mut nodes) = (folder.join(NODES), BTreeMap::new());
        for entry in fs::read_dir(&path).map_err(missing_or(&path))? {
            let path = entry.map_err(file(&path))?.path();
            // A file with an extension was left by a write that did not finish.
            if path.extension().is_none() {
                let info: NodeInfo = read_one(&path, trusted, &mut checker)?;
                nodes.insert(info.party.id(), info);
            }
        }
        Ok(Self { parameters, nodes })
    }

    /// Returns the documents with the new parts. Unchanged documents stay the same to the byte, because transactions name the
    /// parameters by their hash.
    ///
    /// # Errors
    /// A document in `folder` has the last number that there is. Nodes would ignore its successor.
    pub(super) fn renew(
        old: Option<Self>,
        spec: &NetworkSpec,
        infos: Vec<NodeInfo>,
        folder: &Path,
    ) -> Result<Self, BootstrapError> {
        let now = now();
        let last = |file: PathBuf| {
            move || damaged(&file, "its version number is the largest possible one")
        };
        let mut nodes = old
            .as_ref()
            .map(|old| old.nodes.clone())
            .unwrap_or_default();
        for mut info in infos {
            let id = info.party.id();
            if let Some(known) = nodes.get(&id) {
                info.serial = known.serial;
                if info == *known {
                    continue;
                }
                let file = folder.join(NODES).join(id.to_string());
                info.serial = known.serial.checked_add(1).ok_or_else(last(file))?;
            }
            info.serial = info.serial.max(now.as_ms());
            nodes.insert(id, info);
        }
        let parameters = renew_parameters(old.map(|old| old.parameters), spec, &nodes, now);
        let parameters = parameters.ok_or_else(last(folder.join(PARAMETERS)))?;
        Ok(Self { parameters, nodes })
    }

    /// Signs the documents and writes them to a folder.
    pub(super) fn write(&self, folder: &Path, key: &KeyPair) -> Result<(), BootstrapError> {
        create(&folder.join(NODES))?;
        for (id, info) in &self.nodes {
            write_one(folder.join(NODES).join(id.to_string()), info, key)?;
        }
        write_one(folder.join(PARAMETERS), &self.parameters, key)
    }
}

/// Returns the new parameters, or `None` if the old ones have the last version.
fn renew_parameters(
    old: Option<NetworkParameters>,
    spec: &NetworkSpec,
    nodes: &BTreeMap<PartyId, NodeInfo>,
    now: Timestamp,
) -> Option<NetworkParameters> {
    let mut notaries = old
        .as_ref()
        .map(|old| old.notaries.clone())
        .unwrap_or_default();
    // In the order of the description; the first is the default.
    let wanted = spec
        .nodes
        .iter()
        .filter_map(|node| nodes.get(&node.name.party_id()));
    for info in wanted {
        let Some(notary) = &info.notary else {
            continue;
        };
        // Transactions name the service, not its workers.
        let named = notary.service.as_ref().unwrap_or(&info.party);
        if notaries.iter().all(|party| party.id() != named.id()) {
            notaries.push(named.clone());
        }
    }
    let mut parameters = old
        .clone()
        .unwrap_or_else(|| NetworkParameters::new(Vec::new(), now));
    parameters.notaries = notaries;
    if let Some(bytes) = spec.max_message_bytes {
        parameters.max_message_bytes = bytes;
    }
    if let Some(bytes) = spec.max_transaction_bytes {
        parameters.max_transaction_bytes = bytes;
    }
    if let Some(bytes) = spec.max_attachment_bytes {
        parameters.max_attachment_bytes = bytes;
    }
    if let Some(bytes) = spec.max_transaction_attachment_bytes {
        parameters.max_transaction_attachment_bytes = bytes;
    }
    if let Some(old) = old.filter(|old| parameters != *old) {
        parameters.version = old.version.checked_add(1)?;
        parameters.issued_at = now;
    }
    Some(parameters)
}

fn now() -> Timestamp {
    // A clock before 1970 shows the time of the epoch.
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_ms(whole_ms(now))
}

fn read_one<T: Document>(
    path: &Path,
    trusted: &PublicKey,
    checker: &mut SignatureChecker,
) -> Result<T, BootstrapError> {
    let bytes = fs::read(path).map_err(missing_or(path))?;
    let signed = SignedDocument::<T>::from_bytes(&bytes).map_err(|error| damaged(path, error))?;
    signed
        .open(trusted, checker)
        .map_err(|error| damaged(path, error))
}

fn write_one<T: Document>(
    path: PathBuf,
    document: &T,
    key: &KeyPair,
) -> Result<(), BootstrapError> {
    let bytes = SignedDocument::sign(document, key).to_bytes();
    // Signatures are deterministic: an unchanged document is the same file.
    if fs::read(&path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    write(&path, &bytes)
}
