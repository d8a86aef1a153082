//! Claims: effects that happen once per transaction that is their evidence, no matter how often it is presented.

use ledger::TxId;
use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Hash};

use super::FlowContext;
use crate::effect::CLAIM_BYTES_MAX;
use crate::error::LIMIT_EXCEEDED;
use crate::{EffectKind, EffectRequest, FlowError};

/// The answer to [`EffectRequest::Claimed`].
struct Found(Option<Vec<u8>>);

impl Decode for Found {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match d.array()? {
            0 => Ok(Self(None)),
            1 => Ok(Self(Some(d.bytes()?.to_vec()))),
            _ => Err(d.invalid("at most one value of a claim")),
        }
    }
}

/// The answer to [`EffectRequest::Claim`].
struct First(Vec<u8>);

impl Decode for First {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.bytes().map(|bytes| Self(bytes.to_vec()))
    }
}

impl FlowContext {
    /// Claims a transaction for a purpose and returns the value of its first claim: this one's, or that of an earlier flow. The claim is
    /// durable with this step and is kept as long as the ledger, because evidence can be presented again at any time. Claim a transaction
    /// only after its notarisation has cost the presenter something, so that claims grow no faster than the ledger, and before it is
    /// recorded, so that a recorded transaction without a claim is known to have had its effect.
    ///
    /// # Errors
    /// `node.claim_lost`: the flow comes from an older copy of the node's data, and the transaction is recorded without a claim.
    /// `flow.limit_exceeded`: the value is larger than [`CLAIM_BYTES_MAX`].
    pub async fn claim<T: Encode + Decode>(
        &self,
        purpose: &str,
        evidence: TxId,
        value: &T,
    ) -> Result<T, FlowError> {
        let value = value.to_bytes();
        if value.len() > CLAIM_BYTES_MAX {
            let text = format!(
                "the value of a claim has {} bytes; at most {CLAIM_BYTES_MAX} are kept",
                value.len()
            );
            return Err(FlowError::listed(&LIMIT_EXCEEDED, text));
        }
        let request = EffectRequest::Claim {
            key: claim_key(purpose, evidence),
            evidence,
            value,
        };
        let First(first) = self.ask(request, EffectKind::Claim).await?;
        T::from_bytes(&first).map_err(|_| FlowError::mismatched(EffectKind::Claim))
    }

    /// Returns the value of the first claim of a transaction for a purpose, if there was one.
    pub async fn claimed<T: Decode>(
        &self,
        purpose: &str,
        evidence: TxId,
    ) -> Result<Option<T>, FlowError> {
        let request = EffectRequest::Claimed(claim_key(purpose, evidence));
        let Found(first) = self.ask(request, EffectKind::Claimed).await?;
        let decoded = first.map(|first| T::from_bytes(&first)).transpose();
        decoded.map_err(|_| FlowError::mismatched(EffectKind::Claimed))
    }
}

/// `Hash::of(Derive, ["claim", purpose's length as u64 BE, purpose, evidence])`.
fn claim_key(purpose: &str, evidence: TxId) -> Hash {
    let length = (purpose.len() as u64).to_be_bytes();
    let parts: [&[u8]; 4] = [b"claim", &length, purpose.as_bytes(), evidence.as_bytes()];
    Hash::of(Domain::Derive, &parts)
}
