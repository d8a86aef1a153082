//! The changes of recorded transactions in the vault, read from the ledger for its followers.

use std::cell::Cell;
use std::sync::Arc;

use api::{Fungible, ProducedState, VaultChange};
use kernel::port::{StoreFailure, Table};
use kernel::{decode_row, ledger_page};
use ledger::{ContractRegistry, NetworkMap, StateRef};
use primitives::storage::Reads;
use primitives::{PublicKey, Timestamp};
use vault::{Produced, ViewChange};

use super::columns::shown_values;
use super::refusals::store_refusal;
use crate::http::{Refusal, SeenChange, VaultChanges};
use crate::ledger_store::LedgerStore;

/// Reads the changes of the vault from the ledger.
pub(super) struct ChangeReader {
    pub(super) store: LedgerStore,
    pub(super) keys: Vec<PublicKey>,
    pub(super) contracts: Arc<ContractRegistry>,
    pub(super) network: Arc<NetworkMap>,
}

impl ChangeReader {
    /// The changes after a position and up to another, of `limit` positions at most.
    pub(super) fn read(
        &self,
        after: u64,
        upto: u64,
        limit: usize,
    ) -> Result<VaultChanges, Refusal> {
        let page = ledger_page(&self.store, after, limit);
        let page = page.map_err(|failure| store_refusal(&failure))?;
        let mut read = VaultChanges {
            changes: Vec::new(),
            upto: if page.more { after } else { upto },
        };
        for (seq, row) in page.rows.into_iter().take_while(|(seq, _)| *seq <= upto) {
            read.upto = read.upto.max(seq);
            let (at, transaction) = decode_row(&row).map_err(|error| internal(&error))?;
            let failed = Cell::new(None);
            let is_ours = |key: &PublicKey| self.is_ours(key, &failed);
            let facts = self.contracts.facts(transaction.wire().outputs());
            let changes = vault::changes(seq, transaction.wire(), &is_ours, facts);
            if let Some(failure) = failed.take() {
                return Err(store_refusal(&failure));
            }
            let change = self.change(seq, transaction.id().to_string(), at, changes)?;
            if !change.change.consumed.is_empty() || !change.change.produced.is_empty() {
                read.changes.push(change);
            }
        }
        Ok(read)
    }

    fn change(
        &self,
        seq: u64,
        transaction: String,
        at: Timestamp,
        changes: Vec<ViewChange>,
    ) -> Result<SeenChange, Refusal> {
        let mut consumed_contracts = Vec::new();
        let mut change = VaultChange {
            seq,
            transaction,
            recorded_at_ms: at.as_ms(),
            consumed: Vec::new(),
            produced: Vec::new(),
        };
        for one in changes {
            match one {
                ViewChange::Produced(produced) => change.produced.push(self.produced(&produced)),
                ViewChange::Consumed(consumed) => {
                    if let Some(contract) = self.was_ours(&consumed.reference)? {
                        change.consumed.push(consumed.reference.to_string());
                        consumed_contracts.push(contract);
                    }
                }
            }
        }
        Ok(SeenChange {
            change,
            consumed_contracts,
        })
    }

    /// The contract of a consumed state, if it was in the vault.
    fn was_ours(&self, reference: &StateRef) -> Result<Option<String>, Refusal> {
        let fail = |failure| store_refusal(&failure);
        let key = reference.tx.as_bytes();
        let Some(seq) = self.store.get(Table::TxIndex, key).map_err(fail)? else {
            return Ok(None);
        };
        let Some(row) = self.store.get(Table::Ledger, &seq).map_err(fail)? else {
            return Ok(None);
        };
        let (_, transaction) = decode_row(&row).map_err(|error| internal(&error))?;
        let state = transaction.wire().outputs().get(reference.index as usize);
        let facts = state.and_then(|state| self.contracts.describe(state).ok());
        let failed = Cell::new(None);
        let is_ours = |key: &PublicKey| self.is_ours(key, &failed);
        let ours = facts.is_some_and(|facts| vault::is_relevant(&facts, &is_ours));
        if let Some(failure) = failed.take() {
            return Err(store_refusal(&failure));
        }
        let contract = state.map(|state| state.contract.as_str().to_owned());
        Ok(contract.filter(|_| ours))
    }

    /// Whether a key is this node's: the party's own, or a fresh one.
    fn is_ours(&self, key: &PublicKey, failed: &Cell<Option<StoreFailure>>) -> bool {
        if self.keys.contains(key) {
            return true;
        }
        if self.network.by_key(key).is_some() {
            return false;
        }
        kernel::is_own_key(key, &self.store).unwrap_or_else(|failure| {
            failed.set(Some(failure));
            false
        })
    }

    fn produced(&self, produced: &Produced) -> ProducedState {
        let Produced { state, facts, .. } = produced;
        let fungible = facts.fungible.as_ref().map(|fungible| Fungible {
            token: primitives::hex::encode(fungible.token.as_bytes()),
            symbol: fungible.symbol.clone(),
            issuer: self.network.title(&fungible.issuer),
            quantity: fungible.quantity,
        });
        ProducedState {
            state_ref: state.reference.to_string(),
            contract: state.state.contract.as_str().to_owned(),
            fungible,
            linear_id: facts.linear_id.map(|id| id.to_string()),
            columns: shown_values(facts.columns.clone()),
            notary: match self.network.party(&state.state.notary.id()) {
                Some(party) => party.name.to_string(),
                None => state.state.notary.id().to_string(),
            },
        }
    }
}

fn internal(error: &dyn std::fmt::Display) -> Refusal {
    Refusal::listed(&api::codes::INTERNAL, error.to_string())
}
