//! Decoding of commercial paper.

use crate::paper::{PaperError, PaperState, paper_name};
use ledger::StateAndRef;
use primitives::Decode;

/// Decodes the paper in a state.
pub(super) fn open(state: &StateAndRef) -> Result<PaperState, PaperError> {
    if state.state.contract != *paper_name() {
        return Err(PaperError::NotAPaper);
    }
    PaperState::from_bytes(&state.state.data).map_err(PaperError::State)
}
