//! The rehearsal of a node's start: would it start on its folder?

use std::path::Path;
use std::sync::Arc;

use kernel::Kernel;
use kernel::folder::FolderContents;
use kernel::port::Table;
use store::{RehearsalFigures, Rehearsed};

use super::apps::Apps;
use super::clock::Clock;
use super::options::{http_options, kernel_options};
use super::start_error::StartError;
use super::storage::refuse_database;
use super::{node_folder, opening};
use crate::bootstrap::NodeFiles;
use crate::http::server_config;
use crate::ledger_store::LedgerStore;

/// Bytes of sorted files that a rehearsal compares with their checksums: some seconds of reading.
pub(crate) const READ_BYTES_MAX: u64 = 1 << 30;

/// Makes the checks of [`super::Node::start`] on a node's folder without a start: the store and its inventory, the members of
/// the network, and the flows in flight. Changes nothing in the folder, and no process is kept from starting on it. `scratch` is
/// an empty folder elsewhere.
///
/// # Errors
/// The error of the start. `store.locked` if a process has the store open.
pub fn rehearse_start(
    files: NodeFiles,
    apps: Apps,
    scratch: &Path,
) -> Result<RehearsalFigures, StartError> {
    refuse_database(&files)?;
    let (ledger, custody) = (files.ledger(), files.custody());
    let judge = |store: Rehearsed<Table>| -> Result<RehearsalFigures, StartError> {
        let NodeFiles {
            dir,
            config,
            identity,
            chain,
            tls_key,
            network,
            info,
            service,
            ..
        } = files;
        let network = Arc::new(network);
        let identity = opening::kernel_identity(&config, &info, identity, service, &network, apps);
        let options = kernel_options(&config)?;
        let contents = FolderContents {
            audit: node_folder::audit_mark(&dir)?,
            // Reading the view may change its files. Its states only decide what a start warns about.
            ..FolderContents::default()
        };
        let (record, _) = opening::folder_record(&dir, &contents, &identity, &options, &store)?;
        let now = Clock::default().now();
        Kernel::open(options, identity, record, &store, now, &mut Vec::new())?;
        let connections = config.api.connections_max;
        http_options(&config, server_config(chain, tls_key)?, connections)?;
        Ok(store.figures())
    };
    LedgerStore::rehearse(&ledger, Some(&custody), scratch, READ_BYTES_MAX, judge)?
}
