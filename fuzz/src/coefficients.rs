//! A source of batch coefficients that follows from a seed, for libraries that ask for a random one.

use std::convert::Infallible;

use primitives::{Domain, Hash};
use rand_core::{TryCryptoRng, TryRng};

/// Bytes `H(10, seed, number)` for numbers from zero.
pub struct Coefficients {
    seed: Hash,
    number: u64,
}

impl From<Hash> for Coefficients {
    fn from(seed: Hash) -> Self {
        Self { seed, number: 0 }
    }
}

impl TryRng for Coefficients {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(32) {
            let number = self.number.to_be_bytes();
            let hash = Hash::of(Domain::BatchCoefficients, &[self.seed.as_bytes(), &number]);
            part.copy_from_slice(&hash.as_bytes()[..part.len()]);
            self.number += 1;
        }
        Ok(())
    }
}

impl TryCryptoRng for Coefficients {}
