//! What the engine asks its node to do.

use ledger::PartyId;
use primitives::Timestamp;

use crate::{EffectRequest, FlowError, FlowId, SessionMessage, StartRecord};

/// An action of the engine. All actions of a round belong to one batch.
#[derive(Debug)]
pub enum EngineAction {
    /// Carry an effect out and answer with [`complete`](crate::FlowEngine::complete).
    Effect {
        /// The flow that asks.
        flow: FlowId,
        /// The effect's number, the same after a restart.
        effect: u32,
        /// What is asked.
        request: EffectRequest,
    },
    /// The flow no longer waits for an effect.
    Cancel {
        /// The flow.
        flow: FlowId,
        /// The effect.
        effect: u32,
    },
    /// Write a row of a flow's journal.
    Journal {
        /// The flow.
        flow: FlowId,
        /// The row's number, from 0.
        step: u32,
        /// The row.
        row: Vec<u8>,
    },
    /// Delete a flow's journal: rows 0 to `steps`, exclusive. All its effects and locks go with it.
    Forget {
        /// The flow.
        flow: FlowId,
        /// How many rows there are.
        steps: u32,
    },
    /// Send a session message through the outbox.
    SendSession {
        /// To whom.
        peer: PartyId,
        /// What.
        message: SessionMessage,
    },
    /// The flow has ended: release its locks, answer its client.
    Ended {
        /// The flow.
        flow: FlowId,
        /// How it started.
        start: Box<StartRecord>,
        /// Its output, encoded, or its failure.
        outcome: Result<Vec<u8>, FlowError>,
    },
    /// Write the flow's chart beside its journal, under [`CHART_STEP`](crate::CHART_STEP), or delete it.
    Chart {
        /// The flow.
        flow: FlowId,
        /// The chart, encoded.
        row: Option<Vec<u8>>,
    },
    /// The flow failed for the moment: it waits for nothing now, keeps its locks, and is to be loaded and
    /// [retried](crate::FlowEngine::retry) at this time.
    Retrying {
        /// The flow.
        flow: FlowId,
        /// Why.
        reason: FlowError,
        /// When.
        at: Timestamp,
    },
    /// The flow is paused: it waits for nothing now, and keeps its locks.
    Paused {
        /// The flow.
        flow: FlowId,
    },
    /// The flow cannot go on by itself: it waits for nothing now, and keeps its journal and its locks until an operator
    /// retries or kills it.
    Parked {
        /// The flow.
        flow: FlowId,
        /// Why.
        reason: FlowError,
    },
    /// Where a flow is.
    Progress {
        /// The flow.
        flow: FlowId,
        /// The step it has come to.
        step: &'static str,
    },
}
