//! What a transaction may do with cash.

use ledger::TokenId;

/// A command to the cash contract. Encoded as `[0, token, quantity]`, `[1]` or `[2, token, quantity]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CashCommand {
    /// Makes cash; the issuer signs.
    Issue {
        /// Of which token.
        token: TokenId,
        /// How much, in minor units.
        quantity: u64,
    },
    /// Passes cash on; the owners of the cash consumed sign.
    Move,
    /// Takes cash out of the world; the issuer and the owners of the cash consumed sign.
    Exit {
        /// Of which token.
        token: TokenId,
        /// How much, in minor units.
        quantity: u64,
    },
}

primitives::variants!(CashCommand {
    0 => Issue { token, quantity },
    1 => Move,
    2 => Exit { token, quantity },
});
