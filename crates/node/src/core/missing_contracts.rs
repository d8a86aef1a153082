//! States of contracts that this node's program lacks. The node keeps them, and can neither show nor use them.
//!
//! The vault's view contains them as long as it was written by a program with the contract. The store keeps a row for each such
//! contract, so that the node warns its operator at each start until the program has the contract again.

use std::collections::BTreeMap;
use std::path::Path;

use kernel::port::{Table, WriteBatch};
use kernel::rows::{META_LACKING, meta_key, prefix_end};
use ledger::{ContractName, ContractRegistry};
use primitives::storage::Reads;
use store::Class;
use vaultview::contracts_held;

use super::start_error::StartError;
use crate::ledger_store::{LedgerCommitter, LedgerStore};

/// Maximum number of contracts that are read back.
const CONTRACTS_MAX: usize = 1_000;

/// Warns about states that the node holds and cannot use. It must run before the view in the file `view` is opened, because
/// opening may drop the view.
pub(super) fn warn(
    store: &LedgerStore,
    committer: &LedgerCommitter,
    view: &Path,
    contracts: &ContractRegistry,
) -> Result<(), StartError> {
    let is_known = |name: &str| {
        let name = ContractName::new(name);
        name.is_ok_and(|name| contracts.current(&name).is_some())
    };
    let before = rows(store)?;
    let mut lacking = before.clone();
    lacking.extend(contracts_held(view));
    lacking.retain(|name, _| !is_known(name));
    for (name, states) in &lacking {
        tracing::warn!(
            code = "contract.unknown",
            contract = %name,
            states,
            "this program lacks the contract {name}, of which the node has {states} unconsumed states: they are kept, and can be \
             neither shown nor used until the node is started with the application that brings it"
        );
    }
    let mut batch = WriteBatch::default();
    let key = |name: &str| meta_key(META_LACKING, name.as_bytes());
    for name in before.keys().filter(|name| !lacking.contains_key(*name)) {
        batch.delete(Table::Meta, key(name));
    }
    for (name, states) in &lacking {
        if before.get(name) != Some(states) {
            batch.put(Table::Meta, key(name), states.to_be_bytes());
        }
    }
    if batch.is_empty() {
        return Ok(());
    }
    let committed = committer.handle().commit(Class::Normal, batch);
    committed.map(drop).map_err(StartError::StoreFailed)
}

fn rows(store: &LedgerStore) -> Result<BTreeMap<String, u64>, StartError> {
    let to = prefix_end(META_LACKING);
    let rows = store
        .scan(Table::Meta, META_LACKING, to.as_deref(), CONTRACTS_MAX)
        .map_err(StartError::StoreFailed)?;
    let rows = rows.into_iter().filter_map(|(key, value)| {
        let name = std::str::from_utf8(key.get(META_LACKING.len()..)?).ok()?;
        Some((name.to_owned(), kernel::rows::seq_of(&value)?))
    });
    Ok(rows.collect())
}
