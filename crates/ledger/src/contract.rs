//! The ports through which the ledger runs contract code.

use std::sync::Arc;

use primitives::{DecodeError, Hash};
use thiserror::Error;

use crate::{ContractDescriptor, ContractName, LedgerTransaction, StateFacts};

/// A contract says no. Its code is its own, `domain.snake_case`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code}: {message}")]
pub struct ContractRejection {
    /// Which rule.
    pub code: String,
    /// What breaks it.
    pub message: String,
}

impl ContractRejection {
    /// A rejection.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
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
    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError>;
}

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
}
