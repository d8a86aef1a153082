//! Building transactions.

use std::borrow::Borrow;

use primitives::{Hash, PublicKey};

use crate::structure::Components;
use crate::{
    Command, Constraint, ContractName, Party, StateAndRef, StateRef, StructureError, TimeWindow,
    TransactionState, WireTransaction,
};

/// Reason why a transaction cannot be built: the rule that it would break.
pub type BuildError = StructureError;

/// Gathers the components of a transaction; [`build`](TransactionBuilder::build) checks and hashes them. It does no look-ups:
/// the caller resolves the states and knows the attachments beforehand.
#[derive(Clone, Debug)]
pub struct TransactionBuilder {
    components: Components,
    notary: Party,
}

impl TransactionBuilder {
    /// Makes a transaction under a notary.
    pub fn new(notary: Party) -> Self {
        let components = Components {
            notary: Some(notary.clone()),
            ..Components::default()
        };
        Self { components, notary }
    }

    /// Consumes a state.
    pub fn input(self, input: impl Borrow<StateAndRef>) -> Self {
        self.consume(input.borrow().reference)
    }

    /// Consumes a state that is known by its reference only.
    pub fn consume(mut self, input: StateRef) -> Self {
        self.components.inputs.push(input);
        self
    }

    /// Consumes states.
    pub fn inputs<'a>(mut self, inputs: impl IntoIterator<Item = &'a StateAndRef>) -> Self {
        self.components
            .inputs
            .extend(inputs.into_iter().map(|input| input.reference));
        self
    }

    /// Reads a state without consuming it.
    pub fn reference(mut self, reference: StateRef) -> Self {
        self.components.references.push(reference);
        self
    }

    /// Makes a state.
    pub fn output(mut self, state: TransactionState) -> Self {
        self.components.outputs.push(state);
        self
    }

    /// Adds an output with the transaction's notary and without an encumbrance.
    pub fn output_data(
        self,
        contract: ContractName,
        constraint: Constraint,
        data: Vec<u8>,
    ) -> Self {
        let notary = self.notary.clone();
        self.output(TransactionState {
            data,
            contract,
            constraint,
            notary,
            encumbrance: None,
        })
    }

    /// Binds outputs that were added before into a ring, so that they can only be consumed together.
    pub fn bind(mut self, members: &[u32]) -> Self {
        let next = members.iter().cycle().skip(1);
        for (member, next) in members.iter().zip(next) {
            if let Some(output) = self.components.outputs.get_mut(*member as usize) {
                output.encumbrance = Some(*next);
            }
        }
        self
    }

    /// Adds a command.
    pub fn command(
        mut self,
        contract: ContractName,
        value: Vec<u8>,
        signers: Vec<PublicKey>,
    ) -> Self {
        self.components.commands.push(Command {
            contract,
            value,
            signers,
        });
        self
    }

    /// Attaches a file or a contract's descriptor by its hash; the same one again is left out.
    pub fn attachment(mut self, hash: Hash) -> Self {
        if !self.components.attachments.contains(&hash) {
            self.components.attachments.push(hash);
        }
        self
    }

    /// Sets the time window.
    pub fn time_window(mut self, window: TimeWindow) -> Self {
        self.components.time_window = Some(window);
        self
    }

    /// Sets the hash of the network parameters in force.
    pub fn parameters(mut self, hash: Hash) -> Self {
        self.components.parameters = Some(hash);
        self
    }

    /// Checks the transaction and computes its id. The salt must be random and never used twice: it protects the
    /// components that a tear-off hides.
    pub fn build(self, privacy_salt: [u8; 32]) -> Result<WireTransaction, BuildError> {
        self.components.check()?;
        WireTransaction::from_components(self.components, privacy_salt)
    }
}
