//! The steps of a start that only read. A start makes them on its open store, and a rehearsal on the rows of a store that stays
//! closed, so both find the same faults.

use std::path::Path;
use std::sync::Arc;

use kernel::folder::{FolderContents, FolderRecord};
use kernel::port::{Reads, WriteBatch};
use kernel::{Identity, KernelOptions, NotaryService};
use ledger::{NetworkMap, NodeInfo};
use primitives::KeyPair;

use super::apps::Apps;
use super::start_error::StartError;
use crate::config::NodeConfig;

/// Returns the identity that a kernel is opened with.
pub(super) fn kernel_identity(
    config: &NodeConfig,
    info: &NodeInfo,
    key: KeyPair,
    service: Option<NotaryService>,
    network: &Arc<NetworkMap>,
    apps: Apps,
) -> Identity {
    let mut flows = apps.flows;
    if config.notary.is_some_and(|notary| !notary.answer_sessions) {
        flows.close_sessions();
    }
    Identity {
        me: info.party.clone(),
        keys: vec![key],
        service,
        network: Arc::clone(network),
        contracts: Arc::new(apps.contracts),
        flows: Arc::new(flows),
    }
}

/// Compares the folder `dir` with its store's record of it. Returns the record, and the rows that bring the store's up to date.
///
/// # Errors
/// The store can't be read, or the folder lacks a member that the store remembers.
pub(super) fn folder_record(
    dir: &Path,
    contents: &FolderContents,
    identity: &Identity,
    options: &KernelOptions,
    reads: &dyn Reads,
) -> Result<(FolderRecord, WriteBatch), StartError> {
    FolderRecord::compare(contents, identity, &options.entropy, reads)
        .map_err(|error| StartError::of_kernel(error, dir))
}
