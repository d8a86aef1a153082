//! What the coordinator and a party say to each other.

use ledger::{OwnershipProof, Party, SignedTransaction, StateRef, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, PublicKey};

use super::Resolve;
use crate::swap::{Goods, Market, Side};

/// Most states that one party gives.
pub const STATES_MAX: usize = 64;
/// Transactions up to this size in bytes go along with what a party gives; larger ones are sent when they are asked for, for the
/// coordinator may well have them.
pub(super) const ALONG_BYTES_MAX: usize = 16 << 10;
/// Bytes of transactions in one message, but for one larger transaction.
pub(super) const SHARED_BYTES_MAX: usize = 4 << 20;

/// What one party gives and gets, as the coordinator asks for it. Encoded as an array of the fields in their order.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    /// What for what, as the party sees it.
    pub(super) market: Market,
    /// Units of stock.
    pub(super) quantity: u64,
    /// Minor units of cash for all of it.
    pub(super) price: u64,
    /// The notary of all of it.
    pub(super) notary: Party,
    /// Which states the party is to give; none, if it selects them.
    pub(super) states: Vec<StateRef>,
    /// Whether the party is to get what it gets with fresh keys.
    pub(super) anonymous: bool,
    /// How long it may wait for states, in milliseconds.
    pub(super) deadline_ms: u64,
    /// How back chains are fetched.
    pub(super) resolve: Resolve,
}

impl Leg {
    /// What the party gives, and how much.
    pub(super) fn gives(&self) -> (Goods, u64) {
        match self.market.side {
            Side::Buy => (Goods::Cash(self.market.cash.clone()), self.price),
            Side::Sell => (Goods::Stock(self.market.stock.clone()), self.quantity),
        }
    }

    /// What it gets, and how much.
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

/// What a party gives: its states, the transactions that made them as far as they go along, and its keys where they are fresh.
/// Encoded as an array of the fields in their order, absent ones null.
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

/// What the coordinator says next. Encoded as `[0, ids]` or `[1, transaction]`.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// These transactions, which made what the party gives, are not known to the coordinator.
    Wanted(Wanted),
    /// This is the transaction to sign.
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

/// Some of the transactions asked for, one at least. Encoded as a list.
#[derive(Clone, Debug)]
pub(super) struct Shared(pub(super) Vec<SignedTransaction>);

impl Encode for Shared {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

impl Decode for Shared {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(STATES_MAX).map(Self)
    }
}
