//! Session messages from peers: routed to their flow, or to a new responder.

use ledger::PartyId;

use super::actions::EngineAction;
use super::flow_engine::{FlowEngine, Live};
use crate::cell::Input;
use crate::error::SESSION_UNKNOWN;
use crate::journal::ORIGIN_SESSION;
use crate::session_state::overflow;
use crate::{FlowError, FlowId, Origin, SessionBody, SessionId, SessionMessage, StartRecord};
use primitives::{Domain, Hash, Seed};

/// Bytes charged for a message in addition to its payload.
pub(super) const MESSAGE_BYTES: usize = 64;

impl FlowEngine {
    /// Takes a session message from a peer. The messaging layer has ordered and de-duplicated it; the engine does so
    /// again.
    pub fn on_session(
        &mut self,
        peer: PartyId,
        message: SessionMessage,
        out: &mut Vec<EngineAction>,
    ) {
        let SessionMessage {
            session,
            to_initiator,
            body,
        } = message;
        if let SessionBody::Init {
            flow,
            versions,
            first,
        } = body
        {
            if !to_initiator {
                self.open_responder(peer, session, flow, &versions, first, out);
            }
            return;
        }
        let (flow, number) = if to_initiator {
            (session.initiator, session.number)
        } else {
            (FlowId::responder(&peer, &session), ORIGIN_SESSION)
        };
        self.route(flow, number, peer, session, to_initiator, body, out);
    }

    #[allow(clippy::too_many_arguments)]
    fn route(
        &mut self,
        flow: FlowId,
        number: u32,
        peer: PartyId,
        session: SessionId,
        to_initiator: bool,
        body: SessionBody,
        out: &mut Vec<EngineAction>,
    ) {
        self.catch_up(flow, out);
        let has_data = matches!(body, SessionBody::Data { .. });
        let limits = &self.environment.limits;
        // A message without data always finds room; above all, the end of a session must arrive.
        let bytes = match &body {
            SessionBody::Data { payload, .. } => payload.len() + MESSAGE_BYTES,
            _ => 0,
        };
        let has_room = bytes == 0 || self.shares.has_room(&peer, bytes, limits);
        match self.flows.get_mut(&flow) {
            Some(Live::Running(running)) => {
                let mut cell = running.shared.cell();
                if cell.session_from(number, &session, &peer, to_initiator) {
                    let input = if has_room {
                        let taken = cell.arrive(number, body);
                        if taken && bytes > 0 {
                            self.shares.receive(flow, peer, bytes);
                        }
                        taken
                    } else {
                        let error = self.shares.refuse(peer, limits);
                        cell.break_session(number, error.to_rejection())
                    };
                    drop(cell);
                    if input {
                        self.make_ready(flow);
                    }
                    return;
                }
            }
            Some(Live::Parked(parked)) => {
                let known = parked.sessions.iter().any(|known| {
                    known.number == number
                        && known.id == session
                        && known.peer == peer
                        && known.initiated == to_initiator
                });
                if known {
                    if !has_room {
                        let error = self.shares.refuse(peer, limits);
                        out.push(refusal(peer, session, to_initiator, error));
                    } else if parked.keep(number, body, limits.parked_bytes_max) {
                        if bytes > 0 {
                            self.shares.receive(flow, peer, bytes);
                        }
                        if !self.touched.contains(&flow) {
                            self.touched.push(flow);
                        }
                    } else {
                        out.push(refusal(peer, session, to_initiator, overflow_error()));
                    }
                    return;
                }
            }
            Some(Live::Loaded(_)) | None => {}
        }
        if has_data {
            let error =
                FlowError::listed(&SESSION_UNKNOWN, "this node knows nothing of the session");
            out.push(refusal(peer, session, to_initiator, error));
        }
    }

    fn open_responder(
        &mut self,
        peer: PartyId,
        session: SessionId,
        flow: String,
        versions: &[u32],
        first: Option<Vec<u8>>,
        out: &mut Vec<EngineAction>,
    ) {
        let id = FlowId::responder(&peer, &session);
        if self.flows.contains_key(&id) {
            return;
        }
        let room = self.shares.check_open(peer, &self.environment.limits);
        let version = room.and_then(|()| self.registry.negotiate(&flow, versions));
        let started = version.and_then(|version| {
            let record = StartRecord {
                id,
                flow,
                version,
                args: Vec::new(),
                seed: self.responder_seed(&id),
                at: self.now,
                origin: Some(Origin { peer, session }),
                caller: Vec::new(),
            };
            Ok((version, self.make(record)?))
        });
        let (version, running) = match started {
            Ok(started) => started,
            Err(error) => {
                out.push(refusal(peer, session, false, error));
                return;
            }
        };
        {
            let mut cell = running.shared.cell();
            cell.journal(|row| row.start(&running.start));
            cell.begin(Input::Start);
            if versions.len() > 1 {
                cell.confirm_version(version);
            }
        }
        self.shares.open(id, peer);
        self.insert(running);
        self.make_ready(id);
        if let Some(payload) = first {
            let body = SessionBody::Data {
                index: 0,
                payload,
                last: false,
            };
            self.route(id, ORIGIN_SESSION, peer, session, false, body, out);
        }
    }

    /// Derives the seed of a responder. It cannot be predicted without this node's secret.
    fn responder_seed(&self, id: &FlowId) -> Seed {
        let parts: [&[u8]; 3] = [
            b"responder seed",
            self.environment.secret.expose(),
            id.as_bytes(),
        ];
        Seed::new(*Hash::of(Domain::Derive, &parts).as_bytes())
    }
}

fn overflow_error() -> FlowError {
    FlowError::from_rejection(overflow())
}

/// Tells the other side of a session that no flow here answers it (any more).
fn refusal(
    peer: PartyId,
    session: SessionId,
    to_initiator: bool,
    error: FlowError,
) -> EngineAction {
    let body = SessionBody::End {
        index: 0,
        error: Some(error.for_counterparty()),
    };
    // The answer goes in the opposite direction.
    let message = SessionMessage {
        session,
        to_initiator: !to_initiator,
        body,
    };
    EngineAction::SendSession { peer, message }
}
