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

pub(super) use gossip_batch::GossipBatch;
pub(super) use intake::Intake;
pub(super) use local_transactions::LocalTransactions;
pub(super) use reconciliation::PoolReconciliation;
pub(super) use removals::RemovalLog;
pub use removals::removal_reason;
