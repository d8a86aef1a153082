//! One side of a session, within a flow: order, duplicates and ends. Pure bookkeeping; the cell journals and sends.

use std::collections::{BTreeMap, VecDeque};
use std::task::Poll;

use ledger::{PartyId, Rejection};

use crate::error::{SESSION_ENDED, SESSION_OVERFLOW};
use crate::{FlowError, FlowLimits, SessionId};

/// One side of a session.
pub(crate) struct SessionState {
    pub(crate) id: SessionId,
    pub(crate) peer: PartyId,
    /// Whether this side opened the session.
    pub(crate) initiated: bool,
    /// The number of messages that this side has sent.
    pub(crate) sent: u32,
    /// Whether this side has ended; then nothing is sent or received any more.
    pub(crate) closed: bool,
    /// The agreed version, once it is known.
    pub(crate) version: Option<u32>,
    received: u32,
    unread: VecDeque<Vec<u8>>,
    unread_bytes: usize,
    early: BTreeMap<u32, Vec<u8>>,
    end: Option<End>,
}

struct End {
    index: u32,
    error: Option<FlowError>,
}

/// A session that a journal mentions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownSession {
    pub(crate) number: u32,
    pub(crate) id: SessionId,
    pub(crate) peer: PartyId,
    pub(crate) initiated: bool,
}

/// The outcome for an arriving message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The message is accepted; journal it.
    Taken,
    /// The message is a duplicate, or for a session that has ended; nothing to do.
    Ignored,
    /// The message exceeds the session's limits; end the session for both sides.
    Overflow,
}

impl SessionState {
    /// Returns what a journal tells of the session, under its number.
    pub(crate) fn known(&self, number: u32) -> KnownSession {
        KnownSession {
            number,
            id: self.id,
            peer: self.peer,
            initiated: self.initiated,
        }
    }

    pub(crate) fn new(id: SessionId, peer: PartyId, initiated: bool) -> SessionState {
        SessionState {
            id,
            peer,
            initiated,
            sent: 0,
            closed: false,
            version: None,
            received: 0,
            unread: VecDeque::new(),
            unread_bytes: 0,
            early: BTreeMap::new(),
            end: None,
        }
    }

    /// Returns whether the other side still listens.
    pub(crate) fn peer_listens(&self) -> bool {
        self.end.is_none() && !self.closed
    }

    /// Decides the outcome for an arriving message.
    pub(crate) fn judge(&self, index: u32, bytes: usize, limits: &FlowLimits) -> Arrival {
        let over = self.end.as_ref().is_some_and(|end| index >= end.index);
        if self.closed || over || index < self.received || self.early.contains_key(&index) {
            return Arrival::Ignored;
        }
        if self.unread.len() + self.early.len() >= limits.session_unread_max
            || self.unread_bytes + bytes > limits.session_unread_bytes_max
            || bytes > limits.session_message_bytes_max
        {
            return Arrival::Overflow;
        }
        Arrival::Taken
    }

    /// Takes a message that `judge` accepted.
    pub(crate) fn data(&mut self, index: u32, payload: Vec<u8>, last: bool) {
        if last {
            self.end = Some(End {
                // Clipped for the greatest index, which no session reaches. Such a session ends when it has been idle for too long.
                index: index.saturating_add(1),
                error: None,
            });
        }
        self.unread_bytes += payload.len();
        self.early.insert(index, payload);
        while let Some(next) = self.early.remove(&self.received) {
            self.unread.push_back(next);
            self.received += 1;
        }
    }

    /// Takes the end of the other side.
    pub(crate) fn end(&mut self, index: u32, error: Option<Rejection>) -> Arrival {
        if self.closed || self.end.is_some() {
            return Arrival::Ignored;
        }
        self.end = Some(End {
            index,
            error: error.map(FlowError::from_rejection),
        });
        Arrival::Taken
    }

    /// Takes the version that the other side picked.
    pub(crate) fn confirm(&mut self, version: u32) -> Arrival {
        if self.closed || self.version.is_some() {
            return Arrival::Ignored;
        }
        self.version = Some(version);
        Arrival::Taken
    }

    /// Takes the next message, in order.
    pub(crate) fn receive(&mut self) -> Poll<Result<Vec<u8>, FlowError>> {
        if let Some(payload) = self.unread.pop_front() {
            self.unread_bytes -= payload.len();
            return Poll::Ready(Ok(payload));
        }
        match self.gone() {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
    }

    /// Returns the agreed version.
    pub(crate) fn agreed(&self) -> Poll<Result<u32, FlowError>> {
        match (self.version, self.gone()) {
            (Some(version), _) => Poll::Ready(Ok(version)),
            (None, Some(error)) => Poll::Ready(Err(error)),
            (None, None) => Poll::Pending,
        }
    }

    /// Returns the reason why no further message will come, if there is one.
    fn gone(&self) -> Option<FlowError> {
        if self.closed {
            return Some(FlowError::listed(
                &SESSION_ENDED,
                "this side has closed the session",
            ));
        }
        match &self.end {
            Some(End {
                error: Some(error), ..
            }) => Some(error.clone()),
            Some(End { index, error: None }) if self.received >= *index => Some(FlowError::listed(
                &SESSION_ENDED,
                "the other side has ended the session",
            )),
            _ => None,
        }
    }

    /// Returns the reason why nothing can be sent, if there is one.
    pub(crate) fn deaf(&self) -> Option<FlowError> {
        if self.closed {
            return Some(FlowError::listed(
                &SESSION_ENDED,
                "this side has closed the session",
            ));
        }
        self.end.as_ref().map(|end| match &end.error {
            Some(error) => error.clone(),
            None => FlowError::listed(&SESSION_ENDED, "the other side has ended the session"),
        })
    }
}

/// Returns the error that ends an overflowing session.
pub(crate) fn overflow() -> Rejection {
    FlowError::listed(
        &SESSION_OVERFLOW,
        "more messages arrived than the flow was ready to take",
    )
    .to_rejection()
}
