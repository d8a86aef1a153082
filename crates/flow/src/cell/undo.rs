//! Undoes the last poll: returns its input and discards everything that the poll journaled and put out.

use primitives::Decoder;

use super::input::{Input, Mark};
use super::state::Cell;
use crate::journal::{Entry, RowWriter};
use crate::session_state::KnownSession;

/// The remains of a flow whose last poll was undone.
pub(crate) struct Undone {
    /// The row of this round without that poll.
    pub(crate) row: Option<Vec<u8>>,
    /// The message that caused the poll, as a journal entry, because the flow has to see it again. Answers need no entry:
    /// the effects are issued again, so their answers come again.
    pub(crate) message: Option<Vec<u8>>,
    /// The sessions as they were before the poll.
    pub(crate) sessions: Vec<KnownSession>,
    /// Whether the first poll is still to come.
    pub(crate) unbegun: bool,
}

impl Cell {
    /// Notes the state of the cell before it takes an input.
    pub(crate) fn begin(&mut self, input: Input) {
        if self.replay.is_some() {
            return;
        }
        let row = self.row.as_ref().map(RowWriter::mark);
        let asked = self.asked;
        self.mark = Some(Mark { input, row, asked });
        self.opened.clear();
        self.removed.clear();
    }

    /// Suppresses all further output of the cell. The flow's code is dropped, and the flow is restored from its journal.
    pub(crate) fn silence(&mut self) {
        self.ended = true;
    }

    /// Returns the input of the last poll.
    pub(crate) fn last_input(&self) -> Option<Input> {
        self.mark.as_ref().map(|mark| mark.input)
    }

    /// Returns every session of the flow, including ended ones.
    pub(crate) fn known_sessions(&self) -> Vec<KnownSession> {
        let sessions = self.sessions.iter();
        sessions
            .map(|(number, state)| state.known(*number))
            .collect()
    }

    /// Undoes the last poll. `outputs` is the number of outputs before it. The cell must not be used afterwards.
    pub(crate) fn undo(&mut self, outputs: usize) -> Undone {
        self.outputs.truncate(outputs);
        let mut sessions = self.known_sessions();
        sessions.retain(|session| !self.opened.contains(&session.number));
        sessions.append(&mut self.removed);
        let mut undone = Undone {
            row: None,
            message: None,
            sessions,
            unbegun: false,
        };
        let Some(mark) = self.mark.take() else {
            undone.row = self.take_row();
            return undone;
        };
        undone.unbegun = mark.input == Input::Start;
        let Some(mut row) = self.row.take() else {
            return undone;
        };
        // Without a row before the poll, the poll wrote all of it.
        let kept = mark.row.unwrap_or_else(|| RowWriter::new().mark());
        let taken = row.split_off(kept);
        if mark.input == Input::Message {
            let mut d = Decoder::new(&taken);
            if <Entry as primitives::Decode>::decode(&mut d).is_ok() {
                let length = taken.len() - d.remaining();
                undone.message = taken.get(..length).map(<[u8]>::to_vec);
            }
        }
        if !row.is_empty() {
            if !undone.unbegun {
                row.check(mark.asked.value());
            }
            undone.row = Some(row.into_bytes());
        }
        undone
    }
}
