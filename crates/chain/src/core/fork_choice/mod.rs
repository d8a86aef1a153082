//! The choice of the branch: its rules, reorgs, equivocation, and forks beyond the rollback limit.

mod deep_fork;
mod equivocation;
mod evidence;
mod first_headers;
mod reorg;
mod reorganise;
mod report_deep_fork;
mod rules;
mod tied_tips;

pub use deep_fork::DeepFork;
pub(super) use evidence::Evidence;
pub use evidence::{EVIDENCE_CURSOR_BYTES, Equivocation, equivocations};
pub(super) use first_headers::FirstHeaders;
pub(super) use reorg::{Reorg, ReorgBlock, ReorgCause};
pub(super) use tied_tips::TiedTips;
