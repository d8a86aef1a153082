//! The ports through which the ledger runs contract code.

use std::sync::Arc;

use primitives::{DecodeError, Hash};
use thiserror::Error;

use crate::{
    ColumnSpec, CommandFacts, ContractDescriptor, ContractName, ContractRef, LedgerTransaction,
    StateFacts,
};

/// A contract says no. Its code is its own, `domain.snake_case`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code}: {message}")]
pub struct ContractRejection {
    /// Which rule.
    pub code: String,
    /// Explanation of the broken rule.
    pub message: String,
    /// The failure of the program that runs contracts, if the rejection comes from it and not from a contract.
    by_program: Option<ProgramFailure>,
}

/// A failure of the program that runs contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramFailure {
    /// It lacks the code.
    Unknown,
    /// The code panicked in it.
    Panicked,
}

impl ProgramFailure {
    /// Returns the stable code.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Unknown => "contract.unknown",
            Self::Panicked => "contract.panicked",
        }
    }
}

impl ContractRejection {
    /// Makes a rejection.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            by_program: None,
        }
    }

    /// Makes a rejection by the program that runs contracts.
    pub(crate) fn by_program(failure: ProgramFailure, message: String) -> Self {
        Self {
            by_program: Some(failure),
            ..Self::new(failure.code(), message)
        }
    }

    /// Returns whether the code panicked.
    pub(crate) fn is_panic(&self) -> bool {
        self.by_program == Some(ProgramFailure::Panicked)
    }

    /// Tells whether the program that runs contracts could not run the code. Another program may be able to.
    pub fn is_by_program(&self) -> bool {
        self.by_program.is_some()
    }
}

/// Native contract code.
///
/// # Correctness
/// The verdict must follow from the transaction alone: no clock, no randomness, no state of the node, nothing that differs
/// from one node to the next.
pub trait Contract: Send + Sync {
    /// Returns the contract's name.
    fn name(&self) -> &str;

    /// Returns the version of this code.
    fn version(&self) -> u32;

    /// Accepts or rejects a transaction that has states or commands of this contract.
    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection>;

    /// Describes a state for the vault.
    ///
    /// It is called for states of older versions too, where their constraint allows this code, so it must decode their
    /// data.
    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError>;

    /// Describes a command to the contract for people: its name and its fields. The default describes none, and the command's
    /// value is then shown as bytes.
    ///
    /// As with states, it is called for commands of older versions too, if the node lacks their code.
    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        let _ = value;
        Ok(None)
    }

    /// Converts a state of other code to this one, by an explicit upgrade. `from` is the state's present code: an older
    /// version of this contract, or another contract. The default implementation refuses.
    ///
    /// The ledger ensures that all concerned parties sign; this function only converts the data.
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

    /// Returns the columns for finding its states in the vault, besides the columns of every state. A column of the same
    /// name has the same kind in every version. The default is no columns.
    fn columns(&self) -> &[ColumnSpec] {
        &[]
    }
}

/// The code of the refusal to take over states.
const NO_UPGRADE: &str = "contract.no_upgrade";

/// Runs contract code of any kind.
pub trait ContractExecutor {
    /// Runs the code that a descriptor names.
    fn execute(
        &self,
        contract: &ContractName,
        descriptor: &Hash,
        tx: &LedgerTransaction,
    ) -> Result<(), ContractRejection>;

    /// Returns the descriptor of this hash, if the attachment is one, is properly signed, and its code can be run here.
    fn descriptor(&self, hash: &Hash) -> Option<Arc<ContractDescriptor>>;

    /// Describes a state with the code that a descriptor names.
    fn describe(&self, descriptor: &Hash, data: &[u8]) -> Result<StateFacts, ContractRejection>;

    /// Converts a state to the code that a descriptor names: see [`Contract::upgrade`].
    fn upgrade(
        &self,
        descriptor: &Hash,
        from: &ContractRef,
        data: &[u8],
    ) -> Result<Vec<u8>, ContractRejection>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_program_reports_a_panic() {
        let own = ContractRejection::new(ProgramFailure::Panicked.code(), "of the contract's own");
        assert!(!own.is_panic() && !own.is_by_program());
        let panic = ContractRejection::by_program(ProgramFailure::Panicked, "a bug".to_owned());
        assert!(panic.is_panic() && panic.is_by_program());
        let unknown = ContractRejection::by_program(ProgramFailure::Unknown, "none".to_owned());
        assert!(!unknown.is_panic() && unknown.is_by_program());
    }
}
