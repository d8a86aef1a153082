//! Checks of this node's data against the observations of other nodes: consumed states, contradictory notaries, older copies.

mod consumed;
mod equivocations;
mod lives;
pub(crate) mod quarantine;
mod recovery;
mod rollback;
mod standing;
mod start_gate;
mod state;

pub(crate) use consumed::ConsumedIndex;
pub use consumed::FILL_ROWS_MAX;
pub(crate) use equivocations::Equivocations;
pub use equivocations::{EQUIVOCATION_BYTES_MAX, EQUIVOCATIONS_MAX, EquivocationRow};
pub(crate) use lives::Lives;
pub use lives::{LIVES_KEPT_MAX, LIVES_SKIPPED, MARK_EVERY_MS};
pub(crate) use recovery::is_recovery;
pub use recovery::{
    IntegrityOrder, IntegrityReport, LOST_KEYS_MAX, PeerProgress, PeerRecovery,
    RECOVERED_LISTED_MAX, RECOVERY_PAUSE_MS, RECOVERY_ROWS_MAX, Recovery,
};
pub use rollback::{Evidence, RollbackRow};
pub use standing::{MARKED_AT_ONCE_MAX, STANDING_WAIT_MS};
pub(crate) use start_gate::StartGate;
pub use start_gate::{AWAITED_SHOWN_MAX, HeldFlows, NOTARY_MEETS_MS_MAX};
pub(crate) use state::Integrity;
pub use state::LinkFinding;
