//! Flows whose journals have been read.

use ledger::StateRef;

use crate::error::JOURNAL_UNREADABLE;
use crate::hospital::Chart;
use crate::journal::{Entry, ORIGIN_SESSION};
use crate::session_state::KnownSession;
use crate::{FlowError, FlowId, SessionId, StartRecord};

/// The contents of a journal that are needed before its flow runs.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The start record, if it can be read.
    pub start: Option<StartRecord>,
    /// The states it selected and has not consumed. They stay locked, even if the flow is parked.
    pub locked: Vec<StateRef>,
    /// The reason why it will be parked, if that is known already.
    pub unreadable: Option<FlowError>,
}

/// A flow whose journal has been read.
pub(super) struct LoadedFlow {
    pub(super) start: Option<StartRecord>,
    pub(super) rows: Vec<Vec<Entry>>,
    /// Messages that arrived while the flow was parked, to be run after the rows.
    pub(super) deferred: Vec<Entry>,
    pub(super) row_count: u32,
    pub(super) sessions: Vec<KnownSession>,
    pub(super) unreadable: Option<FlowError>,
    pub(super) chart: Option<Box<Chart>>,
}

impl LoadedFlow {
    pub(super) fn take_start(&mut self, flow: FlowId) {
        if let Some(Entry::Start(start)) = self.rows.first().and_then(|row| row.first())
            && start.id == flow
        {
            self.start = Some((**start).clone());
        } else if self.unreadable.is_none() {
            let text = "the first row does not begin with this flow's start record";
            self.unreadable = Some(FlowError::listed(&JOURNAL_UNREADABLE, text));
        }
    }

    pub(super) fn find_sessions(&mut self, flow: FlowId) {
        if let Some(origin) = self.start.as_ref().and_then(|start| start.origin) {
            let (id, peer) = (origin.session, origin.peer);
            self.sessions.push(KnownSession {
                number: ORIGIN_SESSION,
                id,
                peer,
                initiated: false,
            });
        }
        for entry in self.rows.iter().flatten() {
            if let Entry::Opened {
                session: number,
                peer,
            } = entry
            {
                let id = SessionId {
                    initiator: flow,
                    number: *number,
                };
                let (number, peer) = (*number, *peer);
                self.sessions.push(KnownSession {
                    number,
                    id,
                    peer,
                    initiated: true,
                });
            }
        }
    }
}
