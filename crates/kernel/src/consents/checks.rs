//! Transitions of states: planned for flows, and agreed to or not when others propose them.

use std::collections::{BTreeSet, HashMap};

use flow::{EffectResult, FlowError, FlowId};
use ledger::{PartyId, Rejection, StateRef, Transition, TransitionGoal, TransitionPlan};
use primitives::{Encode, Hash};

use crate::consents::rows::Consents;
use crate::errors;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

/// Which transitions a node signs that others propose. A node's own flows need none of it: who starts them is allowed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentOptions {
    /// Whether to sign changes to any notary of the network.
    pub notary_changes: bool,
    /// The upgrades to sign: descriptor hashes of old and new code.
    pub upgrades: BTreeSet<(Hash, Hash)>,
}

impl Default for ConsentOptions {
    /// Consents to changes of notary, because the network's parameters list the trusted notaries. Consents to no upgrade.
    fn default() -> Self {
        Self {
            notary_changes: true,
            upgrades: BTreeSet::new(),
        }
    }
}

impl Consents {
    fn agree(&self, transition: &Transition) -> Result<(), FlowError> {
        match transition {
            Transition::NotaryChange { .. } if self.notary_change() => Ok(()),
            Transition::NotaryChange { to } => {
                let text = format!("this node signs no change of notary, also not to {to}");
                Err(errors::failed(&errors::NOTARY_CHANGE_REFUSED, text))
            }
            Transition::Upgrade { from, to } if self.upgrade(*from, *to) => Ok(()),
            Transition::Upgrade { from, to } => {
                let text = format!("the upgrade from {from} to {to} is not authorised here");
                Err(errors::failed(&errors::UPGRADE_NOT_AUTHORISED, text))
            }
        }
    }
}

/// The part of a party in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It can spend the state.
    Owner,
    /// The state concerns it, and another party owns it.
    BesideOwner,
    /// The state concerns it, and no party owns it.
    Shared,
    /// The state does not concern it.
    None,
}

impl Kernel {
    pub(crate) fn on_plan(
        &mut self,
        flow: FlowId,
        effect: u32,
        states: Vec<StateRef>,
        goal: &TransitionGoal,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let result = match self.look_up(states, reads)? {
            EffectResult::States(inputs) => {
                let mut origins = HashMap::new();
                for input in &inputs {
                    if let Some(recorded) = self.book.get(&input.reference.tx, reads)? {
                        let attachments = recorded.transaction.wire().attachments();
                        origins.insert(input.reference.tx, attachments.to_vec());
                    }
                }
                let contracts = &*self.identity.contracts;
                let origin = |id: &ledger::TxId| origins.get(id).cloned();
                match TransitionPlan::new(goal, &inputs, origin, contracts) {
                    Ok(plan) => EffectResult::External(plan.to_bytes()),
                    Err(error) => {
                        EffectResult::Failed(FlowError::from_rejection(Rejection::of(&error)))
                    }
                }
            }
            failed => failed,
        };
        self.complete(flow, effect, result);
        Ok(())
    }

    pub(crate) fn on_consent(
        &mut self,
        (flow, effect): (FlowId, u32),
        transition: &Transition,
        states: Vec<StateRef>,
        from: &PartyId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let result = match self.look_up(states, reads)? {
            EffectResult::States(inputs) => {
                let mut agreed = self.consents.agree(transition);
                for input in &inputs {
                    if agreed.is_ok() {
                        let part = self.part_in(&input.state, from, reads)?;
                        agreed = self.may_propose(part, transition, input.reference);
                    }
                }
                agreed.map_or_else(EffectResult::Failed, |()| EffectResult::Done)
            }
            failed => failed,
        };
        self.complete(flow, effect, result);
        Ok(())
    }

    /// Decides whether a party may propose a transition of a state, by its part in the state. A party that could have a state moved
    /// whose owner is about to spend it would hold that up, or bring the state to a notary that suits it better.
    fn may_propose(
        &self,
        part: Part,
        transition: &Transition,
        state: StateRef,
    ) -> Result<(), FlowError> {
        match (part, transition) {
            (Part::None, _) => {
                let text = format!("the state {state} does not concern the proposer");
                Err(errors::failed(&errors::PROPOSER_UNCONCERNED, text))
            }
            (Part::BesideOwner, Transition::NotaryChange { .. }) => {
                let text =
                    format!("the proposer takes part in the state {state} and does not own it");
                Err(errors::failed(&errors::PROPOSER_NOT_OWNER, text))
            }
            (Part::Shared, Transition::NotaryChange { .. })
                if !self.consents.notary_change_said() =>
            {
                let text = format!(
                    "the state {state} has no owner, and this node's operator has not accepted changes of notary"
                );
                Err(errors::failed(&errors::NOTARY_CHANGE_REFUSED, text))
            }
            _ => Ok(()),
        }
    }

    /// The part that a party has in a state, as far as this node knows whose keys are.
    fn part_in(
        &self,
        state: &ledger::TransactionState,
        party: &PartyId,
        reads: &dyn Reads,
    ) -> Result<Part, StoreFailure> {
        let Ok(facts) = self.identity.contracts.describe(state) else {
            return Ok(Part::None);
        };
        if let Some(owner) = &facts.owner
            && self.owner_of(owner, reads)? == Some(*party)
        {
            return Ok(Part::Owner);
        }
        for key in &facts.participants {
            if self.owner_of(key, reads)? == Some(*party) {
                return Ok(match facts.owner {
                    Some(_) => Part::BesideOwner,
                    None => Part::Shared,
                });
            }
        }
        Ok(Part::None)
    }
}
