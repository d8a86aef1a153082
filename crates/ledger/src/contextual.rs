//! The third stage of verification: rules that need the consumed states, the network's rules and the contracts.

use std::collections::BTreeMap;
use std::sync::Arc;

use primitives::{Coded, Hash};
use thiserror::Error;

use crate::contract::ProgramFailure;
use crate::encumbrance::find_separated;
use crate::rings::check_rings;
use crate::{
    Constraint, ContractDescriptor, ContractExecutor, ContractName, ContractRejection,
    LedgerTransaction, NetworkParameters, Party, StateAndRef, StateRef, Transition,
    TransitionError, TxId, errors,
};

/// The part of the network parameters that verification depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkRules {
    /// The notaries of the network.
    pub notaries: Vec<Party>,
    /// Whether states may be constrained by nothing at all.
    pub allow_always_accept: bool,
}

impl From<&NetworkParameters> for NetworkRules {
    fn from(parameters: &NetworkParameters) -> Self {
        Self {
            notaries: parameters.notaries.clone(),
            allow_always_accept: parameters.allow_always_accept,
        }
    }
}

/// Reasons why a resolved transaction is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContextualError {
    /// It has states but no notary.
    #[error("the transaction has states but no notary")]
    NotaryMissing,
    /// It has a time window but no notary.
    #[error("the transaction has a time window but no notary")]
    TimeWindowWithoutNotary,
    /// Its notary is none of the network's.
    #[error("{0} is not among the notaries of the network parameters")]
    NotaryUnknown(Party),
    /// An input or a reference belongs to another notary.
    #[error("the state {0} belongs to the notary {1}, not to the transaction's")]
    NotaryMismatch(StateRef, Party),
    /// An output names another notary.
    #[error("output {0} names the notary {1}, not the transaction's")]
    OutputNotaryMismatch(u32, Party),
    /// Encumbered outputs do not form rings.
    #[error("the encumbrance of output {0} does not lead through other outputs back to it")]
    EncumbranceInvalid(u32),
    /// An encumbered state is consumed without the one it is bound to.
    #[error("the state {0} is consumed without the one that encumbers it")]
    EncumbranceMissing(StateRef),
    /// The code of a contract is not attached, or this node can't run it.
    #[error("no code of the contract {0} is attached that can be run here")]
    ContractMissing(ContractName),
    /// Two versions of a contract are attached.
    #[error("more than one version of the contract {0} is attached")]
    ContractAmbiguous(ContractName),
    /// A command addresses a contract without any state in the transaction.
    #[error("a command names the contract {0}, but the transaction has no state of it")]
    CommandWithoutState(ContractName),
    /// A state's constraint does not allow the attached code.
    #[error("the attached code of {0} does not satisfy the constraint of a state")]
    ConstraintUnsatisfied(ContractName),
    /// An output's constraint differs from that of an input with the same contract.
    #[error("a state of {0} is made under another constraint than the ones consumed")]
    ConstraintNotPropagated(ContractName),
    /// A state may be decided about by any code, and the network does not allow that.
    #[error(
        "a state of {0} accepts any code, and allow_always_accept of the network parameters is false"
    )]
    AlwaysAcceptRefused(ContractName),
    /// A state has a contract of the ledger's own.
    #[error("the name {0} is reserved: no state can have it")]
    NameReserved(ContractName),
    /// Code is named that is not attached, or can't be run here.
    #[error("the code {0} is not attached, or can't be run here")]
    CodeNotAttached(Hash),
    /// The attached code is older than the code that made a state.
    #[error(
        "version {attached} of {contract} is attached, older than the version {made_by} that made the state {state}"
    )]
    Downgraded {
        /// The contract.
        contract: ContractName,
        /// The version attached.
        attached: u32,
        /// The version that made the state.
        made_by: u32,
        /// The state.
        state: StateRef,
    },
    /// The transaction that made a state is not known, so the age of its code is not known either.
    #[error("the transaction that made the state {0} is not known here")]
    OriginUnknown(StateRef),
    /// A transition breaks a rule of its own.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// A contract rejects the transaction.
    #[error("the contract {contract} rejects the transaction: {rejection}")]
    ContractRejected {
        /// The contract.
        contract: ContractName,
        /// Why.
        rejection: ContractRejection,
    },
}

