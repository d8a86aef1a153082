//! Transitions: transactions that move states to another notary or to newer code, without a change of their meaning.
//!
//! A transition is an ordinary transaction with one command, to the reserved contract [`TRANSITION_NAME`]. Its ids, tear-offs
//! and formats are the usual ones. The ledger's own rules decide about it in place of the contracts: see
//! [`LedgerTransaction::verify`](crate::LedgerTransaction::verify).

use std::sync::OnceLock;

use primitives::{Decode, DecodeError, Encode, Hash};

use crate::{Command, ContractName, Party};

/// The reserved name that a transition's command speaks to. No contract and no state can have a name of the ledger's own.
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
    /// Each state comes out as it is, but under this notary. The transaction is under the old one, which consumes the states.
    NotaryChange {
        /// The new notary.
        to: Party,
    },
    /// Each state under the code of the first descriptor comes out as the code of the second makes of it; other states, moved
    /// along because they encumber those, stay as they are.
    Upgrade {
        /// The descriptor of the code that the states are under.
        from: Hash,
        /// The descriptor of the code that they come under.
        to: Hash,
    },
}

primitives::variants!(Transition {
    0 => NotaryChange { to },
    1 => Upgrade { from, to },
});

impl Transition {
    /// Returns the transition that a transaction of these commands is, if one of them speaks to the reserved name.
    /// Verification checks that it is the only command.
    pub fn of(commands: &[Command]) -> Option<Result<Self, DecodeError>> {
        let command = commands
            .iter()
            .find(|command| command.contract == *transition_name())?;
        Some(Self::from_bytes(&command.value))
    }

    /// Returns the command's value.
    pub fn value(&self) -> Vec<u8> {
        self.to_bytes()
    }
}
