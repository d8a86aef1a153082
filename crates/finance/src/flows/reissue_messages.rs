//! The messages of `cash.reissue` between the holder and the issuer.

use ledger::limits::INPUTS_AND_REFERENCES_MAX;
use ledger::{OwnershipProof, Party, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Currency, IssuedToken, Portion, Reference};

/// The flow's registered name.
pub(super) const NAME: &str = "cash.reissue";

/// The result of `cash.reissue`. Encoded as `[exit, issue]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reissued {
    /// The transaction that exited the cash.
    pub exit: TxId,
    /// The transaction that issued the new cash.
    pub issue: TxId,
}

primitives::record!(Reissued { exit, issue });

/// The holder's request to the issuer. Encoded as `[currency, reference, quantity, states, fresh]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) currency: Currency,
    pub(super) reference: Reference,
    pub(super) quantity: u64,
    pub(super) states: u32,
    /// Whether the holder offers a fresh key for the new cash next.
    pub(super) fresh: bool,
}

primitives::record!(Terms {
    currency,
    reference,
    quantity,
    states,
    fresh
});

impl Terms {
    pub(super) fn token(&self, issuer: &Party) -> IssuedToken {
        IssuedToken {
            issuer: issuer.clone(),
            reference: self.reference.clone(),
            currency: self.currency,
        }
    }
}

/// Proofs that the fresh keys which own the exited cash belong to the holder. Encoded as a list.
pub(super) struct Proofs(pub(super) Vec<OwnershipProof>);

impl Encode for Proofs {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

impl Decode for Proofs {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(INPUTS_AND_REFERENCES_MAX).map(Self)
    }
}

/// Returns the portion of new cash that the terms ask for.
pub(super) fn portion(terms: &Terms, owner: &PublicKey) -> Portion {
    Portion {
        owner: owner.clone(),
        quantity: terms.quantity,
        states: terms.states,
    }
}
