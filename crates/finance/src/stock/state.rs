//! Stock: a quantity of an issuer's symbol, and its owner.

use ledger::{Party, TokenId};
use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, PublicKey};

use super::Symbol;

/// The name of the stock contract.
pub const STOCK_NAME: &str = "tally.stock";

/// The token of stock: its issuer and the issuer's symbol. Encoded as `[issuer, symbol]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StockToken {
    /// The issuer.
    pub issuer: Party,
    /// The issuer's symbol.
    pub symbol: Symbol,
}

primitives::record!(StockToken { issuer, symbol });

impl StockToken {
    /// Returns the token's id: `Hash::of(TokenId, [encoding of ["tally.stock", token]])`.
    pub fn id(&self) -> TokenId {
        token_id(&self.to_bytes())
    }
}

/// Returns the id of an encoded token.
pub(super) fn token_id(token: &[u8]) -> TokenId {
    let mut prefix = Encoder::with_capacity(16);
    prefix.array(2);
    prefix.text(STOCK_NAME);
    TokenId::from_hash(Hash::of(Domain::TokenId, &[prefix.as_bytes(), token]))
}

/// The data of a stock state. Encoded as `[token, quantity, owner]`; the quantity is at least 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockState {
    /// The token.
    pub token: StockToken,
    /// The quantity, in whole units.
    pub quantity: u64,
    /// The key that may pass it on.
    pub owner: PublicKey,
}

impl Encode for StockState {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        self.token.encode(e);
        self.quantity.encode(e);
        self.owner.encode(e);
    }
}

impl Decode for StockState {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let parts = StockParts::decode(d)?;
        Ok(Self {
            token: StockToken::from_bytes(parts.token)?,
            quantity: parts.quantity,
            owner: parts.owner,
        })
    }
}

/// A stock state whose token is still encoded. Equal bytes are equal tokens, because the encoding is canonical.
pub(super) struct StockParts<'a> {
    pub(super) token: &'a [u8],
    pub(super) quantity: u64,
    pub(super) owner: PublicKey,
}

impl<'a> StockParts<'a> {
    pub(super) fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::new(data);
        let parts = Self::decode(&mut d)?;
        d.finish()?;
        Ok(parts)
    }

    fn decode(d: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        let token = d.raw()?;
        let quantity = d.u64()?;
        if quantity == 0 {
            return Err(d.invalid("a stock state has a quantity of at least 1"));
        }
        Ok(Self {
            token,
            quantity,
            owner: PublicKey::decode(d)?,
        })
    }
}

/// A command to the stock contract. Encoded as `[0, token, quantity]`, `[1]` or `[2, token, quantity]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StockCommand {
    /// Issues stock; the issuer signs.
    Issue {
        /// The token.
        token: TokenId,
        /// The quantity, in whole units.
        quantity: u64,
    },
    /// Passes stock on; the owners of the stock consumed sign.
    Move,
    /// Exits stock: takes it out of circulation. The issuer and the owners of the stock consumed sign.
    Exit {
        /// The token.
        token: TokenId,
        /// The quantity, in whole units.
        quantity: u64,
    },
}

primitives::variants!(StockCommand {
    0 => Issue { token, quantity },
    1 => Move,
    2 => Exit { token, quantity },
});
