//! The number of a transaction in the intake.

/// The number of an item. No two items of a process have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u64);
