//! Constraints: which code may decide about a state.

use primitives::{Hash, PublicKey};

use crate::ContractDescriptor;

/// Which contract code may decide about a state. It must be the same on the states that a transaction makes as on those of
/// the same contract that it consumes.
///
/// Encoded as `[0, descriptor hash]`, `[1, key]` or `[2]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constraint {
    /// Exactly the code that the descriptor of this hash names.
    Descriptor(Hash),
    /// Any version of the contract whose descriptor this key has signed.
    SignedBy(PublicKey),
    /// Any code at all. Refused unless the network parameters allow it; meant for tests.
    AlwaysAccept,
}

primitives::variants!(Constraint {
    0 => Descriptor(hash),
    1 => SignedBy(key),
    2 => AlwaysAccept,
});

impl Constraint {
    /// Tells whether this code satisfies the constraint.
    pub fn is_satisfied_by(&self, hash: &Hash, descriptor: &ContractDescriptor) -> bool {
        match self {
            Constraint::Descriptor(wanted) => wanted == hash,
            Constraint::SignedBy(key) => key == descriptor.signer(),
            Constraint::AlwaysAccept => true,
        }
    }

    /// Tells whether a state with this constraint may become one with `next`: only the same, or from always-accept to
    /// anything.
    pub fn may_become(&self, next: &Constraint) -> bool {
        self == next || *self == Constraint::AlwaysAccept
    }
}
