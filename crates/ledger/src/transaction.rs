//! Resolved transactions, the input of contracts.

use std::collections::BTreeMap;

use primitives::{Coded, Hash};
use thiserror::Error;

use crate::{
    Command, Constraint, ContractName, Party, StateAndRef, StateRef, TimeWindow, TransactionState,
    TxId, WireTransaction, errors,
};

/// A transaction with the states that it consumes and reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerTransaction {
    /// The id.
    pub id: TxId,
    /// The states consumed.
    pub inputs: Vec<StateAndRef>,
    /// The states read.
    pub references: Vec<StateAndRef>,
    /// The states made.
    pub outputs: Vec<TransactionState>,
    /// The commands.
    pub commands: Vec<Command>,
    /// The attachments.
    pub attachments: Vec<Hash>,
    /// The notary.
    pub notary: Option<Party>,
    /// The time window for its notarisation. A contract may rely on it, because the notary checks it.
    pub time_window: Option<TimeWindow>,
    /// The hash of the network parameters it was made under.
    pub parameters: Option<Hash>,
    /// The attachments of the transactions that made the inputs, for inputs whose constraint names a signer. They show the
    /// version of the code that made each input. See [`with_origins`](Self::with_origins).
    pub origins: BTreeMap<TxId, Vec<Hash>>,
}

/// A state that a transaction consumes or reads is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the state {0} is not known here")]
pub struct ResolveError(pub StateRef);

impl Coded for ResolveError {
    fn code(&self) -> &'static str {
        "tx.state_unknown"
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl LedgerTransaction {
    /// Looks up the states that a transaction consumes and reads.
    pub fn resolve(
        wire: &WireTransaction,
        look_up: impl Fn(&StateRef) -> Option<TransactionState>,
    ) -> Result<Self, ResolveError> {
        let find = |references: &[StateRef]| {
            references
                .iter()
                .map(|reference| {
                    let state = look_up(reference).ok_or(ResolveError(*reference))?;
                    Ok(StateAndRef {
                        state,
                        reference: *reference,
                    })
                })
                .collect::<Result<Vec<_>, ResolveError>>()
        };
        let parts = wire.parts();
        Ok(Self {
            id: wire.id(),
            inputs: find(&parts.inputs)?,
            references: find(&parts.references)?,
            outputs: parts.outputs.clone(),
            commands: parts.commands.clone(),
            attachments: parts.attachments.clone(),
            notary: parts.notary.clone(),
            time_window: parts.time_window,
            parameters: parts.parameters,
            origins: BTreeMap::new(),
        })
    }

    /// Looks up the attachments of the transactions that made the inputs, for inputs whose constraint is
    /// [`Constraint::SignedBy`]. Verification refuses such an input if the transaction that made it is not known.
    pub fn with_origins(mut self, look_up: impl Fn(&TxId) -> Option<Vec<Hash>>) -> Self {
        for input in &self.inputs {
            let tx = input.reference.tx;
            if matches!(input.state.constraint, Constraint::SignedBy(_))
                && !self.origins.contains_key(&tx)
                && let Some(attachments) = look_up(&tx)
            {
                self.origins.insert(tx, attachments);
            }
        }
        self
    }

    /// Returns the states consumed that a contract decides about.
    pub fn inputs_of<'a>(
        &'a self,
        contract: &'a ContractName,
    ) -> impl Iterator<Item = &'a StateAndRef> {
        self.inputs
            .iter()
            .filter(move |input| input.state.contract == *contract)
    }

    /// Returns the contracts of all inputs, outputs and commands, with repetitions.
    pub fn contracts(&self) -> impl Iterator<Item = &ContractName> {
        let inputs = self.inputs.iter().map(|input| &input.state);
        let states = inputs.chain(&self.outputs).map(|state| &state.contract);
        states.chain(self.commands.iter().map(|command| &command.contract))
    }

    /// Returns the outputs that a contract governs.
    pub fn outputs_of<'a>(
        &'a self,
        contract: &'a ContractName,
    ) -> impl Iterator<Item = &'a TransactionState> {
        self.outputs
            .iter()
            .filter(move |output| output.contract == *contract)
    }

    /// Returns the commands to a contract.
    pub fn commands_of<'a>(
        &'a self,
        contract: &'a ContractName,
    ) -> impl Iterator<Item = &'a Command> {
        self.commands
            .iter()
            .filter(move |command| command.contract == *contract)
    }
}
