//! Shows a state to another node, so that its transactions can refer to it.

use ledger::{SignedTransaction, StateAndRef, StateRef};

use super::windows::PROPOSAL_MS_MAX;
use crate::error::MESSAGE_MALFORMED;
use crate::{Deadline, FlowContext, FlowError, Session};

/// A state in transit, with the transaction that made it.
struct Shown {
    transaction: SignedTransaction,
    index: u32,
}

primitives::record!(Shown { transaction, index });

/// Sends a state to the other side, which calls [`receive_state`]. The message includes the transaction that made the state,
/// and the other side may fetch that transaction's back chain. So showing a state reveals its history.
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

/// Receives a state, then resolves, verifies and records the transaction that made it. Afterwards transactions of this node
/// may refer to the state, and their receivers can fetch its history from this node. The caller must check that it is the
/// wanted state and who its owner is. Only the notary knows whether it is still the newest version.
///
/// # Errors
/// `flow.counterparty_silent`: the other side did not send the state and show its history within [`PROPOSAL_MS_MAX`].
pub async fn receive_state(ctx: &FlowContext, session: &Session) -> Result<StateAndRef, FlowError> {
    let wait = Deadline::AfterMs(PROPOSAL_MS_MAX);
    let kept = keep_state(ctx, session);
    ctx.within(wait, "a state to refer to", kept).await
}

/// Receives a state and records the transaction that made it.
async fn keep_state(ctx: &FlowContext, session: &Session) -> Result<StateAndRef, FlowError> {
    let Shown { transaction, index } = session.receive().await?;
    let reference = StateRef::new(transaction.id(), index);
    let state = transaction.wire().output(index as usize).cloned();
    let state = state.ok_or_else(|| {
        let text = format!(
            "party {} showed state {reference}, but the transaction has no such output",
            session.peer()
        );
        FlowError::listed(&MESSAGE_MALFORMED, text)
    })?;
    ctx.progress("verifying a state to refer to");
    ctx.verify(&transaction, Some(session.peer()), &[]).await?;
    ctx.record(transaction, Vec::new()).await?;
    Ok(StateAndRef { state, reference })
}
