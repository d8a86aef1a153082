//! What the vault needs to know of a state.

use primitives::{Hash, PublicKey, Timestamp};

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
    /// Which flow is to be started when, as long as the state is not consumed.
    pub scheduled: Option<Scheduled>,
}

/// A flow that a state wants started at a time, on every node that keeps the state, with its reference as argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// When; a node that is down or busy then starts it late.
    pub at: Timestamp,
    /// The flow's registered name, at most 128 bytes. A node starts only flows registered as ones that states may schedule.
    pub flow: String,
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
