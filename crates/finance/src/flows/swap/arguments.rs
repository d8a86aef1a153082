//! The arguments and the result of `swap.run`.

use flow::Fetching;
use flow::library::Turns;
use ledger::{LegalName, StateRef, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::TokenArgs;
use crate::flows::stock::StockArgs;

/// Maximum number of states that one party gives.
pub const STATES_MAX: usize = 64;

/// Maximum number of pairs in one swap.
pub const PAIRS_MAX: usize = 5;

/// How the parties' back chains are fetched. Encoded as `[0]` or `[1]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resolve {
    /// The answer of a party includes the transactions of its states, and missing ancestors are fetched many at a time.
    #[default]
    Bulk,
    /// No answer includes transactions, and each missing transaction is fetched with its own request. For comparison.
    Single,
}

primitives::variants!(Resolve { 0 => Bulk, 1 => Single });

impl Resolve {
    pub(super) fn fetching(self) -> Fetching {
        match self {
            Resolve::Bulk => Fetching::InBulk,
            Resolve::Single => Fetching::OneByOne,
        }
    }
}

/// A pair: one party pays, the other gives stock. Encoded as an array of the fields in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The party that pays and gets the stock.
    pub buyer: LegalName,
    /// The party that gives the stock and gets the cash.
    pub seller: LegalName,
    /// The cash.
    pub cash: TokenArgs,
    /// The price of all of the stock, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub price: u64,
    /// The stock.
    pub stock: StockArgs,
    /// The quantity of stock, in whole units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The states that the buyer gives, at most 64; if left out or empty, the buyer selects them.
    #[serde(default)]
    pub cash_states: Vec<StateRef>,
    /// The states that the seller gives, at most 64; if left out or empty, the seller selects them.
    #[serde(default)]
    pub stock_states: Vec<StateRef>,
}

impl Encode for Exchange {
    fn encode(&self, e: &mut Encoder) {
        e.array(8);
        self.buyer.encode(e);
        self.seller.encode(e);
        self.cash.encode(e);
        e.u64(self.price);
        self.stock.encode(e);
        e.u64(self.quantity);
        self.cash_states.encode(e);
        self.stock_states.encode(e);
    }
}

impl Decode for Exchange {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(8)?;
        Ok(Self {
            buyer: Decode::decode(d)?,
            seller: Decode::decode(d)?,
            cash: Decode::decode(d)?,
            price: d.u64()?,
            stock: Decode::decode(d)?,
            quantity: d.u64()?,
            cash_states: d.vec_of(STATES_MAX)?,
            stock_states: d.vec_of(STATES_MAX)?,
        })
    }
}

/// Arguments of `swap.run`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwapArgs {
    /// The pairs, 1 to 5; no party may occur twice.
    pub pairs: Vec<Exchange>,
    /// The notary of everything exchanged; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Whether fresh keys are used. Exchanged states then go to fresh keys that their owners prove only to this node, and change
    /// to fresh keys of the giving parties. If left out, all go to the keys that the network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
    /// Maximum time that a party waits for states that its other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Whether the parties are contacted all at once (`parallel`, the default) or one after the other (`sequential`).
    #[serde(default)]
    pub sessions: Option<Turns>,
    /// Whether missing transactions are fetched in `bulk` (the default) or individually (`single`).
    #[serde(default)]
    pub resolution: Option<Resolve>,
}

impl Encode for SwapArgs {
    fn encode(&self, e: &mut Encoder) {
        e.array(6);
        self.pairs.encode(e);
        self.notary.encode(e);
        self.anonymous.encode(e);
        self.deadline_ms.encode(e);
        self.sessions.encode(e);
        self.resolution.encode(e);
    }
}

impl Decode for SwapArgs {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(6)?;
        Ok(Self {
            pairs: d.vec_of(PAIRS_ENCODED_MAX)?,
            notary: Option::decode(d)?,
            anonymous: Option::decode(d)?,
            deadline_ms: Option::decode(d)?,
            sessions: Option::decode(d)?,
            resolution: Option::decode(d)?,
        })
    }
}

/// Maximum number of pairs that decode, so that the flow itself refuses a few too many, with its own code.
const PAIRS_ENCODED_MAX: usize = 64;

/// The new states of a pair. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExchangeResult {
    /// The cash, now the seller's.
    pub cash: StateRef,
    /// The stock, now the buyer's.
    pub stock: StateRef,
    /// The change of the buyer's cash.
    pub cash_change: Option<StateRef>,
    /// The change of the seller's stock.
    pub stock_change: Option<StateRef>,
}

primitives::record!(ExchangeResult {
    cash,
    stock,
    cash_change,
    stock_change
});

/// The result of `swap.run`. Encoded as `[transaction, pairs]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwapResult {
    /// The transaction.
    pub transaction: TxId,
    /// The new states, pair by pair in the order of the arguments.
    pub pairs: Vec<ExchangeResult>,
}

impl Encode for SwapResult {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.transaction.encode(e);
        self.pairs.encode(e);
    }
}

impl Decode for SwapResult {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok(Self {
            transaction: TxId::decode(d)?,
            pairs: d.vec_of(PAIRS_MAX)?,
        })
    }
}
