//! Changes of the vault, for followers.

use api::VaultChange;

/// The changes of a transaction, and the filter for followers that may see only some contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenChange {
    /// All of it.
    pub change: VaultChange,
    /// The contracts of the consumed states, in their order.
    pub consumed_contracts: Vec<String>,
}

/// Changes of the vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultChanges {
    /// In order.
    pub changes: Vec<SeenChange>,
    /// They are all up to this position.
    pub upto: u64,
}
