//! A histogram of values by powers of two. Recording a value costs one addition.

/// Buckets of a [`Sizes`]: bounds 1, 2, 4, .. 16,384, then everything above.
pub const SIZE_BUCKETS: usize = 16;

/// A histogram. Bucket `i` counts the values above `2^(i-1)` up to `2^i`; the first also counts 0, and the last has no upper bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    buckets: [u64; SIZE_BUCKETS],
    sum: u64,
}

impl Sizes {
    /// Records a value.
    pub(crate) fn record(&mut self, value: u64) {
        // The smallest power of two that is not below the value.
        let power = u64::BITS - value.saturating_sub(1).leading_zeros();
        let at = (power as usize).min(SIZE_BUCKETS - 1);
        self.buckets[at] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Returns the number of values in each bucket.
    pub fn buckets(&self) -> &[u64; SIZE_BUCKETS] {
        &self.buckets
    }

    /// Returns the sum of all values, clipped at the largest `u64`.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_into_the_first_bucket_that_holds_it() {
        for (value, bucket) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 3),
            (16_384, 14),
            (16_385, 15),
            (u64::MAX, 15),
        ] {
            let mut sizes = Sizes::default();
            sizes.record(value);
            assert_eq!(sizes.buckets()[bucket], 1, "{value}");
            assert_eq!((sizes.count(), sizes.sum()), (1, value));
        }
    }
}
