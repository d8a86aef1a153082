//! Sessions of a flow: opening, sending, receiving and ending.

use std::collections::BTreeSet;
use std::task::Poll;

use ledger::{PartyId, Rejection};

use super::input::Input;
use super::slot::SlotState;
use super::state::{Cell, Output};
use crate::error::{LIMIT_EXCEEDED, MESSAGE_TOO_LARGE, SESSION_ENDED};
use crate::journal::{ORIGIN_SESSION, RowWriter, scope_of};
use crate::session_state::{Arrival, SessionState, overflow};
use crate::{EffectKind, FlowError, SessionBody, SessionId, SessionMessage};

impl Cell {
    /// Opens a session and returns its number.
    pub(crate) fn open_session(
        &mut self,
        scope: u16,
        peer: PartyId,
        flow: &str,
        versions: &[u32],
    ) -> Result<u32, FlowError> {
        if self.sessions.len() >= self.limits.sessions_max {
            return Err(FlowError::listed(
                &LIMIT_EXCEEDED,
                "too many sessions in one flow",
            ));
        }
        let number = self.number(scope)?;
        let id = SessionId {
            initiator: self.flow,
            number,
        };
        let mut state = SessionState::new(id, peer, true);
        if let [version] = versions {
            state.version = Some(*version);
        }
        self.sessions.insert(number, state);
        self.opened.push(number);
        self.note(scope, |d| {
            d.word(number.into())
                .bytes(peer.as_bytes())
                .bytes(flow.as_bytes())
        });
        self.journal(|row| row.opened(number, &peer));
        let body = SessionBody::Init {
            flow: flow.to_owned(),
            versions: versions.to_vec(),
            first: None,
        };
        self.send_out(
            peer,
            SessionMessage {
                session: id,
                to_initiator: false,
                body,
            },
        );
        Ok(number)
    }

    /// Adds the session that started this responder.
    pub(crate) fn origin_session(&mut self, id: SessionId, peer: PartyId, version: u32) {
        let mut state = SessionState::new(id, peer, false);
        state.version = Some(version);
        self.sessions.insert(ORIGIN_SESSION, state);
    }

    /// Tells the initiator which version was picked.
    pub(crate) fn confirm_version(&mut self, version: u32) {
        if let Some(state) = self.sessions.get(&ORIGIN_SESSION) {
            let (peer, session) = (state.peer, state.id);
            let body = SessionBody::Confirm { version };
            self.send_out(
                peer,
                SessionMessage {
                    session,
                    to_initiator: true,
                    body,
                },
            );
        }
    }

    fn send_out(&mut self, peer: PartyId, message: SessionMessage) {
        if self.replay.is_none() {
            self.outputs.push(Output::Send { peer, message });
        }
    }

    /// Sends a message on a session.
    pub(crate) fn send(&mut self, number: u32, payload: Vec<u8>) -> Result<(), FlowError> {
        if payload.len() > self.limits.session_message_bytes_max {
            let text = format!(
                "a message of {} bytes; at most {} are allowed",
                payload.len(),
                self.limits.session_message_bytes_max
            );
            return Err(FlowError::listed(&MESSAGE_TOO_LARGE, text));
        }
        self.note(scope_of(number), |d| d.word(number.into()).bytes(&payload));
        let state = self.sessions.get_mut(&number).ok_or_else(no_session)?;
        if let Some(error) = state.deaf() {
            return Err(error);
        }
        let (peer, session, to_initiator, index) =
            (state.peer, state.id, !state.initiated, state.sent);
        state.sent = state.sent.checked_add(1).ok_or_else(no_session)?;
        if index == 0
            && let Some(message) = last_message(&mut self.outputs, &session, to_initiator)
            && let SessionBody::Init {
                first: first @ None,
                ..
            } = &mut message.body
        {
            *first = Some(payload);
            return Ok(());
        }
        let body = SessionBody::Data {
            index,
            payload,
            last: false,
        };
        self.send_out(
            peer,
            SessionMessage {
                session,
                to_initiator,
                body,
            },
        );
        Ok(())
    }

    /// Takes the next message of a session.
    pub(crate) fn receive(&mut self, number: u32) -> Poll<Result<Vec<u8>, FlowError>> {
        let received = match self.sessions.get_mut(&number) {
            Some(state) => state.receive(),
            None => Poll::Ready(Err(no_session())),
        };
        self.awaits_origin |= number == ORIGIN_SESSION && received.is_pending();
        received
    }

    /// Returns whether the flow waits only for the peer that opened its session. False if the flow has asked for a
    /// signature or has something irrevocable unsettled, because a transaction may then still become final.
    pub(crate) fn waits_for_origin(&self) -> bool {
        let waits_for_effect = self.slots.iter().any(|slot| {
            slot.kind != EffectKind::SubFlow && matches!(slot.state, SlotState::Waiting(_))
        });
        self.awaits_origin && !self.signed && !self.is_unsettled() && !waits_for_effect
    }

    /// Returns the agreed version, once it is known.
    pub(crate) fn agreed_version(&mut self, number: u32) -> Poll<Result<u32, FlowError>> {
        match self.sessions.get_mut(&number) {
            Some(state) => state.agreed(),
            None => Poll::Ready(Err(no_session())),
        }
    }

