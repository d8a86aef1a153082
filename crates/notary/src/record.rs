//! What a notary keeps of a transaction that it signed.

use ledger::PartyId;
use primitives::{PublicKey, Signature, Timestamp};

/// Who asked first, the evidence of it, and when. Encoded as `[party id, key, signature, time]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// Who asked.
    pub requester: PartyId,
    /// The key that signed the request.
    pub key: PublicKey,
    /// The signature on the request.
    pub signature: Signature,
    /// When the request arrived, on the notary's clock.
    pub at: Timestamp,
}

primitives::record!(RequestRecord {
    requester,
    key,
    signature,
    at
});
