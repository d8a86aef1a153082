//! Why a document is refused.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo, Hash};
use thiserror::Error;

use crate::ERRORS;

/// Why a document is refused, by the contract and by the flow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// A state's data is not a document.
    #[error("a state's data is not a document: {0}")]
    State(DecodeError),
    /// A command's value is not one of the contract's.
    #[error("a command's value is not one of the contract of documents: {0}")]
    Command(DecodeError),
    /// No command, two of them, or one without a document.
    #[error("documents are shared by one command, and it shares at least one")]
    Commands,
    /// A document is consumed.
    #[error("a document is consumed; what was shared stays shared")]
    Kept,
    /// The file is not attached.
    #[error("file {0} is not attached to the transaction")]
    NotAttached(Hash),
    /// Somebody shares with itself.
    #[error("a document is shared by a party with itself")]
    WithItself,
    /// Who shares does not sign.
    #[error("a document is shared and the party that shares it is no signer of that")]
    SharerMustSign,
    /// Not a title.
    #[error("a title has 1 to 256 bytes and no control characters")]
    Title,
}

impl Coded for DocumentError {
    fn code(&self) -> &'static str {
        match self {
            DocumentError::State(_) => "document.state_malformed",
            DocumentError::Command(_) => "document.command_malformed",
            DocumentError::Commands => "document.commands_mismatched",
            DocumentError::Kept => "document.kept",
            DocumentError::NotAttached(_) => "document.not_attached",
            DocumentError::WithItself => "document.with_itself",
            DocumentError::SharerMustSign => "document.sharer_must_sign",
            DocumentError::Title => "document.title_invalid",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl From<DocumentError> for ContractRejection {
    fn from(error: DocumentError) -> Self {
        ContractRejection::new(error.code(), error.to_string())
    }
}
