//! A party's side of `swap.run`.

use flow::library::{Asked, receive_final, sign_proposal, verify_proposal};
use flow::{Deadline, FlowContext, FlowError, Responder, Session};
use ledger::{SignedTransaction, TxId};

use super::check::{Agreed, WINDOW_MS_MAX};
use super::leg::{
    ALONG_BYTES_MAX, CONVERSATION, DEADLINE_MS_MAX, KnownTransactions, Leg, Next, SHARED_BYTES_MAX,
    Stake, Wanted,
};
use super::states::{Locked, check_distinct, lock};
use super::{Resolve, Swap, mandate};
use crate::swap::{SwapError, mandate_name};

/// Maximum time before a coordinator that asks its parties in turn asks this one, in milliseconds.
const REQUEST_MS_MAX: u64 = 900_000;
/// Maximum time that a party keeps its states locked for a swap that is not proposed, in milliseconds.
const PROPOSAL_MS_MAX: u64 = 300_000;
/// Maximum number of questions about transactions before the proposal: one for each state.
const QUESTIONS_MAX: usize = super::STATES_MAX;

/// A party's side: gives only the states that one of its mandates allows, for the goods that the mandate asks for, and
/// signs nothing else.
#[derive(Debug)]
pub struct TakesPart;

impl Responder for TakesPart {
    const NAME: &'static str = <Swap as flow::Flow>::NAME;
    const VERSION: u32 = CONVERSATION;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        // If the parties are asked in turn, the request may come long after the session was opened.
        let wait = Deadline::AfterMs(REQUEST_MS_MAX);
        let mut leg: Leg = ctx.within(wait, "what to give", session.receive()).await?;
        leg.deadline_ms = leg.deadline_ms.min(DEADLINE_MS_MAX);
        check_distinct(&leg.states)?;
        // Checked before any state is locked: a coordinator without a mandate must not lock states of this node.
        consent(&ctx, &session, &leg).await?;
        let locked = lock(&ctx, &leg).await?;
        let mut stake = Stake {
            states: locked.states.iter().map(|own| own.reference).collect(),
            shared: match leg.resolve {
                Resolve::Bulk => along(&ctx, &locked).await?,
                Resolve::Single => Vec::new(),
            },
            receiver: None,
            change_to: None,
        };
        if leg.anonymous {
            stake.receiver = Some(ctx.fresh_key_for(&session.peer()).await?);
            if locked.change > 0 {
                stake.change_to = Some(ctx.fresh_key().await?);
            }
        }
        session.send(&stake).await?;
        ctx.progress("waiting for the proposal");
        let proposal = ctx
            .timeout_ms(PROPOSAL_MS_MAX, proposal(&ctx, &session, &locked))
            .await?;
        let verified = verify_proposal(&ctx, &session, &proposal, leg.resolve.fetching());
        ctx.within(Deadline::AfterMs(WINDOW_MS_MAX), "a back chain", verified)
            .await?;
        let asked = Asked::of(&ctx, &proposal).await?;
        // Verification has recorded everything that the proposal consumes.
        let consumed = ctx.states(proposal.wire().inputs().to_vec()).await?;
        let proof = stake.receiver.as_ref();
        let agreed = Agreed {
            leg: &leg,
            locked: &locked,
            receiver: proof.map_or(&ctx.me().key, |proof| &proof.key),
            // Without a fresh key, change goes to the party's own key.
            change_to: stake.change_to.as_ref().unwrap_or(&ctx.me().key),
        };
        agreed.check(&asked, &proposal, &consumed, ctx.now())?;
        sign_proposal(&ctx, &session, &proposal, &asked).await?;
        receive_final(&ctx, &session, proposal.wire()).await
    }
}

/// Checks that this node has given the coordinator a mandate that allows the swap.
async fn consent(ctx: &FlowContext, session: &Session, leg: &Leg) -> Result<(), FlowError> {
    ctx.progress("looking for a mandate");
    let id = leg.market.mandate_id(&ctx.my_id(), &session.peer());
    let mandates = ctx.linear(mandate_name(), &id).await?;
    let now = ctx.now();
    let mut refused = SwapError::NoMandate {
        party: ctx.me().name.clone(),
        side: leg.market.side.name(),
        symbol: leg.market.stock.symbol.to_string(),
    };
    for state in &mandates {
        let mandate = mandate::open(state)?;
        let ours = mandate.owner == *ctx.me() && mandate.coordinator.id() == session.peer();
        if !ours || mandate.market != leg.market {
            continue;
        }
        match mandate.allows(leg.quantity, leg.price, now) {
            Ok(()) => return Ok(()),
            Err(error) => refused = error,
        }
    }
    Err(refused.into())
}

/// Returns the transactions that made the states, each once, except those that are too large to send along.
async fn along(ctx: &FlowContext, locked: &Locked) -> Result<Vec<SignedTransaction>, FlowError> {
    let made_by = transactions_of(locked);
    let mut shared = Vec::with_capacity(made_by.len());
    let mut room = SHARED_BYTES_MAX;
    for id in &made_by {
        if let Some(transaction) = ctx.transaction(id).await?
            && transaction.wire().bytes().len() <= ALONG_BYTES_MAX
            && let Some(left) = room.checked_sub(transaction.wire().bytes().len())
        {
            room = left;
            shared.push(transaction);
        }
    }
    Ok(shared)
}

fn transactions_of(locked: &Locked) -> Vec<TxId> {
    let mut ids: Vec<TxId> = Vec::new();
    for own in &locked.states {
        if !ids.contains(&own.reference.tx) {
            ids.push(own.reference.tx);
        }
    }
    ids
}

/// Answers questions about the transactions that made the given states, until the proposal arrives.
async fn proposal(
    ctx: &FlowContext,
    session: &Session,
    locked: &Locked,
) -> Result<SignedTransaction, FlowError> {
    let made_by = transactions_of(locked);
    for _ in 0..=QUESTIONS_MAX {
        let Wanted(wanted) = match session.receive().await? {
            Next::Proposed(proposal) => return Ok(proposal),
            Next::Wanted(wanted) => wanted,
        };
        let mut shared = Vec::new();
        let mut room = SHARED_BYTES_MAX;
        // Stops at the first transaction that does not fit the message. The coordinator asks for the rest again.
        for id in wanted.iter().filter(|id| made_by.contains(id)) {
            let Some(transaction) = ctx.transaction(id).await? else {
                continue;
            };
            let bytes = transaction.wire().bytes().len();
            if bytes > room && !shared.is_empty() {
                break;
            }
            // Clipped at 0: the first transaction may be larger than the message's room.
            room = room.saturating_sub(bytes);
            shared.push(transaction);
        }
        session.send(&KnownTransactions(shared)).await?;
    }
    Err(SwapError::Proposal("it asks for more transactions than there are").into())
}
