//! Flows of several steps, in which each step needs the result of the previous one: debts that are settled or netted, a paper
//! that is sold, and a coin that moves to another notary and back. Each flow returns all its transactions, including those made
//! by the other side.

use finance::flows::obligation::{
    IssueObligation, IssueObligationArgs, NetObligations, NetObligationsArgs, ObligationResult,
    SettleObligation, SettleObligationArgs,
};
use finance::flows::paper::{IssuePaper, IssuePaperArgs};
use finance::flows::trade::{PaperTerms, PlaceBid, PlaceBidArgs, Sell, SellArgs};
use finance::flows::{IssueArgs, IssueCash, StateResult, TokenArgs};
use flow::library::ANSWER_MS_MAX;
use flow::transitions::{ChangeNotary, ChangeNotaryArgs, Moved};
use flow::{Deadline, Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};
use ledger::{LegalName, StateRef, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A time after the end of every simulation.
pub(crate) const LATER: Timestamp = Timestamp::from_ms(4_000_000_000_000);
/// Errors caused by a crash or a long wait. Another attempt may succeed.
const TRIED_AGAIN: [&str; 3] = [
    "notary.time_window_invalid",
    "vault.selection_busy",
    "vault.selection_timeout",
];
/// Maximum number of attempts, and the pause between them in milliseconds.
const ATTEMPTS_MAX: u32 = 30;
const AGAIN_MS: u64 = 700;
/// Maximum wait for the other side of a flow.
const PATIENCE: Deadline = Deadline::AfterMs(ANSWER_MS_MAX);
/// Maximum number of transactions of one flow.
const STEPS_MAX: usize = 8;

/// Registers all flows and responders of this module.
pub fn register(flows: &mut FlowRegistry) {
    flows.register::<Owe>();
    flows.register::<Net>();
    flows.register_responder::<OwesToo>();
    flows.register::<Trade>();
    flows.register_responder::<Bids>();
    flows.register::<Shift>();
}

/// The transactions of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steps(pub Vec<TxId>);

impl Encode for Steps {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

impl Decode for Steps {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(STEPS_MAX).map(Self)
    }
}

/// The arguments of these flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoryArgs {
    /// The other node.
    pub with: LegalName,
    /// The cash.
    pub token: TokenArgs,
    /// The whole quantity of cash.
    pub quantity: u64,
    /// A part of that quantity.
    pub part: u64,
    /// Whether outputs go to fresh keys.
    pub anonymous: bool,
}

primitives::record!(StoryArgs {
    with,
    token,
    quantity,
    part,
    anonymous
});

/// Runs a step again while it fails with one of the transient errors.
pub(crate) async fn persist<F: Flow>(
    ctx: &FlowContext,
    args: F::Args,
) -> Result<F::Output, FlowError>
where
    F::Args: Clone,
{
    let mut attempt = 0;
    loop {
        match ctx.sub_flow::<F>(args.clone()).await {
            Err(error) if TRIED_AGAIN.contains(&&*error.code) && attempt < ATTEMPTS_MAX => {
                ctx.sleep_ms(AGAIN_MS).await?;
                attempt += 1;
            }
            ended => return ended,
        }
    }
}

async fn owe(
    ctx: &FlowContext,
    args: &StoryArgs,
    quantity: u64,
) -> Result<(StateRef, ObligationResult), FlowError> {
    let args = IssueObligationArgs {
        to: args.with.clone(),
        quantity,
        tokens: vec![args.token.clone()],
        due: LATER,
        notary: None,
        anonymous: Some(args.anonymous),
    };
    let owed = ctx.sub_flow::<IssueObligation>(args).await?;
    Ok((state_of(&owed)?, owed))
}

async fn settle(
    ctx: &FlowContext,
    obligation: StateRef,
    quantity: Option<u64>,
) -> Result<ObligationResult, FlowError> {
    let args = SettleObligationArgs {
        obligation,
        quantity,
        token: None,
        deadline_ms: Some(600_000),
    };
    ctx.sub_flow::<SettleObligation>(args).await
}

fn state_of(result: &ObligationResult) -> Result<StateRef, FlowError> {
    let ended = || FlowError::new("sim.ended", "the obligation has ended", "");
    result.state.ok_or_else(ended)
}

/// Issues an obligation, pays a part of it and then the rest.
#[derive(Debug)]
pub struct Owe;

impl Flow for Owe {
    const NAME: &'static str = "sim.owe";
    const VERSION: u32 = 1;
    type Args = StoryArgs;
    type Output = Steps;

    async fn run(ctx: FlowContext, args: StoryArgs) -> Result<Steps, FlowError> {
        let (state, owed) = owe(&ctx, &args, args.quantity).await?;
        let part = settle(&ctx, state, Some(args.part)).await?;
        let rest = settle(&ctx, state_of(&part)?, None).await?;
        let steps = [owed, part, rest].map(|step| step.transaction);
        Ok(Steps(steps.to_vec()))
    }
}

/// Issues an obligation to a node that issues one for a part of it in return. Nets the two, and pays the rest.
#[derive(Debug)]
pub struct Net;