impl Coded for ContextualError {
    fn code(&self) -> &'static str {
        match self {
            ContextualError::NotaryMissing => "tx.notary_missing",
            ContextualError::TimeWindowWithoutNotary => "tx.time_window_without_notary",
            ContextualError::NotaryUnknown(_) => "tx.notary_unknown",
            ContextualError::NotaryMismatch(..) | ContextualError::OutputNotaryMismatch(..) => {
                "tx.notary_mismatch"
            }
            ContextualError::EncumbranceInvalid(_) => "tx.encumbrance_invalid",
            ContextualError::EncumbranceMissing(_) => "tx.encumbrance_missing",
            ContextualError::ContractMissing(_) | ContextualError::CodeNotAttached(_) => {
                "tx.contract_missing"
            }
            ContextualError::NameReserved(_) => "tx.name_reserved",
            ContextualError::Downgraded { .. } => "tx.contract_downgraded",
            ContextualError::OriginUnknown(_) => "tx.origin_unknown",
            ContextualError::Transition(error) => error.code(),
            ContextualError::ContractAmbiguous(_) => "tx.contract_ambiguous",
            ContextualError::CommandWithoutState(_) => "tx.command_without_state",
            ContextualError::ConstraintUnsatisfied(_) => "tx.constraint_unsatisfied",
            ContextualError::ConstraintNotPropagated(_) => "tx.constraint_not_propagated",
            ContextualError::AlwaysAcceptRefused(_) => "tx.always_accept_refused",
            ContextualError::ContractRejected { rejection, .. } if rejection.is_panic() => {
                ProgramFailure::Panicked.code()
            }
            ContextualError::ContractRejected { .. } => "tx.contract_rejected",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

/// A transaction that every contract accepts and that follows every rule of the ledger. Its signatures are checked separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedTransaction {
    id: TxId,
}

impl VerifiedTransaction {
    /// Returns the transaction.
    pub fn id(&self) -> TxId {
        self.id
    }

    pub(crate) fn of(id: TxId) -> Self {
        Self { id }
    }
}

/// The code attached for one contract.
struct Code {
    hash: Hash,
    descriptor: Arc<ContractDescriptor>,
}

impl LedgerTransaction {
    /// Checks everything but the signatures: one notary, encumbrances, constraints, and that each contract's code is
    /// attached and accepts. For a [`Transition`] the ledger's own rules decide in place of the contracts.
    pub fn verify(
        &self,
        executor: &dyn ContractExecutor,
        rules: &NetworkRules,
    ) -> Result<VerifiedTransaction, ContextualError> {
        if let Some(transition) = Transition::of(&self.commands) {
            return self.verify_transition(transition, executor, rules);
        }
        self.check_notary(rules)?;
        check_rings(&self.outputs).map_err(ContextualError::EncumbranceInvalid)?;
        if let Some(input) = find_separated(&self.inputs) {
            return Err(ContextualError::EncumbranceMissing(input.reference));
        }
        let contracts = self.attached_code(executor)?;
        self.check_constraints(&contracts, executor, rules)?;
        for (contract, code) in contracts {
            executor
                .execute(contract, &code.hash, self)
                .map_err(|rejection| ContextualError::ContractRejected {
                    contract: contract.clone(),
                    rejection,
                })?;
        }
        Ok(VerifiedTransaction::of(self.id))
    }

    fn check_notary(&self, rules: &NetworkRules) -> Result<(), ContextualError> {
        let notary = self.check_inputs_notary(rules)?;
        for (index, output) in (0u32..).zip(&self.outputs) {
            if output.notary != *notary {
                let other = output.notary.clone();
                return Err(ContextualError::OutputNotaryMismatch(index, other));
            }
        }
        Ok(())
    }

    /// Returns the transaction's notary: one of the network's, and that of all that is consumed and read.
    pub(crate) fn check_inputs_notary(
        &self,
        rules: &NetworkRules,
    ) -> Result<&Party, ContextualError> {
        let Some(notary) = &self.notary else {
            return Err(match self.time_window {
                Some(_) => ContextualError::TimeWindowWithoutNotary,
                None => ContextualError::NotaryMissing,
            });
        };
        if !rules.notaries.contains(notary) {
            return Err(ContextualError::NotaryUnknown(notary.clone()));
        }
        for read in self.inputs.iter().chain(&self.references) {
            if read.state.notary != *notary {
                let other = read.state.notary.clone();
                return Err(ContextualError::NotaryMismatch(read.reference, other));
            }
        }
        Ok(notary)
    }

