//! Tear-offs: partly revealed transactions, with proof that the revealed parts belong to them.

use primitives::{Coded, DecodeError, Hash, MerkleError, PartialTree};
use thiserror::Error;

use crate::group::{GROUPS, Group, group_hash, group_of_leaves, leaf, nonce, transaction_id};
use crate::{StructureError, TxId, WireTransaction, errors};

/// The revealed part of one group.
///
/// Encoded as `[0, group hash]`, `[1, [component, ...]]` (each `[nonce, bytes]`) or
/// `[2, count, [[index, nonce, bytes], ...], [hash, ...]]`, where the hashes are the roots of the largest subtrees without a
/// shown leaf, left to right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilteredGroup {
    /// Nothing but its hash.
    Hidden(Hash),
    /// All of it: the group hash follows from the components, so none can be held back.
    Whole(Vec<Component>),
    /// Some components.
    Part {
        /// Number of components of the group.
        count: u32,
        /// Those shown, by ascending index.
        components: Vec<(u32, Component)>,
        /// The hashes of the hidden components, needed to compute the group's hash.
        hashes: Vec<Hash>,
    },
}

/// A component that is shown, with the nonce that goes into its leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The nonce.
    pub nonce: Hash,
    /// The encoded component.
    pub bytes: Vec<u8>,
}

primitives::record!(Component { nonce, bytes });

/// An unchecked tear-off. See [`verify`](Self::verify) for a notary's and [`open`](Self::open) for any other reader's.
///
/// Encoded as `[version 1, transaction id, nine filtered groups]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredTransaction {
    pub(crate) id: TxId,
    pub(crate) groups: [FilteredGroup; GROUPS],
}

