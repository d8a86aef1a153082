//! Reasons for refusing a commercial paper.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo};
use thiserror::Error;

use crate::ERRORS;

/// A reason why the contract or a flow refuses a commercial paper.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PaperError {
    /// A state's data is not a paper.
    #[error("a state's data is not a commercial paper: {0}")]
    State(DecodeError),
    /// A command's value is not a command of the contract.
    #[error("a command's value is not one of the commercial paper contract's: {0}")]
    Command(DecodeError),
    /// Two commands do the same.
    #[error("there are two issues, two moves or two redemptions")]
    CommandRepeated,
    /// A command has no paper to act on.
    #[error("a command is about papers that the transaction does not have")]
    CommandWithoutPaper,
    /// Papers are made or consumed without a command for it.
    #[error(
        "{consumed} papers of the same terms are consumed and {made} made, which no command explains"
    )]
    NotConserved {
        /// The number consumed.
        consumed: u64,
        /// The number made.
        made: u64,
    },
    /// The issuer does not sign.
    #[error("an issue does not name the issuer as a signer")]
    IssuerMustSign,
    /// An owner does not sign.
    #[error("a paper is consumed by a command that does not name its owner as a signer")]
    OwnerMustSign,
    /// The time window does not prove that the paper is issued before its maturity.
    #[error("an issue's time window does not end by the maturity")]
    IssuedAfterMaturity,
    /// The time window does not prove that the paper is mature.
    #[error("a redemption's time window does not begin at the maturity or later")]
    NotMature,
    /// The cash does not reach the owner.
    #[error("an owner is due {due} and gets {paid}")]
    NotPaid {
        /// The face values.
        due: u64,
        /// The cash that the owner gains.
        paid: u64,
    },
    /// Another contract in the transaction might count the same cash.
    #[error("papers are redeemed together with a state or command of the contract '{0}'")]
    NotAlone(String),
    /// A sum is too large.
    #[error("a sum of amounts is over 18446744073709551615")]
    Overflow,
    /// The state named is not a commercial paper.
    #[error("the state named is not a commercial paper")]
    NotAPaper,
    /// The paper belongs to another party.
    #[error("the paper is owned by another party")]
    NotTheOwner,
    /// The paper was issued by another party.
    #[error("the paper was issued by another party")]
    NotTheIssuer,
    /// A holder is asked to sign something other than a redemption.
    #[error("the transaction asks for more than the redemption of papers")]
    Proposal,
}

impl Coded for PaperError {
    fn code(&self) -> &'static str {
        match self {
            PaperError::State(_) => "paper.state_malformed",
            PaperError::Command(_) => "paper.command_malformed",
            PaperError::CommandRepeated => "paper.command_repeated",
            PaperError::CommandWithoutPaper => "paper.command_without_paper",
            PaperError::NotConserved { .. } => "paper.not_conserved",
            PaperError::IssuerMustSign => "paper.issuer_must_sign",
            PaperError::OwnerMustSign => "paper.owner_must_sign",
            PaperError::IssuedAfterMaturity => "paper.issued_after_maturity",
            PaperError::NotMature => "paper.not_mature",
            PaperError::NotPaid { .. } => "paper.not_paid",
            PaperError::NotAlone(_) => "paper.not_alone",
            PaperError::Overflow => "paper.overflow",
            PaperError::NotAPaper => "paper.not_a_paper",
            PaperError::NotTheOwner => "paper.not_the_owner",
            PaperError::NotTheIssuer => "paper.not_the_issuer",
            PaperError::Proposal => "paper.proposal_differs",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl From<PaperError> for ContractRejection {
    fn from(error: PaperError) -> Self {
        ContractRejection::new(error.code(), error.to_string())
    }
}
