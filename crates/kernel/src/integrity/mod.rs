//! Checks of this node's data against the observations of other nodes: consumed states, contradictory notaries, older copies.

mod conflicts;
pub(crate) mod consumed;
pub(crate) mod contradictions;
pub(crate) mod equivocations;
mod evidence;
mod link_finding;
mod lives;
mod mark_turns;
mod on_command;
mod recovery;
mod report;
mod rollback;
mod search_turns;
mod standing;
mod state;
pub(crate) mod views;

pub use crate::flows::start_gate::{AWAITED_SHOWN_MAX, HeldFlows, NOTARY_MEETS_MS_MAX};
pub use consumed::FILL_ROWS_MAX;
pub use equivocations::{EQUIVOCATION_BYTES_MAX, EQUIVOCATIONS_MAX, EquivocationRow};
pub use evidence::{Evidence, RollbackRow};
pub use link_finding::LinkFinding;
pub(crate) use lives::Lives;
pub use lives::{LIVES_KEPT_MAX, LIVES_SKIPPED};
pub use mark_turns::{MARK_EVERY_MS, MARKED_AT_ONCE_MAX};
pub(crate) use recovery::is_recovery;
pub use recovery::{LOST_KEYS_MAX, RECOVERY_ROWS_MAX};
pub use report::{
    IntegrityOrder, IntegrityReport, PeerProgress, PeerRecovery, RECOVERED_LISTED_MAX, Recovery,
};
pub use search_turns::RECOVERY_PAUSE_MS;
pub(crate) use state::Integrity;
pub use state::STANDING_WAIT_MS;
