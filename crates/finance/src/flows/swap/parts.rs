//! The contributions of the parties of a swap, as the coordinator collects them.

use std::future::Future;

use flow::library::{ANSWER_MS_MAX, Turns};
use flow::{Deadline, FlowContext, FlowError, Session};
use ledger::{Party, SignedTransaction, StateRef, TxId};
use primitives::PublicKey;

use super::arguments::Resolve;
use super::leg::{DEADLINE_MS_MAX, KnownTransactions, Leg, Next, Stake, Wanted};
use super::states::{check_distinct, lock};
use crate::swap::SwapError;

/// The error code of a look-up of states whose transaction is not recorded here.
const UNKNOWN_STATE: &str = "node.unknown_state";

/// A party's place in the swap. Buyers and sellers alternate, pair by pair.
pub(super) struct Place {
    pub(super) party: Party,
    pub(super) leg: Leg,
}

/// A party's contribution: its states, and the keys for its receipts and its change.
pub(super) struct Part {
    pub(super) states: Vec<StateRef>,
    pub(super) receiver: PublicKey,
    pub(super) change_to: PublicKey,
}

/// The scope of a party's time limit.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    /// All messages and back chains of the party together, so the party cannot stretch it.
    Whole,
    /// Each message and each back chain has its own deadline. A flow may continue after a deadline that has passed, and its journal
    /// identifies a deadline by its number in the flow. So flows of version 1 must keep their deadlines.
    EachMessage,
}

/// The parties of a swap and the order in which they are contacted.
pub(super) struct Asking<'a> {
    pub(super) places: &'a [Place],
    pub(super) sessions: &'a [Session],
    pub(super) turns: Turns,
    pub(super) resolve: Resolve,
    pub(super) patience: Patience,
}

impl Asking<'_> {
    fn session_of(&self, place: &Place) -> Option<&Session> {
        let party = place.party.id();
        self.sessions.iter().find(|session| session.peer() == party)
    }

    /// Collects the contributions of all parties, in the order of their places.
    pub(super) async fn contributions(&self, ctx: &FlowContext) -> Result<Vec<Part>, FlowError> {
        if self.turns == Turns::Sequential {
            let mut parts = Vec::with_capacity(self.places.len());
            for place in self.places {
                parts.push(match self.session_of(place) {
                    Some(session) => {
                        session.send(&place.leg).await?;
                        self.await_part(ctx, session, place).await?
                    }
                    None => own_part(ctx, place).await?,
                });
            }
            return Ok(parts);
        }
        for place in self.places {
            if let Some(session) = self.session_of(place) {
                session.send(&place.leg).await?;
            }
        }
        let parts = self.places.iter().map(|place| async move {
            match self.session_of(place) {
                Some(session) => self.await_part(ctx, session, place).await,
                None => own_part(ctx, place).await,
            }
        });
        ctx.join_all(parts.collect()).await
    }

    /// Waits for a party's contribution until the party's time is over.
    async fn await_part(
        &self,
        ctx: &FlowContext,
        session: &Session,
        place: &Place,
    ) -> Result<Part, FlowError> {
        // The party may wait for its own states first. This node has not signed yet.
        let time = place.leg.deadline_ms.min(DEADLINE_MS_MAX) + ANSWER_MS_MAX;
        let time = Deadline::AfterMs(time);
        match self.patience {
            Patience::Whole => {
                let part = receive_part(ctx, session, place, self.resolve, None);
                let what = format!("the part of {}", place.party.name);
                ctx.within(time, &what, part).await
            }
            Patience::EachMessage => {
                receive_part(ctx, session, place, self.resolve, Some(time)).await
            }
        }
    }
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

/// Waits until a deadline, if there is one.
async fn bounded<T>(
    ctx: &FlowContext,
    deadline: Option<Deadline>,
    what: &str,
    future: impl Future<Output = Result<T, FlowError>> + Send,
) -> Result<T, FlowError> {
    match deadline {
        Some(deadline) => ctx.within(deadline, what, future).await,
        None => future.await,
    }
}

/// Receives a party's contribution, and resolves the transactions that made its states. `each` limits each message and each back
/// chain; without it, the caller limits all of them together.
async fn receive_part(
    ctx: &FlowContext,
    session: &Session,
    place: &Place,
    resolve: Resolve,
    each: Option<Deadline>,
) -> Result<Part, FlowError> {
    let stake: Stake = bounded(ctx, each, "a party's stake", session.receive()).await?;
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
        bounded(ctx, each, "a back chain", kept).await?;
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
        let KnownTransactions(transactions) =
            bounded(ctx, each, "a party's transactions", shared).await?;
        if transactions.is_empty() {
            return Err(invalid("it lacks a transaction that made its states"));
        }
        for transaction in transactions {
            if !unknown.contains(&transaction.id()) {
                return Err(invalid("a transaction that was not asked for"));
            }
            unknown.retain(|id| *id != transaction.id());
            let kept = keep(ctx, session, transaction, resolve);
            bounded(ctx, each, "a back chain", kept).await?;
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