    /// Checks that no state whose constraint is [`Constraint::SignedBy`] is governed by code older than the code that made it.
    /// Otherwise old code could allow behaviour that newer code forbids. The attachments of the transaction that made the state
    /// name the code that made it.
    pub(crate) fn check_age(
        &self,
        input: &StateAndRef,
        code: &ContractDescriptor,
        executor: &dyn ContractExecutor,
    ) -> Result<(), ContextualError> {
        let Constraint::SignedBy(signer) = &input.state.constraint else {
            return Ok(());
        };
        let name = &input.state.contract;
        let origin = self.origins.get(&input.reference.tx);
        let origin = origin.ok_or(ContextualError::OriginUnknown(input.reference))?;
        let made_by = origin.iter().filter_map(|hash| {
            let descriptor = executor.descriptor(hash)?;
            let made_it = descriptor.name() == name && descriptor.signer() == signer;
            made_it.then(|| descriptor.contract().version)
        });
        // The code that made the state can no longer be run on this node, so its age is unknown.
        let made_by = made_by
            .max()
            .ok_or_else(|| ContextualError::ContractMissing(name.clone()))?;
        let attached = code.contract().version;
        if attached < made_by {
            return Err(ContextualError::Downgraded {
                contract: name.clone(),
                attached,
                made_by,
                state: input.reference,
            });
        }
        Ok(())
    }

    /// Returns the contracts of all states consumed or made, each with the one descriptor attached for it.
    fn attached_code(
        &self,
        executor: &dyn ContractExecutor,
    ) -> Result<BTreeMap<&ContractName, Code>, ContextualError> {
        let mut contracts: BTreeMap<&ContractName, Option<Code>> = BTreeMap::new();
        let consumed = self.inputs.iter().map(|input| &input.state);
        for state in consumed.chain(&self.outputs) {
            contracts.entry(&state.contract).or_default();
        }
        if let Some(reserved) = contracts.keys().find(|name| name.is_reserved()) {
            return Err(ContextualError::NameReserved((*reserved).clone()));
        }
        for command in &self.commands {
            if !contracts.contains_key(&command.contract) {
                return Err(ContextualError::CommandWithoutState(
                    command.contract.clone(),
                ));
            }
        }
        for hash in &self.attachments {
            let Some(descriptor) = executor.descriptor(hash) else {
                continue;
            };
            if let Some(code) = contracts.get_mut(descriptor.name()) {
                if code.is_some() {
                    return Err(ContextualError::ContractAmbiguous(
                        descriptor.name().clone(),
                    ));
                }
                *code = Some(Code {
                    hash: *hash,
                    descriptor,
                });
            }
        }
        contracts
            .into_iter()
            .map(|(name, code)| match code {
                Some(code) => Ok((name, code)),
                None => Err(ContextualError::ContractMissing(name.clone())),
            })
            .collect()
    }

    fn check_constraints(
        &self,
        contracts: &BTreeMap<&ContractName, Code>,
        executor: &dyn ContractExecutor,
        rules: &NetworkRules,
    ) -> Result<(), ContextualError> {
        let states = self
            .inputs
            .iter()
            .map(|input| &input.state)
            .chain(&self.outputs);
        for state in states {
            let name = &state.contract;
            if state.constraint == Constraint::AlwaysAccept && !rules.allow_always_accept {
                return Err(ContextualError::AlwaysAcceptRefused(name.clone()));
            }
            let satisfied = contracts.get(name).is_some_and(|code| {
                state
                    .constraint
                    .is_satisfied_by(&code.hash, &code.descriptor)
            });
            if !satisfied {
                return Err(ContextualError::ConstraintUnsatisfied(name.clone()));
            }
        }
        // The distinct constraints of each contract's inputs: few, since one code satisfies them all.
        let mut consumed: BTreeMap<&ContractName, Vec<&Constraint>> = BTreeMap::new();
        for input in &self.inputs {
            if let Some(code) = contracts.get(&input.state.contract) {
                self.check_age(input, &code.descriptor, executor)?;
            }
            let constraints = consumed.entry(&input.state.contract).or_default();
            if !constraints.contains(&&input.state.constraint) {
                constraints.push(&input.state.constraint);
            }
        }
        for output in &self.outputs {
            let before = consumed
                .get(&output.contract)
                .map_or(&[][..], Vec::as_slice);
            if !before
                .iter()
                .all(|constraint| constraint.may_become(&output.constraint))
            {
                return Err(ContextualError::ConstraintNotPropagated(
                    output.contract.clone(),
                ));
            }
        }
        Ok(())
    }
}
