//! Undoing the last poll: its input is given back, and what it journaled and put out never was.

use primitives::Decoder;

use super::Cell;
use crate::digest::Digest;
use crate::engine::KnownSession;
use crate::journal::{Entry, RowWriter};
use crate::session_state::SessionState;

/// What a flow was polled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Its start.
    Start,
    /// The answer of an effect.
    Answer(u32),
    /// Something on a session.
    Message,
}

/// Where the cell stood before its last input.
pub(super) struct Mark {
    input: Input,
    row: Option<(usize, u32)>,
    asked: Digest,
}

/// What is left of a flow whose last poll is undone.
pub(crate) struct Undone {
    /// The row of this round without that poll.
    pub(crate) row: Option<Vec<u8>>,
    /// The message that it was polled for, as a journal entry: it has to come again. Answers of effects come again because
    /// the effects are asked for again.
    pub(crate) message: Option<Vec<u8>>,
    /// The sessions as they were.
    pub(crate) sessions: Vec<KnownSession>,
    /// Its first poll is still to come.
    pub(crate) unbegun: bool,
}

impl Cell {
    /// An input is about to be taken.
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

    /// Nothing that happens to the flow's code from now on says anything: it is dropped, and comes back from the journal.
    pub(crate) fn silence(&mut self) {
        self.ended = true;
    }

    /// What the flow was polled for last.
    pub(crate) fn last_input(&self) -> Option<Input> {
        self.mark.as_ref().map(|mark| mark.input)
    }

    /// Every session that the flow has, ended ones too.
    pub(crate) fn known_sessions(&self) -> Vec<KnownSession> {
        let sessions = self.sessions.iter();
        sessions
            .map(|(number, state)| known(*number, state))
            .collect()
    }

    /// Undoes the last poll; `outputs` is how much stood in the output before it. The cell is of no use afterwards.
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

pub(super) fn known(number: u32, state: &SessionState) -> KnownSession {
    KnownSession {
        number,
        id: state.id,
        peer: state.peer,
        initiated: state.initiated,
    }
}
