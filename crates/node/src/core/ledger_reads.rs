//! Reads of the node's own tables for the API: back chains, notes, the schedule. Each is bounded, and blocks its thread.

use std::collections::{BTreeSet, HashMap};

use api::codes::{CHAIN_TOO_WIDE, INTERNAL, UNKNOWN_TRANSACTION};
use api::{
    ChainEntry, ChainPage, FlowFailure, NoteView, ScheduleEntry, SchedulePage, ScheduleStatus,
};
use kernel::port::Table;
use kernel::rows::{note_of, prefix_end, schedule_key_of, seq_of};
use kernel::{NOTES_MAX, NoteRow, SCHEDULE_REFUSED, ScheduleRow, decode_row};
use ledger::TxId;
use primitives::storage::Reads;
use primitives::{Decode, Timestamp, hex};

use super::refusals::store_refusal;
use crate::http::Refusal;
use crate::ledger_store::LedgerStore;

/// Transactions looked at for one page of a back chain.
const CHAIN_LOOKED_AT_MAX: usize = 20_000;

fn unreadable(what: &str) -> Refusal {
    Refusal::listed(&INTERNAL, format!("{what} does not decode"))
}

fn position(store: &LedgerStore, id: &TxId) -> Result<Option<u64>, Refusal> {
    let row = store.get(Table::TxIndex, id.as_bytes());
    let row = row.map_err(|failure| store_refusal(&failure))?;
    Ok(row.and_then(|row| seq_of(&row)))
}

fn known(store: &LedgerStore, id: &TxId) -> Result<u64, Refusal> {
    position(store, id)?.ok_or_else(|| {
        let text = format!("transaction {id} is not recorded here");
        Refusal::listed(&UNKNOWN_TRANSACTION, text)
    })
}

/// Walks from a transaction through its back chain. A dependency is always recorded before its dependants, so a walk that takes
/// the last recorded transaction next visits every transaction once and in order.
pub(super) fn chain(
    store: &LedgerStore,
    id: &TxId,
    before: Option<u64>,
    limit: usize,
) -> Result<ChainPage, Refusal> {
    let mut ahead = BTreeSet::from([known(store, id)?]);
    let mut positions = HashMap::new();
    let mut page = ChainPage::default();
    let mut looked_at = 0;
    while let Some(seq) = ahead.pop_last() {
        if page.entries.len() == limit {
            page.next = page.entries.last().map(|entry| entry.seq);
            break;
        }
        looked_at += 1;
        if looked_at > CHAIN_LOOKED_AT_MAX || ahead.len() > CHAIN_LOOKED_AT_MAX {
            let text = format!("more than {CHAIN_LOOKED_AT_MAX} ancestors before this page");
            return Err(Refusal::listed(&CHAIN_TOO_WIDE, text));
        }
        let row = store.get(Table::Ledger, &kernel::rows::seq_key(seq));
        let row = row.map_err(|failure| store_refusal(&failure))?;
        let row = row.ok_or_else(|| unreadable("the index of transactions"))?;
        let (_, transaction) =
            decode_row(&row).map_err(|_| unreadable("a recorded transaction"))?;
        let wire = transaction.wire();
        let from = wire.inputs().iter().chain(wire.references());
        let depends_on: BTreeSet<TxId> = from.map(|state| state.tx).collect();
        for dependency in &depends_on {
            let seq = match positions.get(dependency) {
                Some(seq) => *seq,
                None => {
                    let seq = known(store, dependency)?;
                    positions.insert(*dependency, seq);
                    seq
                }
            };
            ahead.insert(seq);
        }
        if before.is_none_or(|before| seq < before) {
            page.entries.push(ChainEntry {
                seq,
                id: transaction.id().to_string(),
                depends_on: depends_on.iter().map(ToString::to_string).collect(),
            });
        }
    }
    Ok(page)
}

/// The notes of a transaction.
pub(super) fn notes(store: &LedgerStore, id: &TxId) -> Result<Vec<NoteView>, Refusal> {
    known(store, id)?;
    let to = prefix_end(id.as_bytes());
    let rows = store.scan(Table::Notes, id.as_bytes(), to.as_deref(), NOTES_MAX);
    let rows = rows.map_err(|failure| store_refusal(&failure))?;
    let views = rows.into_iter().map(|(key, value)| {
        let note = note_of(&key).ok_or_else(|| unreadable("a note"))?;
        let row = NoteRow::from_bytes(&value).map_err(|_| unreadable("a note"))?;
        Ok(note_view(&note, row))
    });
    views.collect()
}

pub(super) fn note_view(note: &kernel::NoteId, row: NoteRow) -> NoteView {
    NoteView {
        id: hex::encode(note),
        user: row.user,
        at_ms: row.at.as_ms(),
        text: row.text,
    }
}

/// Returns a page of the schedule at a time.
pub(super) fn schedule(
    store: &LedgerStore,
    after: Option<Vec<u8>>,
    limit: usize,
    now: Timestamp,
) -> Result<SchedulePage, Refusal> {
    let from = after.map_or_else(Vec::new, |after| [after.as_slice(), &[0]].concat());
    let rows = store.scan(Table::Schedule, &from, None, limit + 1);
    let mut rows = rows.map_err(|failure| store_refusal(&failure))?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows
        .last()
        .filter(|_| more)
        .map(|(key, _)| hex::encode(key));
    let entries = rows.into_iter().map(|(key, value)| {
        let bad = || unreadable("a row of the schedule");
        let (kind, at, state) = schedule_key_of(&key).ok_or_else(bad)?;
        let row = ScheduleRow::from_bytes(&value).map_err(|_| bad())?;
        let status = match kind {
            SCHEDULE_REFUSED => ScheduleStatus::Refused,
            _ if at <= now => ScheduleStatus::Due,
            _ => ScheduleStatus::Waiting,
        };
        Ok(ScheduleEntry {
            state_ref: state.to_string(),
            flow: row.flow,
            at_ms: at.as_ms(),
            status,
            error: row.refusal.map(|refusal| FlowFailure {
                code: refusal.code,
                message: refusal.message,
                hint: refusal.hint,
                retry_after_ms: None,
            }),
        })
    });
    let entries = entries.collect::<Result<Vec<ScheduleEntry>, Refusal>>()?;
    Ok(SchedulePage { entries, next })
}
