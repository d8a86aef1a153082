//! Tips of branches that begin with a second block by the forger of our block, and have no more work than ours.

use primitives::Hash;

use crate::core::bounded_set::BoundedSet;
use crate::core::limits::TIED_TIPS_MAX;
use crate::core::part::Part;
use crate::state::Point;

/// The tips that tie with ours. Their peers are not asked for them again until our tip changes.
#[derive(Debug)]
pub(in crate::core) struct TiedTips(BoundedSet);

impl Default for TiedTips {
    fn default() -> Self {
        Self(BoundedSet::new(TIED_TIPS_MAX))
    }
}

impl TiedTips {
    pub(in crate::core) fn contains(&self, tip: &Hash) -> bool {
        self.0.contains(tip)
    }

    pub(in crate::core) fn insert(&mut self, tip: Hash) {
        self.0.insert(tip);
    }
}

impl Part for TiedTips {
    fn tip_moved(&mut self, _: &Point) {
        self.0.clear();
    }
}
