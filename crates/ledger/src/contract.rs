//! The ports through which the ledger runs contract code.

use std::sync::Arc;

use primitives::{DecodeError, Hash};
use thiserror::Error;

use crate::{
    ColumnSpec, ContractDescriptor, ContractName, ContractRef, LedgerTransaction, StateFacts,
};

/// A contract says no. Its code is its own, `domain.snake_case`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code}: {message}")]
pub struct ContractRejection {
    /// Which rule.
    pub code: String,
    /// What breaks it.
    pub message: String,
    /// Said by the program that runs contracts, and not by one.
    by_program: bool,
}

impl ContractRejection {
    /// A rejection.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            by_program: false,
        }
    }

    /// A rejection by the program that runs contracts: it lacks the code, or the code panicked in it.
    pub(crate) fn by_program(code: &str, message: String) -> Self {
        Self {
            by_program: true,
            ..Self::new(code, message)
        }
    }

    /// Whether the program that runs contracts could not run the code. Another program may be able to.
    pub fn is_by_program(&self) -> bool {
        self.by_program
    }
}

/// Native contract code.
///
/// # Correctness
/// The verdict must follow from the transaction alone: no clock, no randomness, no state of the node, nothing that differs
/// from one node to the next.
pub trait Contract: Send + Sync {
    /// The contract's name.
    fn name(&self) -> &str;

    /// The version of this code.
    fn version(&self) -> u32;

    /// Accepts or rejects a transaction that has states or commands of this contract.
    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection>;

    /// What the vault needs to know of a state.
    ///
    /// It is asked about states of older versions too, where their constraint allows this code: it must know their data.
    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError>;

    /// What a state of other code becomes under this one, by an explicit upgrade. `from` is the code it is under: an older
    /// version of this contract, or another contract. Refuses unless a contract says otherwise.
    ///
    /// The ledger sees to it that everyone concerned signs; here is only what becomes of the data.
    fn upgrade(&self, from: &ContractRef, data: &[u8]) -> Result<Vec<u8>, ContractRejection> {
        let _ = data;
        Err(ContractRejection::new(
            NO_UPGRADE,
            format!(
                "{} version {} does not take over states of {from}",
                self.name(),
                self.version()
            ),
        ))
    }

    /// The columns by which its states can be found in the vault, besides what every state has. A column of the same name
    /// is of the same kind in every version. None unless the contract says otherwise.
    fn columns(&self) -> &[ColumnSpec] {
        &[]
    }
}

/// The code of the refusal to take over states.
const NO_UPGRADE: &str = "contract.no_upgrade";

/// Runs contract code, whatever its kind.
pub trait ContractExecutor {
    /// Runs the code that a descriptor names.
    fn execute(
        &self,
        contract: &ContractName,
        descriptor: &Hash,
        tx: &LedgerTransaction,
    ) -> Result<(), ContractRejection>;

    /// The descriptor of this hash, if the attachment is one, is properly signed, and its code can be run here.
    fn descriptor(&self, hash: &Hash) -> Option<Arc<ContractDescriptor>>;

    /// What the code that a descriptor names says of a state.
    fn describe(&self, descriptor: &Hash, data: &[u8]) -> Result<StateFacts, ContractRejection>;

    /// What a state becomes under the code that a descriptor names: see [`Contract::upgrade`].
    fn upgrade(
        &self,
        descriptor: &Hash,
        from: &ContractRef,
        data: &[u8],
    ) -> Result<Vec<u8>, ContractRejection>;
}
