//! Reasons for refusing an obligation.

use ledger::{ContractRejection, StateRef};
use primitives::{Coded, DecodeError, ErrorInfo};
use thiserror::Error;

use crate::ERRORS;

/// A reason why the contract or a flow refuses an obligation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ObligationError {
    /// A state's data is neither an obligation nor the cash that settles one.
    #[error("a state's data is neither an obligation nor cash: {0}")]
    State(DecodeError),
    /// A command's value is not a command of the contract.
    #[error("a command's value is not one of the obligation contract's: {0}")]
    Command(DecodeError),
    /// An id occurs twice on one side, or in the commands.
    #[error("an obligation occurs twice among the inputs, the outputs or the commands")]
    Repeated,
    /// A command names an obligation that the transaction does not have.
    #[error("a command names an obligation that the transaction does not have")]
    CommandWithoutObligation,
    /// A change is not allowed by its command, or has no command.
    #[error("{0}")]
    Change(&'static str),
    /// An obligation has the same obligor and obligee.
    #[error("an obligation's obligor and obligee are the same")]
    OwnDebt,
    /// The obligor does not sign.
    #[error("an issue, a settlement or a netting does not name an obligor as a signer")]
    ObligorMustSign,
    /// The obligee does not sign.
    #[error("a command that takes something from an obligee does not name it as a signer")]
    ObligeeMustSign,
    /// An obligation is issued, moved or netted in default.
    #[error("an obligation that is in default is issued, moved or netted")]
    InDefault,
    /// An obligation is declared in default before it is due.
    #[error("the time window does not begin when the obligation is due, or later")]
    NotDue,
    /// The token is not one that the obligation accepts.
    #[error("an obligation does not accept the token that it is settled in")]
    TokenNotAccepted,
    /// The cash does not reach the obligee.
    #[error("an obligee is due {due} and gets {paid}")]
    NotPaid {
        /// The quantity to settle.
        due: u64,
        /// The cash that the obligee gains.
        paid: u64,
    },
    /// Another contract in the transaction might count the same cash.
    #[error("obligations are settled together with a state or command of the contract '{0}'")]
    NotAlone(String),
    /// Netted obligations are owed in other cash or at other times.
    #[error("the obligations netted differ in the cash that they accept or in when they are due")]
    TermsDiffer,
    /// A netting changes the net position of a party.
    #[error("the net position of a party after a netting differs from the one before it")]
    NetChanged,
    /// The obligations form no cycle.
    #[error("the obligations form no cycle that could shrink")]
    NothingToNet,
    /// A sum is too large.
    #[error("a sum of amounts is over 18446744073709551615")]
    Overflow,
    /// The state named is not an obligation.
    #[error("the state named is not an obligation")]
    NotAnObligation,
    /// The quantity to pay is zero, or more than is owed.
    #[error("{quantity} is to be paid, and {owed} is owed")]
    Quantity {
        /// The requested quantity.
        quantity: u64,
        /// The quantity owed.
        owed: u64,
    },
    /// There are no tokens, or too many.
    #[error("an obligation accepts 1 to 16 tokens, and at most 256 obligations are netted at once")]
    Count,
    /// The obligations are with different notaries.
    #[error("the obligations are with different notaries")]
    NotariesDiffer,
    /// This node is not the party that may do it.
    #[error("this node is not the {0} of the obligation")]
    NotTheParty(&'static str),
    /// A party is asked to sign something other than a netting.
    #[error("the transaction asks for more than a netting of obligations")]
    Proposal,
    /// No party has an obligation that is to be netted.
    #[error("no party named has obligation {0}")]
    NotShared(StateRef),
}

impl Coded for ObligationError {
    fn code(&self) -> &'static str {
        match self {
            ObligationError::State(_) => "obligation.state_malformed",
            ObligationError::Command(_) => "obligation.command_malformed",
            ObligationError::Repeated => "obligation.repeated",
            ObligationError::CommandWithoutObligation => "obligation.command_without_obligation",
            ObligationError::Change(_) => "obligation.unexplained",
            ObligationError::OwnDebt => "obligation.own_debt",
            ObligationError::ObligorMustSign => "obligation.obligor_must_sign",
            ObligationError::ObligeeMustSign => "obligation.obligee_must_sign",
            ObligationError::InDefault => "obligation.in_default",
            ObligationError::NotDue => "obligation.not_due",
            ObligationError::TokenNotAccepted => "obligation.token_not_accepted",
            ObligationError::NotPaid { .. } => "obligation.not_paid",
            ObligationError::NotAlone(_) => "obligation.not_alone",
            ObligationError::TermsDiffer => "obligation.terms_differ",
            ObligationError::NetChanged => "obligation.net_changed",
            ObligationError::NothingToNet => "obligation.nothing_to_net",
            ObligationError::Overflow => "obligation.overflow",
            ObligationError::NotAnObligation => "obligation.not_an_obligation",
            ObligationError::Quantity { .. } => "obligation.quantity",
            ObligationError::Count => "obligation.count",
            ObligationError::NotariesDiffer => "obligation.notaries_differ",
            ObligationError::NotTheParty(_) => "obligation.not_the_party",
            ObligationError::Proposal => "obligation.proposal_differs",
            ObligationError::NotShared(_) => "obligation.not_shared",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl From<ObligationError> for ContractRejection {
    fn from(error: ObligationError) -> Self {
        ContractRejection::new(error.code(), error.to_string())
    }
}
