//! The requests that a notary has signed, with their requesters, for the API.

use std::sync::{Mutex, PoisonError};

use api::{RequestEntry, RequestPage};
use kernel::port::Table;
use ledger::TxId;
use notary::RequestRecord;
use notarydb::{RecordError, SharedRecord};
use primitives::storage::Reads;
use primitives::{Coded, Decode, hex};

use super::refusals::{joined, store_refusal};
use super::service::Service;
use crate::http::Refusal;
use crate::http::place;

impl Service {
    /// Refuses the request unless this node is a notary.
    pub(super) fn must_be_a_notary(&self) -> Result<(), Refusal> {
        match self.info.notary {
            Some(_) => Ok(()),
            None => Err(Refusal::listed(
                &api::codes::NOT_A_NOTARY,
                "this node is no notary",
            )),
        }
    }

    /// A page of granted requests in the order of their transactions' ids, after one of them.
    pub(super) async fn read_notary_requests(
        &self,
        after: Option<TxId>,
        limit: usize,
    ) -> Result<RequestPage, Refusal> {
        self.must_be_a_notary()?;
        let store = self.store.clone();
        let shared = self.notary_reader.clone();
        let found = place::blocking(move || {
            let limit = limit + 1;
            if let Some(shared) = shared {
                return read_shared(&shared, |record| {
                    record.transactions_after(after.as_ref(), limit)
                });
            }
            let from = match after {
                Some(after) => [after.as_bytes().as_slice(), &[0]].concat(),
                None => Vec::new(),
            };
            let rows = store.scan(Table::NotaryTxs, &from, None, limit);
            let rows = rows.map_err(|failure| store_refusal(&failure))?;
            let rows = rows.into_iter().map(|(key, value)| {
                let id: Option<[u8; 32]> = key.as_slice().try_into().ok();
                let record = RequestRecord::from_bytes(&value).ok();
                id.map(TxId::from_array).zip(record).ok_or_else(|| {
                    let text = "a row of the notary's requests does not decode";
                    Refusal::listed(&api::codes::INTERNAL, text)
                })
            });
            rows.collect()
        });
        let mut rows = joined(found.await)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let mut entries = Vec::with_capacity(rows.len());
        for (id, record) in rows {
            entries.push(RequestEntry {
                transaction: id.to_string(),
                requester: self.name_of(&record.requester),
                requester_id: record.requester.to_string(),
                key: record.key.to_text(),
                signature: hex::encode(record.signature.bytes()),
                at_ms: record.at.as_ms(),
            });
        }
        let next = entries.last().filter(|_| more);
        let next = next.map(|entry| entry.transaction.clone());
        Ok(RequestPage { entries, next })
    }
}

/// Reads from the record that the workers of a replicated notary share. Blocks.
pub(super) fn read_shared<T>(
    record: &Mutex<SharedRecord>,
    read: impl FnOnce(&mut SharedRecord) -> Result<T, RecordError>,
) -> Result<T, Refusal> {
    let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
    read(&mut record).map_err(|error| Refusal {
        code: error.code().into(),
        message: error.to_string(),
        hint: error.hint().into(),
        retry_after_ms: None,
        flow: None,
    })
}
