//! The cell: what a running flow and the engine share. The flow asks and takes, the engine delivers and journals.
//!
//! # Correctness
//! What a flow does is a function of its start record and the sequence of its inputs, each followed by one poll. Numbers
//! of effects are handed out per scope (a flow and each of its sub-flows have their own), so a sub-flow that is skipped
//! on replay leaves the numbers of all others alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::task::Poll;

use ledger::{PartyId, Rejection, StateRef};
use primitives::Timestamp;

use crate::digest::Digest;
use crate::error::{LIMIT_EXCEEDED, MESSAGE_TOO_LARGE, SESSION_ENDED};
use crate::journal::{ORIGIN_SESSION, Outcome, RowWriter, scope_of};
use crate::options::{EFFECTS_OF_A_SCOPE_MAX, SUB_FLOWS_MAX};
use crate::session_state::{Arrival, SessionState, overflow};
use crate::{
    EffectKind, EffectRequest, EffectResult, FlowError, FlowId, FlowLimits, SessionBody, SessionId,
    SessionMessage,
};

/// What a flow put out in one poll, in order.
pub(crate) enum Output {
    Effect {
        effect: u32,
        request: EffectRequest,
    },
    Cancel {
        effect: u32,
    },
    Send {
        peer: PartyId,
        message: SessionMessage,
    },
    Progress {
        step: &'static str,
    },
}

/// An effect that the flow waits for.
struct Slot {
    effect: u32,
    kind: EffectKind,
    digest: u64,
    irrevocable: bool,
    consumed: Vec<StateRef>,
    state: SlotState,
}

enum SlotState {
    /// Not answered; on replay with the request, to be issued again.
    Waiting(Option<Box<EffectRequest>>),
    Answered(EffectResult),
    SubFlowEnded(Result<Vec<u8>, FlowError>),
}

/// A flow or a sub-flow that is running.
struct Scope {
    index: u16,
    parent: u16,
    effects: u16,
    took_input: bool,
}

/// What replay knows beforehand.
pub(crate) struct Replay {
    /// Values fixed when an effect was issued.
    pub(crate) facts: HashMap<u32, u64>,
    /// The scope of each sub-flow, by the effect that started it.
    pub(crate) scopes: HashMap<u32, u16>,
    /// The scopes whose sub-flows ended, with all scopes below them.
    pub(crate) ended: HashSet<u16>,
}

/// Whether a sub-flow has to run.
pub(crate) enum SubFlowStart {
    Run {
        effect: u32,
        scope: u16,
        digest: u64,
    },
    Skip {
        effect: u32,
    },
}

pub(crate) struct Cell {
    flow: FlowId,
    limits: FlowLimits,
    pub(crate) now: Timestamp,
    pub(crate) replay: Option<Box<Replay>>,
    pub(crate) diverged: Option<String>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) step: Option<&'static str>,
    pub(crate) kill: bool,
    pub(crate) scopes_started: u16,
    row: Option<RowWriter>,
    slots: Vec<Slot>,
    sessions: BTreeMap<u32, SessionState>,
    scopes: Vec<Scope>,
    asked: Digest,
    unsettled: u32,
    ended: bool,
}

impl Cell {
    pub(crate) fn new(flow: FlowId, now: Timestamp, limits: FlowLimits) -> Cell {
        Cell {
            flow,
            limits,
            now,
            replay: None,
            diverged: None,
            outputs: Vec::new(),
            step: None,
            kill: false,
            scopes_started: 0,
            row: None,
            slots: Vec::new(),
            sessions: BTreeMap::new(),
            scopes: vec![Scope {
                index: 0,
                parent: 0,
                effects: 0,
                took_input: false,
            }],
            asked: Digest::new(0),
            unsettled: 0,
            ended: false,
        }
    }

    // ---- the journal ----

    /// The row of this round; nothing is written on replay.
    pub(crate) fn journal(&mut self, write: impl FnOnce(&mut RowWriter)) {
        if self.replay.is_none() {
            write(self.row.get_or_insert_with(RowWriter::new));
        }
    }

    /// The finished row of this round, if anything was gained.
    pub(crate) fn take_row(&mut self) -> Option<Vec<u8>> {
        let mut row = self.row.take().filter(|row| !row.is_empty())?;
        row.check(self.asked.value());
        Some(row.into_bytes())
    }

    /// Compares the end of a replayed row.
    pub(crate) fn check(&mut self, value: u64) {
        if self.asked.value() != value {
            self.diverge("the flow asked for or sent something else than it did before");
        }
    }

    pub(crate) fn diverge(&mut self, reason: impl Into<String>) {
        self.diverged.get_or_insert_with(|| reason.into());
    }

