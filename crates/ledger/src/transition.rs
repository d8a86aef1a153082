//! Transitions: transactions that move states to another notary or to newer code, without a change of their meaning.
//!
//! A transition is an ordinary transaction with one command, to the reserved contract [`TRANSITION_NAME`]. Its ids, tear-offs
//! and formats are the usual ones. The ledger's own rules decide about it in place of the contracts: see
//! [`LedgerTransaction::verify`](crate::LedgerTransaction::verify).

use std::sync::OnceLock;

use primitives::{Decode, DecodeError, Encode, Hash};

use crate::{Command, CommandFacts, ContractName, Party};

/// The reserved contract name in a transition's command. No contract and no state can have a name that is reserved for the
/// ledger.
pub const TRANSITION_NAME: &str = "ledger.transition";

/// Returns the reserved name, checked.
pub fn transition_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| {
        ContractName::new(TRANSITION_NAME).expect("a constant that is a valid name")
    })
}

impl ContractName {
    /// Tells whether the name is the ledger's own (`ledger`, or anything that begins with `ledger.`): no contract can
    /// have it.
    pub fn is_reserved(&self) -> bool {
        let rest = self.as_str().strip_prefix("ledger");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The effect of a transition on the states that it consumes.
///
/// Encoded as `[0, party]` or `[1, descriptor hash, descriptor hash]`, the value of the only command of its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Each output is its input with this notary. The transaction names the old notary, which signs that the inputs are
    /// consumed.
    NotaryChange {
        /// The new notary.
        to: Party,
    },
    /// Each input that the code of the first descriptor governs becomes the output that the code of the second converts it to.
    /// Other states are moved along because they encumber those, and stay unchanged.
    Upgrade {
        /// The descriptor of the code that governs the states now.
        from: Hash,
        /// The descriptor of the code that governs them afterwards.
        to: Hash,
    },
}

primitives::variants!(Transition {
    0 => NotaryChange { to },
    1 => Upgrade { from, to },
});

impl Transition {
    /// Returns the transition that the commands of a transaction describe, if one of them has the reserved name. Verification
    /// checks that it is the only command.
    pub fn of(commands: &[Command]) -> Option<Result<Self, DecodeError>> {
        let command = commands
            .iter()
            .find(|command| command.contract == *transition_name())?;
        Some(Self::from_bytes(&command.value))
    }

    /// Describes the command for people.
    pub(crate) fn facts(&self) -> CommandFacts {
        match self {
            Self::NotaryChange { to } => CommandFacts::new("notary_change").field("to", &to.name),
            Self::Upgrade { from, to } => CommandFacts::new("upgrade")
                .field("from", from)
                .field("to", to),
        }
    }

    /// Returns the command's value.
    pub fn value(&self) -> Vec<u8> {
        self.to_bytes()
    }
}
