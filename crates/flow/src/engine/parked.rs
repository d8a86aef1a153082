//! Flows that are set aside: kept for an operator, paused, or waiting for a retry. They do not run, but their messages are still
//! journaled, so that a retry finds them.

use crate::hospital::Chart;
use crate::journal::RowWriter;
use crate::session_state::KnownSession;
use crate::{SessionBody, StartRecord};

/// A flow that is set aside.
pub(super) struct ParkedFlow {
    /// The start record without the arguments, which are in the journal.
    pub(super) start: Option<StartRecord>,
    pub(super) chart: Chart,
    pub(super) sessions: Vec<KnownSession>,
    pub(super) rows: u32,
    /// Whether it has an irrevocable request whose outcome it has not dealt with.
    pub(super) unsettled: bool,
    /// Whether it was found in the store when the node started and has not been restored yet. It did not fail.
    pub(super) shelved: bool,
    /// The row that it gained in this round before it stopped.
    last_row: Option<Vec<u8>>,
    row: Option<RowWriter>,
    kept_bytes: usize,
}

impl ParkedFlow {
    pub(super) fn new(
        mut start: Option<StartRecord>,
        chart: Chart,
        sessions: Vec<KnownSession>,
        rows: u32,
    ) -> ParkedFlow {
        if let Some(start) = &mut start {
            start.args = Vec::new();
        }
        ParkedFlow {
            start,
            chart,
            sessions,
            rows,
            unsettled: false,
            shelved: false,
            last_row: None,
            row: None,
            kept_bytes: 0,
        }
    }

    /// Stores the row that the flow gained in this round before it stopped, and the message that it has to see again.
    pub(super) fn gained(&mut self, row: Option<Vec<u8>>, message: Option<&[u8]>) {
        self.last_row = row;
        if let Some(message) = message {
            self.kept_bytes += message.len();
            self.deferred().again(message);
        }
    }

    /// Takes the rows of this round, with their numbers.
    pub(super) fn take_rows(&mut self) -> impl Iterator<Item = (u32, Vec<u8>)> + use<> {
        let row = self.row.take().map(RowWriter::into_bytes);
        let rows: Vec<Vec<u8>> = self.last_row.take().into_iter().chain(row).collect();
        let first = self.rows;
        self.rows = first + rows.len() as u32;
        (first..).zip(rows)
    }

    pub(super) fn is_written(&self) -> bool {
        self.last_row.is_none() && self.row.is_none()
    }

    fn deferred(&mut self) -> &mut RowWriter {
        self.row.get_or_insert_with(|| {
            let mut row = RowWriter::new();
            row.deferred();
            row
        })
    }

    /// Keeps a message. Returns false if there is no room.
    pub(super) fn keep(&mut self, number: u32, body: SessionBody, bytes_max: usize) -> bool {
        let size = match &body {
            SessionBody::Data { payload, .. } => payload.len() + 64,
            _ => 64,
        };
        if self.kept_bytes + size > bytes_max {
            return false;
        }
        self.kept_bytes += size;
        let row = self.deferred();
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
