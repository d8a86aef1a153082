//! A mandate: the swaps that a coordinator may settle for a party.

use ledger::{Party, PartyId};
use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SwapError;
use crate::IssuedToken;
use crate::stock::StockToken;

/// The name of the contract of mandates.
pub const MANDATE_NAME: &str = "tally.mandate";

/// A party's side of a pair. Encoded as `[0]` or `[1]`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Gives cash, gets stock.
    Buy,
    /// Gives stock, gets cash.
    Sell,
}

primitives::variants!(Side { 0 => Buy, 1 => Sell });

impl Side {
    /// Returns its name in arguments.
    pub fn name(self) -> &'static str {
        match self {
            Side::Buy => "buy",
            Side::Sell => "sell",
        }
    }
}

/// The goods to exchange and the party's side. Encoded as `[side, cash, stock]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Market {
    /// The party's side.
    pub side: Side,
    /// The cash.
    pub cash: IssuedToken,
    /// The stock.
    pub stock: StockToken,
}

primitives::record!(Market { side, cash, stock });

impl Market {
    /// Returns the linear id of a party's mandates to a coordinator on this market: `Hash::of(Derive, ["tally.mandate", owner's
    /// party id, coordinator's party id, side's number, id of the cash, id of the stock])`. Only the owner can make a state with
    /// that id, because it signs each one.
    pub fn mandate_id(&self, owner: &PartyId, coordinator: &PartyId) -> Hash {
        let side = [self.side as u8];
        let (cash, stock) = (self.cash.id(), self.stock.id());
        let parts: [&[u8]; 6] = [
            MANDATE_NAME.as_bytes(),
            owner.as_bytes(),
            coordinator.as_bytes(),
            &side,
            cash.as_bytes(),
            stock.as_bytes(),
        ];
        Hash::of(Domain::Derive, &parts)
    }
}

/// The data of a mandate. Encoded as `[owner, coordinator, market, price, quantity_max, until]`, `until` null if it does not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mandate {
    /// The party that gives its states.
    pub owner: Party,
    /// The coordinator that may propose such swaps.
    pub coordinator: Party,
    /// The market.
    pub market: Market,
    /// The limit price in minor units of cash per unit of stock: a buyer's maximum, a seller's minimum.
    pub price: u64,
    /// The maximum quantity of stock in one swap, in whole units.
    pub quantity_max: u64,
    /// The end of the mandate; `None` if it stands until it is revoked.
    pub until: Option<Timestamp>,
}

impl Encode for Mandate {
    fn encode(&self, e: &mut Encoder) {
        e.array(6);
        self.owner.encode(e);
        self.coordinator.encode(e);
        self.market.encode(e);
        e.u64(self.price);
        e.u64(self.quantity_max);
        self.until.encode(e);
    }
}

impl Decode for Mandate {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(6)?;
        let mandate = Self {
            owner: Party::decode(d)?,
            coordinator: Party::decode(d)?,
            market: Market::decode(d)?,
            price: d.u64()?,
            quantity_max: d.u64()?,
            until: Option::decode(d)?,
        };
        if mandate.price == 0 || mandate.quantity_max == 0 {
            return Err(d.invalid("a mandate has a price and a quantity of at least 1"));
        }
        Ok(mandate)
    }
}

impl Mandate {
    /// Returns the linear id.
    pub fn id(&self) -> Hash {
        let (owner, coordinator) = (self.owner.name.party_id(), self.coordinator.name.party_id());
        self.market.mandate_id(&owner, &coordinator)
    }

    /// Checks that it allows the exchange of this quantity of stock for this price at this time.
    ///
    /// # Errors
    /// `swap.mandate_ended`, `swap.over_mandate`.
    pub fn allows(&self, quantity: u64, price: u64, now: Timestamp) -> Result<(), SwapError> {
        if let Some(until) = self.until.filter(|until| now >= *until) {
            return Err(SwapError::Ended(until));
        }
        let limit = u128::from(self.price) * u128::from(quantity);
        let fair = match self.market.side {
            Side::Buy => u128::from(price) <= limit,
            Side::Sell => u128::from(price) >= limit,
        };
        if quantity == 0 || price == 0 || quantity > self.quantity_max || !fair {
            return Err(SwapError::OverMandate { quantity, price });
        }
        Ok(())
    }
}

/// A command to the contract of mandates. Encoded as `[0]` or `[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MandateCommand {
    /// Makes mandates; their owners sign.
    Give,
    /// Ends mandates; their owners sign.
    Revoke,
}

primitives::variants!(MandateCommand { 0 => Give, 1 => Revoke });
