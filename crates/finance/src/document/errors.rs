//! Reasons for refusing a document.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo, Hash};
use thiserror::Error;

use crate::ERRORS;

/// A reason why the contract or the flow refuses a document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// A state's data is not a document.
    #[error("a state's data is not a document: {0}")]
    State(DecodeError),
    /// A command's value is not a command of the contract.
    #[error("a command's value is not one of the contract of documents: {0}")]
    Command(DecodeError),
    /// There is no command, there are two, or one shares no document.
    #[error("documents are shared by one command, and it shares at least one")]
    Commands,
    /// A document is consumed.
    #[error("a document is consumed, but documents are permanent")]
    Kept,
    /// The file is not attached.
    #[error("file {0} is not attached to the transaction")]
    NotAttached(Hash),
    /// A party shares a document with itself.
    #[error("a document is shared by a party with itself")]
    WithItself,
    /// The sharing party does not sign.
    #[error("a document is shared and the party that shares it is no signer of that")]
    SharerMustSign,
    /// The title is invalid.
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
