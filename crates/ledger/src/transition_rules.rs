//! The rules of transitions. They decide in place of the contracts.
//!
//! # Invariants
//! - Each input has one output at the same index. It has the same content, except for its notary or the data that newer code
//!   converted.
//! - Rings of encumbered states are moved whole; the outputs are bound to each other as the inputs were.
//! - All owners and participants of an input have to sign, as determined by the code that governs the input.
//! - No transition leads to older code of the same contract.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use primitives::{DecodeError, Hash, PublicKey};

use crate::encumbrance::find_separated;
use crate::{
    Constraint, ContextualError, ContractDescriptor, ContractExecutor, LedgerTransaction,
    NetworkRules, StateAndRef, StateFacts, StateRef, TransactionState, Transition, TransitionError,
    VerifiedTransaction,
};

/// The resulting states of a transition, and the keys that they concern.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) outputs: Vec<TransactionState>,
    /// The code that governs each input.
    pub(crate) code: Vec<Hash>,
    /// The owners and participants of the inputs.
    pub(crate) signers: BTreeSet<PublicKey>,
    /// The owners and participants of the outputs.
    pub(crate) receivers: BTreeSet<PublicKey>,
}

/// The code attached to a transition. Unlike other transactions, a transition may attach several versions of one contract.
pub(crate) struct TransitionCode<'a> {
    executor: &'a dyn ContractExecutor,
    attached: BTreeMap<Hash, Arc<ContractDescriptor>>,
}

impl<'a> TransitionCode<'a> {
    pub(crate) fn new(
        executor: &'a dyn ContractExecutor,
        attachments: impl IntoIterator<Item = Hash>,
    ) -> Self {
        let known = |hash| executor.descriptor(&hash).map(|found| (hash, found));
        Self {
            executor,
            attached: attachments.into_iter().filter_map(known).collect(),
        }
    }

    fn named(&self, hash: &Hash) -> Result<&Arc<ContractDescriptor>, ContextualError> {
        self.attached
            .get(hash)
            .ok_or(ContextualError::CodeNotAttached(*hash))
    }

    /// Returns the code that governs a state: the attached code that its constraint allows. There must be exactly one.
    fn of(&self, state: &TransactionState) -> Result<Hash, ContextualError> {
        let name = &state.contract;
        let mut allowed = self.attached.iter().filter(|(hash, descriptor)| {
            descriptor.name() == name && state.constraint.is_satisfied_by(hash, descriptor)
        });
        match (allowed.next(), allowed.next()) {
            (Some((hash, _)), None) => Ok(*hash),
            (Some(_), Some(_)) => Err(ContextualError::ContractAmbiguous(name.clone())),
            (None, _) if self.attached.values().any(|d| d.name() == name) => {
                Err(ContextualError::ConstraintUnsatisfied(name.clone()))
            }
            (None, _) => Err(ContextualError::ContractMissing(name.clone())),
        }
    }

    fn describe(
        &self,
        code: &Hash,
        state: &TransactionState,
    ) -> Result<StateFacts, ContextualError> {
        let facts = self.executor.describe(code, &state.data);
        facts.map_err(|rejection| ContextualError::ContractRejected {
            contract: state.contract.clone(),
            rejection,
        })
    }

    /// Computes the outputs, in the order of the inputs.
    pub(crate) fn apply(
        &self,
        transition: &Transition,
        inputs: &[StateAndRef],
    ) -> Result<Moved, ContextualError> {
        if let Some(input) = find_separated(inputs) {
            return Err(ContextualError::EncumbranceMissing(input.reference));
        }
        let upgrade = match transition {
            Transition::NotaryChange { .. } => None,
            Transition::Upgrade { from, to } => Some(self.upgrade(from, to)?),
        };
        let places: BTreeMap<StateRef, u32> = inputs.iter().map(|i| i.reference).zip(0..).collect();
        let mut moved = Moved::default();
        let mut upgraded = false;
        for input in inputs {
            let old = &input.state;
            let mut new = old.clone();
            new.encumbrance = old.encumbrance.and_then(|index| {
                let bound_to = StateRef::new(input.reference.tx, index);
                places.get(&bound_to).copied()
            });
            let mut code = None;
            match (transition, &upgrade) {
                (Transition::NotaryChange { to }, _) => new.notary = to.clone(),
                (Transition::Upgrade { .. }, Some(upgrade)) if upgrade.concerns(old) => {
                    upgraded = true;
                    code = Some((*upgrade.from.0, *upgrade.to.0));
                    upgrade.turn(self.executor, &mut new)?;
                }
                (Transition::Upgrade { .. }, _) => {}
            }
            let (before, after) = match code {
                Some(both) => both,
                None => self.of(old).map(|code| (code, code))?,
            };
            moved.gather(input.reference, self.describe(&before, old)?, true)?;
            moved.gather(input.reference, self.describe(&after, &new)?, false)?;
            moved.outputs.push(new);
            moved.code.push(before);
        }
        if upgrade.is_some() && !upgraded {
            return Err(TransitionError::NothingToUpgrade.into());
        }
        Ok(moved)
    }

