//! An obligation, and the commands on it.

use std::fmt;

use ledger::{CommandFacts, Party, TokenId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash, PublicKey, Timestamp};

use crate::IssuedToken;

/// Maximum number of tokens that one obligation accepts.
pub const TOKENS_MAX: usize = 16;
/// Maximum number of obligations, or payments, in one command.
pub const OBLIGATIONS_MAX: usize = 256;

/// The data of an obligation. Encoded as `[id, obligor, tokens, due, quantity, defaulted, obligee]`. There are 1 to 16 tokens,
/// sorted by their fields in the order of the encoding, without duplicates. The quantity is at least 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObligationState {
    /// The obligation's id, the same from its issue to its end.
    pub id: Hash,
    /// The obligor.
    pub obligor: Party,
    /// The cash that settles it, any of these tokens.
    pub tokens: Vec<IssuedToken>,
    /// The due time. From then on the obligation can be in default.
    pub due: Timestamp,
    /// The quantity owed, in minor units.
    pub quantity: u64,
    /// Whether the obligee has declared it in default.
    pub defaulted: bool,
    /// The obligee's key.
    pub obligee: PublicKey,
}

impl ObligationState {
    /// Returns whether another obligation accepts the same cash and is due at the same time, so that the two can be
    /// netted.
    pub fn is_of_the_terms_of(&self, other: &Self) -> bool {
        self.tokens == other.tokens && self.due == other.due
    }

    /// Returns whether it accepts a token.
    pub fn accepts(&self, token: &TokenId) -> bool {
        self.tokens.iter().any(|accepted| accepted.id() == *token)
    }
}

impl Encode for ObligationState {
    fn encode(&self, e: &mut Encoder) {
        e.array(7);
        self.id.encode(e);
        self.obligor.encode(e);
        self.tokens.encode(e);
        self.due.encode(e);
        e.u64(self.quantity);
        e.bool(self.defaulted);
        self.obligee.encode(e);
    }
}

impl Decode for ObligationState {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(7)?;
        let (id, obligor) = (Hash::decode(d)?, Party::decode(d)?);
        let tokens: Vec<IssuedToken> = d.vec_of(TOKENS_MAX)?;
        if tokens.is_empty() || !tokens.is_sorted_by(|a, b| a < b) {
            return Err(d.invalid("an obligation accepts at least one token, sorted, none twice"));
        }
        let (due, quantity) = (Timestamp::decode(d)?, d.u64()?);
        if quantity == 0 {
            return Err(d.invalid("an obligation has a quantity of at least 1"));
        }
        Ok(Self {
            id,
            obligor,
            tokens,
            due,
            quantity,
            defaulted: d.bool()?,
            obligee: PublicKey::decode(d)?,
        })
    }
}

/// A payment on an obligation. Encoded as `[obligation, token, quantity]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettlementPayment {
    /// The obligation.
    pub obligation: Hash,
    /// The token, one of those that it accepts.
    pub token: TokenId,
    /// The quantity, in minor units.
    pub quantity: u64,
}

primitives::record!(SettlementPayment {
    obligation,
    token,
    quantity
});

impl fmt::Display for SettlementPayment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            obligation,
            token,
            quantity,
        } = self;
        write!(f, "{quantity} of {token} on {obligation}")
    }
}

/// A command to the obligation contract, with the obligations that it changes. Encoded as `[n, [..]]`; the list has at
/// most 256 entries: ids of obligations, or payments in a settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObligationCommand {
    /// Makes obligations; their obligors sign.
    Issue(Vec<Hash>),
    /// Passes claims on; their obligees sign. Not allowed in default.
    Move(Vec<Hash>),
    /// Pays obligations off, in full or in part; their obligors sign.
    Settle(Vec<SettlementPayment>),
    /// Reduces obligations of the same terms along cycles, so that no party's net position changes. All obligors and
    /// obligees of these obligations sign. Not allowed in default.
    Net(Vec<Hash>),
    /// Declares obligations in default once they are due; their obligees sign.
    Default(Vec<Hash>),
    /// Withdraws such declarations; their obligees sign.
    Restore(Vec<Hash>),
    /// Forgives obligations; their obligees sign.
    Exit(Vec<Hash>),
}

impl ObligationCommand {
    /// Describes the command for people.
    pub(super) fn facts(&self) -> CommandFacts {
        let (name, ids) = match self {
            Self::Issue(ids) => ("issue", ids),
            Self::Move(ids) => ("move", ids),
            Self::Settle(payments) => {
                let payments: Vec<String> = payments.iter().map(ToString::to_string).collect();
                return CommandFacts::new("settle").field("payments", payments.join(", "));
            }
            Self::Net(ids) => ("net", ids),
            Self::Default(ids) => ("default", ids),
            Self::Restore(ids) => ("restore", ids),
            Self::Exit(ids) => ("exit", ids),
        };
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        CommandFacts::new(name).field("obligations", ids.join(", "))
    }
}

impl Encode for ObligationCommand {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        let (number, ids) = match self {
            ObligationCommand::Issue(ids) => (0, ids),
            ObligationCommand::Move(ids) => (1, ids),
            ObligationCommand::Settle(payments) => {
                e.u64(2);
                return payments.encode(e);
            }
            ObligationCommand::Net(ids) => (3, ids),
            ObligationCommand::Default(ids) => (4, ids),
            ObligationCommand::Restore(ids) => (5, ids),
            ObligationCommand::Exit(ids) => (6, ids),
        };
        e.u64(number);
        ids.encode(e);
    }
}

impl Decode for ObligationCommand {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        let number = d.u64()?;
        if number == 2 {
            return Ok(Self::Settle(d.vec_of(OBLIGATIONS_MAX)?));
        }
        let ids = d.vec_of(OBLIGATIONS_MAX)?;
        match number {
            0 => Ok(Self::Issue(ids)),
            1 => Ok(Self::Move(ids)),
            3 => Ok(Self::Net(ids)),
            4 => Ok(Self::Default(ids)),
            5 => Ok(Self::Restore(ids)),
            6 => Ok(Self::Exit(ids)),
            _ => Err(d.invalid("a command to the obligation contract has a number of 0 to 6")),
        }
    }
}
