//! The messages between the coordinator and a party.

use ledger::{OwnershipProof, Party, SignedTransaction, StateRef, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, PublicKey};

use super::arguments::{Resolve, STATES_MAX};
use crate::swap::{Goods, Market, Side};

/// The version of the messages. The coordinator's flow has changed since, but they have not.
pub(super) const CONVERSATION: u32 = 1;

/// Maximum time that a coordinator may have a party wait for its own states, in milliseconds.
pub(super) const DEADLINE_MS_MAX: u64 = 300_000;

/// Maximum size, in bytes, of a transaction that is sent along with a party's states. Larger ones are sent on request, because
/// the coordinator may already have them.
pub(super) const ALONG_BYTES_MAX: usize = 16 << 10;
/// Maximum bytes of transactions in one message; a single larger transaction is allowed.
pub(super) const SHARED_BYTES_MAX: usize = 4 << 20;

/// The coordinator's request to one party: the goods that it gives and gets. Encoded as an array of the fields in their order.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    /// The market, as the party sees it.
    pub(super) market: Market,
    /// The quantity of stock, in whole units.
    pub(super) quantity: u64,
    /// The price of all of it, in minor units.
    pub(super) price: u64,
    /// The notary of all states.
    pub(super) notary: Party,
    /// The states that the party is to give; if empty, the party selects them.
    pub(super) states: Vec<StateRef>,
    /// Whether the party is to receive with fresh keys.
    pub(super) anonymous: bool,
    /// Maximum time that it may wait for states, in milliseconds.
    pub(super) deadline_ms: u64,
    /// How back chains are fetched.
    pub(super) resolve: Resolve,
}

impl Leg {
    /// Returns the goods that the party gives, and their quantity.
    pub(super) fn gives(&self) -> (Goods, u64) {
        match self.market.side {
            Side::Buy => (Goods::Cash(self.market.cash.clone()), self.price),
            Side::Sell => (Goods::Stock(self.market.stock.clone()), self.quantity),
        }
    }

    /// Returns the goods that the party gets, and their quantity.
    pub(super) fn gets(&self) -> (Goods, u64) {
        match self.market.side {
            Side::Buy => (Goods::Stock(self.market.stock.clone()), self.quantity),
            Side::Sell => (Goods::Cash(self.market.cash.clone()), self.price),
        }
    }
}

impl Encode for Leg {
    fn encode(&self, e: &mut Encoder) {
        e.array(8);
        self.market.encode(e);
        e.u64(self.quantity);
        e.u64(self.price);
        self.notary.encode(e);
        self.states.encode(e);
        e.bool(self.anonymous);
        e.u64(self.deadline_ms);
        self.resolve.encode(e);
    }
}

impl Decode for Leg {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(8)?;
        Ok(Self {
            market: Market::decode(d)?,
            quantity: d.u64()?,
            price: d.u64()?,
            notary: Party::decode(d)?,
            states: d.vec_of(STATES_MAX)?,
            anonymous: d.bool()?,
            deadline_ms: d.u64()?,
            resolve: Resolve::decode(d)?,
        })
    }
}

/// A party's contribution: its states, those of their transactions that are sent along, and its fresh keys if any. Encoded as an
/// array of the fields in their order, absent ones null.
#[derive(Clone, Debug)]
pub(super) struct Stake {
    pub(super) states: Vec<StateRef>,
    pub(super) shared: Vec<SignedTransaction>,
    pub(super) receiver: Option<OwnershipProof>,
    pub(super) change_to: Option<PublicKey>,
}

impl Encode for Stake {
    fn encode(&self, e: &mut Encoder) {
        e.array(4);
        self.states.encode(e);
        self.shared.encode(e);
        self.receiver.encode(e);
        self.change_to.encode(e);
    }
}

impl Decode for Stake {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(4)?;
        Ok(Self {
            states: d.vec_of(STATES_MAX)?,
            shared: d.vec_of(STATES_MAX)?,
            receiver: Option::decode(d)?,
            change_to: Option::decode(d)?,
        })
    }
}

/// The coordinator's next message. Encoded as `[0, ids]` or `[1, transaction]`.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// The transactions of the party's states that the coordinator lacks.
    Wanted(Wanted),
    /// The transaction to sign.
    Proposed(SignedTransaction),
}

primitives::variants!(Next { 0 => Wanted(ids), 1 => Proposed(transaction) });

/// Ids of transactions. Encoded as a list.
#[derive(Clone, Debug)]
pub(super) struct Wanted(pub(super) Vec<TxId>);

impl Encode for Wanted {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

impl Decode for Wanted {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(STATES_MAX).map(Self)
    }
}

/// Some of the requested transactions, at least one. Encoded as a list.
#[derive(Clone, Debug)]
pub(super) struct KnownTransactions(pub(super) Vec<SignedTransaction>);

impl Encode for KnownTransactions {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

impl Decode for KnownTransactions {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(STATES_MAX).map(Self)
    }
}
