//! Parties: a legal name and the key that signs for it.

use std::fmt;

use primitives::{Domain, Hash, PublicKey};

use crate::{LegalName, PartyId};

/// A party of the network. Encoded as `[legal name, key]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Party {
    /// Its legal name.
    pub name: LegalName,
    /// The key of its signatures.
    pub key: PublicKey,
}

primitives::record!(Party { name, key });

impl Party {
    /// Makes a party.
    pub fn new(name: LegalName, key: PublicKey) -> Self {
        Self { name, key }
    }

    /// Returns the party's id.
    pub fn id(&self) -> PartyId {
        self.name.party_id()
    }
}

impl LegalName {
    /// Returns the id of the party of this name: `Hash::of(PartyId, [canonical name])`.
    pub fn party_id(&self) -> PartyId {
        PartyId::from_hash(Hash::of(Domain::PartyId, &[self.as_str().as_bytes()]))
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.name, f)
    }
}
