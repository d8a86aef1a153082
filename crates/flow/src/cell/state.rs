//! The state of the cell, its outputs, and the row of its round.

use std::collections::BTreeMap;

use ledger::PartyId;
use primitives::Timestamp;
use primitives::collections::{HashMap, HashSet};

use super::input::Mark;
use super::scope::Scope;
use super::slot::Slot;
use crate::digest::Digest;
use crate::journal::RowWriter;
use crate::session_state::{KnownSession, SessionState};
use crate::{EffectRequest, FlowId, FlowLimits, SessionMessage};

/// The outputs of a flow in one poll, in order.
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

/// Facts that a replay takes from the journal before the first poll.
pub(crate) struct Replay {
    /// Values that were fixed when an effect was issued.
    pub(crate) facts: HashMap<u32, u64>,
    /// No relative deadline ends before this time, unless all its time has passed since the replay.
    pub(crate) waits_until: Timestamp,
    /// The scope of each sub-flow, by the effect that started it.
    pub(crate) scopes: HashMap<u32, u16>,
    /// The scopes of the sub-flows that ended, and all scopes below them.
    pub(crate) ended: HashSet<u16>,
}

pub(crate) struct Cell {
    pub(super) flow: FlowId,
    pub(super) limits: FlowLimits,
    pub(crate) now: Timestamp,
    pub(crate) replay: Option<Box<Replay>>,
    pub(crate) diverged: Option<String>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) step: Option<&'static str>,
    pub(crate) kill: bool,
    pub(crate) pause: bool,
    /// Whether the flow waited in its last poll for the session that started it.
    pub(crate) awaits_origin: bool,
    /// Whether the flow has asked for a signature of this node.
    pub(super) signed: bool,
    pub(crate) scopes_started: u16,
    pub(super) row: Option<RowWriter>,
    pub(super) slots: Vec<Slot>,
    pub(super) sessions: BTreeMap<u32, SessionState>,
    pub(super) scopes: Vec<Scope>,
    pub(super) asked: Digest,
    pub(super) unsettled: u32,
    /// Scopes of sub-flows that were dropped in this poll.
    pub(super) dropped: Vec<u16>,
    pub(super) ended: bool,
    /// The state of the cell before the last input.
    pub(super) mark: Option<Mark>,
    /// Sessions opened in this poll.
    pub(super) opened: Vec<u32>,
    /// Sessions of sub-flows that ended in this poll.
    pub(super) removed: Vec<KnownSession>,
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
            pause: false,
            awaits_origin: false,
            signed: false,
            scopes_started: 0,
            row: None,
            slots: Vec::new(),
            sessions: BTreeMap::new(),
            scopes: vec![Scope {
                index: 0,
                parent: 0,
                effects: 0,
                deadlines: 0,
                took_input: false,
            }],
            asked: Digest::new(0),
            unsettled: 0,
            dropped: Vec::new(),
            ended: false,
            mark: None,
            opened: Vec::new(),
            removed: Vec::new(),
        }
    }

    // ---- the journal ----

    /// Writes to the row of this round; during replay nothing is written.
    pub(crate) fn journal(&mut self, write: impl FnOnce(&mut RowWriter)) {
        if self.replay.is_none() {
            write(self.row.get_or_insert_with(RowWriter::new));
        }
    }

    /// Takes the finished row of this round, if it has entries.
    pub(crate) fn take_row(&mut self) -> Option<Vec<u8>> {
        let mut row = self.row.take().filter(|row| !row.is_empty())?;
        row.check(self.asked.value());
        Some(row.into_bytes())
    }

    /// Compares the digest at the end of a replayed row with the digest of this run.
    pub(crate) fn check(&mut self, value: u64) {
        if self.asked.value() != value {
            self.diverge("the flow asked for or sent something else than it did before");
        }
    }

    pub(crate) fn diverge(&mut self, reason: impl Into<String>) {
        self.diverged.get_or_insert_with(|| reason.into());
    }

    pub(super) fn note(&mut self, scope: u16, digest: impl FnOnce(Digest) -> Digest) {
        if scope == 0 {
            self.asked = digest(self.asked);
        }
    }

    /// Sets the progress step of the flow and reports it.
    pub(crate) fn progress(&mut self, step: &'static str) {
        self.step = Some(step);
        if self.replay.is_none() {
            self.outputs.push(Output::Progress { step });
        }
    }
}
