//! Builds a transaction of this node under the network's parameters, signed with keys of this node.

use ledger::{SignedTransaction, TransactionBuilder, TransactionSignature};
use primitives::{PublicKey, SignatureContext};

use crate::{FlowContext, FlowError};

/// Builds a transaction under the network's parameters with a fresh salt, and signs it with these keys of this node, in order.
///
/// # Errors
/// The builder does not give a valid transaction, or a key is not this node's (`node.unknown_key`).
pub async fn build_and_sign(
    ctx: &FlowContext,
    builder: TransactionBuilder,
    keys: &[PublicKey],
) -> Result<SignedTransaction, FlowError> {
    let wire = builder
        .parameters(ctx.network().parameters_hash())
        .build(ctx.random32()?)?;
    let id = wire.id();
    let mut signatures = Vec::with_capacity(keys.len());
    for key in keys {
        let signature = ctx
            .sign(key, SignatureContext::Transaction, id.hash())
            .await?;
        signatures.push(TransactionSignature {
            by: key.clone(),
            signature,
            batch: None,
        });
    }
    Ok(SignedTransaction::new(wire, signatures))
}
