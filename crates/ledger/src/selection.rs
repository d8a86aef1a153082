//! A flow's request to the vault's coin selection.

use crate::{PartyId, TokenId};

/// States worth at least a quantity of a token. Encoded as `[token, quantity, notary or null, deadline]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionRequest {
    /// The token.
    pub token: TokenId,
    /// At least so much of it, in minor units.
    pub quantity: u64,
    /// Only states of this notary.
    pub notary: Option<PartyId>,
    /// How long to wait for states that others have locked, in milliseconds.
    pub deadline_ms: u64,
}

primitives::record!(SelectionRequest {
    token,
    quantity,
    notary,
    deadline_ms
});
