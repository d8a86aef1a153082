//! `swap.run`: swaps cash for stock in one to five pairs at once, in one transaction.

use flow::library::{ANSWER_MS_MAX, Turns, build_and_sign, collect_signatures_by, finality_by};
use flow::{Deadline, Flow, FlowContext, FlowError, Session};
use ledger::{Party, PartyId, SignedTransaction, StateRef, TimeWindow, TxId};
use primitives::{PublicKey, Timestamp};

use super::arguments::{ExchangeResult, PAIRS_MAX, Resolve, SwapArgs, SwapResult};
use super::leg::{DEADLINE_MS_MAX, KnownTransactions, Leg, Next, Stake, Wanted};
use super::states::{check_distinct, lock};
use crate::flows::arguments::{SELECTION_DEADLINE_MS, notary, party};
use crate::swap::builder::{Contribution, swap};
use crate::swap::{Market, Side, SwapError};

/// Time for the notary to accept the swap after it is proposed, in milliseconds.
const WINDOW_MS: u64 = 120_000;
/// The error code of a look-up of states whose transaction is not recorded here.
const UNKNOWN_STATE: &str = "node.unknown_state";

/// Swaps cash for stock between the parties of each pair, all at once or not at all. The parties' nodes give only the states that
/// their mandates allow. This node's own part needs no mandate.
#[derive(Debug)]
pub struct Swap;

