//! Component groups and the hashes over them.
//!
//! ```text
//! nonce  = Hash::of(Nonce, [privacy salt, group byte, index u32 big-endian])
//! leaf   = Hash::of(Leaf,  [nonce, component bytes])
//! group  = Hash::of(Group, [group byte, count u32 big-endian, Merkle root of the leaves, or 32 zero bytes if there are none])
//! id     = Hash::of(TransactionId, [version byte, Merkle root of the nine group hashes])
//! ```

use std::sync::LazyLock;

use primitives::{Domain, Hash, merkle_root};

use crate::TxId;

/// The version of the transaction format. It is the first field of every encoded transaction and the first byte of the data
/// that its id hashes.
pub const TRANSACTION_VERSION: u8 = 1;

/// Number of component groups.
pub const GROUPS: usize = 9;

/// The groups of components that a transaction is made of, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Group {
    /// References to the states that are consumed.
    Inputs = 0,
    /// The states that are made.
    Outputs = 1,
    /// Contract and value of each command.
    Commands = 2,
    /// Hashes of attachments.
    Attachments = 3,
    /// The notary: none or one.
    Notary = 4,
    /// The time window: none or one.
    TimeWindow = 5,
    /// The signers of each command, at the index of the command.
    Signers = 6,
    /// References to states that are read and not consumed.
    References = 7,
    /// The hash of the network parameters in force: none or one.
    Parameters = 8,
}

impl Group {
    /// All groups, in their order.
    pub const ALL: [Group; GROUPS] = [
        Group::Inputs,
        Group::Outputs,
        Group::Commands,
        Group::Attachments,
        Group::Notary,
        Group::TimeWindow,
        Group::Signers,
        Group::References,
        Group::Parameters,
    ];

    /// The groups that a notary has to see whole.
    pub const FOR_NOTARY: [Group; 5] = [
        Group::Inputs,
        Group::Notary,
        Group::TimeWindow,
        Group::References,
        Group::Parameters,
    ];

    /// Returns the group's place.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Returns the nonce that hides a component whose bytes could be guessed.
pub fn nonce(salt: &[u8; 32], group: Group, index: u32) -> Hash {
    Hash::of(Domain::Nonce, &[salt, &[group as u8], &index.to_be_bytes()])
}

/// Returns the leaf of a component.
pub fn leaf(nonce: &Hash, component: &[u8]) -> Hash {
    Hash::of(Domain::Leaf, &[nonce.as_bytes(), component])
}

/// Returns the hash of a group, from the Merkle root of its leaves ([`Hash::ZERO`] if it has none).
pub fn group_hash(group: Group, count: u32, root: &Hash) -> Hash {
    Hash::of(
        Domain::Group,
        &[&[group as u8], &count.to_be_bytes(), root.as_bytes()],
    )
}

/// The hashes of groups without components, which most transactions have.
static EMPTY: LazyLock<[Hash; GROUPS]> =
    LazyLock::new(|| Group::ALL.map(|group| group_hash(group, 0, &Hash::ZERO)));

/// Returns the hash of a group, from its leaves.
pub fn group_of_leaves(group: Group, leaves: &[Hash]) -> Hash {
    let Some(root) = merkle_root(leaves) else {
        return EMPTY[group.index()];
    };
    let count = u32::try_from(leaves.len()).expect("a transaction is far below 2^32 bytes");
    group_hash(group, count, &root)
}

/// Returns the id of the transaction whose groups have these hashes.
pub fn transaction_id(groups: &[Hash; GROUPS]) -> TxId {
    let root = merkle_root(groups).expect("a transaction has groups");
    TxId::from_hash(Hash::of(
        Domain::TransactionId,
        &[&[TRANSACTION_VERSION], root.as_bytes()],
    ))
}
