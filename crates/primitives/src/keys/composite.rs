//! Composite keys: child keys with weights, a threshold, and rules that keep the keys small and give each only one form.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::{KeyError, PublicKey};
use crate::{DecodeError, Decoder, Encode, Encoder};

/// A key with child keys. It is satisfied if the satisfied children have a total weight of at least `threshold`.
///
/// # Invariants
/// Has 1 to 64 different children in ascending order, with weights of at least 1. `1 <= threshold <=` the sum of
/// weights, and the sum fits 32 bits. At most 8 levels and 1024 keys in all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompositeKey {
    threshold: u32,
    children: Vec<(u32, PublicKey)>,
    depth: usize,
    leaves: usize,
}

impl CompositeKey {
    /// The most levels of composite keys within one another.
    pub const DEPTH_MAX: usize = 8;
    /// The most children of one composite key.
    pub const CHILDREN_MAX: usize = 64;
    /// The most keys of a single scheme in one composite key, over all levels.
    pub const LEAVES_MAX: usize = 1024;

    /// Makes a composite key of children with their weights, in any order.
    pub fn new(threshold: u32, children: Vec<(u32, PublicKey)>) -> Result<Self, KeyError> {
        let mut children = children;
        children.sort_by(|(_, a), (_, b)| a.cmp(b));
        Self::from_sorted(threshold, children).map_err(KeyError::Composite)
    }

    fn from_sorted(threshold: u32, children: Vec<(u32, PublicKey)>) -> Result<Self, &'static str> {
        if children.is_empty() || children.len() > Self::CHILDREN_MAX {
            return Err("it has no children or more than 64");
        }
        if children.windows(2).any(|pair| pair[0].1 >= pair[1].1) {
            return Err("its children are not in ascending order, or one comes twice");
        }
        if children.iter().any(|(weight, _)| *weight == 0) {
            return Err("a weight is zero");
        }
        let sum = children
            .iter()
            .try_fold(0u32, |sum, (weight, _)| sum.checked_add(*weight))
            .ok_or("the sum of its weights is over 32 bits")?;
        if threshold == 0 || threshold > sum {
            return Err("its threshold is zero or above the sum of weights");
        }
        let depth = 1 + children
            .iter()
            .map(|(_, key)| depth(key))
            .max()
            .unwrap_or(0);
        if depth > Self::DEPTH_MAX {
            return Err("it is more than 8 levels deep");
        }
        // Cannot overflow: there are at most 64 children with at most 1024 leaves each.
        let leaves = children.iter().map(|(_, key)| leaves(key)).sum();
        if leaves > Self::LEAVES_MAX {
            return Err("it is made of more than 1024 keys");
        }
        Ok(Self {
            threshold,
            children,
            depth,
            leaves,
        })
    }

    /// Returns the total weight that satisfies the key.
    #[must_use]
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Returns its children with their weights, in ascending order of the keys.
    #[must_use]
    pub fn children(&self) -> &[(u32, PublicKey)] {
        &self.children
    }

    /// Tells whether signatures by `signers` satisfy it.
    #[must_use]
    pub fn is_fulfilled_by(&self, signers: &BTreeSet<PublicKey>) -> bool {
        // The sum of all weights fits 32 bits.
        let weight: u32 = self
            .children
            .iter()
            .filter(|(_, key)| key.is_fulfilled_by(signers))
            .map(|(weight, _)| weight)
            .sum();
        weight >= self.threshold
    }

    pub(super) fn encode_fields(&self, e: &mut Encoder) {
        e.u64(u64::from(self.threshold));
        self.children.encode(e);
    }

    pub(super) fn decode_at(d: &mut Decoder<'_>, depth: usize) -> Result<Self, DecodeError> {
        if depth >= Self::DEPTH_MAX {
            return Err(DecodeError::TooDeep { offset: d.offset() });
        }
        let threshold = d.u32()?;
        let count = d.array_within(Self::CHILDREN_MAX)?;
        let mut children = Vec::with_capacity(count);
        for _ in 0..count {
            d.expect_array(2)?;
            children.push((d.u32()?, PublicKey::decode_at(d, depth + 1)?));
        }
        Self::from_sorted(threshold, children).map_err(|reason| d.invalid(reason))
    }
}

fn depth(key: &PublicKey) -> usize {
    match key {
        PublicKey::Composite(composite) => composite.depth,
        _ => 0,
    }
}

fn leaves(key: &PublicKey) -> usize {
    match key {
        PublicKey::Composite(composite) => composite.leaves,
        _ => 1,
    }
}

/// The order of the encodings: the threshold, the number of children, then the children one by one.
impl Ord for CompositeKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.threshold
            .cmp(&other.threshold)
            .then_with(|| self.children.len().cmp(&other.children.len()))
            .then_with(|| self.children.cmp(&other.children))
    }
}

impl PartialOrd for CompositeKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
