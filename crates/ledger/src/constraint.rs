//! Constraints: the rules for the code that may govern a state.

use primitives::{Hash, PublicKey};

use crate::ContractDescriptor;

/// The rule for the contract code that may govern a state, that is, accept or refuse a transaction that consumes it. An
/// output's constraint must equal those of all inputs with the same contract. Only [`AlwaysAccept`](Self::AlwaysAccept) may
/// become another constraint.
///
/// Encoded as `[0, descriptor hash]`, `[1, key]` or `[2]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constraint {
    /// Exactly the code that the descriptor with this hash names.
    Descriptor(Hash),
    /// Any version of the contract whose descriptor this key has signed.
    SignedBy(PublicKey),
    /// Any code. Refused unless the network parameters allow it; meant for tests.
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

    /// Tells whether a state with this constraint may be replaced by one with the constraint `next`: if the two are equal, or
    /// if this one is [`AlwaysAccept`](Self::AlwaysAccept).
    pub fn may_become(&self, next: &Constraint) -> bool {
        self == next || *self == Constraint::AlwaysAccept
    }
}
