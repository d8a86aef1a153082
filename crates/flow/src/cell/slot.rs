//! The effects of a flow that it has not taken the results of.

use ledger::StateRef;
use primitives::Timestamp;

use crate::pending_effect::WaitsFor;
use crate::{EffectKind, EffectRequest, EffectResult, FlowError};

/// An effect whose result the flow has not taken yet.
pub(super) struct Slot {
    pub(super) effect: u32,
    pub(super) kind: EffectKind,
    pub(super) digest: u64,
    pub(super) irrevocable: bool,
    pub(super) consumed: Vec<StateRef>,
    /// Whether the effect is only the deadline of another wait.
    pub(super) deadline: bool,
    /// The subject of the wait, shown to operators.
    pub(super) on: WaitsFor,
    pub(super) since: Timestamp,
    pub(super) state: SlotState,
}

pub(super) enum SlotState {
    /// Not answered yet. During replay it holds the request, which is issued again when the flow goes live.
    Waiting(Option<Box<EffectRequest>>),
    Answered(EffectResult),
    SubFlowEnded(Result<Vec<u8>, FlowError>),
}
