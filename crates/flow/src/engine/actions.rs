//! Actions: the engine's instructions to its node.

use std::collections::BTreeSet;

use ledger::PartyId;
use primitives::Timestamp;

use crate::{EffectRequest, FlowError, FlowId, SessionMessage, StartRecord};

/// An action of the engine. All actions of a round belong to one batch.
#[derive(Debug)]
pub enum EngineAction {
    /// Carry an effect out and answer with [`complete`](crate::FlowEngine::complete).
    Effect {
        /// The flow that issued it.
        flow: FlowId,
        /// The effect's number, the same after a restart.
        effect: u32,
        /// The request.
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
    /// Delete a flow's journal: rows 0 to `steps`, exclusive. Its effects end and its locks are released.
    Forget {
        /// The flow.
        flow: FlowId,
        /// The number of rows.
        steps: u32,
    },
    /// Send a session message through the outbox.
    SendSession {
        /// The receiving peer.
        peer: PartyId,
        /// The message.
        message: SessionMessage,
    },
    /// The flow has ended: release its locks and answer its client.
    Ended {
        /// The flow.
        flow: FlowId,
        /// The start record of the flow. `None` if its journal cannot be read; such a flow was killed.
        start: Option<Box<StartRecord>>,
        /// The other parties of all its sessions, in order of their ids.
        peers: BTreeSet<PartyId>,
        /// Its output, encoded, or its failure.
        outcome: Result<Vec<u8>, FlowError>,
    },
    /// Write the flow's chart next to its journal, under [`CHART_STEP`](crate::CHART_STEP), or delete it.
    Chart {
        /// The flow.
        flow: FlowId,
        /// The encoded chart; `None` deletes it.
        row: Option<Vec<u8>>,
    },
    /// The flow had a transient failure. It waits for nothing now, keeps its locks, and must be loaded and
    /// [retried](crate::FlowEngine::retry) at this time.
    Retrying {
        /// The flow.
        flow: FlowId,
        /// The failure.
        reason: FlowError,
        /// The time of the retry.
        at: Timestamp,
    },
    /// The flow is paused. It waits for nothing now and keeps its locks.
    Paused {
        /// The flow.
        flow: FlowId,
    },
    /// The flow cannot continue without an operator. It waits for nothing, and keeps its journal and its locks until an operator
    /// retries or kills it.
    Parked {
        /// The flow.
        flow: FlowId,
        /// The reason.
        reason: FlowError,
    },
    /// The progress of a flow.
    Progress {
        /// The flow.
        flow: FlowId,
        /// The step that it has reached.
        step: &'static str,
    },
}