    fn upgrade<'b>(&'b self, from: &'b Hash, to: &'b Hash) -> Result<Upgrade<'b>, ContextualError> {
        let upgrade = Upgrade {
            from: (from, self.named(from)?),
            to: (to, self.named(to)?),
        };
        let (old, new) = (upgrade.from.1.contract(), upgrade.to.1.contract());
        if from == to || (old.name == new.name && old.version >= new.version) {
            return Err(TransitionError::NotNewer.into());
        }
        Ok(upgrade)
    }
}

impl Moved {
    fn gather(
        &mut self,
        reference: StateRef,
        facts: StateFacts,
        before: bool,
    ) -> Result<(), TransitionError> {
        if facts.owner.is_none() && facts.participants.is_empty() {
            return Err(TransitionError::Unconcerned(reference));
        }
        let keys = if before {
            &mut self.signers
        } else {
            &mut self.receivers
        };
        keys.extend(facts.participants);
        keys.extend(facts.owner);
        Ok(())
    }
}

/// Two codes, each with the hash that names it.
struct Upgrade<'a> {
    from: (&'a Hash, &'a ContractDescriptor),
    to: (&'a Hash, &'a ContractDescriptor),
}

impl Upgrade<'_> {
    /// Tells whether the old code governs a state.
    fn concerns(&self, state: &TransactionState) -> bool {
        let (hash, descriptor) = self.from;
        state.contract == *descriptor.name() && state.constraint.is_satisfied_by(hash, descriptor)
    }

    /// Puts a state under the new code, with a constraint of the same kind.
    fn turn(
        &self,
        executor: &dyn ContractExecutor,
        state: &mut TransactionState,
    ) -> Result<(), ContextualError> {
        let ((_, old), (hash, new)) = (self.from, self.to);
        let turned = executor.upgrade(hash, old.contract(), &state.data);
        state.data = turned.map_err(|rejection| ContextualError::ContractRejected {
            contract: new.name().clone(),
            rejection,
        })?;
        state.contract = new.name().clone();
        state.constraint = match &state.constraint {
            Constraint::Descriptor(_) => Constraint::Descriptor(*hash),
            Constraint::SignedBy(_) => Constraint::SignedBy(new.signer().clone()),
            Constraint::AlwaysAccept => Constraint::AlwaysAccept,
        };
        Ok(())
    }
}

impl LedgerTransaction {
    /// Checks a transaction that has a command to the reserved name.
    pub(crate) fn verify_transition(
        &self,
        transition: Result<Transition, DecodeError>,
        executor: &dyn ContractExecutor,
        rules: &NetworkRules,
    ) -> Result<VerifiedTransaction, ContextualError> {
        let transition = transition.map_err(TransitionError::Malformed)?;
        let [command] = self.commands.as_slice() else {
            return Err(TransitionError::NotAlone.into());
        };
        if !self.references.is_empty() {
            return Err(TransitionError::NotAlone.into());
        }
        let notary = self.check_inputs_notary(rules)?;
        if let Transition::NotaryChange { to } = &transition {
            if !rules.notaries.contains(to) {
                return Err(ContextualError::NotaryUnknown(to.clone()));
            }
            if to == notary {
                return Err(TransitionError::SameNotary.into());
            }
        }
        for input in &self.inputs {
            let free = input.state.constraint == Constraint::AlwaysAccept;
            if free && !rules.allow_always_accept {
                let name = input.state.contract.clone();
                return Err(ContextualError::AlwaysAcceptRefused(name));
            }
        }
        if self.inputs.is_empty() || self.outputs.len() != self.inputs.len() {
            return Err(TransitionError::Unequal {
                inputs: self.inputs.len(),
                outputs: self.outputs.len(),
            }
            .into());
        }
        let code = TransitionCode::new(executor, self.attachments.iter().copied());
        let moved = code.apply(&transition, &self.inputs)?;
        for (input, used) in self.inputs.iter().zip(&moved.code) {
            self.check_age(input, code.named(used)?, executor)?;
        }
        let expected = moved.outputs.iter().zip(&self.outputs).zip(0u32..);
        for ((expected, found), index) in expected {
            if expected != found {
                return Err(TransitionError::Output(index).into());
            }
        }
        if let Some(key) = moved
            .signers
            .iter()
            .find(|key| !command.signers.contains(key))
        {
            return Err(TransitionError::SignerMissing(key.clone()).into());
        }
        Ok(VerifiedTransaction::of(self.id))
    }
}
