//! A sample of all transactions, chosen by their ids, so that it is the same in every ledger.

use primitives::Hash;
use serde::{Deserialize, Serialize};

/// The transactions whose ids begin with this many zero bits. Ids are hashes, so the sample is one in 2^bits, at random.
/// It is the same in every ledger, at the notary and among acknowledged transactions, so every rule of the audit applies
/// to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub struct Sample {
    zero_bits: u32,
}

/// The number of leading id bits that a sample can use. A sample of one in 2^32 is practically empty.
const BITS_MAX: u32 = 32;

impl From<u32> for Sample {
    /// Returns the sample of this many bits, at most those that a sample can use.
    fn from(zero_bits: u32) -> Self {
        Self {
            zero_bits: zero_bits.min(BITS_MAX),
        }
    }
}

impl From<Sample> for u32 {
    fn from(sample: Sample) -> Self {
        sample.zero_bits
    }
}

impl Sample {
    /// All of them.
    pub const ALL: Self = Self { zero_bits: 0 };

    /// Returns the largest sample that holds about `most` of `all` transactions.
    pub fn of_at_most(most: u64, all: u64) -> Self {
        let mut sample = Self::ALL;
        while sample.zero_bits < BITS_MAX && all >> sample.zero_bits > most.max(1) {
            sample = sample.halved();
        }
        sample
    }

    /// Returns half of this sample.
    #[must_use]
    pub fn halved(self) -> Self {
        Self {
            zero_bits: (self.zero_bits + 1).min(BITS_MAX),
        }
    }

    /// Returns whether a transaction belongs to the sample.
    pub fn has(self, id: &Hash) -> bool {
        let [a, b, c, d, ..] = *id.as_bytes();
        u32::from_be_bytes([a, b, c, d]).leading_zeros() >= self.zero_bits
    }

    /// Returns N if the sample holds one in N transactions.
    pub fn one_in(self) -> u64 {
        1 << self.zero_bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_a_part_of_every_larger_one() {
        let ids: Vec<Hash> = (0..4_096u32)
            .map(|number| Hash::plain(&number.to_be_bytes()))
            .collect();
        let endless: Sample = serde_json::from_str("4000000000").expect("a number");
        assert_eq!((endless.one_in(), endless.halved()), (1 << 32, endless));
        let mut sample = Sample::ALL;
        let mut within = ids.clone();
        for bits in 0..5 {
            assert_eq!(sample.one_in(), 1 << bits);
            let now: Vec<Hash> = ids.iter().filter(|id| sample.has(id)).copied().collect();
            assert!(now.iter().all(|id| within.contains(id)));
            let expected = ids.len() >> bits;
            assert!(
                now.len().abs_diff(expected) <= expected / 4,
                "{bits}: {}",
                now.len()
            );
            within = now;
            sample = sample.halved();
        }
    }

    #[test]
    fn a_sample_is_as_large_as_it_may_be() {
        for (most, all, one_in) in [
            (100, 0, 1),
            (100, 100, 1),
            (100, 101, 2),
            (100, 202, 4),
            (100, 1_000, 16),
            (0, 8, 8),
        ] {
            assert_eq!(
                Sample::of_at_most(most, all).one_in(),
                one_in,
                "{most} of {all}"
            );
        }
        assert_eq!(Sample::of_at_most(1, u64::MAX).one_in(), 1 << 32);
    }
}
