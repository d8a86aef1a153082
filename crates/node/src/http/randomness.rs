//! Fresh random bytes from the system, fetched many at a time.

use std::sync::{Mutex, PoisonError};

use flow::FlowId;
use primitives::Seed;

/// One system call serves some eighty flows.
const BUFFER_BYTES: usize = 4_096;

/// A buffer of random bytes.
#[derive(Debug)]
pub(super) struct Randomness {
    buffer: Mutex<Buffer>,
}

#[derive(Debug)]
struct Buffer {
    bytes: Box<[u8; BUFFER_BYTES]>,
    used: usize,
}

/// The system gives no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRandomness;

impl Default for Randomness {
    fn default() -> Self {
        let buffer = Buffer {
            bytes: Box::new([0; BUFFER_BYTES]),
            used: BUFFER_BYTES,
        };
        Self {
            buffer: Mutex::new(buffer),
        }
    }
}

impl Randomness {
    /// A flow's id and seed.
    pub(super) fn flow(&self) -> Result<(FlowId, Seed), NoRandomness> {
        let (mut id, mut seed) = ([0; 16], [0; 32]);
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.take(&mut id)?;
        buffer.take(&mut seed)?;
        Ok((FlowId(id), Seed::new(seed)))
    }
}

impl Buffer {
    /// Bytes given out are overwritten here.
    fn take(&mut self, into: &mut [u8]) -> Result<(), NoRandomness> {
        if BUFFER_BYTES - self.used < into.len() {
            getrandom::fill(&mut self.bytes[..]).map_err(|_| NoRandomness)?;
            self.used = 0;
        }
        let from = &mut self.bytes[self.used..self.used + into.len()];
        into.copy_from_slice(from);
        from.fill(0);
        self.used += into.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn never_the_same_twice_and_never_zero() {
        let randomness = Randomness::default();
        let mut seen = HashSet::new();
        for _ in 0..1_000 {
            let (id, seed) = randomness.flow().expect("the system has randomness");
            assert!(seen.insert(id) && id != FlowId([0; 16]) && seed != [0; 32].into());
        }
    }
}