/// Reasons why a tear-off is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TearOffError {
    /// It, or a component of it, does not decode.
    #[error("the tear-off does not decode: {0}")]
    Malformed(#[from] DecodeError),
    /// A group that has to be shown whole is not.
    #[error("the tear-off does not show all of the group {0:?}")]
    Incomplete(Group),
    /// A group's proof leads nowhere.
    #[error("the proof of the group {group:?} leads to no root: {source}")]
    BadProof {
        /// The group.
        group: Group,
        /// The fault of the proof.
        source: MerkleError,
    },
    /// The parts do not hash to the id.
    #[error("the parts of the tear-off do not hash to the id {0}")]
    IdMismatch(TxId),
    /// Commands are shown, but not all signers.
    #[error("the tear-off shows commands but not all signers")]
    SignersHidden,
    /// The revealed part breaks a rule of transactions.
    #[error("the transaction of the tear-off is not well formed: {0}")]
    Structure(#[from] StructureError),
}

impl Coded for TearOffError {
    fn code(&self) -> &'static str {
        match self {
            TearOffError::Malformed(_) => "tear_off.malformed",
            TearOffError::Incomplete(_) => "tear_off.incomplete",
            TearOffError::BadProof { .. } => "tear_off.bad_proof",
            TearOffError::IdMismatch(_) => "tear_off.id_mismatch",
            TearOffError::SignersHidden => "tear_off.signers_hidden",
            TearOffError::Structure(error) => error.code(),
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl FilteredTransaction {
    /// Makes the tear-off for a non-validating notary: inputs, references, time window, notary and parameters, whole.
    pub fn for_notary(wire: &WireTransaction) -> Self {
        Self::from_groups(wire, |group| {
            if Group::FOR_NOTARY.contains(&group) {
                whole(wire, group)
            } else {
                FilteredGroup::Hidden(wire.group_hash(group))
            }
        })
    }

    /// Shows the components that `shows` picks by group and index. If any command is shown, all signers are.
    pub fn of(wire: &WireTransaction, shows: impl Fn(Group, u32) -> bool) -> Self {
        let indices = |group: Group| 0..wire.count(group) as u32;
        let any_command = indices(Group::Commands).any(|index| shows(Group::Commands, index));
        Self::from_groups(wire, |group| {
            let all_signers = group == Group::Signers && any_command;
            let picked: Vec<u32> = indices(group)
                .filter(|index| all_signers || shows(group, *index))
                .collect();
            if picked.len() == wire.count(group) {
                whole(wire, group)
            } else if picked.is_empty() {
                FilteredGroup::Hidden(wire.group_hash(group))
            } else {
                part(wire, group, &picked)
            }
        })
    }

    fn from_groups(wire: &WireTransaction, filter: impl FnMut(Group) -> FilteredGroup) -> Self {
        Self {
            id: wire.id(),
            groups: Group::ALL.map(filter),
        }
    }

    /// Returns the id it claims to be a part of.
    pub fn claimed_id(&self) -> TxId {
        self.id
    }

    /// Returns the revealed part of a group.
    pub fn group(&self, group: Group) -> &FilteredGroup {
        &self.groups[group.index()]
    }

    /// Makes an unchecked tear-off from its parts.
    pub fn from_parts(id: TxId, groups: [FilteredGroup; GROUPS]) -> Self {
        Self { id, groups }
    }

    /// Checks that everything shown hashes to the id.
    pub(crate) fn check_id(&self) -> Result<(), TearOffError> {
        let mut hashes = [Hash::ZERO; GROUPS];
        for (hash, group) in hashes.iter_mut().zip(Group::ALL) {
            *hash = self
                .group(group)
                .hash(group)
                .map_err(|source| TearOffError::BadProof { group, source })?;
        }
        if transaction_id(&hashes) != self.id {
            return Err(TearOffError::IdMismatch(self.id));
        }
        Ok(())
    }
}

fn shown(wire: &WireTransaction, group: Group, index: u32, bytes: &[u8]) -> Component {
    Component {
        nonce: nonce(wire.privacy_salt(), group, index),
        bytes: bytes.to_vec(),
    }
}

fn whole(wire: &WireTransaction, group: Group) -> FilteredGroup {
    let components = (0u32..).zip(wire.components(group));
    FilteredGroup::Whole(
        components
            .map(|(index, bytes)| shown(wire, group, index, bytes))
            .collect(),
    )
}

fn part(wire: &WireTransaction, group: Group, picked: &[u32]) -> FilteredGroup {
    let all: Vec<Component> = (0u32..)
        .zip(wire.components(group))
        .map(|(index, bytes)| shown(wire, group, index, bytes))
        .collect();
    let leaves: Vec<Hash> = all.iter().map(Component::leaf).collect();
    match PartialTree::new(&leaves, picked) {
        Ok(tree) => FilteredGroup::Part {
            count: tree.count,
            components: picked
                .iter()
                .map(|index| (*index, all[*index as usize].clone()))
                .collect(),
            hashes: tree.hashes,
        },
        // Not reached: the indices ascend within the group.
        Err(_) => FilteredGroup::Hidden(wire.group_hash(group)),
    }
}

impl Component {
    fn leaf(&self) -> Hash {
        leaf(&self.nonce, &self.bytes)
    }
}

impl FilteredGroup {
    /// Computes the group's hash from the revealed part.
    fn hash(&self, group: Group) -> Result<Hash, MerkleError> {
        match self {
            FilteredGroup::Hidden(hash) => Ok(*hash),
            FilteredGroup::Whole(components) => {
                let leaves: Vec<Hash> = components.iter().map(Component::leaf).collect();
                Ok(group_of_leaves(group, &leaves))
            }
            FilteredGroup::Part {
                count,
                components,
                hashes,
            } => {
                let leaves = components
                    .iter()
                    .map(|(index, c)| (*index, c.leaf()))
                    .collect();
                let tree = PartialTree {
                    count: *count,
                    leaves,
                    hashes: hashes.clone(),
                };
                Ok(group_hash(group, *count, &tree.root()?))
            }
        }
    }
}
