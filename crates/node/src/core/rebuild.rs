//! The rebuild of the vault's view from the ledger, in the folder of a stopped node.

use std::io::{Error, ErrorKind};
use std::sync::Arc;

use pgstore::DatabaseError;
use store::OpenError;
use vaultview::{Criterion, QueryError, VaultView};

use super::apps::Apps;
use super::columns::Columns;
use super::options::view_options;
use super::quarantine;
use super::start::{VIEW, ledger_end};
use super::start_error::StartError;
use super::storage::Storage;
use super::view_fill::{FillError, Filler};
use crate::bootstrap::NodeFiles;

/// The content of a rebuilt view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Transactions of the ledger.
    pub transactions: u64,
    /// States, consumed ones as well.
    pub states: u64,
}

/// Drops the vault's view in a node's folder, damaged or not, and fills it from the ledger. It calls `told` about every thousand
/// transactions, with the number of transactions done and their total.
///
/// It may be killed at any time. Then the file holds the beginning of the new view, and the node continues it at its start.
///
/// # Errors
/// The node runs, it never ran, or the ledger or the view can't be read or written.
pub fn rebuild_view(
    files: NodeFiles,
    apps: Apps,
    told: &mut dyn FnMut(u64, u64),
) -> Result<Rebuilt, StartError> {
    let config = &files.config;
    let (data, ledger) = (files.data(), files.ledger());
    if config.database.url.is_empty() && !ledger.is_dir() {
        return Err(StartError::Folder {
            path: ledger,
            source: Error::new(ErrorKind::NotFound, "there is no ledger yet"),
        });
    }
    // Held to the end: no node starts meanwhile.
    let storage = Storage::open(&files, false).map_err(|error| match error {
        StartError::Store(OpenError::Locked { path })
        | StartError::Database(DatabaseError::Cache(OpenError::Locked { path })) => {
            StartError::NodeRuns(path)
        }
        error => error,
    })?;
    let store = storage.store.clone();
    let transactions = ledger_end(&store)?;
    let contracts = Arc::new(apps.contracts);
    let columns = Arc::new(Columns::of(&contracts));
    let mut view = VaultView::create(&data.join(VIEW), &view_options(config, &columns))?;
    let filler = Filler {
        reads: store,
        contracts,
        me: files.info.party.id(),
        network: Arc::new(files.network),
        keys: vec![files.identity.public().clone()],
        columns,
    };
    told(0, transactions);
    while view.upto() < transactions {
        let more = filler.fill_page(&mut view, transactions);
        if !more.map_err(FillError::into_start)? {
            break;
        }
        told(view.upto(), transactions);
    }
    let quarantined = quarantine::all(&filler.reads).map_err(StartError::StoreFailed)?;
    quarantine::show(&mut view, &filler.reads, &quarantined).map_err(FillError::into_start)?;
    let all = Criterion::All(Vec::new());
    let states = match view.reader()?.groups(&all, &[]) {
        Ok(groups) => groups.first().map_or(0, |group| group.states),
        Err(QueryError::View(error)) => return Err(error.into()),
        Err(error) => return Err(StartError::System(error.to_string())),
    };
    Ok(Rebuilt {
        transactions: view.upto(),
        states,
    })
}
