//! Ends idle sessions: a session that a peer opened and then left silent ends with a code.
//!
//! # Invariants
//! - Only a responder that waits for the peer that opened its session is ended. A wait for an effect (a person's approval, a
//!   back chain, a time) or for another party is not limited.
//! - A responder that has signed something is left alone. Its transaction may still be notarised, so its locks must not be
//!   released.

use primitives::Monotonic;

use super::flow_engine::{FlowEngine, Live};
use crate::error::SESSION_IDLE;
use crate::journal::ORIGIN_SESSION;
use crate::{FlowError, FlowId};

/// Maximum number of responders examined in one call.
const LOOKS_MAX: usize = 256;

impl FlowEngine {
    /// Returns the next time at which [`end_idle`](FlowEngine::end_idle) has work to do.
    pub fn next_idle(&self) -> Option<Monotonic> {
        self.shares.next_look()
    }

    /// Ends sessions whose peers have been silent for too long, at most `LOOKS_MAX` per call; further calls end the rest.
    pub fn end_idle(&mut self) {
        for _ in 0..LOOKS_MAX {
            let Some(flow) = self.shares.due(self.monotonic) else {
                return;
            };
            // A responder that does not wait for its peer is scheduled again once it does.
            let since = self.waits_for_peer_since(&flow);
            let deadline = since.and_then(|since| self.idle_after(since));
            match deadline.filter(|deadline| *deadline <= self.monotonic) {
                Some(_) => self.end_silent(flow),
                None => self.shares.look_at(flow, deadline),
            }
        }
    }

    /// Schedules a check of a responder that took a step and now waits for its peer. One scheduled check is enough, even if
    /// the responder takes further steps before it.
    pub(super) fn watch_silence(&mut self, flow: FlowId) {
        if !self.shares.is_looked_at(&flow)
            && let Some(since) = self.waits_for_peer_since(&flow)
        {
            let deadline = self.idle_after(since);
            self.shares.look_at(flow, deadline);
        }
    }

    /// Returns the time at which a peer's silence is too long.
    fn idle_after(&self, since: Monotonic) -> Option<Monotonic> {
        let at = since.plus_ms(self.environment.limits.responder_idle_ms);
        // The maximal reading of the clock means never.
        at.filter(|at| *at < Monotonic::MAX)
    }

    /// Returns the time since which a responder has waited for the peer that opened its session, and for nothing else.
    fn waits_for_peer_since(&self, flow: &FlowId) -> Option<Monotonic> {
        match self.flows.get(flow)? {
            Live::Running(running)
                if !running.ready && running.shared.cell().waits_for_origin() =>
            {
                Some(running.stepped)
            }
            _ => None,
        }
    }

    fn end_silent(&mut self, flow: FlowId) {
        self.shares.look_at(flow, None);
        let Some(Live::Running(running)) = self.flows.get(&flow) else {
            return;
        };
        if let Some(origin) = running.start.origin {
            self.shares.note_idle(origin.peer);
        }
        let text = format!(
            "nothing came for {} ms on a session that the other side opened",
            self.environment.limits.responder_idle_ms
        );
        let error = FlowError::listed(&SESSION_IDLE, text);
        running
            .shared
            .cell()
            .break_session(ORIGIN_SESSION, error.to_rejection());
        self.make_ready(flow);
    }
}
