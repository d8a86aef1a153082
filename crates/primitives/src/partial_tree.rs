//! Several leaves of one Merkle tree, with exactly the hashes that are needed in addition to compute its root.

use crate::merkle::{node, split};
use crate::{Decode, DecodeError, Decoder, Encode, Encoder, Hash, MerkleError};

/// Some leaves of a tree, with the roots of the largest subtrees that hold none of them, left to right.
///
/// There is exactly one partial tree for a tree and a set of leaves: surplus or missing hashes are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialTree {
    /// Leaves in the whole tree.
    pub count: u32,
    /// The revealed leaves with their indices, in ascending order.
    pub leaves: Vec<(u32, Hash)>,
    /// Roots of the subtrees without a revealed leaf, left to right.
    pub hashes: Vec<Hash>,
}

impl PartialTree {
    /// Returns the partial tree that reveals the leaves at the indices `places`. They must be ascending, without duplicates,
    /// and below the number of leaves.
    pub fn new(all: &[Hash], places: &[u32]) -> Result<Self, MerkleError> {
        let count = u32::try_from(all.len()).map_err(|_| MerkleError::WrongLength)?;
        check_places(count, places.iter().copied())?;
        let mut tree = Self {
            count,
            leaves: places.iter().map(|at| (*at, all[*at as usize])).collect(),
            hashes: Vec::new(),
        };
        collect(all, 0, &tree.leaves, &mut tree.hashes);
        Ok(tree)
    }

    /// Returns the root of the whole tree.
    pub fn root(&self) -> Result<Hash, MerkleError> {
        check_places(self.count, self.leaves.iter().map(|(at, _)| *at))?;
        let mut hashes = self.hashes.iter();
        let root = climb(0, self.count as usize, &self.leaves, &mut hashes)?;
        if hashes.next().is_some() {
            return Err(MerkleError::WrongLength);
        }
        Ok(root)
    }
}

/// Checks that the tree is not empty, and that the places ascend and are within the tree.
fn check_places(count: u32, places: impl Iterator<Item = u32>) -> Result<(), MerkleError> {
    if count == 0 {
        return Err(MerkleError::WrongLength);
    }
    let mut before = None;
    for index in places {
        if index >= count {
            return Err(MerkleError::OutOfRange { index, count });
        }
        if before.is_some_and(|before| before >= index) {
            return Err(MerkleError::NotSorted);
        }
        before = Some(index);
    }
    Ok(())
}

/// Divides the revealed leaves of a subtree into those of its left and its right child. `middle` is the index of the right
/// child's first leaf.
fn part(leaves: &[(u32, Hash)], middle: usize) -> [&[(u32, Hash)]; 2] {
    let (left, right) = leaves.split_at(leaves.partition_point(|(at, _)| (*at as usize) < middle));
    [left, right]
}

fn collect(subtree: &[Hash], first: usize, revealed: &[(u32, Hash)], hashes: &mut Vec<Hash>) {
    if revealed.is_empty() {
        hashes.extend(crate::merkle_root(subtree));
    } else if subtree.len() > 1 {
        let at = split(subtree.len());
        let [left, right] = part(revealed, first + at);
        collect(&subtree[..at], first, left, hashes);
        collect(&subtree[at..], first + at, right, hashes);
    }
}

/// At most 33 deep: counts are 32 bits wide, and a subtree without revealed leaves is not entered.
fn climb(
    first: usize,
    count: usize,
    revealed: &[(u32, Hash)],
    hashes: &mut std::slice::Iter<'_, Hash>,
) -> Result<Hash, MerkleError> {
    match revealed {
        [] => hashes.next().copied().ok_or(MerkleError::WrongLength),
        [(_, leaf), ..] if count == 1 => Ok(*leaf),
        _ => {
            let at = split(count);
            let [left, right] = part(revealed, first + at);
            let left = climb(first, at, left, hashes)?;
            let right = climb(first + at, count - at, right, hashes)?;
            Ok(node(&left, &right))
        }
    }
}

impl Encode for PartialTree {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        self.count.encode(e);
        self.leaves.encode(e);
        self.hashes.encode(e);
    }
}

impl Decode for PartialTree {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        Ok(Self {
            count: d.u32()?,
            leaves: Decode::decode(d)?,
            hashes: Decode::decode(d)?,
        })
    }
}
