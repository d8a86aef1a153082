//! The signature that this notary gives by deciding.

use ledger::SignedTransaction;
use primitives::PublicKey;

use crate::context::Context;

/// Returns the keys whose signature a transaction may lack because this notary gives it by deciding: its own key, unless a
/// command needs that key too and lacks its signature. A requester of a decision must not obtain consent to a command with
/// it.
pub(crate) fn signed_by_deciding(
    transaction: &SignedTransaction,
    context: &Context,
) -> Vec<PublicKey> {
    let wire = transaction.wire();
    let Some(notary) = wire.notary().filter(|notary| notary.id() == context.my_id) else {
        return Vec::new();
    };
    let ours = notary.key.leaf_keys();
    let missing = transaction.missing_parties();
    let mut missing = missing.iter().flat_map(PublicKey::leaf_keys);
    if missing.any(|leaf| ours.contains(&leaf)) {
        return Vec::new();
    }
    vec![notary.key.clone()]
}
