//! The report of a better branch beyond the rollback limit.

use primitives::Hash;

use crate::Height;
use crate::core::part::Part;
use crate::state::Point;

/// A better branch that forks off beyond the rollback limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeepFork {
    /// Height of the last common block.
    pub common: Height,
    /// The last judged block of the other branch.
    pub other: Hash,
    /// The cumulative work up to that block. The report ends when our own branch has as much.
    pub difficulty: u128,
}

impl Part for Option<DeepFork> {
    /// Ends the report when our own branch has as much work as the reported one.
    fn tip_moved(&mut self, tip: &Point) {
        *self = self.filter(|report| report.difficulty > tip.difficulty);
    }
}
