//! Planning a transition: the required contents of its transaction.

use std::collections::{BTreeMap, BTreeSet};

use primitives::{Coded, Hash, PublicKey};
use thiserror::Error;

use crate::transition_rules::TransitionCode;
use crate::{
    Constraint, ContextualError, ContractExecutor, ContractName, Party, StateAndRef,
    TransactionBuilder, TransactionState, Transition, TransitionError, TxId, transition_name,
};

/// Reasons why no transition of the states can be planned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The states belong to several notaries, or there are none.
    #[error("the states of one transition belong to one notary")]
    Notaries,
    /// The rules forbid it.
    #[error(transparent)]
    Rules(#[from] ContextualError),
}

impl Coded for PlanError {
    fn code(&self) -> &'static str {
        match self {
            PlanError::Notaries => "tx.notary_mismatch",
            PlanError::Rules(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        crate::errors::action(self.code())
    }
}

/// The target of a transition. Encoded as `[0, party]` or `[1, descriptor hash]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransitionGoal {
    /// To this notary.
    Notary(Party),
    /// Under the code that this descriptor names.
    Code(Hash),
}

primitives::variants!(TransitionGoal {
    0 => Notary(to),
    1 => Code(to),
});

/// The required contents of a transition's transaction, in addition to its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionPlan {
    /// The transition's effect.
    pub transition: Transition,
    /// The notary of the transition's transaction, which is the present notary of the states.
    pub notary: Party,
    /// The code to be attached.
    pub attachments: Vec<Hash>,
    /// The outputs, in the order of the inputs.
    pub outputs: Vec<TransactionState>,
    /// Keys of the parties that the inputs concern: they have to sign.
    pub signers: Vec<PublicKey>,
    /// Keys of the parties that the inputs or the outputs concern: they receive the transaction.
    pub concerned: Vec<PublicKey>,
}

primitives::record!(TransitionPlan {
    transition,
    notary,
    attachments,
    outputs,
    signers,
    concerned
});

impl TransitionPlan {
    /// Plans a transition of states; `origin` looks up the attachments of the transactions that made them.
    pub fn new(
        goal: &TransitionGoal,
        inputs: &[StateAndRef],
        origin: impl Fn(&TxId) -> Option<Vec<Hash>>,
        executor: &dyn ContractExecutor,
    ) -> Result<Self, PlanError> {
        match goal {
            TransitionGoal::Notary(to) => Self::notary_change(to.clone(), inputs, origin, executor),
            TransitionGoal::Code(to) => Self::upgrade(*to, inputs, origin, executor),
        }
    }

    /// Plans a change of the notary of states.
    pub fn notary_change(
        to: Party,
        inputs: &[StateAndRef],
        origin: impl Fn(&TxId) -> Option<Vec<Hash>>,
        executor: &dyn ContractExecutor,
    ) -> Result<Self, PlanError> {
        let notary = notary_of(inputs)?;
        if notary == to {
            return Err(ContextualError::from(TransitionError::SameNotary).into());
        }
        let code = code_of(inputs, origin, executor)?;
        Self::make(Transition::NotaryChange { to }, inputs, code, executor)
    }

    /// Plans an upgrade of states to the code that a descriptor names. The code that governs the first state is the code to
    /// upgrade. States that other code governs are moved along unchanged.
    pub fn upgrade(
        to: Hash,
        inputs: &[StateAndRef],
        origin: impl Fn(&TxId) -> Option<Vec<Hash>>,
        executor: &dyn ContractExecutor,
    ) -> Result<Self, PlanError> {
        let code = code_of(inputs, origin, executor)?;
        let from = *code.first().ok_or(PlanError::Notaries)?;
        let attached = code.into_iter().chain([to]);
        Self::make(Transition::Upgrade { from, to }, inputs, attached, executor)
    }

    fn make(
        transition: Transition,
        inputs: &[StateAndRef],
        attached: impl IntoIterator<Item = Hash>,
        executor: &dyn ContractExecutor,
    ) -> Result<Self, PlanError> {
        let notary = notary_of(inputs)?;
        let mut attachments: Vec<Hash> = Vec::new();
        for hash in attached {
            if !attachments.contains(&hash) {
                attachments.push(hash);
            }
        }
        let code = TransitionCode::new(executor, attachments.iter().copied());
        let moved = code.apply(&transition, inputs)?;
        let signers: Vec<PublicKey> = moved.signers.iter().cloned().collect();
        let concerned: BTreeSet<PublicKey> =
            moved.signers.into_iter().chain(moved.receivers).collect();
        Ok(Self {
            transition,
            notary,
            attachments,
            outputs: moved.outputs,
            signers,
            concerned: concerned.into_iter().collect(),
        })
    }

    /// Returns the transaction of the plan.
    pub fn builder(&self, inputs: &[StateAndRef]) -> TransactionBuilder {
        let mut builder = TransactionBuilder::new(self.notary.clone()).inputs(inputs);
        for output in &self.outputs {
            builder = builder.output(output.clone());
        }
        for hash in &self.attachments {
            builder = builder.attachment(*hash);
        }
        builder.command(
            transition_name().clone(),
            self.transition.value(),
            self.signers.clone(),
        )
    }
}

fn notary_of(inputs: &[StateAndRef]) -> Result<Party, PlanError> {
    let notary = &inputs.first().ok_or(PlanError::Notaries)?.state.notary;
    let same = inputs.iter().all(|input| input.state.notary == *notary);
    same.then(|| notary.clone()).ok_or(PlanError::Notaries)
}

/// Returns the code that governs each input. That is the code that the input's constraint names. If the constraint names none,
/// it is the newest code that made any of the inputs with the same contract and constraint.
fn code_of(
    inputs: &[StateAndRef],
    origin: impl Fn(&TxId) -> Option<Vec<Hash>>,
    executor: &dyn ContractExecutor,
) -> Result<Vec<Hash>, ContextualError> {
    let mut newest: BTreeMap<(&ContractName, &Constraint), (u32, Hash)> = BTreeMap::new();
    for input in inputs {
        let (name, constraint) = (&input.state.contract, &input.state.constraint);
        if let Constraint::Descriptor(hash) = constraint {
            newest.insert((name, constraint), (0, *hash));
            continue;
        }
        let attached = origin(&input.reference.tx);
        let attached = attached.ok_or(ContextualError::OriginUnknown(input.reference))?;
        for hash in attached {
            let Some(descriptor) = executor.descriptor(&hash) else {
                continue;
            };
            let fits = descriptor.name() == name && constraint.is_satisfied_by(&hash, &descriptor);
            let version = descriptor.contract().version;
            let known = newest.get(&(name, constraint)).map(|(version, _)| *version);
            if fits && known.is_none_or(|known| known < version) {
                newest.insert((name, constraint), (version, hash));
            }
        }
    }
    inputs
        .iter()
        .map(|input| {
            let found = newest.get(&(&input.state.contract, &input.state.constraint));
            let missing = || ContextualError::ContractMissing(input.state.contract.clone());
            found.map(|(_, hash)| *hash).ok_or_else(missing)
        })
        .collect()
}
