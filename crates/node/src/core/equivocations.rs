//! Proofs against notaries, as the API shows them.

use api::{EquivocationEntry, EquivocationPage};
use kernel::integrity::EquivocationRow;
use kernel::port::Table;
use ledger::TxId;
use primitives::storage::Reads;
use primitives::{Decode, Encode, hex};

use super::refusals::{joined, store_refusal};
use super::service::Service;
use crate::http::Refusal;
use crate::http::place;
use crate::ledger_store::LedgerStore;

/// Proofs of one page: each can be large.
const PAGE_MAX: usize = 16;

impl Service {
    /// Reads a page of proofs in the order of the refused transactions' ids.
    pub(super) async fn read_equivocations(
        &self,
        after: Option<TxId>,
        limit: usize,
    ) -> Result<EquivocationPage, Refusal> {
        let (store, limit) = (self.store.clone(), limit.min(PAGE_MAX));
        let read = place::blocking(move || read(&store, after, limit));
        let (rows, more) = joined(read.await)?;
        let entries: Vec<EquivocationEntry> = rows
            .into_iter()
            .map(|(refused, row)| self.equivocation(refused, &row))
            .collect::<Result<_, Refusal>>()?;
        let next = entries.last().filter(|_| more);
        let next = next.map(|entry| entry.refused.clone());
        Ok(EquivocationPage { entries, next })
    }

    fn equivocation(
        &self,
        refused: TxId,
        row: &EquivocationRow,
    ) -> Result<EquivocationEntry, Refusal> {
        let shown = row.proof.second.tear_off.open().map_err(|_| unreadable())?;
        let notary = shown.notary.ok_or_else(unreadable)?;
        Ok(EquivocationEntry {
            state_ref: row.state.to_string(),
            notary: notary.name.to_string(),
            recorded: row.proof.first.tear_off.claimed_id().to_string(),
            refused: refused.to_string(),
            brought_by: row.brought_by.map(|peer| self.name_of(&peer)),
            at_ms: row.at.as_ms(),
            proof: hex::encode(&row.proof.to_bytes()),
        })
    }
}

fn unreadable() -> Refusal {
    let text = "a proof of equivocation does not decode";
    Refusal::listed(&api::codes::INTERNAL, text)
}

type Rows = (Vec<(TxId, EquivocationRow)>, bool);

fn read(store: &LedgerStore, after: Option<TxId>, limit: usize) -> Result<Rows, Refusal> {
    let from = match after {
        Some(after) => [after.as_bytes().as_slice(), &[0]].concat(),
        None => Vec::new(),
    };
    let rows = store.scan(Table::Equivocations, &from, None, limit + 1);
    let mut rows = rows.map_err(|failure| store_refusal(&failure))?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let rows = rows.into_iter().map(|(key, value)| {
        let id: [u8; 32] = key.as_slice().try_into().map_err(|_| unreadable())?;
        let row = EquivocationRow::from_bytes(&value).map_err(|_| unreadable())?;
        Ok((TxId::from_array(id), row))
    });
    Ok((rows.collect::<Result<_, Refusal>>()?, more))
}
