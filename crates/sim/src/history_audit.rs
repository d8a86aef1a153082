//! The audit of the flow history: each flow that ends gets one row, in the batch of its end, and only rows over the limit are deleted.

use std::collections::{BTreeMap, BTreeSet};

use flow::FlowId;
use kernel::port::{Table, WriteBatch};
use kernel::rows::{ClientRow, Outcome};
use kernel::{HistoryEnd, HistoryRow};
use primitives::Decode;

use crate::auditor::Auditor;
use crate::disk::Tables;
use crate::membership::SHORT;

/// The first byte of the keys that find a flow's row.
const FLOW_PREFIX: u8 = 128;
/// The kinds of failed and of successful flows that were started on their node.
const KINDS: [u8; 2] = [0, 1];

/// Returns whether a row has the outcome that the client got.
fn fits(row: &HistoryRow, kind: u8, outcome: &Outcome) -> bool {
    let end = match &outcome.result {
        Ok(output) => kind == KINDS[1] && row.end == HistoryEnd::Output(output.clone()),
        Err(rejection) => kind == KINDS[0] && row.end == HistoryEnd::Failure(rejection.clone()),
    };
    end && row.flow == outcome.flow && row.transactions == outcome.transactions
}

/// Returns the flow whose journal a write deletes.
fn journal_ended(key: &[u8]) -> Option<FlowId> {
    let flow = key.first_chunk::<16>()?;
    key.ends_with(&[0; 4]).then_some(FlowId(*flow))
}

impl Auditor {
    /// Checks a batch: a flow gets its row exactly if the flow ends in the batch. Returns the number of deleted rows.
    pub(crate) fn on_history(&mut self, node: usize, batch: &WriteBatch) -> u64 {
        let short = SHORT[node];
        let (mut rows, mut found_by) = (BTreeMap::new(), BTreeMap::new());
        let (mut deleted, mut deleted_flows) = (0, 0);
        let mut told = Vec::new();
        let mut ended: BTreeSet<FlowId> = BTreeSet::new();
        for write in &batch.writes {
            match (write.table, &write.value) {
                (Table::FlowHistory, Some(value)) if write.key[0] == FLOW_PREFIX => {
                    found_by.insert(write.key[1..].to_vec(), value.clone());
                }
                (Table::FlowHistory, Some(value)) => match HistoryRow::from_bytes(value) {
                    Ok(row) => {
                        let before = rows.insert(row.flow, (write.key.clone(), row));
                        self.expect(before.is_none(), || {
                            format!("{short}: a flow ends twice in one batch: {before:?}")
                        });
                    }
                    Err(error) => self.found(format!("{short}: a row of the history: {error}")),
                },
                (Table::FlowHistory, None) if write.key[0] == FLOW_PREFIX => deleted_flows += 1,
                (Table::FlowHistory, None) => deleted += 1,
                (Table::ClientIds, Some(value)) => {
                    told.extend(ClientRow::from_bytes(value).map(|row| row.outcome));
                }
                (Table::Journal, None) => ended.extend(journal_ended(&write.key)),
                _ => {}
            }
        }
        self.expect(deleted == deleted_flows, || {
            format!("{short}: {deleted} rows of the history go, and {deleted_flows} that find them")
        });
        for outcome in told {
            let row = rows.get(&outcome.flow);
            self.expect(
                row.is_some_and(|(key, row)| fits(row, key[0], &outcome)),
                || format!("{short}: {outcome:?} has the row {row:?} in the history"),
            );
            ended.insert(outcome.flow);
        }
        for (flow, (key, row)) in rows {
            let start = row.start.as_ref();
            // A responder may end in the round of its start. A start that was cancelled in the queue never ran.
            let is_brief = start.is_some_and(|start| start.origin.is_some() || start.at.is_none());
            self.expect(is_brief || ended.contains(&flow), || {
                format!("{short}: {flow} is in the history before its end")
            });
            let found = found_by.get(flow.as_bytes().as_slice());
            self.expect(found == Some(&key), || {
                format!("{short}: {flow} is found by {found:?}, and has the key {key:?}")
            });
        }
        deleted
    }

    /// Checks the rows of a node that has nothing left to do.
    pub(crate) fn check_history(&mut self, node: usize, limit: u64, tables: &Tables) {
        let short = SHORT[node];
        let rows = tables.rows(Table::FlowHistory);
        let found_by = rows.range(vec![FLOW_PREFIX]..).count();
        self.expect(found_by * 2 == rows.len(), || {
            format!("{short}: {found_by} of {} rows find a flow", rows.len())
        });
        let mut kept: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
        for (key, value) in rows.range(..vec![FLOW_PREFIX]) {
            let number = kernel::rows::seq_of(key);
            kept.entry(key[0]).or_default().extend(number);
            let Ok(row) = HistoryRow::from_bytes(value) else {
                self.found(format!(
                    "{short}: the row {key:?} of the history does not decode"
                ));
                continue;
            };
            let found = kernel::ended_flow(&row.flow, tables);
            self.expect(found == Ok(Some(row.clone())), || {
                format!("{short}: the history finds {found:?} for {}", row.flow)
            });
        }
        let mut pruned = BTreeSet::new();
        for (kind, numbers) in &kept {
            let first = numbers.first().copied().unwrap_or_default();
            let dense = (first..)
                .zip(numbers)
                .all(|(expected, number)| expected == *number);
            let count = numbers.len() as u64;
            // A kind loses rows only while it is over the limit, so one that has lost any has as many as it may have.
            let is_full = first == 0 || count == limit;
            self.expect(dense && count <= limit && is_full, || {
                format!("{short}: the history keeps {numbers:?} of kind {kind}, at most {limit}")
            });
            if first > 0 {
                pruned.insert(*kind);
            }
        }
        for value in tables.rows(Table::ClientIds).values() {
            let Ok(ClientRow { outcome, .. }) = ClientRow::from_bytes(value) else {
                continue;
            };
            let kind = KINDS[usize::from(outcome.result.is_ok())];
            let row = kernel::ended_flow(&outcome.flow, tables).ok().flatten();
            let is_kept = row.is_some_and(|row| fits(&row, kind, &outcome));
            self.expect(is_kept || pruned.contains(&kind), || {
                format!("{short}: {outcome:?} is not in the history")
            });
        }
    }
}
