//! The flows of commercial paper.

mod issue;
mod pass;
mod redeem;

pub use issue::{IssuePaper, IssuePaperArgs};
pub use pass::{MovePaper, MovePaperArgs};
pub use redeem::{HoldsPaper, RedeemPaper, RedeemPaperArgs};

use ledger::StateAndRef;
use primitives::Decode;

use crate::paper::{PaperError, PaperState, paper_name};

/// Decodes the paper in a state.
fn open(state: &StateAndRef) -> Result<PaperState, PaperError> {
    if state.state.contract != *paper_name() {
        return Err(PaperError::NotAPaper);
    }
    PaperState::from_bytes(&state.state.data).map_err(PaperError::State)
}
