//! Transactions that are in no block: admission to the pool, gossip, reconciliation with peers, and reasons of removal.

mod admit;
mod gossip_batch;
mod intake;
mod local;
mod local_transactions;
mod reconcile;
mod reconciliation;
mod record_removals;
mod relay;
mod removals;

pub(super) use gossip_batch::Relay;
pub(super) use intake::Intake;
pub(super) use local_transactions::LocalTransactions;
pub(super) use reconciliation::Wanted;
pub(super) use removals::LeftRows;
pub use removals::why_left;