    /// Ends this side of one session.
    pub(crate) fn close(&mut self, number: u32) {
        self.note(scope_of(number), |d| d.word(number.into()).word(u64::MAX));
        self.close_sessions(|n| n == number, None);
    }

    pub(super) fn close_sessions(&mut self, which: impl Fn(u32) -> bool, error: Option<Rejection>) {
        let replaying = self.replay.is_some();
        for (number, state) in &mut self.sessions {
            if !which(*number) || state.closed {
                continue;
            }
            let listens = state.peer_listens();
            state.closed = true;
            if listens && !replaying {
                end_session(&mut self.outputs, state, error.clone());
            }
        }
    }

    /// Closes all sessions, because the flow has ended; `error` is `None` if it succeeded.
    pub(crate) fn end(&mut self, error: Option<Rejection>) {
        self.close_sessions(|_| true, error);
        self.ended = true;
    }

    /// Returns whether a message belongs to this session and comes from its other side.
    pub(crate) fn session_from(
        &self,
        number: u32,
        session: &SessionId,
        peer: &PartyId,
        to_initiator: bool,
    ) -> bool {
        self.sessions.get(&number).is_some_and(|state| {
            state.id == *session && state.peer == *peer && state.initiated == to_initiator
        })
    }

    /// Takes an arriving message. Returns whether the flow has a new input.
    pub(crate) fn arrive(&mut self, number: u32, body: SessionBody) -> bool {
        let limits = self.limits;
        self.begin(Input::Message);
        let Some(state) = self.sessions.get_mut(&number) else {
            return false;
        };
        match body {
            SessionBody::Data {
                index,
                payload,
                last,
            } => match state.judge(index, payload.len(), &limits) {
                Arrival::Ignored => return false,
                // A message that was taken before is taken again on replay, even if the limits are lower now.
                arrival if arrival == Arrival::Taken || self.replay.is_some() => {
                    if self.replay.is_none() {
                        let row = self.row.get_or_insert_with(RowWriter::new);
                        row.received(number, index, &payload, last);
                    }
                    state.data(index, payload, last);
                }
                _ => return self.end_both(number, overflow()),
            },
            SessionBody::End { index, error } => {
                if state.end(index, error.clone()) == Arrival::Ignored {
                    return false;
                }
                self.journal(|row| row.peer_ended(number, index, error.as_ref()));
            }
            SessionBody::Confirm { version } => {
                if state.confirm(version) == Arrival::Ignored {
                    return false;
                }
                self.journal(|row| row.confirmed(number, version));
            }
            SessionBody::Init { .. } => return false,
        }
        self.took_input(scope_of(number));
        true
    }

    /// Ends a session for both sides, for a reason of this node. Returns whether the flow has a new input.
    pub(crate) fn break_session(&mut self, number: u32, error: Rejection) -> bool {
        self.begin(Input::Message);
        self.end_both(number, error)
    }

    fn end_both(&mut self, number: u32, error: Rejection) -> bool {
        let Some(state) = self.sessions.get_mut(&number) else {
            return false;
        };
        let (peer, session, to_initiator) = (state.peer, state.id, !state.initiated);
        let index = state.sent;
        if state.end(0, Some(error.clone())) == Arrival::Ignored {
            return false;
        }
        self.journal(|row| row.peer_ended(number, 0, Some(&error)));
        let body = SessionBody::End {
            index,
            error: Some(error),
        };
        self.send_out(
            peer,
            SessionMessage {
                session,
                to_initiator,
                body,
            },
        );
        self.took_input(scope_of(number));
        true
    }

    /// Returns the other sides of the open sessions, for operators.
    pub(crate) fn session_peers(&self) -> impl Iterator<Item = PartyId> + '_ {
        self.sessions
            .values()
            .filter(|state| !state.closed)
            .map(|state| state.peer)
    }

    /// Returns the other parties of all sessions, ended or not.
    pub(crate) fn all_peers(&self) -> BTreeSet<PartyId> {
        self.sessions.values().map(|state| state.peer).collect()
    }
}

/// Tells the other side that this side has ended: in the last data message of this poll if it has one and there is no
/// error, else in a separate message.
fn end_session(outputs: &mut Vec<Output>, state: &SessionState, error: Option<Rejection>) {
    let to_initiator = !state.initiated;
    if error.is_none() {
        let last_sent = last_message(outputs, &state.id, to_initiator);
        if let Some(SessionMessage {
            body: SessionBody::Data { last, .. },
            ..
        }) = last_sent
        {
            *last = true;
            return;
        }
    }
    let body = SessionBody::End {
        index: state.sent,
        error,
    };
    let message = SessionMessage {
        session: state.id,
        to_initiator,
        body,
    };
    outputs.push(Output::Send {
        peer: state.peer,
        message,
    });
}

/// Finds the last message that this poll sent on a session.
fn last_message<'a>(
    outputs: &'a mut [Output],
    session: &SessionId,
    to_initiator: bool,
) -> Option<&'a mut SessionMessage> {
    outputs.iter_mut().rev().find_map(|output| match output {
        Output::Send { message, .. }
            if message.session == *session && message.to_initiator == to_initiator =>
        {
            Some(message)
        }
        _ => None,
    })
}

fn no_session() -> FlowError {
    FlowError::listed(&SESSION_ENDED, "the session's sub-flow has ended")
}
