//! Fresh keys for the outputs of flows: the side that makes an output asks for one, and the other side offers it.

use std::marker::PhantomData;

use flow::library::{offer_key, request_key};
use flow::{Flow, FlowContext, FlowError, Responder, Session};
use ledger::Party;
use primitives::PublicKey;

/// Returns the key that receives an output: the party's own key, or a fresh one that the party makes and proves only to this
/// node. If a flow offers this, the responder on the other side is [`OffersKey`].
pub(crate) async fn receiving_key(
    ctx: &FlowContext,
    to: &Party,
    anonymous: Option<bool>,
) -> Result<PublicKey, FlowError> {
    if !anonymous.unwrap_or(false) {
        return Ok(to.key.clone());
    }
    if to.id() == ctx.my_id() {
        return ctx.fresh_key().await;
    }
    ctx.progress("asking for a fresh key");
    let session = ctx.open_session(&to.id())?;
    request_key(ctx, &session).await
}

/// Returns the key for change of this node: its own key, or a fresh one.
pub(crate) async fn change_key(
    ctx: &FlowContext,
    anonymous: Option<bool>,
) -> Result<PublicKey, FlowError> {
    receiving_key(ctx, ctx.me(), anonymous).await
}

/// Answers a flow whose initiator asks for a fresh key: makes one and proves it.
#[derive(Debug)]
pub struct OffersKey<F>(PhantomData<F>);

impl<F: Flow> Responder for OffersKey<F> {
    const NAME: &'static str = F::NAME;
    const VERSION: u32 = F::VERSION;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        offer_key(&ctx, &session).await.map(|_| ())
    }
}
