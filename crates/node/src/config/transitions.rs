//! `[transitions]`: the proposals of others that this node signs.

use primitives::Hash;
use serde::{Deserialize, Serialize};

/// Most upgrades that can be authorised at once.
pub(super) const UPGRADES_MAX: usize = 1_000;

/// `[transitions]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TransitionsSection {
    /// Whether to sign changes of notary.
    pub accept_notary_changes: bool,
    /// Upgrades to sign.
    pub accept_upgrades: Vec<UpgradeEntry>,
}

impl Default for TransitionsSection {
    fn default() -> Self {
        Self {
            accept_notary_changes: true,
            accept_upgrades: Vec::new(),
        }
    }
}

/// An entry of `transitions.accept_upgrades`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpgradeEntry {
    /// The descriptor of the current code of the states.
    pub from: Hash,
    /// The descriptor of the new code.
    pub to: Hash,
}

impl From<&TransitionsSection> for kernel::ConsentOptions {
    fn from(section: &TransitionsSection) -> Self {
        let upgrades = section.accept_upgrades.iter();
        Self {
            notary_changes: section.accept_notary_changes,
            upgrades: upgrades.map(|entry| (entry.from, entry.to)).collect(),
        }
    }
}
