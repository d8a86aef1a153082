//! Merkle roots and proofs over hashed leaves, split as in RFC 6962 section 2.1: the left part of a tree is the largest
//! power of two smaller than its size. Leaves come hashed, in a domain of their own, so that no leaf passes for a node.

use crate::{
    Coded, Decode, DecodeError, Decoder, Domain, ERRORS, Encode, Encoder, ErrorInfo, Hash,
};

/// The longest path: counts are 32 bits wide.
const PATH_MAX: usize = 32;

/// Reasons why a proof leads to no root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MerkleError {
    /// The index of a leaf is not below the count.
    #[error("leaf {index} of a tree of {count}; make the proof anew")]
    OutOfRange {
        /// The leaf's index.
        index: u32,
        /// Leaves in the tree.
        count: u32,
    },
    /// Hashes are missing or left over.
    #[error("the proof has a wrong number of hashes; make it anew")]
    WrongLength,
    /// Leaves of a partial tree are not strictly ascending.
    #[error("the leaves of a partial tree are not in ascending order; list each once")]
    NotSorted,
}

impl Coded for MerkleError {
    fn code(&self) -> &'static str {
        match self {
            Self::OutOfRange { .. } => "merkle.out_of_range",
            Self::WrongLength => "merkle.wrong_length",
            Self::NotSorted => "merkle.not_sorted",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

/// Returns the hash of an inner node.
pub(crate) fn node(left: &Hash, right: &Hash) -> Hash {
    Hash::of(Domain::Node, &[left.as_bytes(), right.as_bytes()])
}

/// Returns the size of the left part of a tree of `count` leaves; `count` is at least two.
pub(crate) fn split(count: usize) -> usize {
    1 << (usize::BITS - 1 - (count - 1).leading_zeros())
}

/// Returns the root over the leaves. A single leaf is its own root; without leaves the result is `None`.
#[must_use]
pub fn merkle_root(leaves: &[Hash]) -> Option<Hash> {
    match leaves {
        [] => None,
        [leaf] => Some(*leaf),
        _ => {
            // Level by level: an odd last node moves up unchanged, which is the RFC's split read from below.
            let mut level: Vec<Hash> = pair_up(leaves);
            while level.len() > 1 {
                let mut kept = 0;
                for at in (0..level.len()).step_by(2) {
                    level[kept] = match level.get(at + 1) {
                        Some(right) => node(&level[at], right),
                        None => level[at],
                    };
                    kept += 1;
                }
                level.truncate(kept);
            }
            level.first().copied()
        }
    }
}

fn pair_up(level: &[Hash]) -> Vec<Hash> {
    level
        .chunks(2)
        .map(|pair| match pair {
            [left, right] => node(left, right),
            odd => odd[0],
        })
        .collect()
}

/// The way from one leaf to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerkleProof {
    /// The leaf's place.
    pub index: u32,
    /// Leaves in the tree.
    pub count: u32,
    /// The siblings, from the leaf upwards.
    pub path: Vec<Hash>,
}

impl MerkleProof {
    /// Returns the root that follows from `leaf` and the hashes of the proof (RFC 9162, 2.1.3.2).
    pub fn root(&self, leaf: Hash) -> Result<Hash, MerkleError> {
        if self.index >= self.count {
            return Err(MerkleError::OutOfRange {
                index: self.index,
                count: self.count,
            });
        }
        let (mut at, mut last) = (self.index, self.count - 1);
        let mut root = leaf;
        for sibling in &self.path {
            if last == 0 {
                return Err(MerkleError::WrongLength);
            }
            if at % 2 == 1 || at == last {
                root = node(sibling, &root);
                // An unpaired node moved up: skip the levels on which it had no sibling.
                while at.is_multiple_of(2) && at != 0 {
                    at >>= 1;
                    last >>= 1;
                }
            } else {
                root = node(&root, sibling);
            }
            at >>= 1;
            last >>= 1;
        }
        if last == 0 {
            Ok(root)
        } else {
            Err(MerkleError::WrongLength)
        }
    }
}

impl Encode for MerkleProof {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        self.index.encode(e);
        self.count.encode(e);
        self.path.encode(e);
    }
}

impl Decode for MerkleProof {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        Ok(Self {
            index: d.u32()?,
            count: d.u32()?,
            path: d.vec_of(PATH_MAX)?,
        })
    }
}

/// Returns the proofs of all leaves, in their order, in one pass over the tree.
#[must_use]
pub fn merkle_proofs(leaves: &[Hash]) -> Vec<MerkleProof> {
    let Ok(count) = u32::try_from(leaves.len()) else {
        return Vec::new();
    };
    let mut proofs: Vec<MerkleProof> = (0..count)
        .map(|index| MerkleProof {
            index,
            count,
            path: Vec::with_capacity(32 - count.leading_zeros() as usize),
        })
        .collect();
    if count > 1 {
        fill_paths(leaves, &mut proofs);
    }
    proofs
}

fn fill_paths(leaves: &[Hash], proofs: &mut [MerkleProof]) -> Hash {
    if let [leaf] = leaves {
        return *leaf;
    }
    let at = split(leaves.len());
    let (left_proofs, right_proofs) = proofs.split_at_mut(at);
    let left = fill_paths(&leaves[..at], left_proofs);
    let right = fill_paths(&leaves[at..], right_proofs);
    for proof in left_proofs {
        proof.path.push(right);
    }
    for proof in right_proofs {
        proof.path.push(left);
    }
    node(&left, &right)
}
