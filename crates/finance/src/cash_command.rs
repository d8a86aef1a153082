//! The commands of cash transactions.

use ledger::TokenId;

/// A command to the cash contract. Encoded as `[0, token, quantity]`, `[1]` or `[2, token, quantity]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CashCommand {
    /// Issues cash; the issuer signs.
    Issue {
        /// The token.
        token: TokenId,
        /// The quantity, in minor units.
        quantity: u64,
    },
    /// Moves cash; the owners of the cash consumed sign.
    Move,
    /// Exits cash: takes it out of circulation. The issuer and the owners of the cash consumed sign.
    Exit {
        /// The token.
        token: TokenId,
        /// The quantity, in minor units.
        quantity: u64,
    },
}

primitives::variants!(CashCommand {
    0 => Issue { token, quantity },
    1 => Move,
    2 => Exit { token, quantity },
});
