//! The operator's tools for the record that the workers of a replicated notary share.

use std::path::Path;

use kernel::port::{Table, damaged};
use ledger::{StateRef, TxId};
use notary::RequestRecord;
use notarydb::{Audit, Findings, SharedRecord};
use primitives::storage::Reads;
use primitives::{Decode, SignatureChecker};

use super::options::store_options;
use super::start_error::StartError;
use super::storage::notary_settings;
use crate::bootstrap::{NodeFiles, load_node_dir};
use crate::ledger_store::LedgerStore;

/// Rows that are moved at once.
const PAGE: usize = 5_000;

/// Opens the shared record with the settings of a worker, which may run.
fn open(files: &NodeFiles, is_successor: bool) -> Result<SharedRecord, StartError> {
    let service = files.service.as_ref().ok_or(StartError::NoWorker)?;
    let NodeFiles {
        dir,
        config,
        info,
        network,
        ..
    } = files;
    let settings = notary_settings(dir, config, service, info, network, is_successor)?;
    Ok(notarydb::open(&settings)?)
}

/// Returns the state of the database of a replicated notary, as names with values.
///
/// # Errors
/// The node is no worker, or the database can't be reached.
pub fn notary_status(files: &NodeFiles) -> Result<Vec<(String, String)>, StartError> {
    let mut record = open(files, true)?;
    let standing = record.standing()?;
    let mut shown = vec![("connected to".to_owned(), record.meter().figures().server)];
    shown.extend(standing);
    Ok(shown)
}

/// Reads the whole record of a replicated notary and reports every inconsistency. `progress` gets the number of rows read so far.
///
/// # Errors
/// The node is no worker, or the database can't be reached.
pub fn audit_notary(
    files: &NodeFiles,
    progress: &mut dyn FnMut(u64),
) -> Result<Findings, StartError> {
    let mut record = open(files, true)?;
    let service = files.service.as_ref().ok_or(StartError::NoWorker)?;
    let mut checker = SignatureChecker::default();
    let audit = Audit {
        signatures: Some((&mut checker, service.party.id())),
        progress,
    };
    Ok(notarydb::audit(&mut record, audit)?)
}

/// Moves the data of a notary of its own, whose stopped node is in the folder `from`, to the record of the worker `files`. The notary's data
/// stays. Returns the number of rows. It can be repeated after it was cut short. `progress` gets the number of rows moved so far.
///
/// # Errors
/// The node is no worker of that notary, the notary runs, a row can't be read, or the database can't be reached.
pub fn migrate_notary(
    files: &NodeFiles,
    from: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, StartError> {
    let old = load_node_dir(from).map_err(|error| StartError::OldNotary(error.to_string()))?;
    let service = files.service.as_ref().ok_or(StartError::NoWorker)?;
    if old.info.party != service.party {
        let text = format!("{} is not {}", old.info.party.name, service.party.name);
        return Err(StartError::OldNotary(text));
    }
    super::storage::refuse_database(&old)?;
    let mut record = open(files, false)?;
    // Fails while the notary runs.
    let store = LedgerStore::open(&old.ledger(), &store_options(&old.config, old.custody()))?;
    let mut rows = 0;
    for_each_page(&store, Table::NotaryStates, |page| {
        let decode = |(key, value): (Vec<u8>, Vec<u8>)| -> Option<(StateRef, TxId)> {
            let consumer = value.as_slice().try_into().ok()?;
            Some((
                kernel::rows::state_ref_of(&key)?,
                TxId::from_array(consumer),
            ))
        };
        let states: Option<Vec<_>> = page.into_iter().map(decode).collect();
        let states = states.ok_or_else(|| unreadable("a consumed state"))?;
        record.import_states(&states)?;
        rows += states.len() as u64;
        progress(rows);
        Ok(())
    })?;
    for_each_page(&store, Table::NotaryTxs, |page| {
        let decode = |(key, value): (Vec<u8>, Vec<u8>)| -> Option<(TxId, RequestRecord)> {
            let id = key.as_slice().try_into().ok()?;
            Some((
                TxId::from_array(id),
                RequestRecord::from_bytes(&value).ok()?,
            ))
        };
        let transactions: Option<Vec<_>> = page.into_iter().map(decode).collect();
        let transactions = transactions.ok_or_else(|| unreadable("a signed transaction"))?;
        record.import_transactions(&transactions)?;
        rows += transactions.len() as u64;
        progress(rows);
        Ok(())
    })?;
    record.finish_move()?;
    Ok(rows)
}

fn unreadable(what: &str) -> StartError {
    StartError::StoreFailed(damaged(format!("{what} of the notary")))
}

/// Reads a table in pages, in the order of its keys.
fn for_each_page(
    store: &LedgerStore,
    table: Table,
    mut work: impl FnMut(Vec<(Vec<u8>, Vec<u8>)>) -> Result<(), StartError>,
) -> Result<(), StartError> {
    let mut from = Vec::new();
    loop {
        let page = store.scan(table, &from, None, PAGE);
        let page = page.map_err(StartError::StoreFailed)?;
        let Some((last, _)) = page.last() else {
            return Ok(());
        };
        from = [last.as_slice(), &[0]].concat();
        work(page)?;
    }
}
