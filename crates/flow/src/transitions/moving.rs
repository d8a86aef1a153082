//! The steps of every transition, on both sides.

use std::collections::{BTreeSet, VecDeque};

use ledger::limits::INPUTS_AND_REFERENCES_MAX;
use ledger::{
    PartyId, SignedTransaction, StateRef, TimeWindow, Transition, TransitionGoal, TransitionPlan,
    TxId,
};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, PublicKey, SignatureContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{NO_STATES, PROPOSAL_REFUSED, UNKNOWN_PARTY};
use crate::library::{
    Asked, collect_signatures, finality, receive_proposal, sign_proposal, window_for_answers,
};
use crate::{FlowContext, FlowError, Session};

/// The version of the conversation between the two sides. The flows have changed since, but their messages have not.
pub(super) const CONVERSATION: u32 = 1;

/// The result of a transition. Encoded as `[transaction id, [state reference, ...]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// The transaction.
    pub transaction: TxId,
    /// The new states, in the order asked, then those that had to move along with them.
    pub states: Vec<StateRef>,
}

impl Encode for Moved {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.transaction.encode(e);
        self.states.encode(e);
    }
}

impl Decode for Moved {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok(Self {
            transaction: TxId::decode(d)?,
            states: d.vec_of(INPUTS_AND_REFERENCES_MAX)?,
        })
    }
}

/// Moves states and the states that encumber them.
pub(super) async fn move_states(
    ctx: &FlowContext,
    states: Vec<StateRef>,
    goal: TransitionGoal,
) -> Result<Moved, FlowError> {
    ctx.progress("locking");
    let states = with_rings(ctx, states).await?;
    let inputs = ctx.lock_states(states.clone()).await?;
    ctx.progress("planning");
    let plan = ctx.plan_transition(states.clone(), goal).await?;
    let others = parties(ctx, &plan.signers).await?;
    let receivers = parties(ctx, &plan.concerned).await?;
    let window = (!others.is_empty()).then(|| window_for_answers(ctx));
    let signed = sign(ctx, &plan, &inputs, window).await?;
    let sessions: Vec<Session> = others
        .iter()
        .map(|party| ctx.open_session_offering(party, &[CONVERSATION]))
        .collect::<Result<_, _>>()?;
    let signed = match sessions.is_empty() {
        true => signed,
        false => collect_signatures(ctx, signed, &sessions).await?,
    };
    let receivers: Vec<PartyId> = receivers.into_iter().collect();
    let transaction = finality(ctx, signed, &receivers).await?.id();
    let new = (0u32..).zip(&states);
    Ok(Moved {
        transaction,
        states: new.map(|(i, _)| StateRef::new(transaction, i)).collect(),
    })
}

/// Returns the states and all states that must be consumed together with them: a ring of encumbered states moves as a whole.
async fn with_rings(ctx: &FlowContext, states: Vec<StateRef>) -> Result<Vec<StateRef>, FlowError> {
    let mut all = Vec::with_capacity(states.len());
    let mut seen = BTreeSet::new();
    let mut queue: VecDeque<StateRef> = states.into();
    while let Some(state) = queue.pop_front() {
        if !seen.insert(state) || all.len() >= INPUTS_AND_REFERENCES_MAX {
            continue;
        }
        all.push(state);
    }
    let asked = all.len();
    for index in 0..asked {
        let mut at = all[index];
        let transaction = ctx.transaction(&at.tx).await?;
        let missing = || {
            let text = format!("no state {at} is recorded here");
            FlowError::listed(&NO_STATES, text)
        };
        let transaction = transaction.ok_or_else(missing)?;
        let outputs = transaction.wire().outputs();
        let mut next = outputs
            .get(at.index as usize)
            .ok_or_else(missing)?
            .encumbrance;
        // A ring returns to its start, so the walk is no longer than the transaction's outputs.
        while let Some(bound_to) = next {
            at.index = bound_to;
            if !seen.insert(at) {
                break;
            }
            all.push(at);
            next = outputs
                .get(bound_to as usize)
                .and_then(|output| output.encumbrance);
        }
    }
    if all.is_empty() {
        return Err(FlowError::listed(&NO_STATES, "no state is named"));
    }
    Ok(all)
}

/// Returns the parties that own the keys, except this node's.
async fn parties(ctx: &FlowContext, keys: &[PublicKey]) -> Result<BTreeSet<PartyId>, FlowError> {
    let mut parties = BTreeSet::new();
    for (key, party) in keys.iter().zip(ctx.parties_of(keys).await?) {
        let party = party.ok_or_else(|| {
            let text = format!("neither the network map nor a proof says whose the key {key} is");
            FlowError::listed(&UNKNOWN_PARTY, text)
        })?;
        parties.insert(party.id());
    }
    parties.remove(&ctx.my_id());
    Ok(parties)
}

/// Builds the transaction of a plan and signs it with all keys of this node that have to sign. `window` is given if other
/// parties have to sign too. It limits how long the states stay locked.
async fn sign(
    ctx: &FlowContext,
    plan: &TransitionPlan,
    inputs: &[ledger::StateAndRef],
    window: Option<TimeWindow>,
) -> Result<SignedTransaction, FlowError> {
    let mut builder = plan.builder(inputs);
    if let Some(window) = window {
        builder = builder.time_window(window);
    }
    let parameters = ctx.network().parameters_hash();
    let wire = builder.parameters(parameters).build(ctx.random32()?)?;
    let mut signed = SignedTransaction::new(wire, []);
    let id = signed.id();
    for key in ctx.own_of(&plan.signers).await? {
        let signature = ctx
            .sign(&key, SignatureContext::Transaction, id.hash())
            .await?;
        signed.add(ledger::TransactionSignature {
            by: key,
            signature,
            batch: None,
        });
    }
    Ok(signed)
}

/// Runs the responder: verifies, asks for consent, signs.
pub(super) async fn respond(
    ctx: &FlowContext,
    session: &Session,
    is_expected: fn(&Transition) -> bool,
) -> Result<(), FlowError> {
    let proposal = receive_proposal(ctx, session).await?;
    let wire = proposal.wire();
    let transition = match Transition::of(wire.commands()) {
        Some(Ok(transition)) if is_expected(&transition) => transition,
        _ => {
            let text = "the proposal is not the transition that the flow is for";
            return Err(FlowError::listed(&PROPOSAL_REFUSED, text));
        }
    };
    ctx.progress("asking for consent");
    ctx.consent(transition, wire.inputs().to_vec(), session.peer())
        .await?;
    let asked = Asked::of(ctx, &proposal).await?;
    sign_proposal(ctx, session, &proposal, &asked).await?;
    Ok(())
}
