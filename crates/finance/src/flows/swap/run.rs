//! `swap.run`: swaps cash for stock in one to five pairs at once, in one transaction.

use flow::library::{build_and_sign, collect_signatures_by, finality_by};
use flow::{Flow, FlowContext, FlowError};
use ledger::{PartyId, StateRef, TimeWindow, TxId};
use primitives::{PublicKey, Timestamp};

use super::arguments::{ExchangeResult, PAIRS_MAX, SwapArgs, SwapResult};
use super::leg::{CONVERSATION, Leg, Next};
use super::parts::{Asking, Part, Patience, Place};
use super::states::check_distinct;
use crate::flows::arguments::{SELECTION_DEADLINE_MS, notary, party};
use crate::swap::builder::{Contribution, swap};
use crate::swap::{Market, Side, SwapError};

/// Time for the notary to accept the swap after it is proposed, in milliseconds.
const WINDOW_MS: u64 = 120_000;

/// Swaps cash for stock between the parties of each pair, all at once or not at all. The parties' nodes give only the states that
/// their mandates allow. This node's own part needs no mandate.
#[derive(Debug)]
pub struct Swap;

/// The flow's progress steps.
const STEPS: &[&str] = &[
    "asking the parties",
    "selecting states",
    "locking states",
    "building",
    "collecting signatures",
    "verifying",
    "notarising",
    "distributing",
    "recording",
];

impl Flow for Swap {
    const NAME: &'static str = "swap.run";
    /// Version 1 had a time limit for each message of a party, not for all of them.
    const VERSION: u32 = 2;
    type Args = SwapArgs;
    type Output = SwapResult;
    const STEPS: &'static [&'static str] = STEPS;

    async fn run(ctx: FlowContext, args: SwapArgs) -> Result<SwapResult, FlowError> {
        run(ctx, args, Patience::Whole).await
    }
}

/// Version 1 of [`Swap`], for flows that were started with it. It cannot be started any more.
#[derive(Debug)]
pub struct SwapVersion1;

impl Flow for SwapVersion1 {
    const NAME: &'static str = Swap::NAME;
    const VERSION: u32 = 1;
    type Args = SwapArgs;
    type Output = SwapResult;
    const STEPS: &'static [&'static str] = STEPS;

    async fn run(ctx: FlowContext, args: SwapArgs) -> Result<SwapResult, FlowError> {
        run(ctx, args, Patience::EachMessage).await
    }
}

/// Runs the coordinator's side.
async fn run(
    ctx: FlowContext,
    args: SwapArgs,
    patience: Patience,
) -> Result<SwapResult, FlowError> {
    let turns = args.sessions.unwrap_or_default();
    let resolve = args.resolution.unwrap_or_default();
    let places = places(&ctx, &args)?;
    let notary = notary(&ctx, args.notary.as_ref())?.clone();
    ctx.progress("asking the parties");
    let mut sessions = Vec::with_capacity(places.len());
    for place in &places {
        if place.party.id() != ctx.my_id() {
            let version = [CONVERSATION];
            sessions.push(ctx.open_session_offering(&place.party.id(), &version)?);
        }
    }
    let asking = Asking {
        places: &places,
        sessions: &sessions,
        turns,
        resolve,
        patience,
    };
    let parts = asking.contributions(&ctx).await?;

    ctx.progress("building");
    let given = given(&ctx, &places, parts).await?;
    let mut own: Vec<PublicKey> = Vec::new();
    for (place, given) in places.iter().zip(&given) {
        if place.party.id() == ctx.my_id() {
            own = given.goods.sum(&given.states)?.1;
        }
    }
    let built = swap(notary, &given)?;
    // A window beyond the end of time does not end.
    let until = ctx.now().plus_ms(WINDOW_MS).unwrap_or(Timestamp::MAX);
    let builder = built.builder.time_window(TimeWindow::until(until));
    let proposal = build_and_sign(&ctx, builder, &own).await?;
    let transaction = proposal.id();
    let message = Next::Proposed(proposal.clone());
    let signed = collect_signatures_by(&ctx, proposal, &message, &sessions, turns).await?;
    let concerned: Vec<PartyId> = places.iter().map(|place| place.party.id()).collect();
    finality_by(&ctx, signed, &concerned, &sessions, turns).await?;
    Ok(result(transaction, &built.places))
}

/// Derives the request to each party from the arguments.
fn places(ctx: &FlowContext, args: &SwapArgs) -> Result<Vec<Place>, FlowError> {
    if !(1..=PAIRS_MAX).contains(&args.pairs.len()) {
        return Err(SwapError::Pairs(args.pairs.len()).into());
    }
    let notary = notary(ctx, args.notary.as_ref())?;
    let mut places: Vec<Place> = Vec::with_capacity(2 * args.pairs.len());
    for pair in &args.pairs {
        if pair.price == 0 || pair.quantity == 0 {
            return Err(SwapError::Zero.into());
        }
        let (cash, stock) = (pair.cash.resolve(ctx)?, pair.stock.resolve(ctx)?);
        for (name, side, states) in [
            (&pair.buyer, Side::Buy, &pair.cash_states),
            (&pair.seller, Side::Sell, &pair.stock_states),
        ] {
            let party = party(ctx, name)?.clone();
            if places.iter().any(|place| place.party == party) {
                return Err(SwapError::PartyTwice(party.name).into());
            }
            check_distinct(states)?;
            let market = Market {
                side,
                cash: cash.clone(),
                stock: stock.clone(),
            };
            let leg = Leg {
                market,
                quantity: pair.quantity,
                price: pair.price,
                notary: notary.clone(),
                states: states.clone(),
                anonymous: args.anonymous.unwrap_or(false),
                deadline_ms: args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS),
                resolve: args.resolution.unwrap_or_default(),
            };
            places.push(Place { party, leg });
        }
    }
    Ok(places)
}

/// Pairs the contributions: the buyer's cash goes to the seller, and the seller's stock to the buyer.
async fn given(
    ctx: &FlowContext,
    places: &[Place],
    parts: Vec<Part>,
) -> Result<Vec<Contribution>, FlowError> {
    let all = parts.iter().flat_map(|part| part.states.iter().copied());
    let mut states = ctx.states(all.collect()).await?.into_iter();
    let receivers: Vec<PublicKey> = parts.iter().map(|part| part.receiver.clone()).collect();
    let mut given = Vec::with_capacity(places.len());
    for (index, (place, part)) in places.iter().zip(parts).enumerate() {
        // Buyers have even indices, and the seller of each pair has the next index.
        let to = receivers.get(index ^ 1).cloned();
        let (goods, quantity) = place.leg.gives();
        given.push(Contribution {
            goods,
            states: states.by_ref().take(part.states.len()).collect(),
            quantity,
            to: to.ok_or(SwapError::Pairs(places.len()))?,
            change_to: part.change_to,
        });
    }
    Ok(given)
}

fn result(transaction: TxId, places: &[(u32, Option<u32>)]) -> SwapResult {
    let state = |index| StateRef::new(transaction, index);
    let pairs = places.chunks_exact(2).map(|pair| {
        let ((cash, cash_change), (stock, stock_change)) = (pair[0], pair[1]);
        ExchangeResult {
            cash: state(cash),
            stock: state(stock),
            cash_change: cash_change.map(state),
            stock_change: stock_change.map(state),
        }
    });
    SwapResult {
        transaction,
        pairs: pairs.collect(),
    }
}
