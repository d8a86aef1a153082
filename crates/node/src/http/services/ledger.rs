//! The service of the ledger: recorded transactions, their notes and scheduled starts.

use std::sync::Arc;

use api::{ChainPage, LedgerPage, NoteView, SchedulePage, TransactionView};
use ledger::TxId;

use crate::http::pending::Pending;

/// The port to the ledger and the notes of its transactions. No method blocks. An answered change is durable.
pub trait LedgerService: Send + Sync + 'static {
    /// Returns a recorded transaction. [`crate::http::transaction_view`] makes it readable.
    fn transaction(&self, id: TxId) -> Pending<'_, TransactionView>;

    /// Returns recorded transactions after a position.
    fn ledger(&self, after: Option<u64>, limit: usize) -> Pending<'_, LedgerPage>;

    /// Returns a recorded transaction and its ancestors, the last recorded first, before a position.
    fn chain(&self, id: TxId, before: Option<u64>, limit: usize) -> Pending<'_, ChainPage>;

    /// Returns the notes of a recorded transaction, the oldest first.
    fn notes(&self, id: TxId) -> Pending<'_, Vec<NoteView>>;

    /// Adds a note to a transaction.
    fn add_note(&self, id: TxId, user: &Arc<str>, text: String) -> Pending<'_, NoteView>;

    /// Removes a note.
    fn remove_note(&self, id: TxId, note: kernel::NoteId) -> Pending<'_, ()>;

    /// Returns the scheduled starts, after a key of that table.
    fn schedule(&self, after: Option<Vec<u8>>, limit: usize) -> Pending<'_, SchedulePage>;
}
