//! The number of a chain.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a chain: the parent or a child. The genesis lists the chains that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChainId(pub u8);

impl ChainId {
    /// The parent chain, which runs consensus and holds the forging token.
    pub const PARENT: Self = Self(1);

    /// Returns whether this is a child chain's number.
    #[must_use]
    pub fn is_child(self) -> bool {
        self.0 > Self::PARENT.0
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
