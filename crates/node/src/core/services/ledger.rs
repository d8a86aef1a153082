//! The ledger for the API.

use std::sync::Arc;

use api::{ChainPage, LedgerPage, NoteView, SchedulePage, TransactionView};
use ledger::TxId;

use crate::core::ledger_reads;
use crate::core::refusals::joined;
use crate::core::service::Service;
use crate::http::place;
use crate::http::{LedgerService, Pending};

impl LedgerService for Service {
    fn transaction(&self, id: TxId) -> Pending<'_, TransactionView> {
        Box::pin(self.read_transaction(id))
    }

    fn ledger(&self, after: Option<u64>, limit: usize) -> Pending<'_, LedgerPage> {
        Box::pin(self.read_ledger(after, limit))
    }

    fn chain(&self, id: TxId, before: Option<u64>, limit: usize) -> Pending<'_, ChainPage> {
        let store = self.store.clone();
        Box::pin(async move {
            let read = move || ledger_reads::chain(&store, &id, before, limit);
            joined(place::blocking(read).await)
        })
    }

    fn notes(&self, id: TxId) -> Pending<'_, Vec<NoteView>> {
        let store = self.store.clone();
        Box::pin(
            async move { joined(place::blocking(move || ledger_reads::notes(&store, &id)).await) },
        )
    }

    fn add_note(&self, id: TxId, user: &Arc<str>, text: String) -> Pending<'_, NoteView> {
        Box::pin(self.make_note(id, user.to_string(), text))
    }

    fn remove_note(&self, id: TxId, note: kernel::NoteId) -> Pending<'_, ()> {
        Box::pin(self.take_note_away(id, note))
    }

    fn schedule(&self, after: Option<Vec<u8>>, limit: usize) -> Pending<'_, SchedulePage> {
        let (store, now) = (self.store.clone(), self.shared.clock.now().wall);
        Box::pin(async move {
            let read = move || ledger_reads::schedule(&store, after, limit, now);
            joined(place::blocking(read).await)
        })
    }
}