    fn note(&mut self, scope: u16, digest: impl FnOnce(Digest) -> Digest) {
        if scope == 0 {
            self.asked = digest(self.asked);
        }
    }

    /// Says where the flow is.
    pub(crate) fn progress(&mut self, step: &'static str) {
        self.step = Some(step);
        if self.replay.is_none() {
            self.outputs.push(Output::Progress { step });
        }
    }

    // ---- effects ----

    /// The next number of a scope.
    pub(crate) fn number(&mut self, scope: u16) -> Result<u32, FlowError> {
        let exceeded = || FlowError::listed(&LIMIT_EXCEEDED, "too many effects in one flow");
        let scope = self
            .scopes
            .iter_mut()
            .find(|s| s.index == scope)
            .ok_or_else(exceeded)?;
        if scope.effects == EFFECTS_OF_A_SCOPE_MAX {
            return Err(exceeded());
        }
        scope.effects += 1;
        Ok(u32::from(scope.index) << 16 | u32::from(scope.effects))
    }

    /// Issues an effect and returns its number.
    pub(crate) fn issue(&mut self, scope: u16, request: EffectRequest) -> Result<u32, FlowError> {
        let effect = self.number(scope)?;
        self.issue_as(effect, request)?;
        Ok(effect)
    }

    /// Issues an effect under a number that it already has.
    pub(crate) fn issue_as(
        &mut self,
        effect: u32,
        request: EffectRequest,
    ) -> Result<(), FlowError> {
        if self.slots.len() >= self.limits.effects_outstanding_max {
            return Err(FlowError::listed(
                &LIMIT_EXCEEDED,
                "too many effects outstanding at once",
            ));
        }
        let (kind, digest) = (request.kind(), request.digest());
        let irrevocable = matches!(
            request,
            EffectRequest::Request {
                irrevocable: true,
                ..
            }
        );
        let consumed = match &request {
            EffectRequest::Record { transaction, .. } => transaction.inputs().to_vec(),
            _ => Vec::new(),
        };
        self.unsettled += u32::from(irrevocable);
        self.note(scope_of(effect), |d| d.word(effect.into()).word(digest));
        let replaying = self.replay.is_some();
        let state = if replaying {
            SlotState::Waiting(Some(Box::new(request)))
        } else {
            self.outputs.push(Output::Effect { effect, request });
            SlotState::Waiting(None)
        };
        self.slots.push(Slot {
            effect,
            kind,
            digest,
            irrevocable,
            consumed,
            state,
        });
        Ok(())
    }

    /// A value fixed at the time an effect is issued, the same on replay.
    pub(crate) fn fact(&mut self, effect: u32, live: u64) -> u64 {
        match &self.replay {
            None => {
                self.journal(|row| row.fact(effect, live));
                live
            }
            Some(replay) => match replay.facts.get(&effect) {
                Some(value) => *value,
                None => {
                    self.diverge("the flow asked for a time that it did not ask for before");
                    live
                }
            },
        }
    }

    /// Delivers the result of an effect; whether the flow waits for it.
    pub(crate) fn answer(&mut self, effect: u32, result: EffectResult) -> bool {
        let Some(position) = self.slots.iter().position(|slot| {
            slot.effect == effect
                && slot.kind != EffectKind::SubFlow
                && matches!(slot.state, SlotState::Waiting(_))
        }) else {
            return false;
        };
        let slot = &mut self.slots[position];
        let result = if slot.kind.is_answered_by(&result) {
            result
        } else {
            EffectResult::Failed(FlowError::mismatched(slot.kind))
        };
        if self.replay.is_none() {
            self.row.get_or_insert_with(RowWriter::new).result(
                effect,
                slot.kind,
                slot.digest,
                &result,
                &slot.consumed,
            );
        }
        if slot.irrevocable && matches!(result, EffectResult::Failed(_)) {
            self.unsettled = self.unsettled.saturating_sub(1);
        }
        if slot.kind == EffectKind::Record && matches!(result, EffectResult::Done) {
            self.unsettled = 0;
        }
        slot.state = SlotState::Answered(result);
        self.took_input(scope_of(effect));
        true
    }

    /// On replay: whether the journal's result belongs to an effect that the flow waits for.
    pub(crate) fn expects(&self, effect: u32, kind: EffectKind, digest: u64) -> bool {
        self.slots.iter().any(|slot| {
            slot.effect == effect
                && slot.kind == kind
                && slot.digest == digest
                && matches!(slot.state, SlotState::Waiting(_))
        })
    }

    /// Takes the result of an effect, once it is there.
    pub(crate) fn take(&mut self, effect: u32) -> Option<EffectResult> {
        let position = self.slots.iter().position(|slot| {
            slot.effect == effect && matches!(slot.state, SlotState::Answered(_))
        })?;
        match self.slots.swap_remove(position).state {
            SlotState::Answered(result) => Some(result),
            _ => None,
        }
    }

