//! The consents of this node's operators: which proposals of others it signs. They are durable and add to the configuration.
//!
//! An upgrade is authorised if the configuration or an operator says so. Whether changes of notary are signed is the
//! configuration's business until an operator says otherwise.

use std::collections::{BTreeMap, BTreeSet};

use primitives::{Decode, Hash, Timestamp};

use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::prefix_end;
use crate::writes::{RowRange, Writer};

/// Maximum number of upgrades authorised at run time.
pub const UPGRADES_MAX: usize = 1_000;

/// Prefix of rows `upgrade/` + descriptor hash of the old code + of the new: [`ConsentRow`].
pub(super) const META_UPGRADE: &[u8] = b"upgrade/";
/// Key of the row about changes of notary: [`NotaryConsentRow`].
pub(super) const META_NOTARY: &[u8] = b"notary_changes";

/// The transitions proposed by other parties that a node signs. A node's own flows need no consent, because the user who starts
/// them has the permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentOptions {
    /// Whether to sign changes to any notary of the network.
    pub notary_changes: bool,
    /// The upgrades to sign: descriptor hashes of old and new code.
    pub upgrades: BTreeSet<(Hash, Hash)>,
}

impl Default for ConsentOptions {
    /// Consents to changes of notary, because the network's parameters list the trusted notaries. Consents to no upgrade.
    fn default() -> Self {
        Self {
            notary_changes: true,
            upgrades: BTreeSet::new(),
        }
    }
}

/// The user who gave a consent, and the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentRow {
    /// The user.
    pub by: String,
    /// The time.
    pub at: Timestamp,
}

primitives::record!(ConsentRow { by, at });

/// An operator's decision about changes of notary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotaryConsentRow {
    /// Whether to sign them.
    pub accept: bool,
    /// The user.
    pub by: String,
    /// The time.
    pub at: Timestamp,
}

primitives::record!(NotaryConsentRow { accept, by, at });

/// A change of the consents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentChange {
    /// Sign upgrades from one code to another, by the hashes of their descriptors.
    Authorise {
        /// The code that governs the states now.
        from: Hash,
        /// The code that will govern them.
        to: Hash,
    },
    /// Withdraw the consent to an upgrade.
    Withdraw {
        /// The code that governs the states now.
        from: Hash,
        /// The code that would govern them.
        to: Hash,
    },
    /// Sign changes of notary or not. `None` returns to the configuration.
    NotaryChanges(Option<bool>),
}

/// The proposals of other parties that this node signs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consents {
    /// The consents of the configuration.
    pub configured: ConsentOptions,
    /// Upgrades authorised at run time, at most `UPGRADES_MAX`.
    pub upgrades: BTreeMap<(Hash, Hash), ConsentRow>,
    /// The operator's decision about changes of notary, if there is one.
    pub notary_changes: Option<NotaryConsentRow>,
}

impl Writer for Consents {
    const ROWS: &'static [RowRange] = &[RowRange::meta(META_UPGRADE), RowRange::meta(META_NOTARY)];
}

impl Consents {
    /// Reads the consents from the store.
    ///
    /// # Errors
    /// The store could not be read, or a row does not decode. A decision that cannot be read may be a refusal of proposals that
    /// the configuration allows, so the node must not run without it.
    pub(crate) fn open(
        configured: ConsentOptions,
        reads: &dyn Reads,
    ) -> Result<Self, StoreFailure> {
        let mut consents = Self {
            configured,
            ..Self::default()
        };
        let to = prefix_end(META_UPGRADE);
        for (key, value) in reads.scan(Table::Meta, META_UPGRADE, to.as_deref(), UPGRADES_MAX)? {
            let pair = key.get(META_UPGRADE.len()..).and_then(pair_of);
            let row = ConsentRow::from_bytes(&value).ok();
            let (Some(pair), Some(row)) = (pair, row) else {
                return Err(damaged("an authorised upgrade"));
            };
            consents.upgrades.insert(pair, row);
        }
        if let Some(row) = reads.get(Table::Meta, META_NOTARY)? {
            let row = NotaryConsentRow::from_bytes(&row);
            let row = row.map_err(|_| damaged("the decision about changes of notary"))?;
            consents.notary_changes = Some(row);
        }
        Ok(consents)
    }

    /// Returns whether an upgrade is authorised.
    pub fn upgrade(&self, from: Hash, to: Hash) -> bool {
        let pair = (from, to);
        self.configured.upgrades.contains(&pair) || self.upgrades.contains_key(&pair)
    }

    /// Returns whether an operator has expressly accepted changes of notary. The default of the configuration does not count.
    pub fn notary_change_said(&self) -> bool {
        self.notary_changes.as_ref().is_some_and(|row| row.accept)
    }

    /// Returns whether this node signs changes of notary.
    pub fn notary_change(&self) -> bool {
        let said = self.notary_changes.as_ref().map(|row| row.accept);
        said.unwrap_or(self.configured.notary_changes)
    }
}

fn pair_of(key: &[u8]) -> Option<(Hash, Hash)> {
    let (from, to) = key.split_first_chunk::<32>()?;
    let to: [u8; 32] = to.try_into().ok()?;
    Some((Hash::from_bytes(*from), Hash::from_bytes(to)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::DAMAGED;
    use crate::fake_store::FakeStore;

    #[test]
    fn refuses_rows_that_do_not_decode() {
        let pair = [META_UPGRADE, &[1; 64]].concat();
        let short_pair = [META_UPGRADE, &[1; 63]].concat();
        for key in [pair.as_slice(), &short_pair, META_NOTARY] {
            let mut store = FakeStore::default();
            store.put(Table::Meta, key, &[0xff]);
            let refused = Consents::open(ConsentOptions::default(), &store).err();
            let code = refused.map(|failure| failure.code);
            assert_eq!(code, Some(DAMAGED.code), "{}", key.escape_ascii());
        }
    }
}
