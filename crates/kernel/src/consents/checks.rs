//! The checks of transitions that peers propose.

use flow::{EffectResult, FlowError};
use ledger::{PartyId, StateAndRef, StateRef, Transition};

use crate::command::ConsentsCommand;
use crate::consents::rows::Consents;
use crate::context::Context;
use crate::errors;
use crate::keys::{KeyBook, Owners};
use crate::port::{Reads, StoreFailure};

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

impl Consents {
    /// Carries out a command.
    pub(crate) fn on_command(
        &self,
        command: ConsentsCommand,
        keys: &KeyBook,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let ConsentsCommand::Judge {
            effect,
            transition,
            inputs,
            from,
        } = command;
        let owners = keys.owners(context, reads);
        let agreed = self.agree_to(&transition, &inputs, &from, &owners)?;
        let result = agreed.map_or_else(EffectResult::Failed, |()| EffectResult::Done);
        context.complete(effect, result);
        Ok(())
    }

    /// Decides whether this node signs a transition of some states that a peer proposes.
    fn agree_to(
        &self,
        transition: &Transition,
        inputs: &[StateAndRef],
        from: &PartyId,
        owners: &Owners<'_>,
    ) -> Result<Result<(), FlowError>, StoreFailure> {
        let mut agreed = self.agree(transition);
        for input in inputs {
            if agreed.is_ok() {
                let part = part_in(&input.state, from, owners)?;
                agreed = self.may_propose(part, transition, input.reference);
            }
        }
        Ok(agreed)
    }

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

    /// Decides whether a party may propose a transition of a state, by its part in the state. A party that does not own the state
    /// could otherwise delay its owner's payments, or move it to a notary of its own choice.
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
            (Part::Shared, Transition::NotaryChange { .. }) if !self.notary_change_said() => {
                let text = format!(
                    "the state {state} has no owner, and this node's operator has not accepted changes of notary"
                );
                Err(errors::failed(&errors::NOTARY_CHANGE_REFUSED, text))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the part that a party has in a state, by the key owners that this node knows.
fn part_in(
    state: &ledger::TransactionState,
    party: &PartyId,
    owners: &Owners<'_>,
) -> Result<Part, StoreFailure> {
    let Ok(facts) = owners.contracts().describe(state) else {
        return Ok(Part::None);
    };
    if let Some(owner) = &facts.owner
        && owners.owner_of(owner)? == Some(*party)
    {
        return Ok(Part::Owner);
    }
    for key in &facts.participants {
        if owners.owner_of(key)? == Some(*party) {
            return Ok(match facts.owner {
                Some(_) => Part::BesideOwner,
                None => Part::Shared,
            });
        }
    }
    Ok(Part::None)
}
