//! Pages of the ledger for the HTTP API, and the notes that users make in it.

use api::{ConsumedEntry, ConsumedPage, LedgerEntry, LedgerPage, NoteView, TransactionView};
use kernel::port::{StoreFailure, Table};
use kernel::{Event, Reply, Token, decode_row, ledger_page};
use ledger::{
    Command, CommandFacts, Party, SignedTransaction, StateFacts, StateRef, TransactionState, TxId,
};
use primitives::PublicKey;
use primitives::storage::Reads;

use super::key_names::KeyNames;
use super::ledger_reads;
use super::notary_reads::read_shared;
use super::refusals::{joined, stopping, store_refusal};
use super::service::Service;
use crate::http::place;
use crate::http::{RecordedTransaction, Refusal, Ticket, TransactionReader, transaction_view};

impl Service {
    /// A recorded transaction.
    pub(super) async fn read_transaction(&self, id: TxId) -> Result<TransactionView, Refusal> {
        let store = self.store.clone();
        let found = place::blocking(move || {
            let fail = |failure: StoreFailure| store_refusal(&failure);
            let Some(seq) = store.get(Table::TxIndex, id.as_bytes()).map_err(fail)? else {
                return Ok(None);
            };
            Ok(store
                .get(Table::Ledger, &seq)
                .map_err(fail)?
                .map(|row| (seq, row)))
        });
        let Some((seq, row)) = joined(found.await)? else {
            let text = format!("transaction {id} is not recorded here");
            return Err(Refusal::listed(&api::codes::UNKNOWN_TRANSACTION, text));
        };
        let seq = kernel::rows::seq_of(&seq).ok_or_else(|| {
            let text = format!("the place of {id} in the ledger does not decode");
            Refusal::listed(&api::codes::INTERNAL, text)
        })?;
        let (at, transaction) = decode_row(&row)
            .map_err(|error| Refusal::listed(&api::codes::INTERNAL, error.to_string()))?;
        let recorded = RecordedTransaction {
            seq,
            at,
            transaction: &transaction,
        };
        Ok(transaction_view(recorded, self))
    }

    /// Returns a page of ids, in the order of recording.
    pub(super) async fn read_ledger(
        &self,
        after: Option<u64>,
        limit: usize,
    ) -> Result<LedgerPage, Refusal> {
        let store = self.store.clone();
        let found = place::blocking(move || {
            // Sequences begin at 1.
            let page = ledger_page(&store, after.unwrap_or(0), limit);
            let page = page.map_err(|failure| store_refusal(&failure))?;
            let entries = page
                .rows
                .into_iter()
                .map(|(seq, row)| {
                    let (_, transaction) = decode_row(&row).map_err(|error| {
                        Refusal::listed(&api::codes::INTERNAL, error.to_string())
                    })?;
                    Ok(LedgerEntry {
                        seq,
                        id: transaction.id().to_string(),
                    })
                })
                .collect::<Result<Vec<LedgerEntry>, Refusal>>()?;
            Ok((entries, page.more))
        });
        let (entries, more) = joined(found.await)?;
        let next = entries.last().filter(|_| more).map(|entry| entry.seq);
        Ok(LedgerPage { entries, next })
    }

    /// Stores a note. Returns once it is durable.
    pub(super) async fn make_note(
        &self,
        id: TxId,
        user: String,
        text: String,
    ) -> Result<NoteView, Refusal> {
        let mut salt = [0; 4];
        getrandom::fill(&mut salt)
            .map_err(|error| Refusal::listed(&api::codes::INTERNAL, error.to_string()))?;
        let token = Token(Ticket::next_id());
        let reply = self.shared.replies.once(token);
        let row = kernel::NoteRow {
            user,
            at: primitives::Timestamp::EPOCH,
            text,
        };
        self.shared.kernel.tell(Event::Note {
            transaction: id,
            salt,
            user: row.user.clone(),
            text: row.text.clone(),
            token,
        });
        match reply.await {
            Ok(Reply::Noted { note, at }) => Ok(ledger_reads::note_view(
                &note,
                kernel::NoteRow { at, ..row },
            )),
            Ok(Reply::Rejected(rejection)) => Err(rejection.into()),
            _ => Err(stopping()),
        }
    }

    /// Deletes a note.
    pub(super) async fn take_note_away(
        &self,
        id: TxId,
        note: kernel::NoteId,
    ) -> Result<(), Refusal> {
        let token = Token(Ticket::next_id());
        let reply = self.shared.replies.once(token);
        self.shared.kernel.tell(Event::RemoveNote {
            transaction: id,
            note,
            token,
        });
        match reply.await {
            Ok(Reply::Done) => Ok(()),
            Ok(Reply::Rejected(rejection)) => Err(rejection.into()),
            _ => Err(stopping()),
        }
    }

    /// Returns a page of the states consumed at this notary.
    pub(super) async fn read_consumed(
        &self,
        after: Option<StateRef>,
        limit: usize,
    ) -> Result<ConsumedPage, Refusal> {
        self.must_be_a_notary()?;
        let store = self.store.clone();
        let shared = self.notary_reader.clone();
        let found = place::blocking(move || {
            // One row more shows whether another page follows.
            let limit = limit + 1;
            if let Some(shared) = shared {
                return read_shared(&shared, |record| record.states_after(after.as_ref(), limit));
            }
            let from = match after {
                Some(after) => [kernel::rows::state_ref_key(&after).as_slice(), &[0]].concat(),
                None => Vec::new(),
            };
            let rows = store.scan(Table::NotaryStates, &from, None, limit);
            let rows = rows.map_err(|failure| store_refusal(&failure))?;
            let rows = rows.into_iter().filter_map(|(key, value)| {
                let consumed_by = TxId::from_array(value.get(..32)?.try_into().ok()?);
                Some((kernel::rows::state_ref_of(&key)?, consumed_by))
            });
            Ok(rows.collect())
        });
        let mut rows = joined(found.await)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let entries: Vec<ConsumedEntry> = rows
            .into_iter()
            .map(|(reference, consumed_by)| ConsumedEntry {
                state_ref: reference.to_string(),
                consumed_by: consumed_by.to_string(),
            })
            .collect();
        let next = entries
            .last()
            .filter(|_| more)
            .map(|entry| entry.state_ref.clone());
        Ok(ConsumedPage { entries, next })
    }
}

impl TransactionReader for Service {
    fn title(&self, party: &Party) -> String {
        self.network.title(party)
    }

    fn party(&self, key: &PublicKey) -> Option<String> {
        let names = KeyNames {
            me: self.info.party.id(),
            network: &self.network,
            reads: &self.store,
        };
        names.party(key).map(ToString::to_string)
    }

    fn state(&self, state: &TransactionState) -> Option<StateFacts> {
        self.describe(state)
    }

    fn command(&self, command: &Command, transaction: &SignedTransaction) -> Option<CommandFacts> {
        let attachments = transaction.wire().attachments();
        self.contracts.describe_command(command, attachments)
    }
}
