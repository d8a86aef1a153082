//! Refusals of transitions.

use primitives::{Coded, DecodeError, PublicKey};
use thiserror::Error;

use crate::{StateRef, errors};

/// Reasons for refusing a transition, in addition to those for any transaction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransitionError {
    /// The command does not decode.
    #[error("the transition does not decode: {0}")]
    Malformed(DecodeError),
    /// There is another command, or a reference.
    #[error("a transition has one command and refers to no state")]
    NotAlone,
    /// The states would stay where they are.
    #[error("the states belong to the notary that they should move to")]
    SameNotary,
    /// The new code is not newer.
    #[error("the upgrade does not lead to newer code")]
    NotNewer,
    /// Nothing is upgraded.
    #[error("the upgrade consumes no state that is governed by the code that it names")]
    NothingToUpgrade,
    /// There are more or fewer outputs than inputs.
    #[error("the transition has {outputs} outputs for {inputs} inputs")]
    Unequal {
        /// Inputs.
        inputs: usize,
        /// Outputs.
        outputs: usize,
    },
    /// An output is not the result of its input.
    #[error("output {0} is not what becomes of the state at its place")]
    Output(u32),
    /// A state has neither owner nor participants.
    #[error("the state {0} concerns nobody")]
    Unconcerned(StateRef),
    /// A key that a state concerns is not among the signers.
    #[error("the transition does not ask for the signature of {0}")]
    SignerMissing(PublicKey),
}

impl Coded for TransitionError {
    fn code(&self) -> &'static str {
        match self {
            TransitionError::Malformed(_) => "tx.transition_malformed",
            TransitionError::NotAlone => "tx.transition_not_alone",
            TransitionError::SameNotary => "tx.transition_same_notary",
            TransitionError::NotNewer => "tx.upgrade_not_newer",
            TransitionError::NothingToUpgrade => "tx.upgrade_without_state",
            TransitionError::Unequal { .. } | TransitionError::Output(_) => "tx.transition_output",
            TransitionError::Unconcerned(_) => "tx.transition_unconcerned",
            TransitionError::SignerMissing(_) => "tx.transition_signer_missing",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}
