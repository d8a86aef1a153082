//! The part of the flows that writes the history.

use std::collections::BTreeSet;

use flow::{FlowId, StartRecord};
use ledger::{PartyId, Rejection, TxId};
use primitives::{Decode, Encode, Monotonic};

use crate::context::Context;
use crate::event::{Action, Start};
use crate::flows::caller::Caller;
use crate::flows::history::bounds::HistoryBounds;
use crate::flows::history::look_up::{FoundEnd, HistoryLookUp};
use crate::flows::history::prune::Pruning;
use crate::flows::history::row::{
    HISTORY_PEERS_MAX, HISTORY_RESPONDER_TEXT_MAX, HistoryEnd, HistoryKind, HistoryRow,
    HistoryStart, flow_key, row_key,
};
use crate::options::HistoryOptions;
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{META_FLOW_HISTORY, OUTCOME_TRANSACTIONS_MAX};
use crate::writes::{Batch, RowRange, Writer};

/// An end that the history notes.
pub(in crate::flows) struct EndedFlow<'a> {
    pub(in crate::flows) flow: FlowId,
    pub(in crate::flows) start: Option<HistoryStart>,
    /// The other parties of its sessions.
    pub(in crate::flows) peers: BTreeSet<PartyId>,
    pub(in crate::flows) result: Result<&'a [u8], Rejection>,
    pub(in crate::flows) transactions: &'a [TxId],
}

/// The numbers of the history's rows, and the deletion of old ones.
#[derive(Debug)]
pub(crate) struct History {
    bounds: HistoryBounds,
    /// Whether the row of the bounds has to be written in this round.
    is_changed: bool,
    pruning: Pruning,
}

impl Writer for History {
    const ROWS: &'static [RowRange] = &[
        RowRange::table(Table::FlowHistory),
        RowRange::meta(META_FLOW_HISTORY),
    ];
}

impl Part for History {
    fn end_round(&mut self, batch: &mut Batch) {
        if std::mem::take(&mut self.is_changed) {
            let row = self.bounds.to_bytes();
            batch
                .of::<Self>()
                .put(Table::Meta, META_FLOW_HISTORY.to_vec(), row);
        }
    }
}

impl History {
    /// Opens the history of a store. It reads one row.
    pub(crate) fn open(
        options: HistoryOptions,
        now: Monotonic,
        reads: &dyn Reads,
    ) -> Result<Self, StoreFailure> {
        Ok(Self {
            bounds: HistoryBounds::load(reads)?,
            is_changed: false,
            pruning: Pruning::new(options, now),
        })
    }

    /// Notes the end of a flow. Successful responders are left out: their transactions are in the ledger, and a peer decides how many
    /// there are.
    pub(in crate::flows) fn note(&mut self, ended: EndedFlow<'_>, context: &mut Context) {
        let is_responder = ended
            .start
            .as_ref()
            .is_some_and(|start| start.origin.is_some());
        let kind = match (is_responder, ended.result.is_ok()) {
            (true, true) => return,
            (true, false) => HistoryKind::FailedResponder,
            (false, true) => HistoryKind::Succeeded,
            (false, false) => HistoryKind::Failed,
        };
        if self.pruning.keeps_none() {
            return;
        }
        let mut end = HistoryEnd::of(ended.result);
        if is_responder {
            end = end.shortened(HISTORY_RESPONDER_TEXT_MAX);
        }
        let number = self.bounds.ends();
        let place = self.bounds.add(kind, context.now.wall);
        let transactions = ended.transactions.iter().take(OUTCOME_TRANSACTIONS_MAX);
        let row = HistoryRow {
            flow: ended.flow,
            start: ended.start,
            peers: ended.peers.into_iter().take(HISTORY_PEERS_MAX).collect(),
            ended_at: context.now.wall,
            latest: self.bounds.latest,
            number,
            end,
            transactions: transactions.copied().collect(),
        };
        assert!(
            row.ended_at <= row.latest && self.bounds.ends() == number + 1,
            "flow {} ends with number {number}, and the history goes to {}",
            row.flow,
            self.bounds.ends()
        );
        let key = row_key(kind, place);
        let mut rows = context.rows::<Self>();
        rows.put(Table::FlowHistory, flow_key(&row.flow), key.clone());
        rows.put(Table::FlowHistory, key, row.to_bytes());
        self.is_changed = true;
    }

    /// Returns the number of rows of all kinds.
    pub(crate) fn len(&self) -> u64 {
        let kinds = HistoryKind::ALL.into_iter();
        kinds.map(|kind| self.bounds.of(kind).len()).sum()
    }
}

/// Returns the start of a flow that ran.
pub(in crate::flows) fn start_of(start: &StartRecord) -> HistoryStart {
    // No client started a responder, and a caller that cannot be read is none.
    let caller = Caller::from_bytes(&start.caller)
        .ok()
        .filter(|_| start.origin.is_none());
    let (user, client_id) =
        caller.map_or((None, None), |caller| (Some(caller.user), caller.client_id));
    HistoryStart {
        name: start.flow.clone(),
        version: Some(start.version),
        at: Some(start.at),
        user,
        client_id,
        origin: start.origin.map(|origin| origin.peer),
    }
}

/// Returns the start of a flow that was cancelled before it ran.
pub(in crate::flows) fn start_of_queued(start: &Start) -> HistoryStart {
    HistoryStart {
        name: start.name.clone(),
        version: start.version,
        at: None,
        user: Some(start.user.clone()),
        client_id: start.client_id.clone(),
        origin: None,
    }
}

impl History {
    /// Asks the shell for the oldest rows, if there are too many of a kind or some may be too old. The question waits for the commit of
    /// the round, so that the store has all rows.
    pub(crate) fn tend(&mut self, trusts_wall: bool, context: &mut Context) {
        let now = context.now;
        let look_up = self.pruning.next_look_up(&self.bounds, trusts_wall, now);
        if let Some(look_up) = look_up {
            context.act(Action::LookUpHistory(look_up));
        }
    }

    /// Deletes the rows that are over a limit, among the oldest ones that the shell has found.
    pub(crate) fn on_looked_up(
        &mut self,
        found: &[FoundEnd],
        trusts_wall: bool,
        context: &mut Context,
    ) {
        let now = context.now.wall;
        let Some((look_up, deleted)) = self.pruning.found(found, &self.bounds, trusts_wall, now)
        else {
            return;
        };
        let HistoryLookUp { kind, first, .. } = look_up;
        let mut rows = context.rows::<Self>();
        for (number, row) in (first..).zip(&found[..deleted]) {
            rows.delete(Table::FlowHistory, row_key(kind, number));
            rows.delete(Table::FlowHistory, flow_key(&row.flow));
        }
        self.bounds.remove(kind, deleted as u64);
        self.is_changed |= deleted > 0;
    }
}
