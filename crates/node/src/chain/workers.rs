//! The workers of the chain's core.

use primitives::{CheckPortion, CheckWorkers, CheckedPortion};
use runtime::WorkerPool;

/// Checks signatures on the core's own thread and on those of the pool.
pub(super) struct ChainWorkers(pub(super) WorkerPool<CheckPortion, CheckedPortion>);

impl CheckWorkers for ChainWorkers {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn check(&self, portions: Vec<CheckPortion>) -> Vec<CheckedPortion> {
        self.0.run(portions)
    }
}
