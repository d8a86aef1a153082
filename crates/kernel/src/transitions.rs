//! Transitions of states: planned for flows, and agreed to or not when others propose them.

use std::collections::{BTreeSet, HashMap};

use flow::{EffectResult, FlowError, FlowId};
use ledger::{PartyId, Rejection, StateRef, Transition, TransitionGoal, TransitionPlan};
use primitives::{Encode, Hash};

use crate::consents::Consents;
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
    /// Changes of notary, for the network's parameters say whom all trust; no upgrade.
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
                    if agreed.is_ok() && !self.is_of(&input.state, from, reads)? {
                        let state = input.reference;
                        let text = format!("the state {state} does not concern the proposer");
                        agreed = Err(errors::failed(&errors::PROPOSER_UNCONCERNED, text));
                    }
                }
                agreed.map_or_else(EffectResult::Failed, |()| EffectResult::Done)
            }
            failed => failed,
        };
        self.complete(flow, effect, result);
        Ok(())
    }

    /// Whether a party owns a state or takes part in it, as far as this node knows whose keys are. Otherwise anybody who knows
    /// a state could have it moved while its owner is about to spend it.
    fn is_of(
        &self,
        state: &ledger::TransactionState,
        party: &PartyId,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let Ok(facts) = self.identity.contracts.describe(state) else {
            return Ok(false);
        };
        for key in facts.participants.iter().chain(facts.owner.as_ref()) {
            if self.owner_of(key, reads)? == Some(*party) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
