//! What the vault needs to know of a state.

use primitives::{Hash, PublicKey};

use crate::{Party, TokenId};

/// What a contract says of one of its states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFacts {
    /// Whom the state concerns: they receive it and keep it.
    pub participants: Vec<PublicKey>,
    /// Who can spend it.
    pub owner: Option<PublicKey>,
    /// What it is worth, if it is fungible.
    pub fungible: Option<Fungible>,
    /// What it is a version of, if it has a history of its own.
    pub linear_id: Option<Hash>,
}

/// A quantity of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fungible {
    /// Which token: quantities of the same one add up.
    pub token: TokenId,
    /// Its name for people, such as `GBP`.
    pub symbol: String,
    /// Who issued it, as the state says: anybody can write any name, and only the key is proved.
    pub issuer: Party,
    /// How much, in minor units.
    pub quantity: u64,
}
