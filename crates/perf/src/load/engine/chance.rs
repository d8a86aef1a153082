//! Random numbers from a seed: the same on every machine.

/// A small generator (SplitMix64): good enough to spread arrivals, not for secrets.
#[derive(Clone, Debug)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// Creates a generator from a seed and a number that distinguishes users of one seed.
    pub fn new(seed: u64, user: u64) -> Self {
        let mut chance = Self {
            state: seed ^ user.wrapping_mul(0xd134_2543_de82_ef95),
        };
        chance.next_u64();
        chance
    }

    /// Returns a random number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a uniformly distributed number from 0 up to, but not including, 1.
    pub fn share(&mut self) -> f64 {
        // A float holds 53 bits exactly.
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns an exponentially distributed number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.share()).ln() * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_numbers_and_users_differ() {
        let numbers = |seed, user| {
            let mut chance = Chance::new(seed, user);
            [chance.next_u64(), chance.next_u64()]
        };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert_ne!(numbers(1, 2), numbers(1, 3));
        assert_ne!(numbers(1, 2), numbers(2, 2));
    }

    #[test]
    fn means() {
        let mut chance = Chance::new(7, 0);
        let count = 200_000;
        let (mut even, mut exponential) = (0.0, 0.0);
        for _ in 0..count {
            even += chance.share();
            exponential += chance.exponential(3.0);
        }
        let count = f64::from(count);
        assert!((even / count - 0.5).abs() < 0.005);
        assert!((exponential / count - 3.0).abs() < 0.03);
    }
}
