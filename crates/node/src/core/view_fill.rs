//! Filling the vault's view from the ledger, a page of transactions at a time.

use std::cell::Cell;
use std::sync::Arc;

use kernel::port::{Reads, StoreFailure, damaged};
use kernel::{decode_row, ledger_page};
use ledger::{ContractRegistry, NetworkMap, PartyId, TxId};
use primitives::{Coded, PublicKey, Timestamp};
use thiserror::Error;
use vault::ViewChange;
use vaultview::{ConsumedState, VaultView, ViewError};

use super::columns::Columns;
use super::key_names::KeyNames;
use super::start_error::{StartError, VIEW_FAILED};
use super::view_rows::produced_row;

/// Transactions of the ledger read at once.
const FILL_PAGE: usize = 1_000;

/// Why the view is not filled further.
#[derive(Debug, Error)]
pub(super) enum FillError {
    /// The ledger can't be read.
    #[error("{0}")]
    Store(StoreFailure),
    /// The view can't be written.
    #[error(transparent)]
    View(#[from] ViewError),
}

impl FillError {
    /// As a command fails with it.
    pub(super) fn into_start(self) -> StartError {
        match self {
            FillError::Store(failure) => StartError::StoreFailed(failure),
            FillError::View(error) => StartError::View(error),
        }
    }
}

impl From<StoreFailure> for FillError {
    fn from(failure: StoreFailure) -> Self {
        FillError::Store(failure)
    }
}

/// A part of the ledger as rows of the view.
pub(super) struct FilledPage {
    /// The sequence of the last transaction.
    pub(super) upto: u64,
    /// The sequence and the id of each transaction, and when it was recorded.
    pub(super) transactions: Vec<(u64, TxId, Timestamp)>,
    pub(super) rows: Vec<vaultview::ViewChange>,
}

/// The translation of transactions into rows of the view, for transactions that are read from the ledger and for fed ones.
#[derive(Clone)]
pub(super) struct Filler<R> {
    pub(super) reads: R,
    pub(super) contracts: Arc<ContractRegistry>,
    pub(super) network: Arc<NetworkMap>,
    /// This node.
    pub(super) me: PartyId,
    /// The party's own keys.
    pub(super) keys: Vec<PublicKey>,
    pub(super) columns: Arc<Columns>,
}

impl<R: Reads> Filler<R> {
    /// Adds the next transactions of the ledger to the view, up to `end`; false where there are none.
    pub(super) fn fill_page(&self, view: &mut VaultView, end: u64) -> Result<bool, FillError> {
        match self.page(view.upto(), end, FILL_PAGE, usize::MAX)? {
            Some(page) => {
                view.apply(page.upto, &page.rows)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Returns the rows of the next transactions of the ledger after `after` and up to `end`: at most `limit` transactions, and none after
    /// there are `rows_enough` rows. `None` if there is no transaction.
    pub(super) fn page(
        &self,
        after: u64,
        end: u64,
        limit: usize,
        rows_enough: usize,
    ) -> Result<Option<FilledPage>, StoreFailure> {
        let page = ledger_page(&self.reads, after, limit)?;
        let (mut rows, mut transactions) = (Vec::new(), Vec::new());
        for (seq, row) in page.rows.into_iter().take_while(|(seq, _)| *seq <= end) {
            if rows.len() >= rows_enough {
                break;
            }
            let (at, transaction) = decode_row(&row)
                .map_err(|error| damaged(format!("transaction {seq} of the ledger: {error}")))?;
            let failed = Cell::new(None);
            let changes = vault::changes(
                seq,
                transaction.wire(),
                &|key| self.is_ours(key, &failed),
                self.contracts.facts(transaction.wire().outputs()),
            );
            if let Some(failure) = failed.take() {
                return Err(failure);
            }
            self.rows_of(at, changes, &mut rows)?;
            transactions.push((seq, transaction.id(), at));
        }
        Ok(transactions
            .last()
            .map(|(upto, ..)| *upto)
            .map(|upto| FilledPage {
                upto,
                transactions,
                rows,
            }))
    }

    /// Whether a key is this node's: the party's own, or a fresh one.
    fn is_ours(&self, key: &PublicKey, failed: &Cell<Option<StoreFailure>>) -> bool {
        if self.keys.contains(key) {
            return true;
        }
        if self.network.by_key(key).is_some() {
            return false;
        }
        kernel::is_own_key(key, &self.reads).unwrap_or_else(|failure| {
            failed.set(Some(failure));
            false
        })
    }

    /// Adds the rows of changes to `rows`.
    pub(super) fn rows_of(
        &self,
        at: Timestamp,
        changes: Vec<ViewChange>,
        rows: &mut Vec<vaultview::ViewChange>,
    ) -> Result<(), StoreFailure> {
        for change in changes {
            match change {
                ViewChange::Produced(produced) => {
                    let names = KeyNames {
                        me: self.me,
                        network: &self.network,
                        reads: &self.reads,
                    };
                    let row = produced_row(at, &produced, &names, &self.columns)?;
                    rows.push(vaultview::ViewChange::Produced(row));
                }
                ViewChange::Consumed(consumed) => {
                    let key = consumed.reference.tx.as_bytes();
                    let of_seq = self.reads.get(kernel::port::Table::TxIndex, key)?;
                    // Rows are never lost again once something consumed them here; without one it was never ours.
                    if let Some(of_seq) = of_seq.as_deref().and_then(kernel::rows::seq_of) {
                        rows.push(vaultview::ViewChange::Consumed(ConsumedState {
                            of_seq,
                            output: consumed.reference.index,
                            seq: consumed.seq,
                            at: at.as_ms(),
                        }));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Marks a view that is damaged, which is then dropped and filled again.
pub(super) fn condemn(error: &ViewError) {
    if error.is_corruption() {
        tracing::error!(
            code = error.code(),
            hint = VIEW_FAILED.action,
            "{error}; it is filled again"
        );
        VaultView::condemn(error.path());
    }
}
