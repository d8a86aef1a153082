//! Parked flows: not run, not lost. Their messages are still journaled, so that a retry finds them.

use super::load::{KnownSession, LoadedFlow};
use super::{EngineAction, FlowEngine, Live};
use crate::journal::RowWriter;
use crate::{FlowError, FlowId, SessionBody, SessionMessage, StartRecord};

/// A flow that cannot be replayed.
pub(super) struct ParkedFlow {
    pub(super) start: Option<StartRecord>,
    pub(super) reason: FlowError,
    pub(super) sessions: Vec<KnownSession>,
    pub(super) rows: u32,
    row: Option<RowWriter>,
    kept_bytes: usize,
}

impl ParkedFlow {
    pub(super) fn new(loaded: LoadedFlow, reason: FlowError) -> ParkedFlow {
        ParkedFlow {
            start: loaded.start,
            reason,
            sessions: loaded.sessions,
            rows: loaded.row_count,
            row: None,
            kept_bytes: 0,
        }
    }

    /// The row of this round, with its number.
    pub(super) fn take_row(&mut self) -> Option<(u32, Vec<u8>)> {
        let row = self.row.take()?;
        self.rows += 1;
        Some((self.rows - 1, row.into_bytes()))
    }

    /// Keeps a message; whether there was room.
    pub(super) fn keep(&mut self, number: u32, body: SessionBody, bytes_max: usize) -> bool {
        let size = match &body {
            SessionBody::Data { payload, .. } => payload.len() + 64,
            _ => 64,
        };
        if self.kept_bytes + size > bytes_max {
            return false;
        }
        self.kept_bytes += size;
        let row = self.row.get_or_insert_with(|| {
            let mut row = RowWriter::new();
            row.deferred();
            row
        });
        match body {
            SessionBody::Data {
                index,
                payload,
                last,
            } => row.received(number, index, &payload, last),
            SessionBody::End { index, error } => row.peer_ended(number, index, error.as_ref()),
            SessionBody::Confirm { version } => row.confirmed(number, version),
            SessionBody::Init { .. } => {}
        }
        true
    }
}

impl FlowEngine {
    pub(super) fn park(
        &mut self,
        flow: FlowId,
        loaded: LoadedFlow,
        reason: FlowError,
        out: &mut Vec<EngineAction>,
    ) {
        let parked = ParkedFlow::new(loaded, reason.clone());
        self.flows.insert(flow, Live::Parked(Box::new(parked)));
        out.push(EngineAction::Parked { flow, reason });
    }

    /// Ends a flow that does not run: tells the other sides of the sessions it is known to have.
    pub(super) fn discard(&mut self, flow: FlowId, error: FlowError, out: &mut Vec<EngineAction>) {
        let (start, sessions, rows) = match self.flows.remove(&flow) {
            Some(Live::Loaded(loaded)) => (loaded.start, loaded.sessions, loaded.row_count),
            Some(Live::Parked(parked)) => (parked.start, parked.sessions, parked.rows),
            _ => return,
        };
        for session in sessions {
            let body = SessionBody::End {
                index: u32::MAX,
                error: Some(error.for_counterparty()),
            };
            let message = SessionMessage {
                session: session.id,
                to_initiator: !session.initiated,
                body,
            };
            out.push(EngineAction::SendSession {
                peer: session.peer,
                message,
            });
        }
        out.push(EngineAction::Forget { flow, steps: rows });
        if let Some(start) = start {
            out.push(EngineAction::Ended {
                flow,
                start: Box::new(start),
                outcome: Err(error),
            });
        }
    }
}