    /// The flow no longer waits for an effect.
    pub(crate) fn abandon(&mut self, effect: u32) {
        let Some(position) = self.slots.iter().position(|slot| slot.effect == effect) else {
            return;
        };
        let slot = self.slots.swap_remove(position);
        let waiting = matches!(slot.state, SlotState::Waiting(_));
        if waiting && !self.ended && self.replay.is_none() && slot.kind != EffectKind::SubFlow {
            self.outputs.push(Output::Cancel { effect });
        }
    }

    /// Ends replay and issues again what is still unanswered, in the order of numbers.
    pub(crate) fn go_live(&mut self) {
        self.replay = None;
        let mut waiting: Vec<Output> = self
            .slots
            .iter_mut()
            .filter_map(|slot| match &mut slot.state {
                SlotState::Waiting(request) => request.take().map(|request| Output::Effect {
                    effect: slot.effect,
                    request: *request,
                }),
                _ => None,
            })
            .collect();
        waiting.sort_by_key(|output| match output {
            Output::Effect { effect, .. } => *effect,
            _ => 0,
        });
        self.outputs.extend(waiting);
    }

    /// The effects that the flow waits for.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u32, EffectKind)> + '_ {
        self.slots
            .iter()
            .filter(|slot| matches!(slot.state, SlotState::Waiting(_)))
            .map(|slot| (slot.effect, slot.kind))
    }

    /// Whether an irrevocable request has been asked whose outcome is not dealt with yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled > 0
    }

    /// The outcome of an irrevocable request has been dealt with: refused.
    pub(crate) fn settled(&mut self) {
        self.unsettled = self.unsettled.saturating_sub(1);
    }

    // ---- sub-flows ----

    /// Starts a sub-flow in a scope of its own, or skips it where the journal holds its end.
    pub(crate) fn start_sub_flow(
        &mut self,
        scope: u16,
        digest: u64,
    ) -> Result<SubFlowStart, FlowError> {
        let effect = self.number(scope)?;
        self.note(scope, |d| d.word(effect.into()).word(digest));
        let index = match &self.replay {
            Some(replay) => replay.scopes.get(&effect).copied(),
            None => self
                .scopes_started
                .checked_add(1)
                .filter(|i| *i < SUB_FLOWS_MAX),
        };
        let Some(index) = index else {
            if self.replay.is_some() {
                self.diverge("the flow started a sub-flow that it did not start before");
            }
            return Err(FlowError::listed(
                &LIMIT_EXCEEDED,
                "too many sub-flows in one flow",
            ));
        };
        if self
            .replay
            .as_ref()
            .is_some_and(|replay| replay.ended.contains(&index))
        {
            self.slots.push(Slot {
                effect,
                kind: EffectKind::SubFlow,
                digest,
                irrevocable: false,
                consumed: Vec::new(),
                state: SlotState::Waiting(None),
            });
            return Ok(SubFlowStart::Skip { effect });
        }
        if self.replay.is_none() {
            self.scopes_started = index;
            self.journal(|row| row.scope(effect, index));
        }
        self.scopes.push(Scope {
            index,
            parent: scope,
            effects: 0,
            took_input: false,
        });
        Ok(SubFlowStart::Run {
            effect,
            scope: index,
            digest,
        })
    }

    /// A sub-flow ended, or was dropped (`result` is `None`).
    pub(crate) fn end_sub_flow(
        &mut self,
        effect: u32,
        index: u16,
        digest: u64,
        result: Option<Result<&[u8], &FlowError>>,
    ) {
        let Some(position) = self.scopes.iter().position(|scope| scope.index == index) else {
            return;
        };
        let scope = self.scopes.remove(position);
        if let (Some(result), true) = (result, scope.took_input) {
            self.journal(|row| row.sub_flow_ended(effect, digest, result));
        }
        if !self.ended {
            let error = match result {
                Some(Err(error)) => Some(error.for_counterparty()),
                _ => None,
            };
            self.close_sessions(|number| scope_of(number) == index, error);
        }
        self.sessions.retain(|number, _| scope_of(*number) != index);
    }

    /// On replay: delivers the end of a sub-flow that was skipped; whether the flow waits for it.
    pub(crate) fn answer_sub_flow(
        &mut self,
        effect: u32,
        digest: u64,
        result: Result<Vec<u8>, Rejection>,
    ) -> bool {
        let slot = self.slots.iter_mut().find(|slot| {
            slot.effect == effect && slot.kind == EffectKind::SubFlow && slot.digest == digest
        });
        let Some(slot) = slot else { return false };
        slot.state = SlotState::SubFlowEnded(result.map_err(FlowError::from_rejection));
        self.took_input(scope_of(effect));
        true
    }

    /// Takes the end of a skipped sub-flow.
    pub(crate) fn take_sub_flow(&mut self, effect: u32) -> Option<Result<Vec<u8>, FlowError>> {
        let position = self.slots.iter().position(|slot| {
            slot.effect == effect && matches!(slot.state, SlotState::SubFlowEnded(_))
        })?;
        match self.slots.swap_remove(position).state {
            SlotState::SubFlowEnded(result) => Some(result),
            _ => None,
        }
    }

    /// Marks a scope and those above it: their sub-flows' ends stand for journaled inputs.
    fn took_input(&mut self, mut index: u16) {
        while index != 0 {
            let Some(scope) = self.scopes.iter_mut().find(|scope| scope.index == index) else {
                return;
            };
            if scope.took_input {
                return;
            }
            scope.took_input = true;
            index = scope.parent;
        }
    }

    // ---- sessions ----

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

    /// The session that started this responder.
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
        if let Some(Output::Send { message, .. }) = self.outputs.last_mut()
            && index == 0
            && message.session == session
            && message.to_initiator == to_initiator
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

    /// The next message of a session.
    pub(crate) fn receive(&mut self, number: u32) -> Poll<Result<Vec<u8>, FlowError>> {
        match self.sessions.get_mut(&number) {
            Some(state) => state.receive(),
            None => Poll::Ready(Err(no_session())),
        }
    }

    /// The version agreed on.
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

    fn close_sessions(&mut self, which: impl Fn(u32) -> bool, error: Option<Rejection>) {
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

    /// Ends everything: the flow has ended, well or not.
    pub(crate) fn end(&mut self, error: Option<Rejection>) {
        self.close_sessions(|_| true, error);
        self.ended = true;
    }

    /// The session that a message names, if the message comes from its other side.
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

    /// Takes an arriving message; whether the flow has a new input.
    pub(crate) fn arrive(&mut self, number: u32, body: SessionBody) -> bool {
        let limits = self.limits;
        let Some(state) = self.sessions.get_mut(&number) else {
            return false;
        };
        let (peer, session, to_initiator) = (state.peer, state.id, !state.initiated);
        match body {
            SessionBody::Data {
                index,
                payload,
                last,
            } => match state.judge(index, payload.len(), &limits) {
                Arrival::Ignored => return false,
                Arrival::Taken => {
                    if self.replay.is_none() {
                        let row = self.row.get_or_insert_with(RowWriter::new);
                        row.received(number, index, &payload, last);
                    }
                    state.data(index, payload, last);
                }
                Arrival::Overflow => {
                    let index = state.sent;
                    state.end(0, Some(overflow()));
                    self.journal(|row| row.peer_ended(number, 0, Some(&overflow())));
                    let body = SessionBody::End {
                        index,
                        error: Some(overflow()),
                    };
                    self.send_out(
                        peer,
                        SessionMessage {
                            session,
                            to_initiator,
                            body,
                        },
                    );
                }
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

    /// The sessions with the party on the other side, for operators.
    pub(crate) fn session_peers(&self) -> impl Iterator<Item = PartyId> + '_ {
        self.sessions
            .values()
            .filter(|state| !state.closed)
            .map(|state| state.peer)
    }
}

/// Says that this side ended: by the last message of this poll if there is one, else by a message of its own.
fn end_session(outputs: &mut Vec<Output>, state: &SessionState, error: Option<Rejection>) {
    let to_initiator = !state.initiated;
    if error.is_none() {
        let last_sent = outputs.iter_mut().rev().find_map(|output| match output {
            Output::Send { message, .. }
                if message.session == state.id && message.to_initiator == to_initiator =>
            {
                Some(message)
            }
            _ => None,
        });
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

fn no_session() -> FlowError {
    FlowError::listed(&SESSION_ENDED, "the session's sub-flow has ended")
}

/// A journaled result as the flow takes it, once what it refers to has been read.
pub(crate) fn plain_result(outcome: Outcome) -> EffectResult {
    match outcome {
        Outcome::Response(bytes) => EffectResult::Response(bytes),
        Outcome::Done | Outcome::Recorded(_) => EffectResult::Done,
        Outcome::Signature(signature) => EffectResult::Signature(signature),
        Outcome::External(bytes) => EffectResult::External(bytes),
        Outcome::Failed(error) => EffectResult::Failed(FlowError::from_rejection(error)),
        Outcome::Transaction(_) => EffectResult::Transaction(None),
        Outcome::States(_) => EffectResult::States(Vec::new()),
    }
}
