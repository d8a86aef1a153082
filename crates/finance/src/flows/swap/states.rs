//! Selects or checks the states that a party gives, and locks them for the flow.

use flow::{FlowContext, FlowError};
use ledger::{SelectionRequest, StateAndRef, StateRef};
use primitives::PublicKey;

use super::arguments::STATES_MAX;
use super::leg::Leg;
use crate::swap::{Goods, SwapError};

/// Locked states of this node, worth at least the quantity that a leg gives.
pub(super) struct Locked {
    pub(super) states: Vec<StateAndRef>,
    /// The quantity above that.
    pub(super) change: u64,
}

/// Locks the states that this node gives until the flow ends or consumes them.
///
/// # Errors
/// `swap.states`, `swap.state_not_given`, `swap.too_little`; codes `vault.*` if there is not enough, or the states are not
/// free.
pub(super) async fn lock(ctx: &FlowContext, leg: &Leg) -> Result<Locked, FlowError> {
    let (goods, wanted) = leg.gives();
    let states = if leg.states.is_empty() {
        ctx.progress("selecting states");
        let request = SelectionRequest {
            token: goods.token(),
            quantity: wanted,
            notary: Some(leg.notary.id()),
            deadline_ms: leg.deadline_ms,
        };
        ctx.select_states(request).await?
    } else {
        named(ctx, leg, &goods).await?
    };
    if states.len() > STATES_MAX {
        return Err(SwapError::States.into());
    }
    let (held, _) = goods.sum(&states)?;
    let too_little = SwapError::TooLittle { held, wanted };
    let change = held.checked_sub(wanted).ok_or(too_little)?;
    Ok(Locked { states, change })
}

/// Checks the named states, and then locks them. The check comes first, so that a request for states that this node cannot give
/// locks none of them.
async fn named(ctx: &FlowContext, leg: &Leg, goods: &Goods) -> Result<Vec<StateAndRef>, FlowError> {
    ctx.progress("locking states");
    check_distinct(&leg.states)?;
    let states = ctx.states(leg.states.clone()).await?;
    let mut owners: Vec<PublicKey> = Vec::new();
    for state in &states {
        if state.state.notary != leg.notary {
            return Err(SwapError::State(state.reference, "it is with another notary").into());
        }
        if state.state.encumbrance.is_some() {
            return Err(SwapError::State(state.reference, "it is bound to another state").into());
        }
    }
    let (_, keys) = goods.sum(&states)?;
    owners.extend(keys.into_iter().filter(|key| *key != ctx.me().key));
    if ctx.own_of(&owners).await?.len() != owners.len() {
        let first = leg.states.first().ok_or(SwapError::States)?;
        return Err(SwapError::State(*first, "it or another one is another party's").into());
    }
    ctx.lock_states(leg.states.clone()).await
}

/// Checks that there are not too many states and none occurs twice.
pub(super) fn check_distinct(states: &[StateRef]) -> Result<(), SwapError> {
    let repeated = (1..states.len()).any(|index| states[..index].contains(&states[index]));
    if repeated || states.len() > STATES_MAX {
        return Err(SwapError::States);
    }
    Ok(())
}
