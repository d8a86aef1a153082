//! Cash: a quantity of an issued token, and its owner.

use ledger::{Party, TokenId};
use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, PublicKey};

use crate::{Currency, Reference};

/// The name of the cash contract.
pub const CASH_NAME: &str = "tally.cash";

/// The token of cash: a currency, owed by an issuer, under a reference. Encoded as `[issuer, reference, currency]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssuedToken {
    /// The party that owes it.
    pub issuer: Party,
    /// The issuer's reference.
    pub reference: Reference,
    /// The currency.
    pub currency: Currency,
}

primitives::record!(IssuedToken {
    issuer,
    reference,
    currency
});

impl IssuedToken {
    /// Returns the token's id: `Hash::of(TokenId, [encoding of ["tally.cash", issued token]])`.
    pub fn id(&self) -> TokenId {
        token_id(&self.to_bytes())
    }
}

/// Returns the id of an encoded token.
pub(crate) fn token_id(token: &[u8]) -> TokenId {
    let mut prefix = Encoder::with_capacity(16);
    prefix.array(2);
    prefix.text(CASH_NAME);
    TokenId::from_hash(Hash::of(Domain::TokenId, &[prefix.as_bytes(), token]))
}

/// The data of a cash state. Encoded as `[token, quantity, owner]`; the quantity is at least 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashState {
    /// The token.
    pub token: IssuedToken,
    /// The quantity, in minor units.
    pub quantity: u64,
    /// The key that may spend it.
    pub owner: PublicKey,
}

impl Encode for CashState {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        self.token.encode(e);
        self.quantity.encode(e);
        self.owner.encode(e);
    }
}

impl Decode for CashState {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let parts = CashParts::decode(d)?;
        Ok(Self {
            token: IssuedToken::from_bytes(parts.token)?,
            quantity: parts.quantity,
            owner: parts.owner,
        })
    }
}

/// A cash state whose token is still encoded. Equal bytes are equal tokens, because the encoding is canonical.
pub(crate) struct CashParts<'a> {
    pub(crate) token: &'a [u8],
    pub(crate) quantity: u64,
    pub(crate) owner: PublicKey,
}

impl<'a> CashParts<'a> {
    pub(crate) fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
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
            return Err(d.invalid("a cash state has a quantity of at least 1"));
        }
        Ok(Self {
            token,
            quantity,
            owner: PublicKey::decode(d)?,
        })
    }
}
