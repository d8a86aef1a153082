//! A commercial paper, and the commands on it.

use ledger::Party;
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, PublicKey, Timestamp};

use crate::{IssuedToken, Reference};

/// The data of a commercial paper. Encoded as `[issuer, reference, token, face, maturity, owner]`; the face value is at
/// least 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperState {
    /// The party that owes the face value.
    pub issuer: Party,
    /// The issuer's reference.
    pub reference: Reference,
    /// The cash that it is redeemed in.
    pub token: IssuedToken,
    /// The face value, in minor units.
    pub face: u64,
    /// The maturity: the start of redemption.
    pub maturity: Timestamp,
    /// The holder's key.
    pub owner: PublicKey,
}

impl PaperState {
    /// Returns the encoding of all fields except the owner; a move must not change them.
    pub(crate) fn terms(&self) -> Vec<u8> {
        let mut e = Encoder::with_capacity(256);
        self.encode_terms(&mut e);
        e.as_bytes().to_vec()
    }

    fn encode_terms(&self, e: &mut Encoder) {
        self.issuer.encode(e);
        self.reference.encode(e);
        self.token.encode(e);
        self.face.encode(e);
        self.maturity.encode(e);
    }
}

impl Encode for PaperState {
    fn encode(&self, e: &mut Encoder) {
        e.array(6);
        self.encode_terms(e);
        self.owner.encode(e);
    }
}

impl Decode for PaperState {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(6)?;
        let (issuer, reference) = (Party::decode(d)?, Reference::decode(d)?);
        let (token, face) = (IssuedToken::decode(d)?, d.u64()?);
        if face == 0 {
            return Err(d.invalid("a paper has a face value of at least 1"));
        }
        Ok(Self {
            issuer,
            reference,
            token,
            face,
            maturity: Timestamp::decode(d)?,
            owner: PublicKey::decode(d)?,
        })
    }
}

/// A command to the commercial paper contract. Encoded as `[0]`, `[1]` or `[2]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaperCommand {
    /// Makes papers; their issuers sign, before maturity.
    Issue,
    /// Passes papers on; their owners sign.
    Move,
    /// Redeems papers for cash, from maturity on; their owners sign.
    Redeem,
}

primitives::variants!(PaperCommand {
    0 => Issue,
    1 => Move,
    2 => Redeem,
});
