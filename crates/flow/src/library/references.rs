//! Showing a state to another node, so that its transactions can refer to it.

use ledger::{SignedTransaction, StateAndRef, StateRef};

use crate::error::MESSAGE_MALFORMED;
use crate::{FlowContext, FlowError, Session};

/// A state on its way, in the transaction that made it.
struct Shown {
    transaction: SignedTransaction,
    index: u32,
}

primitives::record!(Shown { transaction, index });

/// Sends a state to the other side, which [`receive_state`] waits for. With it goes the transaction that made the state, and
/// the other side may fetch what that comes from: whoever shows a state shows its history.
pub async fn show_state(
    ctx: &FlowContext,
    session: &Session,
    state: &StateRef,
) -> Result<(), FlowError> {
    let transaction = ctx.transaction(&state.tx).await?;
    let transaction = transaction.ok_or_else(|| {
        let hint = "show only states of transactions that are recorded here";
        let text = format!("transaction {} is not recorded here", state.tx);
        FlowError::new("node.unknown_transaction", text, hint)
    })?;
    let index = state.index;
    session.send(&Shown { transaction, index }).await
}

/// Receives a state, resolves and verifies the transaction that made it, and records that: from then on transactions of this
/// node may refer to the state, and those to whom they go find its history here. Whether it is the state that was
/// wanted, and whose it is, the caller looks at; whether it is still the newest version, only the notary can tell.
pub async fn receive_state(ctx: &FlowContext, session: &Session) -> Result<StateAndRef, FlowError> {
    let Shown { transaction, index } = session.receive().await?;
    let reference = StateRef::new(transaction.id(), index);
    let state = transaction.wire().output(index as usize).cloned();
    let state = state.ok_or_else(|| {
        let text = format!(
            "party {} shows {reference}, which there is not",
            session.peer()
        );
        FlowError::listed(&MESSAGE_MALFORMED, text)
    })?;
    ctx.progress("verifying a state to refer to");
    ctx.verify(&transaction, Some(session.peer()), &[]).await?;
    ctx.record(transaction, Vec::new()).await?;
    Ok(StateAndRef { state, reference })
}
