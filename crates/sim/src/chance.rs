//! The source of all random decisions of a simulation: one sequence from the seed.

/// SplitMix64 (Steele, Lea, Flood 2014). It is good enough for choosing faults and gives the same sequence on every platform.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Returns the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// Returns an independent sequence, so that more draws from one do not change the other.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// Returns 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from `from` to `to`, excluding `to`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from).max(1)
    }

    /// Returns an index below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % (count as u64).max(1)) as usize
    }

    /// Returns true with this probability, per mille.
    pub fn per_mille(&mut self, times: u64) -> bool {
        self.next() % 1_000 < times
    }

    /// Returns one of the choices.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Returns 32 random bytes.
    pub fn bytes32(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for part in bytes.chunks_exact_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes());
        }
        bytes
    }
}