impl Flow for Net {
    const NAME: &'static str = "sim.net";
    const VERSION: u32 = 1;
    type Args = StoryArgs;
    type Output = Steps;

    async fn run(ctx: FlowContext, args: StoryArgs) -> Result<Steps, FlowError> {
        let (mine, owed) = owe(&ctx, &args, args.quantity).await?;
        let session = ctx.open_session(&args.with.party_id())?;
        let back = StoryArgs {
            with: ctx.me().name.clone(),
            anonymous: false,
            ..args
        };
        let theirs: ObligationResult = session.send_and_receive(&back).await?;
        ctx.await_transaction(&theirs.transaction).await?;
        let netting = NetObligationsArgs {
            obligations: vec![mine, state_of(&theirs)?],
            parties: Vec::new(),
        };
        let netted = ctx.sub_flow::<NetObligations>(netting).await?;
        let left = netted.states.first().copied();
        let left = left.ok_or_else(|| FlowError::new("sim.ended", "nothing is left", ""))?;
        let rest = settle(&ctx, left, None).await?;
        Ok(Steps(vec![
            owed.transaction,
            theirs.transaction,
            netted.transaction,
            rest.transaction,
        ]))
    }
}

/// The other side of [`Net`], which issues the obligation for the part.
#[derive(Debug)]
pub struct OwesToo;

impl Responder for OwesToo {
    const NAME: &'static str = Net::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let args: StoryArgs = session.receive().await?;
        let (_, owed) = owe(&ctx, &args, args.part).await?;
        session.send(&owed).await
    }
}

/// The bid that the other side is asked for. Encoded as an array of the fields in their order.
struct Wanted {
    token: TokenArgs,
    face: u64,
    price: u64,
}

primitives::record!(Wanted { token, face, price });

/// Issues a paper with the quantity as its face value, and sells it to the other node for the part.
#[derive(Debug)]
pub struct Trade;

impl Flow for Trade {
    const NAME: &'static str = "sim.trade";
    const VERSION: u32 = 1;
    type Args = StoryArgs;
    type Output = Steps;

    async fn run(ctx: FlowContext, args: StoryArgs) -> Result<Steps, FlowError> {
        let paper = IssuePaperArgs {
            face: args.quantity,
            token: args.token.clone(),
            maturity: LATER,
            reference: None,
            recipient: None,
            notary: None,
            anonymous: Some(args.anonymous),
        };
        let paper = persist::<IssuePaper>(&ctx, paper).await?;
        let session = ctx.open_session(&args.with.party_id())?;
        let wanted = Wanted {
            token: args.token,
            face: args.quantity,
            price: args.part,
        };
        let asked = session.send_and_receive(&wanted);
        let bid: StateResult = ctx.within(PATIENCE, "a bid", asked).await?;
        let placed = ctx.await_transaction(&bid.transaction);
        ctx.within(PATIENCE, "the bid's transaction", placed)
            .await?;
        let sale = SellArgs {
            asset: paper.state,
            bid: bid.state,
            price: Some(args.part),
        };
        let sold = persist::<Sell>(&ctx, sale).await?;
        Ok(Steps(vec![
            paper.transaction,
            bid.transaction,
            sold.transaction,
        ]))
    }
}

/// The other side of [`Trade`], which bids for the paper.
#[derive(Debug)]
pub struct Bids;

impl Responder for Bids {
    const NAME: &'static str = Trade::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let wanted: Wanted = session.receive().await?;
        let seller = ctx.party(&session.peer())?.name.clone();
        let bid = PlaceBidArgs {
            seller: seller.clone(),
            paper: Some(PaperTerms {
                issuer: seller,
                reference: None,
                token: wanted.token.clone(),
                face: wanted.face,
                maturity: LATER,
            }),
            contract: None,
            data: None,
            token: wanted.token,
            price_max: wanted.price,
            until: LATER,
            notary: None,
        };
        let placed = ctx.sub_flow::<PlaceBid>(bid).await?;
        session.send(&placed).await
    }
}

/// Issues cash to itself under a unique reference, and moves it to the other notary and back.
#[derive(Debug)]
pub struct Shift;

impl Flow for Shift {
    const NAME: &'static str = "sim.shift";
    const VERSION: u32 = 1;
    type Args = StoryArgs;
    type Output = Steps;

    async fn run(ctx: FlowContext, args: StoryArgs) -> Result<Steps, FlowError> {
        let issue = IssueArgs {
            currency: args.token.currency,
            quantity: args.quantity,
            reference: args.token.reference,
            outputs: None,
            recipient: None,
            notary: None,
            anonymous: Some(args.anonymous),
        };
        let issued = ctx.sub_flow::<IssueCash>(issue).await?;
        let there = ChangeNotaryArgs {
            states: vec![StateRef::new(issued.transaction, 0)],
            to: args.with,
        };
        let there = ctx.sub_flow::<ChangeNotary>(there).await?;
        let Moved { states, .. } = there.clone();
        let to = ctx.notary()?.name.clone();
        let back = ChangeNotaryArgs { states, to };
        let back = ctx.sub_flow::<ChangeNotary>(back).await?;
        Ok(Steps(vec![
            issued.transaction,
            there.transaction,
            back.transaction,
        ]))
    }
}
