//! The notary's record of a transaction that it signed.

use ledger::PartyId;
use primitives::{PublicKey, Signature, Timestamp};

/// First requester, the evidence of the request, and its time. Encoded as `[party id, key,
/// signature, time]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// The asking party.
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
