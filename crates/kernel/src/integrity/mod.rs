//! Checks of this node's data against what others have seen: consumed states, contradictory notaries, older copies of data.

mod consumed;
mod equivocations;

pub(crate) use consumed::ConsumedIndex;
pub use consumed::FILL_ROWS_MAX;
pub(crate) use equivocations::Equivocations;
pub use equivocations::{EQUIVOCATION_BYTES_MAX, EQUIVOCATIONS_MAX, EquivocationRow};