impl Flow for Swap {
    const NAME: &'static str = "swap.run";
    const VERSION: u32 = 1;
    type Args = SwapArgs;
    type Output = SwapResult;
    const STEPS: &'static [&'static str] = &[
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

    async fn run(ctx: FlowContext, args: SwapArgs) -> Result<SwapResult, FlowError> {
        let turns = args.sessions.unwrap_or_default();
        let resolve = args.resolution.unwrap_or_default();
        let places = places(&ctx, &args)?;
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        ctx.progress("asking the parties");
        let mut sessions = Vec::with_capacity(places.len());
        for place in &places {
            if place.party.id() != ctx.my_id() {
                sessions.push(ctx.open_session(&place.party.id())?);
            }
        }
        let parts = contributions(&ctx, &places, &sessions, turns, resolve).await?;

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
}

/// A party's place in the swap. Buyers and sellers alternate, pair by pair.
struct Place {
    party: Party,
    leg: Leg,
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

/// A party's contribution: its states, and the keys for its receipts and its change.
struct Part {
    states: Vec<StateRef>,
    receiver: PublicKey,
    change_to: PublicKey,
}

/// Collects the contributions of all parties, in the order of their places.
async fn contributions(
    ctx: &FlowContext,
    places: &[Place],
    sessions: &[Session],
    turns: Turns,
    resolve: Resolve,
) -> Result<Vec<Part>, FlowError> {
    let session_of = |place: &Place| {
        let party = place.party.id();
        sessions.iter().find(|session| session.peer() == party)
    };
    if turns == Turns::Sequential {
        let mut parts = Vec::with_capacity(places.len());
        for place in places {
            parts.push(match session_of(place) {
                Some(session) => {
                    session.send(&place.leg).await?;
                    receive_part(ctx, session, place, resolve).await?
                }
                None => own_part(ctx, place).await?,
            });
        }
        return Ok(parts);
    }
    for place in places {
        if let Some(session) = session_of(place) {
            session.send(&place.leg).await?;
        }
    }
    let parts = places.iter().map(|place| async move {
        match session_of(place) {
            Some(session) => receive_part(ctx, session, place, resolve).await,
            None => own_part(ctx, place).await,
        }
    });
    ctx.join_all(parts.collect()).await
}

/// Makes this node's own contribution.
async fn own_part(ctx: &FlowContext, place: &Place) -> Result<Part, FlowError> {
    let locked = lock(ctx, &place.leg).await?;
    let (mut receiver, mut change_to) = (ctx.me().key.clone(), ctx.me().key.clone());
    if place.leg.anonymous {
        receiver = ctx.fresh_key().await?;
        if locked.change > 0 {
            change_to = ctx.fresh_key().await?;
        }
    }
    Ok(Part {
        states: locked.states.iter().map(|own| own.reference).collect(),
        receiver,
        change_to,
    })
}

/// Receives a party's contribution, and resolves the transactions that made its states.
async fn receive_part(
    ctx: &FlowContext,
    session: &Session,
    place: &Place,
    resolve: Resolve,
) -> Result<Part, FlowError> {
    // The party may wait for its own states first. This node has not signed yet.
    let patience = place.leg.deadline_ms.min(DEADLINE_MS_MAX) + ANSWER_MS_MAX;
    let patience = Deadline::AfterMs(patience);
    let stake: Stake = ctx
        .within(patience, "a party's stake", session.receive())
        .await?;
    let invalid = |what| {
        let party = place.party.name.clone();
        FlowError::from(SwapError::Answer { party, what })
    };
    let named = &place.leg.states;
    if stake.states.is_empty() || !(named.is_empty() || *named == stake.states) {
        return Err(invalid("other states than were named, or none"));
    }
    check_distinct(&stake.states)?;
    if stake.receiver.is_some() != place.leg.anonymous {
        return Err(invalid("a fresh key where none is wanted, or none"));
    }
    let receiver = match stake.receiver {
        Some(proof) => ctx.learn_key(&session.peer(), proof).await?,
        None => place.party.key.clone(),
    };
    let change_to = match stake.change_to {
        Some(key) if place.leg.anonymous => key,
        _ => place.party.key.clone(),
    };
    let mut missing: Vec<TxId> = Vec::new();
    for state in &stake.states {
        if !missing.contains(&state.tx) {
            missing.push(state.tx);
        }
    }
    for transaction in stake.shared {
        if !missing.contains(&transaction.id()) {
            return Err(invalid("a transaction that made none of its states"));
        }
        missing.retain(|id| *id != transaction.id());
        let kept = keep(ctx, session, transaction, resolve);
        ctx.within(patience, "a back chain", kept).await?;
    }
    let mut unknown = Vec::with_capacity(missing.len());
    for id in missing {
        let of_it = |state: &&StateRef| state.tx == id;
        let state: Vec<StateRef> = stake
            .states
            .iter()
            .find(of_it)
            .copied()
            .into_iter()
            .collect();
        match ctx.states(state).await {
            Ok(_) => {}
            Err(error) if error.code == UNKNOWN_STATE => unknown.push(id),
            Err(error) => return Err(error),
        }
    }
    while let Some(first) = unknown.first() {
        let wanted = match resolve {
            Resolve::Bulk => unknown.clone(),
            Resolve::Single => vec![*first],
        };
        let question = Next::Wanted(Wanted(wanted));
        let shared = session.send_and_receive(&question);
        let KnownTransactions(transactions) = ctx
            .within(patience, "a party's transactions", shared)
            .await?;
        if transactions.is_empty() {
            return Err(invalid("it lacks a transaction that made its states"));
        }
        for transaction in transactions {
            if !unknown.contains(&transaction.id()) {
                return Err(invalid("a transaction that was not asked for"));
            }
            unknown.retain(|id| *id != transaction.id());
            let kept = keep(ctx, session, transaction, resolve);
            ctx.within(patience, "a back chain", kept).await?;
        }
    }
    Ok(Part {
        states: stake.states,
        receiver,
        change_to,
    })
}

/// Resolves a transaction that made a party's states, verifies it and records it. Afterwards the other parties can fetch it
/// from this node.
async fn keep(
    ctx: &FlowContext,
    session: &Session,
    transaction: SignedTransaction,
    resolve: Resolve,
) -> Result<(), FlowError> {
    ctx.keep(&transaction, session.peer(), resolve.fetching())
        .await
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
