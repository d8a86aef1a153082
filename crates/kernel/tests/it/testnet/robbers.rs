//! Flows of a dishonest node: they propose the transactions of the honest flows with the same names, but also take other states.

use std::cell::Cell;

use finance::flows::paper::{HoldsPaper, RedeemPaper, RedeemPaperArgs};
use finance::flows::{ReissueArgs, ReissueCash};
use finance::paper::{PaperState, builder};
use finance::{CashState, Portion, cash_builder};
use flow::library::collect_signatures;
use flow::{Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};
use ledger::{
    Party, SelectionRequest, SignedTransaction, StateAndRef, StateRef, TransactionBuilder,
    TransactionSignature, TxId,
};
use primitives::{Decode, Encode, Encoder, PublicKey, SignatureContext};

thread_local! {
    /// Whether a node that starts next is a robber.
    pub static ROBBER: Cell<bool> = const { Cell::new(false) };
    /// The coin that it is after.
    pub static PREY: Cell<Option<StateRef>> = const { Cell::new(None) };
}

/// Returns the flows of such a node.
pub fn registry() -> FlowRegistry {
    let mut flows = FlowRegistry::new();
    flows.register::<RedeemAndRob>();
    flows.register::<ReissueAndRob>();
    flows
}

/// Returns the coin to be robbed, which the robber knows from the transaction that made it.
async fn prey(ctx: &FlowContext) -> Result<StateAndRef, FlowError> {
    let state = PREY.get().expect("the test says which");
    Ok(ctx.states(vec![state]).await?.remove(0))
}

async fn cash_of(
    ctx: &FlowContext,
    like: &StateAndRef,
    quantity: u64,
) -> Result<Vec<StateAndRef>, FlowError> {
    let cash = CashState::from_bytes(&like.state.data)?;
    ctx.select_states(SelectionRequest {
        token: cash.token.id(),
        quantity,
        notary: Some(like.state.notary.id()),
        deadline_ms: 60_000,
    })
    .await
}

/// Builds a transaction and signs it with the keys that are the robber's.
async fn sign(
    ctx: &FlowContext,
    builder: TransactionBuilder,
    keys: &[PublicKey],
) -> Result<SignedTransaction, FlowError> {
    let builder = builder.parameters(ctx.network().parameters_hash());
    let wire = builder.build(ctx.random32()?)?;
    let mut signed = SignedTransaction::new(wire, []);
    for key in ctx.own_of(keys).await? {
        let (context, id) = (SignatureContext::Transaction, signed.id());
        let signature = ctx.sign(&key, context, id.hash()).await?;
        signed.add(TransactionSignature {
            by: key,
            signature,
            batch: None,
        });
    }
    Ok(signed)
}

/// Redeems a paper, and has its holder pay the robber back with a coin of another of its keys.
pub struct RedeemAndRob;

impl Flow for RedeemAndRob {
    const NAME: &'static str = RedeemPaper::NAME;
    const VERSION: u32 = RedeemPaper::VERSION;
    type Args = RedeemPaperArgs;
    type Output = TxId;

    async fn run(ctx: FlowContext, args: RedeemPaperArgs) -> Result<TxId, FlowError> {
        let paper = ctx.lock_states(vec![args.paper]).await?.remove(0);
        let terms = PaperState::from_bytes(&paper.state.data)?;
        let prey = prey(&ctx).await?;
        let mut cash = cash_of(&ctx, &prey, terms.face).await?;
        cash.push(prey.clone());
        let holder = Portion {
            owner: terms.owner.clone(),
            quantity: terms.face,
            states: 1,
        };
        let (notary, me) = (paper.state.notary.clone(), ctx.me().key.clone());
        let payment = cash_builder::pay(notary, &cash, &[holder], &me)?;
        let redemption = builder::redeem(payment, &paper)?;
        let signed = sign(&ctx, redemption.builder, &redemption.owners).await?;
        let holder = ctx.party_of(&terms.owner).await?.expect("proved");
        let session = ctx.open_session_offering(&holder.id(), &[HoldsPaper::VERSION])?;
        Ok(collect_signatures(&ctx, signed, &[session]).await?.id())
    }
}

/// The first message to the issuer, the same as in the honest flow.
struct Terms {
    currency: finance::Currency,
    reference: finance::Reference,
    quantity: u64,
    states: u32,
    fresh: bool,
}

primitives::record!(Terms {
    currency,
    reference,
    quantity,
    states,
    fresh
});

/// Proofs of ownership, as the honest flow sends them.
struct Proofs(Vec<ledger::OwnershipProof>);

impl Encode for Proofs {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

/// Has cash reissued, with a coin of the issuer's own among the exited ones. The robber gets that coin as change.
pub struct ReissueAndRob;

impl Flow for ReissueAndRob {
    const NAME: &'static str = ReissueCash::NAME;
    const VERSION: u32 = ReissueCash::VERSION;
    type Args = ReissueArgs;
    type Output = TxId;

    async fn run(ctx: FlowContext, args: ReissueArgs) -> Result<TxId, FlowError> {
        let prey = prey(&ctx).await?;
        let mut cash = cash_of(&ctx, &prey, args.quantity).await?;
        cash.push(prey.clone());
        let (notary, me) = (prey.state.notary.clone(), ctx.me().key.clone());
        let spending = cash_builder::exit(notary, &cash, args.quantity, &me)?;
        let exit = sign(&ctx, spending.builder, &spending.owners).await?;
        let issuer: Party = CashState::from_bytes(&prey.state.data)?.token.issuer;
        let session: Session = ctx.open_session(&issuer.id())?;
        session
            .send(&Terms {
                currency: args.currency,
                reference: args.reference.unwrap_or_default(),
                quantity: args.quantity,
                states: 1,
                fresh: false,
            })
            .await?;
        session.send(&exit).await?;
        session.send(&Proofs(Vec::new())).await?;
        let _: finance::flows::Reissued = session.receive().await?;
        Ok(exit.id())
    }
}
