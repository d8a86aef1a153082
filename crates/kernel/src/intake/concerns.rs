//! The rule which keys a transaction concerns.

use ledger::SignedTransaction;
use primitives::PublicKey;

use crate::context::Context;

/// Returns whether a transaction makes states of some keys or needs their signature. Notarising it does not count.
pub(crate) fn concerns(
    transaction: &SignedTransaction,
    context: &Context,
    is_theirs: &dyn Fn(&PublicKey) -> bool,
) -> bool {
    let wire = transaction.wire();
    let makes = wire.outputs().iter().any(|state| {
        let facts = context.identity.contracts.describe(state);
        facts.is_ok_and(|facts| vault::is_relevant(&facts, is_theirs))
    });
    let signs = |key: &PublicKey| is_theirs(key) || key.leaf_keys().iter().any(is_theirs);
    let mut commands = wire.commands().iter();
    makes || commands.any(|command| command.signers.iter().any(signs))
}
